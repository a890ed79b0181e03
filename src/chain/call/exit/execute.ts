import { type Address, concatHex, type Hex } from 'viem'
import { startDeadline, untilAborted } from '../../../lib/async/abort.ts'
import { yieldToEventLoop } from '../../../lib/async/cooperative.ts'
import { forEachLimit } from '../../../lib/async/parallel.ts'
import { limitWork, type Work } from '../../../lib/async/work.ts'
import type { Clock } from '../../../lib/clock.ts'
import { UpstreamError } from '../../../lib/error.ts'
import { groupBy } from '../../../lib/group_by.ts'
import { type Block, isSameBlock } from '../../block.ts'
import { type CallBlock, type Endpoint, RpcRefusedError, type StorageWord } from '../../rpc/client.ts'
import { decodeLensPage } from '../cursor.ts'
import { type LensAccess, readByLens } from '../lens.ts'
import { type Donor, findDonors } from './donor.ts'
import { LENS_RUNTIME } from './lens_artifact.ts'
import { decodeOutcome, type ExitUnit, encodeUnits, type StepOutcome } from './step.ts'
import { createStrikes, listSuspects, type Strikes } from './strike.ts'

/** Units in the first call: 25 positions take 6 million gas, and seven times as much if each of them is hostile. */
const PAGE_SIZE = 25
/** Units in a later one, while the endpoint took all of those before and none was hostile. */
const PAGE_SIZE_MAX = 50
/** Lenders that one call may ask. */
const LENDERS_MAX = 8
/** Calls with loans that run at a time. */
const CALLS_MAX = 4
/** Gas of a step beside those that used up theirs: more than twice what positions take, staked ones too. */
const FRUGAL_GAS = 500_000
/** Size that stands for the lens' own code. */
const OWN_CODE = 0xffff_ffff

/** The lens that executes. Its code must be at the wallet's address too, so only a state override can run it. */
export const EXIT_LENS = { topic: 'exit', runtime: LENS_RUNTIME, modes: ['override'] } as const

/** What to execute, as whom, and when. */
export interface ExitQuery {
  readonly wallet: Address
  readonly units: readonly ExitUnit[]
  /** Contracts that may lend what they hold, best first. */
  readonly lenders: readonly Address[]
  readonly block: Block
  readonly clock: Clock
  /** Monotonic time by the clock, milliseconds, after which nothing more is tried. */
  readonly untilMs: number
}

/** Outcomes of a unit's steps, in their order; or why nothing of it was tried. */
export type UnitOutcome =
  | {
      readonly kind: 'run'
      readonly steps: readonly StepOutcome[]
      /** Lenders that are made up, with their money. */
      readonly made: ReadonlySet<Address>
    }
  /** `isLate`: it was not tried before the time was over. */
  | { readonly kind: 'too_costly'; readonly isLate?: true }
  | { readonly kind: 'unsupported' }

/** What came of an execution. */
export interface ExitOutcome {
  /** In the order of the units. */
  readonly units: readonly UnitOutcome[]
  /** True if the wallet has code of its own, which the executing code stood in for. */
  readonly hasOwnCode: boolean
}

/**
 * Executes units as the wallet at one block, and undoes them. A unit with loans has a call of its own, so that no
 * lender takes part in it; the others share pages. A unit to which the wallet itself is a party is `unsupported`, one
 * that takes too much gas alone, or was not done in time, `too_costly`; one that depends on contracts that used it up before
 * gets less of it.
 * Throws `RpcRefusedError` if the endpoint does not override code, `UpstreamError` if an answer is of another block, and as
 * `Endpoint.call`.
 */
export async function executeUnits(endpoint: Endpoint, query: ExitQuery, work: Work): Promise<ExitOutcome> {
  const { wallet, units, block, clock, untilMs } = query
  const deadline = startDeadline(untilMs - clock.monotonicMs(), { parent: work.signal, clock })
  const ended = new AbortController()
  const read = async (lens: LensAccess): Promise<ExitOutcome> => {
    const outcomes: UnitOutcome[] = units.map(() => ({ kind: 'unsupported' }))
    const places = placeUnits(units, wallet)
    const borrowing = places.filter(({ unit }) => unit.steps.some(({ loan }) => loan !== undefined))
    const free = places.filter((each) => !borrowing.includes(each))
    const run = limitRunner(createRunner(lens, query), { deadline, parent: work.signal })
    const keep = (page: readonly PlacedUnit[], results: readonly UnitOutcome[]) => {
      for (const [index, { place }] of page.entries()) {
        const result = results[index]
        if (result !== undefined) outcomes[place] = result
      }
    }
    const pages = runPages(free, run, keep)
    const loans = forEachLimit(borrowing, CALLS_MAX, async (each) => keep([each], await runAlone(each, run)), work)
    const [codeSize] = await Promise.all([readCodeSize(lens, query), pages, loans])
    return { units: outcomes, hasOwnCode: codeSize > 0 }
  }
  try {
    const reading = { ...EXIT_LENS, chainId: block.chainId, clock, read }
    return await readByLens(endpoint, reading, limitWork(work, ended.signal))
  } finally {
    deadline.stop()
    // Calls that were late are still under way.
    ended.abort()
  }
}

/** A unit and its place among all. */
interface PlacedUnit {
  readonly unit: ExitUnit
  readonly place: number
}

/** Lists the units to which the wallet is no party. */
export function placeUnits(units: readonly ExitUnit[], wallet: Address): PlacedUnit[] {
  return units.flatMap((unit, place) => (listParties(unit).has(toKey(wallet)) ? [] : { unit, place }))
}

/** Runs the first units in one call, as many as its gas is enough for. */
export type Run = (units: readonly ExitUnit[], made?: MadeMoney) => Promise<readonly UnitOutcome[]>

/** Money that is made up for a call. */
interface MadeMoney {
  readonly storage: readonly StorageWord[]
  /** Accounts that lend it. */
  readonly lenders: readonly Address[]
}

function createRunner({ call }: LensAccess, { wallet, lenders, block }: ExitQuery): Run {
  return async (units, made = { storage: [], lenders: [] }) => {
    const mustAsk = units.some(({ steps }) =>
      steps.some(({ loan }) => loan !== undefined && loan.lenders === undefined),
    )
    const asked = mustAsk ? listWilling({ wallet, lenders }, units).slice(0, LENDERS_MAX) : []
    const funded = units.map(({ steps }) => ({
      steps: steps.map((step) =>
        step.loan === undefined ? step : { ...step, loan: { lenders: asked, ...step.loan } },
      ),
    }))
    const additionalCodes: Record<Hex, Hex> = { [wallet]: LENS_RUNTIME }
    // Lenders pay the wallet only, and no other contract with the code of the lens.
    for (const each of [...asked, ...made.lenders]) additionalCodes[each] = concatHex([LENS_RUNTIME, wallet])
    const answer = await call({
      data: encodeUnits(wallet, funded),
      block: toCallBlock(block),
      additionalCodes,
      storage: made.storage,
    })
    return decodeRun(decodePage(answer, block), funded, made.lenders)
  }
}

/** Lists the lenders that take no part in units. */
function listWilling(
  { wallet, lenders }: Pick<ExitQuery, 'wallet' | 'lenders'>,
  units: readonly ExitUnit[],
): Address[] {
  const parties = new Set([toKey(wallet), ...units.flatMap((unit) => [...listParties(unit)])])
  return lenders.filter((each) => !parties.has(toKey(each)))
}

/** Decodes the outcomes of the units that a page took. Throws `RpcRefusedError` if other code stood at the wallet. */
export function decodeRun(
  { from, taken, codeSize }: ReturnType<typeof decodePage>,
  units: readonly ExitUnit[],
  made: readonly Address[] = [],
): UnitOutcome[] {
  if (codeSize !== OWN_CODE) throw new RpcRefusedError(0, 'The endpoint ignored the state override')
  return units.slice(0, taken).map(({ steps }) => ({
    kind: 'run',
    steps: steps.map((step) => decodeOutcome(from, step)),
    made: new Set(made),
  }))
}

type Keep = (page: readonly PlacedUnit[], results: readonly UnitOutcome[]) => void

/**
 * Runs pages one after the other. Units that depend on what used up the gas of others come last, with less gas, which is
 * enough for all but a few withdrawals: no contract keeps another's unit from being tried, or takes all the time. Units with
 * other suspects take turns then.
 */
export async function runPages(placed: readonly PlacedUnit[], run: Run, keep: Keep): Promise<void> {
  const struck = await runQueue(placed, { run, keep, strikes: createStrikes() })
  const frugal = takeTurns(struck, ({ unit }) => listSuspects(unit).join()).map(({ unit, place }) => ({
    unit: { ...unit, steps: unit.steps.map((step) => ({ ...step, gas: FRUGAL_GAS })) },
    place,
  }))
  await runQueue(frugal, { run, keep: (page, results) => keep(page, results.map(toFrugalOutcome)) })
}

/** A step that took more than little gas may be an honest one. */
function toFrugalOutcome(outcome: UnitOutcome): UnitOutcome {
  if (outcome.kind !== 'run') return outcome
  const steps = outcome.steps.map((step) => (step.kind === 'too_costly' ? ({ kind: 'suspected' } as const) : step))
  return { ...outcome, steps }
}

/** Runs pages until no unit is left, and returns those that were struck meanwhile, which it leaves out. */
async function runQueue(
  placed: readonly PlacedUnit[],
  { run, keep, strikes }: { readonly run: Run; readonly keep: Keep; readonly strikes?: Strikes },
): Promise<readonly PlacedUnit[]> {
  const struck = new Set<PlacedUnit>()
  let left = placed
  let pageSize = PAGE_SIZE
  while (left.length > 0) {
    for (const each of left) if (strikes?.isStruck(each.unit)) struck.add(each)
    left = left.filter((each) => !struck.has(each))
    const page = left.slice(0, pageSize)
    // Each page takes milliseconds to encode, after another one was decoded. The first one may share a request.
    if (left.length < placed.length) await yieldToEventLoop()
    const results = await runOrRefuse(page, run)
    if (results.length === 0 && page.length > 1) {
      pageSize = Math.ceil(page.length / 2)
      continue
    }
    const outcomes = results.length === 0 ? page.map(() => TOO_COSTLY) : results
    keep(page, outcomes)
    left = left.slice(outcomes.length)
    for (const [index, { unit }] of page.entries()) {
      const outcome = outcomes[index]
      if (outcome?.kind === 'run') strikes?.note(unit, outcome.steps)
    }
    if (results.length === page.length && !outcomes.some(isUsedUp)) pageSize = Math.min(2 * pageSize, PAGE_SIZE_MAX)
  }
  return [...struck]
}

function isUsedUp(outcome: UnitOutcome): boolean {
  return outcome.kind !== 'run' || outcome.steps.some(({ kind }) => kind === 'too_costly')
}

/** The first of each group, then the second of each, and so on. */
function takeTurns<T>(items: readonly T[], getGroup: (item: T) => string): T[] {
  const groups = [...groupBy(items, getGroup).values()]
  const longest = Math.max(0, ...groups.map(({ length }) => length))
  return Array.from({ length: longest }, (_, turn) => groups.flatMap((group) => group.slice(turn, turn + 1))).flat()
}

/** Runs a unit whose money others lend; the money of those loans that no contract gives is made up. */
async function runAlone({ unit, place }: PlacedUnit, run: Run): Promise<readonly UnitOutcome[]> {
  const lent = await runOrRefuse([{ unit, place }], run)
  const [outcome = TOO_COSTLY] = lent
  const isUnfunded = (index: number) => outcome.kind === 'run' && outcome.steps[index]?.kind === 'unfunded'
  const unfunded = unit.steps.flatMap(({ loan }, index) => (loan !== undefined && isUnfunded(index) ? [loan] : []))
  if (unfunded.length === 0) return [outcome]
  const donors = await findDonors(unfunded, async (units, storage) => {
    const outcomes = await run(units, { storage, lenders: [] })
    return outcomes.map((each) => (each.kind === 'run' ? each.steps : []))
  })
  if (donors.size === 0) return [outcome]
  const steps = unit.steps.map((step, index) => {
    const { loan } = step
    const donor = loan && isUnfunded(index) ? donors.get(loan.token) : undefined
    return loan === undefined || donor === undefined ? step : { ...step, loan: { ...loan, lenders: [donor.holder] } }
  })
  const made = toMadeMoney([...donors.values()])
  const [second = TOO_COSTLY] = await runOrRefuse([{ unit: { ...unit, steps }, place }], (units) => run(units, made))
  return [second]
}

function toMadeMoney(donors: readonly Donor[]): MadeMoney {
  return { storage: donors.map(({ word }) => word), lenders: donors.map(({ holder }) => holder) }
}

/** Runs a page; no outcomes if the endpoint refuses it for its size. */
async function runOrRefuse(page: readonly PlacedUnit[], run: Run): Promise<readonly UnitOutcome[]> {
  if (page.length === 0) return []
  try {
    return await run(page.map(({ unit }) => unit))
  } catch (error) {
    if (error instanceof RpcRefusedError && error.reason === 'size') return []
    throw error
  }
}

/** Leaves out what is not run by the deadline, so that what was run before is not lost. */
function limitRunner(
  run: Run,
  { deadline, parent }: { readonly deadline: ReturnType<typeof startDeadline>; readonly parent: AbortSignal },
): Run {
  return async (units, ...options) => {
    if (deadline.remainingMs() === 0) return units.map(() => LATE)
    try {
      return await untilAborted(run(units, ...options), deadline.signal)
    } catch (error) {
      if (deadline.signal.aborted && !parent.aborted) return units.map(() => LATE)
      throw error
    }
  }
}

const TOO_COSTLY: UnitOutcome = { kind: 'too_costly' }
const LATE: UnitOutcome = { kind: 'too_costly', isLate: true }

/** Size of the code at the wallet, bytes. */
async function readCodeSize({ call }: LensAccess, { wallet, block }: ExitQuery): Promise<number> {
  const answer = await call({ data: encodeUnits(wallet, []), block: toCallBlock(block) })
  return decodePage(answer, block).codeSize
}

/** Decodes the head of a page. Throws `UpstreamError` if it is of another block than the one that is asked for, if any is. */
export function decodePage(answer: Hex, asked?: Block) {
  const { from, block, taken } = decodeLensPage(answer)
  if (asked !== undefined && !isSameBlock(block, asked)) throw new UpstreamError('The chain changed between two calls')
  return { from, block, taken, codeSize: from.number(4) }
}

/** Names a block in a call. */
export function toCallBlock({ hash, number }: Block): CallBlock {
  return hash === undefined ? number : { hash }
}

/** All contracts that a unit is about. */
export function listParties({ steps, parties = [], suspects = [] }: ExitUnit): ReadonlySet<string> {
  const called = steps.flatMap(({ calls, tokens, loan }) => [
    ...calls.flatMap(({ to, patch }) => (patch === undefined ? [to] : [to, patch.from])),
    ...tokens,
    ...(loan === undefined ? [] : [loan.token]),
  ])
  return new Set([...parties, ...suspects, ...called].map(toKey))
}

function toKey(address: Address): string {
  return address.toLowerCase()
}
