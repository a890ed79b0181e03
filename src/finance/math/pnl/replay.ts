import type { Steps } from '../../../lib/async/cooperative.ts'
import {
  addRational,
  multiplyRational,
  ONE,
  type Rational,
  rational,
  subtractRational,
  ZERO,
} from '../../../lib/number/rational.ts'
import {
  addAmounts,
  type Collect,
  type Decrease,
  type Flow,
  type Increase,
  isZero,
  type Pair,
  type Prices,
  splitCollect,
  subtractAmounts,
} from './flow.ts'

/**
 * Exact sums of a position's flows. The twin holds the tokens of the same deposits instead of pooling them and sells
 * the same share of them whenever liquidity leaves. Money is in US dollars, `cost` is the worth of deposits at their
 * own time, tokens are raw units.
 */
export interface PnlLedger {
  readonly timeSec: bigint
  readonly liquidity: bigint
  /** Cost of the tokens in the pool; `pendingCost` is that of withdrawn and uncollected tokens. */
  readonly cost: Rational
  readonly pendingCost: Rational
  readonly twin: Pair<Rational>
  readonly pendingTwin: Pair<Rational>
  /** Withdrawn and uncollected tokens. */
  readonly pending: Pair<bigint>
  /** All tokens ever deposited. */
  readonly deposits: Pair<bigint>
  /** Worth of all deposits (`deposited`), collected principal and collected fees, each at its own time. */
  readonly deposited: Rational
  readonly withdrawn: Rational
  readonly feesCollected: Rational
  /** Cost of collected principal; `twinSold` is what the twin received at those collects. */
  readonly released: Rational
  readonly twinSold: Rational
  /** Cost × seconds; `activeSec` counts the seconds with a cost above zero. */
  readonly costSeconds: Rational
  readonly activeSec: bigint
}

const NOTHING: Pair<Rational> = [ZERO, ZERO]
const EMPTY: PnlLedger = {
  timeSec: 0n,
  liquidity: 0n,
  cost: ZERO,
  pendingCost: ZERO,
  twin: NOTHING,
  pendingTwin: NOTHING,
  pending: [0n, 0n],
  deposits: [0n, 0n],
  deposited: ZERO,
  withdrawn: ZERO,
  feesCollected: ZERO,
  released: ZERO,
  twinSold: ZERO,
  costSeconds: ZERO,
  activeSec: 0n,
}

/** Denominators up to this are exact; hundreds of withdrawals between deposits would make them too long. */
const DENOMINATOR_MAX = 1n << 4_096n
/** Flows of one step: each takes a tenth of a millisecond once denominators are long. */
const STEP_FLOWS = 16
/** Denominator that longer ones are rounded to: the error is less than 10^-600. */
const DENOMINATOR_ROUNDED = 1n << 2_048n

/**
 * Replays flows in the order of the chain, in steps; `before` is the ledger of all earlier flows. Throws `RangeError`
 * if the flows cannot be the whole history of a position: a time goes back, or more liquidity is withdrawn than there
 * is.
 */
export function* replayInSteps(flows: Iterable<Flow>, before?: PnlLedger): Steps<PnlLedger> {
  let ledger = before
  let replayed = 0
  for (const flow of flows) {
    ledger = apply(ledger ?? { ...EMPTY, timeSec: flow.timeSec }, flow)
    if (++replayed % STEP_FLOWS === 0) yield
  }
  return ledger ?? EMPTY
}

/** Advances the ledger to a time without flows. Throws `RangeError` for an earlier time. */
export function advanceTo(ledger: PnlLedger, timeSec: bigint): PnlLedger {
  if (timeSec < ledger.timeSec) throw new RangeError(`Cannot replay flows: time goes back to ${timeSec}`)
  const cost = addRational(ledger.cost, ledger.pendingCost)
  if (cost.numerator <= 0n || timeSec === ledger.timeSec) return { ...ledger, timeSec }
  const seconds = timeSec - ledger.timeSec
  return {
    ...ledger,
    timeSec,
    costSeconds: limitDenominator(addRational(ledger.costSeconds, multiplyRational(cost, rational(seconds, 1n)))),
    activeSec: ledger.activeSec + seconds,
  }
}

/**
 * Worth of raw amounts in US dollars, exact.
 *
 * @figure usd_value
 * @source definition
 * @proof test/contract/family/uniswap_v3/pnl/lives_test.ts
 */
export function worth(amounts: Pair<bigint>, prices: Prices): Rational {
  return worthOfFractions([rational(amounts[0], 1n), rational(amounts[1], 1n)], prices)
}

/** Worth of fractions of raw units in US dollars, exact. */
export function worthOfFractions(amounts: Pair<Rational>, prices: Prices): Rational {
  return addRational(multiplyRational(amounts[0], prices[0]), multiplyRational(amounts[1], prices[1]))
}

/** Releases a share of the pending cost, and sells the same share of the twin's pending tokens. */
export function releasePending(ledger: PnlLedger, share: Rational, prices: Prices): PnlLedger {
  const { pendingCost, pendingTwin, released, twinSold } = ledger
  const cost = multiplyRational(pendingCost, share)
  const sold = scale(pendingTwin, share)
  const isAll = share.numerator === share.denominator
  return {
    ...ledger,
    pendingCost: isAll ? ZERO : limitDenominator(subtractRational(pendingCost, cost)),
    pendingTwin: isAll ? NOTHING : subtractBoth(pendingTwin, sold),
    released: limitDenominator(addRational(released, cost)),
    twinSold: limitDenominator(addRational(twinSold, worthOfFractions(sold, prices))),
  }
}

function apply(ledger: PnlLedger, flow: Flow): PnlLedger {
  const now = advanceTo(ledger, flow.timeSec)
  switch (flow.kind) {
    case 'increase':
      return applyIncrease(now, flow)
    case 'decrease':
      return applyDecrease(now, flow)
    case 'collect':
      return applyCollect(now, flow)
  }
}

function applyIncrease(ledger: PnlLedger, { liquidity, amounts, prices }: Increase): PnlLedger {
  const value = worth(amounts, prices)
  const [amount0, amount1] = amounts
  return {
    ...ledger,
    liquidity: ledger.liquidity + liquidity,
    cost: limitDenominator(addRational(ledger.cost, value)),
    deposited: addRational(ledger.deposited, value),
    twin: addBoth(ledger.twin, [rational(amount0, 1n), rational(amount1, 1n)]),
    deposits: addAmounts(ledger.deposits, amounts),
  }
}

function applyDecrease(ledger: PnlLedger, { liquidity, amounts }: Decrease): PnlLedger {
  const { liquidity: before, cost, twin } = ledger
  if (liquidity > before) throw new RangeError(`Cannot replay flows: ${liquidity} of ${before} liquidity is withdrawn`)
  if (liquidity === 0n) return { ...ledger, pending: addAmounts(ledger.pending, amounts) }
  const left = before - liquidity
  const [costLeft, twinLeft] = [shareLeft(cost, left, before), bothLeft(twin, left, before)]
  return {
    ...ledger,
    liquidity: left,
    cost: costLeft,
    twin: twinLeft,
    pendingCost: limitDenominator(addRational(ledger.pendingCost, subtractRational(cost, costLeft))),
    pendingTwin: addBoth(ledger.pendingTwin, subtractBoth(twin, twinLeft)),
    pending: addAmounts(ledger.pending, amounts),
  }
}

function applyCollect(ledger: PnlLedger, { amounts, prices }: Collect): PnlLedger {
  const { principal, fees } = splitCollect(amounts, ledger.pending)
  const pending = subtractAmounts(ledger.pending, principal)
  const share = isZero(pending) ? ONE : computeShare(worth(principal, prices), worth(ledger.pending, prices))
  return {
    ...releasePending(ledger, share, prices),
    pending,
    withdrawn: addRational(ledger.withdrawn, worth(principal, prices)),
    feesCollected: addRational(ledger.feesCollected, worth(fees, prices)),
  }
}

/** part / whole; `whole` is above zero. */
function computeShare(part: Rational, whole: Rational): Rational {
  return rational(part.numerator * whole.denominator, part.denominator * whole.numerator)
}

/** value · left / before. The factor of an earlier withdrawal cancels out. */
function shareLeft({ numerator, denominator }: Rational, left: bigint, before: bigint): Rational {
  if (left === 0n || numerator === 0n) return ZERO
  if (numerator % before === 0n) return rational((numerator / before) * left, denominator)
  return limitDenominator(rational(numerator * left, denominator * before))
}

function bothLeft([value0, value1]: Pair<Rational>, left: bigint, before: bigint): Pair<Rational> {
  return [shareLeft(value0, left, before), shareLeft(value1, left, before)]
}

function scale([value0, value1]: Pair<Rational>, factor: Rational): Pair<Rational> {
  return [multiplyRational(value0, factor), multiplyRational(value1, factor)]
}

function addBoth(a: Pair<Rational>, b: Pair<Rational>): Pair<Rational> {
  return [limitDenominator(addRational(a[0], b[0])), limitDenominator(addRational(a[1], b[1]))]
}

function subtractBoth(a: Pair<Rational>, b: Pair<Rational>): Pair<Rational> {
  return [limitDenominator(subtractRational(a[0], b[0])), limitDenominator(subtractRational(a[1], b[1]))]
}

/** Rounds a value whose denominator is too long. */
function limitDenominator(value: Rational): Rational {
  if (value.denominator <= DENOMINATOR_MAX) return value
  return rational((value.numerator * DENOMINATOR_ROUNDED) / value.denominator, DENOMINATOR_ROUNDED)
}
