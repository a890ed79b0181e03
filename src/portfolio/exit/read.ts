import type { Address } from 'viem'
import { type ExitOutcome, type ExitQuery, executeUnits, type UnitOutcome } from '../../chain/call/exit/execute.ts'
import { callUnits } from '../../chain/call/exit/own_call.ts'
import { runAgreed } from '../../chain/call/exit/run_agreed.ts'
import { simulateUnits } from '../../chain/call/exit/simulate.ts'
import type { ExitUnit } from '../../chain/call/exit/step.ts'
import { type Endpoint, isUnavailable, type ReadOptions } from '../../chain/rpc/client.ts'
import type { HoldingExit } from '../../family/exit.ts'
import type { FinanceClient } from '../../finance/chain.ts'
import { mapCooperatively } from '../../lib/async/cooperative.ts'
import type { Work } from '../../lib/async/work.ts'
import type { Clock } from '../../lib/clock.ts'
import { UnavailableError } from '../../lib/error.ts'
import { groupBy } from '../../lib/group_by.ts'
import type { AssetsRead, Row } from '../sum/row.ts'
import {
  attribute,
  type Blockage,
  getWorth,
  type OutsideMoney,
  type RowExit,
  toUnitKey,
  type UnitExit,
} from './attribute.ts'
import { type OwnMoney, readOwnMoney } from './own_money.ts'
import { abandon, findAbandonment, getFreeExit } from './settle.ts'

/** Most units that an exit executes, the worthiest: strangers can give a wallet any number of positions. */
const UNITS_MAX = 300
/** Units that are looked at in one turn of the event loop. */
const UNITS_PER_TURN = 50
/** Time limit over all calls and attempts, milliseconds. */
const BUDGET_MS = 12_000
/** Time after which nothing more is tried, and what there is is answered, milliseconds. */
const TRIAL_MS = 8_000

/** How an exit was executed. */
export const EXECUTIONS = ['own_code', 'replaced_code', 'protocol_multicall', 'simulated'] as const
type Execution = (typeof EXECUTIONS)[number]

/** What came of all rows of a wallet on a chain. */
export interface WalletExit {
  readonly lines: ReadonlyMap<Row, RowExit>
  readonly outside: readonly OutsideMoney[]
  /** Rows of accounts that owe more than they own. */
  readonly insolvent: readonly Row[]
  /** Undefined if nothing had to be executed, or nothing could be. */
  readonly executedAs: Execution | undefined
  /** True if each row was tried, or has a reason of its own. */
  readonly isComplete: boolean
  /** False if another try may show that more arrives: no endpoint executed something as it should, or not in time. */
  readonly isExecuted: boolean
  /** Undefined if it was not asked for, or there is no debt to repay. */
  readonly ownMoney?: OwnMoney | undefined
}

/** The wallet, and the read of its chain. */
interface WalletExitQuery {
  /** An EVM address, checksummed, or a Solana address. */
  readonly wallet: string
  /** Absent if the wallet has nothing there. */
  readonly read: Pick<AssetsRead, 'exits'> | undefined
  readonly rows: readonly Row[]
}

/** Reads what arrives of wallets' rows. */
export interface ExitReader {
  /**
   * Executes all that a wallet would do to take out its rows, at the block of their read. Accounts that are worth less
   * than nothing are left behind. Throws `UnavailableError` if the chain cannot be read.
   */
  read(query: WalletExitQuery, work: Work): Promise<WalletExit>
}

/** Creates a reader over clients by chain id. */
export function createExitReader(options: {
  readonly clients: ReadonlyMap<number, FinanceClient>
  readonly clock: Clock
  /** True if an answer is recorded: calls of lenses alone can be replayed. @default {false} */
  readonly isRecorded?: boolean
  /** True if two endpoints must come to the same, however it is executed; else the chain is noted for the work. @default {false} */
  readonly isCompared?: boolean
  /** True to tell what the wallet does without money from elsewhere too. @default {false} */
  readonly hasOwnMoney?: boolean
}): ExitReader {
  const { clients, clock, isRecorded = false, isCompared = false, hasOwnMoney = false } = options
  return {
    async read({ wallet, read, rows }, work) {
      const { exits } = read ?? {}
      const untilMs = clock.monotonicMs() + TRIAL_MS
      let isExecuted = true
      const run: Run = async (units) => {
        const outcome = await runUnits(units)
        isExecuted &&= units.length === 0 || (outcome?.units.every(isTried) === true && outcome.isMakeshift !== true)
        return outcome
      }
      const runUnits: Run = async (units) => {
        if (exits === undefined || units.length === 0) return undefined
        const client = clients.get(exits.block.chainId)
        if (client === undefined) return undefined
        const query = { wallet: wallet as Address, units, lenders: exits.lenders, block: exits.block, clock, untilMs }
        const reading = { work, budgetMs: BUDGET_MS, ...(exits.past && { past: exits.past }) }
        return await tryUnits(client, { query, isRecorded, isCompared }, reading)
      }
      const { units, ...found } = await readExit(rows, exits?.list() ?? [], run)
      const ownMoney = hasOwnMoney ? await readOwnMoney({ units, rows }, runUnits) : undefined
      return { ...found, isExecuted, ownMoney }
    },
  }
}

/** Executes exits; undefined if there are none, or if no endpoint can. */
type Run = (exits: readonly ExitUnit[]) => Promise<ExecutedUnits | undefined>

/** Outcomes of units, in their order. */
interface ExecutedUnits {
  readonly units: readonly UnitOutcome[]
  readonly executedAs: Execution
  /** True if another way was to confirm it, which endpoints offer, and failed. @default {false} */
  readonly isMakeshift?: boolean
}

function isTried(outcome: UnitOutcome): boolean {
  return outcome.kind === 'run' || (outcome.kind === 'too_costly' && !isLate(outcome))
}

function isLate(outcome: UnitOutcome): boolean {
  return outcome.kind === 'too_costly' && outcome.isLate === true
}

async function readExit(
  rows: readonly Row[],
  listed: readonly HoldingExit[],
  run: Run,
): Promise<Omit<WalletExit, 'isExecuted' | 'ownMoney'> & { readonly units: readonly UnitExit[] }> {
  const exits = new Map(listed.map((exit) => [toUnitKey(exit.position), exit]))
  const positions = rows.filter(({ position }) => position !== null)
  const units = [...groupBy(positions, ({ position }) => toUnitKey(position ?? { family: '' }))].flatMap(
    ([key, unitRows]) => {
      const exit = exits.get(key)
      return exit === undefined ? [] : [{ exit, rows: unitRows, worth: Math.max(...unitRows.map(getWorth)) }]
    },
  )
  units.sort((a, b) => b.worth - a.worth)
  const [tried, omitted] = [units.slice(0, UNITS_MAX), units.slice(UNITS_MAX)]
  const first = await run(tried.map(({ exit }) => exit))
  const attributed = await mapCooperatively(tried, UNITS_PER_TURN, ({ exit, rows }, index) =>
    attributeOutcome(exit, rows, first?.units[index] ?? UNSUPPORTED),
  )
  const found = [...attributed, ...omitted.map(({ exit, rows }) => omit(exit, rows, UNTRIED.omitted))]
  const settled = await settle(found, run)
  const lines = new Map<Row, RowExit>(settled.units.flatMap((unit) => toLines(unit)))
  for (const row of rows) if (!lines.has(row)) lines.set(row, toUntried(row))
  const isWhole = first?.units.every(({ kind }) => kind !== 'unsupported') ?? tried.length === 0
  return {
    units: settled.units,
    lines,
    outside: settled.units.flatMap(({ outside }) => outside),
    insolvent: settled.insolvent,
    executedAs: first?.executedAs,
    isComplete:
      isWhole &&
      first?.executedAs !== 'replaced_code' &&
      positions.every((row) => row.amount === 0n || exits.has(toUnitKey(row.position ?? { family: '' }))),
  }
}

const UNSUPPORTED = { kind: 'unsupported' } as const

/** Why a unit was not tried. */
const UNTRIED = {
  late: 'It was not tried in time',
  omitted: `It was not tried, because the wallet has ${UNITS_MAX} positions that are worth more`,
} as const

/** Attributes what came of a unit, or says why it was not tried. */
function attributeOutcome(exit: HoldingExit, rows: readonly Row[], outcome: UnitOutcome): UnitExit {
  return isLate(outcome) ? omit(exit, rows, UNTRIED.late) : attribute(exit, rows, outcome)
}

function omit(exit: HoldingExit, rows: readonly Row[], detail: string): UnitExit {
  const blockage: Blockage = { reason: 'too_costly', detail }
  return { exit, rows, lines: rows.map(() => ({ arrived: 0n, blockage })), outside: [], steps: [] }
}

/** Leaves debts unpaid where repaying costs more than it brings, and takes out what they do not hold. */
async function settle(
  units: readonly UnitExit[],
  run: Run,
): Promise<{ readonly units: readonly UnitExit[]; readonly insolvent: readonly Row[] }> {
  const abandonments = units.flatMap((unit) => findAbandonment(unit) ?? [])
  const abandonmentByUnit = new Map(abandonments.map((each) => [each.unit, each]))
  const free = abandonments.flatMap((each) => {
    const exit = getFreeExit(each)
    return exit.steps.length === 0 ? [] : [{ exit, abandonment: each }]
  })
  const second = await run(free.map(({ exit }) => exit))
  const again = new Map(
    free.map(({ exit, abandonment: { unit } }, index) => [
      unit,
      attributeOutcome(exit, unit.rows, second?.units[index] ?? UNSUPPORTED),
    ]),
  )
  return {
    units: units.map((unit) => {
      const abandonment = abandonmentByUnit.get(unit)
      return abandonment === undefined ? unit : abandon(abandonment, again.get(unit))
    }),
    insolvent: abandonments.flatMap(({ rows, isInsolvent }) => (isInsolvent ? [...rows] : [])),
  }
}

/**
 * Executes units in place of the wallet's code at the first endpoint that overrides it. Where the wallet has code of its
 * own or no endpoint does, they are simulated, and where none simulates, protocols are asked that answer for themselves.
 * Undefined if all that were asked refuse.
 */
async function tryUnits(
  client: FinanceClient,
  {
    query,
    isRecorded,
    isCompared,
  }: { readonly query: ExitQuery; readonly isRecorded: boolean; readonly isCompared: boolean },
  options: ReadOptions,
): Promise<ExecutedUnits | undefined> {
  const toAgreed = { ...options, untilMs: query.untilMs, isPatient: isCompared }
  const run = (attempt: (endpoint: Endpoint, work: Work) => Promise<ExitOutcome>) =>
    isCompared ? runAgreed(client, attempt, toAgreed) : client.read(attempt, options)
  const executed = await unlessRefused(() => run((endpoint, work) => executeUnits(endpoint, query, work)), options)
  if (isRecorded) refuseLate(executed?.units ?? [], query.wallet)
  if (executed?.hasOwnCode === false) return { units: executed.units, executedAs: 'own_code' }
  const replaced: ExecutedUnits | undefined = executed && { units: executed.units, executedAs: 'replaced_code' }
  if (isRecorded) return replaced
  let hasFailed = false
  /** Another way only confirms what was executed, if anything was: its failure is then none of the answer. */
  const tryOther = async (
    read: () => Promise<ExitOutcome>,
    executedAs: Execution,
  ): Promise<ExecutedUnits | undefined> => {
    try {
      const outcome = await unlessRefused(read, options)
      return outcome && { units: outcome.units, executedAs }
    } catch (error) {
      const isNeeded = replaced === undefined || options.work.signal.aborted
      if (isNeeded || !(error instanceof UnavailableError)) throw error
      hasFailed = true
      return undefined
    }
  }
  const toOutcome = (units: readonly UnitOutcome[]): ExitOutcome => ({ units, hasOwnCode: false })
  const simulate = async (endpoint: Endpoint, work: Work) => toOutcome(await simulateUnits(endpoint, query, work))
  const simulated = await tryOther(() => runAgreed(client, simulate, toAgreed), 'simulated')
  if (replaced !== undefined) {
    if (simulated !== undefined && isAsFull(simulated, replaced)) return simulated
    return { ...replaced, isMakeshift: hasFailed || simulated?.units.some(isLate) === true }
  }
  if (simulated?.units.some(isTried)) return simulated
  const call = async (endpoint: Endpoint, work: Work) => toOutcome(await callUnits(endpoint, query, work))
  const called = await tryOther(() => run(call), 'protocol_multicall')
  return [called, simulated].find((each) => each?.units.some(({ kind }) => kind !== 'unsupported'))
}

/**
 * Throws `UnavailableError` if anything was left out for want of time: a record of it is cut short, and a replay has the time to
 * ask for more.
 */
export function refuseLate(outcomes: readonly UnitOutcome[], wallet: Address): void {
  if (!outcomes.some(isLate)) return
  throw new UnavailableError(
    `Cannot prove what wallet ${wallet} gets because executing it takes too long: ask again, or without a receipt`,
  )
}

/** True if all units that ran one way ran the other way too. */
function isAsFull(units: ExecutedUnits, than: ExecutedUnits): boolean {
  return than.units.every(({ kind }, index) => kind !== 'run' || units.units[index]?.kind === 'run')
}

/**
 * Runs an attempt at the first endpoint that supports it; undefined if all endpoints answer, and refuse it. Throws
 * `UnavailableError` if one that might support it does not answer.
 */
export async function tryEndpoints<T>(
  client: FinanceClient,
  attempt: (endpoint: Endpoint, work: Work) => Promise<T>,
  options: ReadOptions,
): Promise<T | undefined> {
  return await unlessRefused(() => client.read(attempt, options), options)
}

async function unlessRefused<T>(read: () => Promise<T>, options: ReadOptions): Promise<T | undefined> {
  try {
    return await read()
  } catch (error) {
    if (isUnavailable(error, 'refused') && !options.work.signal.aborted) return undefined
    throw error
  }
}

function toLines({ rows, lines }: UnitExit): (readonly [Row, RowExit])[] {
  return rows.flatMap((row, index) => {
    const line = lines[index]
    return line === undefined ? [] : [[row, line] as const]
  })
}

/** What of a row arrives that no family takes out: all of it, if it is in the wallet already. */
function toUntried(row: Row): RowExit {
  if (row.amount === 0n) {
    const detail = row.verdict.counted ? '' : row.verdict.detail
    return { arrived: 0n, blockage: { reason: 'too_costly', detail } }
  }
  if (row.position === null) return { arrived: row.amount }
  return {
    arrived: 0n,
    blockage: { reason: 'unsupported', detail: `Exits of ${row.position.family} are not executed` },
  }
}
