import {
  type Address,
  concatHex,
  type Hex,
  numberToHex,
  padHex,
  size,
  slice,
  toFunctionSelector,
  toHex,
  zeroAddress,
} from 'viem'
import { chunk, forEachLimit } from '../../../lib/async/parallel.ts'
import type { Work } from '../../../lib/async/work.ts'
import type { Clock } from '../../../lib/clock.ts'
import { UpstreamError } from '../../../lib/error.ts'
import { isJsonObject } from '../../../lib/text/json.ts'
import { type Endpoint, RpcRefusedError } from '../../rpc/client.ts'
import { isBytes, parseQuantity } from '../../rpc/value.ts'
import { LENS_ADDRESS } from '../bundle/bundle.ts'
import { decodeAddress, encodeCall } from '../words.ts'
import { type ExitQuery, listParties, type UnitOutcome } from './execute.ts'
import { type ExitStep, type ExitUnit, STEP_GAS, type StepOutcome, toReason } from './step.ts'

/*
 * The same exit by `eth_simulateV1`: calls that the wallet itself makes, one after the other, with its own code where it
 * has any. Each simulation leaves out the steps that failed in the one before, because only whole calls are undone.
 */

/** Units without loans that are simulated together: each that fails takes simulations of them all. */
const PAGE_SIZE = 10
/** Pages that are simulated at a time. */
const PAGES_RUNNING = 4
/** Simulations of one page: each finds one step that fails, or what contracts answer to the wallet's questions. */
const ROUNDS_MAX = 64
/** Lenders that are asked for the money of a loan. */
const LENDERS_MAX = 8
/** Of 256 parts of the gas: with fewer left, want of gas may be why a call failed, as in `lens.sol`. */
const PARTS_LEFT = 64n
/** Topic under which is remembered that an endpoint does not simulate, or only at a later time than the block's. */
const TOPIC = 'exit simulated'
/** The error of geth and others for a time that is not later: `execution-apis`, `eth_simulateV1`. */
const TIME_REFUSED = -38_021
const LEARNED_MS = 10 * 60_000
const BALANCE_OF = toFunctionSelector('balanceOf(address)')
const TRANSFER = toFunctionSelector('transfer(address,uint256)')
/** Answers with the native balance of the address that it is called with. */
const BALANCE_CODE: Hex = '0x6000353160005260206000f3'

/** A call of a simulation. */
interface SimulatedCall {
  readonly from: Address
  readonly to: Address
  readonly data: Hex
  /** Of the native token, smallest units. */
  readonly value?: Hex
}

/** What came of such a call. */
interface CallResult {
  readonly isDone: boolean
  readonly data: Hex
  readonly gasUsed: bigint
}

type Simulate = (calls: readonly SimulatedCall[]) => Promise<readonly CallResult[]>

/**
 * Simulates units as the wallet at one block, each from the state of the block, and changes nothing. Loans that no lender
 * gives are `unfunded`. Throws `RpcRefusedError` if the endpoint does not simulate, and as `Endpoint.request`.
 */
export async function simulateUnits(endpoint: Endpoint, query: ExitQuery, work: Work): Promise<readonly UnitOutcome[]> {
  const { wallet, units, clock, untilMs } = query
  if (getLearned(endpoint, clock) === 'none') throw new RpcRefusedError(0, 'The endpoint does not simulate calls')
  const outcomes: UnitOutcome[] = units.map(() => ({ kind: 'unsupported' }))
  const placed = units.flatMap((unit, place) => (listParties(unit).has(wallet.toLowerCase()) ? [] : { unit, place }))
  const isFree = ({ unit }: (typeof placed)[number]) => unit.steps.every(({ loan }) => loan === undefined)
  const borrowing = placed.filter((each) => !isFree(each)).map((each) => [each])
  try {
    await forEachLimit(
      [...borrowing, ...chunk(placed.filter(isFree), PAGE_SIZE)],
      PAGES_RUNNING,
      async (page, shared) => {
        const simulate: Simulate = (calls) => requestSimulation(endpoint, { calls, query }, shared)
        const isLate = () => clock.monotonicMs() >= untilMs
        const results = await simulateParts(
          page.map(({ unit }) => unit),
          { query, simulate, isLate },
        )
        for (const [index, { place }] of page.entries()) outcomes[place] = results[index] ?? TOO_COSTLY
      },
      work,
    )
  } catch (error) {
    if (error instanceof RpcRefusedError && error.reason === 'kind')
      endpoint.learned.set(TOPIC, { value: 'none', untilMs: clock.monotonicMs() + LEARNED_MS })
    throw error
  }
  return outcomes
}

interface UnitContext {
  readonly query: Pick<ExitQuery, 'wallet' | 'lenders'>
  readonly simulate: Simulate
  readonly isLate: () => boolean
}

/** What is known of a unit after some simulations. */
interface Knowledge {
  /** Steps that fail. */
  readonly failed: Map<number, StepOutcome>
  /** Words that contracts answered to the questions of calls, by step and call. */
  readonly answers: Map<string, Hex>
  /** Lenders of a step that have its money, best first. */
  readonly lenders: Map<number, readonly Address[]>
}

/** Simulates a page, in halves where the endpoint refuses it for its size. */
async function simulateParts(units: readonly ExitUnit[], context: UnitContext): Promise<readonly UnitOutcome[]> {
  try {
    return await simulatePage(units, context)
  } catch (error) {
    if (!(error instanceof RpcRefusedError) || error.reason !== 'size') throw error
    if (units.length <= 1) return [TOO_COSTLY]
    const half = Math.ceil(units.length / 2)
    const first = await simulateParts(units.slice(0, half), context)
    return [...first, ...(await simulateParts(units.slice(half), context))]
  }
}

/** Simulates units one after the other, from the state of the block. */
async function simulatePage(units: readonly ExitUnit[], context: UnitContext): Promise<readonly UnitOutcome[]> {
  const parties = units.flatMap((unit) => [...listParties(unit)]) as Address[]
  const outcome = await simulateUnit({ steps: units.flatMap(({ steps }) => steps), parties }, context)
  if (outcome.kind !== 'run') return units.map(() => outcome)
  const steps = [...outcome.steps]
  return units.map((unit) => ({ ...outcome, steps: steps.splice(0, unit.steps.length) }))
}

async function simulateUnit(unit: ExitUnit, { query, simulate, isLate }: UnitContext): Promise<UnitOutcome> {
  const known: Knowledge = { failed: new Map(unit.steps.flatMap(refuseSale)), answers: new Map(), lenders: new Map() }
  for (let round = 0; round < ROUNDS_MAX; round++) {
    if (isLate()) return { kind: 'too_costly', isLate: true }
    const plan = planUnit(unit, query, known)
    const results = await simulate(plan.flatMap(({ calls }) => calls.map(({ call }) => call)))
    const outcomes = readPlan(plan, results, known)
    if (outcomes === undefined) continue
    const steps = unit.steps.map((_, index) => outcomes.get(index) ?? known.failed.get(index) ?? SKIPPED)
    return { kind: 'run', steps, made: new Set() }
  }
  return TOO_COSTLY
}

/** A pool calls back its buyer, which the wallet's own code does not answer. */
function refuseSale({ calls }: ExitStep, index: number): [number, StepOutcome][] {
  return calls.some(({ swap }) => swap !== undefined) ? [[index, { kind: 'reverted', reason: '0x' }]] : []
}

const TOO_COSTLY: UnitOutcome = { kind: 'too_costly' }
const SKIPPED: StepOutcome = { kind: 'skipped' }

/** A call of a step, and what its result tells. */
type PlannedCall = { readonly call: SimulatedCall } & (
  | { readonly is: 'balance'; readonly when: 'before' | 'lent' | 'after' }
  | { readonly is: 'question'; readonly key: string }
  | { readonly is: 'lender'; readonly lender: Address }
  | { readonly is: 'loan' }
  | { readonly is: 'act'; readonly mayFail: boolean }
)

interface PlannedStep {
  readonly index: number
  readonly step: ExitStep
  readonly calls: readonly PlannedCall[]
  /** Who lends its money. */
  readonly lender: Address | undefined
}

/** Lists the steps that are not known to fail, and are needed, with their calls. */
function planUnit({ steps, ...unit }: ExitUnit, query: UnitContext['query'], known: Knowledge): PlannedStep[] {
  const parties = listParties({ steps, ...unit })
  const planned: PlannedStep[] = []
  let hasFailed = false
  for (const [index, step] of steps.entries()) {
    if (step.isFallback && !hasFailed) continue
    hasFailed = known.failed.has(index)
    if (!hasFailed) planned.push(planStep(step, index, { query, parties, known }))
  }
  return planned
}

function planStep(
  step: ExitStep,
  index: number,
  context: { readonly query: UnitContext['query']; readonly parties: ReadonlySet<string>; readonly known: Knowledge },
): PlannedStep {
  const { query, parties, known } = context
  const { wallet } = query
  const { loan } = step
  const ask = (to: Address, data: Hex) => ({ from: wallet, to, data })
  const balances = (when: 'before' | 'after') =>
    step.tokens.map((token): PlannedCall => ({ is: 'balance', when, call: toBalanceCall(token, wallet) }))
  const willing =
    loan?.lenders ??
    query.lenders.filter((each) => !parties.has(each.toLowerCase()) && each !== wallet).slice(0, LENDERS_MAX)
  const lenders = known.lenders.get(index)
  const lender = lenders?.[0]
  const borrow = (): PlannedCall[] => {
    if (loan === undefined) return []
    const { token, amount } = loan
    if (lenders === undefined)
      return willing.map((each) => ({ is: 'lender', lender: each, call: toBalanceCall(token, each) }))
    if (lender === undefined) return []
    return [
      { is: 'loan', call: { from: lender, to: token, data: encodeCall(TRANSFER, wallet, amount) } },
      { is: 'balance', when: 'lent', call: toBalanceCall(token, wallet) },
    ]
  }
  const act = step.calls.flatMap(({ to, data, patch, getter, value, mayFail = false }, at): PlannedCall[] => {
    const [patchKey, getterKey] = [`${index} ${at} patch`, `${index} ${at} getter`]
    const target = known.answers.get(getterKey)
    const word = known.answers.get(patchKey)
    return [
      ...(patch ? [{ is: 'question', key: patchKey, call: ask(patch.from, patch.question) } as const] : []),
      ...(getter ? [{ is: 'question', key: getterKey, call: ask(to, getter) } as const] : []),
      {
        is: 'act',
        mayFail,
        call: {
          from: wallet,
          to: getter && target ? decodeAddress(target, 0) : to,
          data: patch && word ? lowerWord(data, patch.at, word) : data,
          ...(value && { value: numberToHex(value) }),
        },
      },
    ]
  })
  return { index, step, lender, calls: [...balances('before'), ...borrow(), ...act, ...balances('after')] }
}

function toBalanceCall(token: Address, owner: Address): SimulatedCall {
  if (token === zeroAddress) return { from: owner, to: LENS_ADDRESS, data: padHex(owner, { size: 32 }) }
  return { from: owner, to: token, data: encodeCall(BALANCE_OF, owner) }
}

/** Lowers the word at a byte of the data to another one, if that is less. */
function lowerWord(data: Hex, at: number, word: Hex): Hex {
  if (BigInt(word) >= BigInt(slice(data, at, at + 32))) return data
  const rest = at + 32 < size(data) ? slice(data, at + 32) : '0x'
  return concatHex([slice(data, 0, at), word, rest])
}

/**
 * Reads the results of planned steps. Undefined if something was learned that another simulation must know. All results
 * after that rest on what is not so: of those, answers and lenders are tried in the next simulation, which asks again, but
 * no failure is believed.
 */
function readPlan(
  plan: readonly PlannedStep[],
  results: readonly CallResult[],
  known: Knowledge,
): ReadonlyMap<number, StepOutcome> | undefined {
  const outcomes = new Map<number, StepOutcome>()
  let isSure = true
  let at = 0
  for (const planned of plan) {
    const own = planned.calls.map((each, index) => ({ ...each, result: results[at + index] ?? NO_RESULT }))
    at += own.length
    isSure = !learn(planned, own, { known, isSure }) && isSure
    const { index, lender } = planned
    const balances = (when: string) => own.filter((each) => each.is === 'balance' && each.when === when)
    const [before, after] = [balances('before'), balances('after')]
    const isKnown = [...before, ...after].every(({ result }) => result.isDone && size(result.data) >= 32)
    const deltas = before.map(({ result }, place) => toWord(after[place]?.result) - toWord(result))
    const amount = getLentAmount(planned, own)
    const lent = lender === undefined || amount === undefined ? undefined : { lender, amount }
    outcomes.set(index, isKnown ? { kind: 'done', deltas, lent } : { kind: 'unreadable' })
  }
  return isSure ? outcomes : undefined
}

/**
 * Learns what of a step was not known: answers to its questions, who lends to it, or, if all before it is sure, that it
 * fails. True if that was something.
 */
function learn(
  { index, step, lender }: PlannedStep,
  own: readonly (PlannedCall & { readonly result: CallResult })[],
  { known, ...before }: { readonly known: Knowledge; readonly isSure: boolean },
): boolean {
  const { loan } = step
  let { isSure } = before
  let hasLearned = false
  if (loan !== undefined && !known.lenders.has(index)) {
    const rich = own.flatMap((each) => {
      return each.is === 'lender' && each.result.isDone && toWord(each.result) >= loan.amount ? [each.lender] : []
    })
    if (isSure || rich.length > 0) known.lenders.set(index, rich)
    if (isSure && rich.length === 0) known.failed.set(index, { kind: 'unfunded', reason: '0x' })
    hasLearned = true
    isSure = false
  }
  for (const each of own) {
    const { is, result } = each
    if (is === 'question' && result.isDone && size(result.data) >= 32) {
      const answer = slice(result.data, 0, 32)
      if (known.answers.get(each.key) === answer) continue
      known.answers.set(each.key, answer)
      hasLearned = true
      isSure = false
    }
    if (!isSure) continue
    if (is === 'loan' && loan !== undefined && (getLentAmount({ step }, own) ?? 0n) < loan.amount) {
      const others = (known.lenders.get(index) ?? []).filter((other) => other !== lender)
      known.lenders.set(index, others)
      if (others.length === 0) known.failed.set(index, { kind: 'unfunded', reason: toReason(result.data) })
      return true
    }
    const isAsked = is === 'question'
    if (is === 'balance' || (result.isDone && !isAsked) || (is === 'act' && each.mayFail)) continue
    const isCostly = !isAsked && result.gasUsed > BigInt(STEP_GAS) - (BigInt(STEP_GAS) * PARTS_LEFT) / 256n
    known.failed.set(index, isCostly ? { kind: 'too_costly' } : { kind: 'reverted', reason: toReason(result.data) })
    return true
  }
  return hasLearned
}

/** What arrived of a loan, smallest units; undefined if nothing was lent. */
function getLentAmount(
  { step: { loan, tokens } }: Pick<PlannedStep, 'step'>,
  own: readonly (PlannedCall & { readonly result: CallResult })[],
): bigint | undefined {
  const isLent = own.some(({ is, result }) => is === 'loan' && result.isDone)
  if (loan === undefined || !isLent) return undefined
  const balances = own.filter(({ is }) => is === 'balance')
  const lent = balances.find((each) => each.is === 'balance' && each.when === 'lent')
  return toWord(lent?.result) - toWord(balances[tokens.indexOf(loan.token)]?.result)
}

const NO_RESULT: CallResult = { isDone: false, data: '0x', gasUsed: 0n }

function toWord(result: CallResult | undefined): bigint {
  const word = result?.data.slice(2, 66) ?? ''
  return word === '' ? 0n : BigInt(`0x${word}`)
}

function getLearned(endpoint: Endpoint, clock: Clock): string | undefined {
  const learned = endpoint.learned.get(TOPIC)
  return learned !== undefined && learned.untilMs > clock.monotonicMs() ? learned.value : undefined
}

interface SimulationRequest {
  readonly calls: readonly SimulatedCall[]
  readonly query: ExitQuery
}

/**
 * Simulates calls in one block, at the time of the block whose state they begin with, or a second later where the endpoint
 * insists.
 */
async function requestSimulation(
  endpoint: Endpoint,
  request: SimulationRequest,
  work: Work,
): Promise<readonly CallResult[]> {
  const { clock } = request.query
  const isLater = getLearned(endpoint, clock) === 'later'
  try {
    return await requestAt(endpoint, { ...request, laterSec: isLater ? 1n : 0n }, work)
  } catch (error) {
    if (!(error instanceof RpcRefusedError) || error.code !== TIME_REFUSED || isLater) throw error
    endpoint.learned.set(TOPIC, { value: 'later', untilMs: clock.monotonicMs() + LEARNED_MS })
    return await requestAt(endpoint, { ...request, laterSec: 1n }, work)
  }
}

async function requestAt(
  endpoint: Endpoint,
  { calls, query: { block }, laterSec }: SimulationRequest & { readonly laterSec: bigint },
  work: Work,
): Promise<readonly CallResult[]> {
  if (calls.length === 0) return []
  const { hash, number, timestampSec } = block
  const simulated = {
    blockOverrides: { time: numberToHex(timestampSec + laterSec) },
    stateOverrides: { [LENS_ADDRESS]: { code: BALANCE_CODE } },
    calls: calls.map((call) => ({ ...call, gas: toHex(STEP_GAS) })),
  }
  const params = [
    { blockStateCalls: [simulated], validation: false },
    hash === undefined ? numberToHex(number) : { blockHash: hash },
  ]
  const parse = (result: unknown): readonly CallResult[] => {
    const [first]: unknown[] = Array.isArray(result) ? result : []
    const list = isJsonObject(first) ? first['calls'] : undefined
    if (!Array.isArray(list) || list.length !== calls.length) throw new TypeError('Expected the results of all calls')
    return list.map(parseResult)
  }
  const mapRefusal = ({ code }: { readonly code: number }) =>
    code === TIME_REFUSED ? new RpcRefusedError(code, 'The endpoint simulates later times alone') : undefined
  return await endpoint.request({ method: 'eth_simulateV1', params, parse, mapRefusal }, work)
}

/** Parses the result of a call; a revert's reason is the data of its error, or what it returned. */
function parseResult(result: unknown): CallResult {
  if (!isJsonObject(result)) throw new TypeError('Expected the result of a call')
  const { status, returnData, gasUsed, error } = result
  const reason = isJsonObject(error) && isBytes(error['data']) ? error['data'] : returnData
  const isDone = status === '0x1'
  const data = isDone ? returnData : reason
  if (!isBytes(data)) throw new UpstreamError('Expected what a call returned')
  return { isDone, data, gasUsed: BigInt(parseQuantity(gasUsed)) }
}
