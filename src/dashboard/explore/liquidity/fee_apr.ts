import type { FullPosition, PositionEvent, ProfitAndLoss } from '../../lib/shapes.ts'

/**
 * Fees of a position as a yearly rate, in floating point, which is precise enough for a rate. If the rate has no meaning,
 * the result is a reason instead.
 */

type Flow = PositionEvent

export type Rate = { apr: number } | { reason: string }

const YEAR_SEC = 365 * 86_400
const SIDES = ['token0', 'token1'] as const

/**
 * Computes when a position was opened and closed (Unix seconds), and whether it was empty in between. `flows`: the
 * complete list, oldest first.
 */
export function computeLifetime(flows: readonly Flow[], isActive: boolean) {
  const remaining = listLiquidity(flows, 0n)
  const last = flows.length - 1
  return {
    openedSec: flows[0]?.timestamp,
    closedSec: isActive ? undefined : flows[last]?.timestamp,
    wasEmpty: remaining.some(
      (liquidity, index) => liquidity === 0n && flows.slice(index + 1).some(({ type }) => type === 'increase'),
    ),
  }
}

interface TimeOpen {
  readonly pnl: ProfitAndLoss
  readonly lifetime: ReturnType<typeof computeLifetime>
  readonly untilSec: number
}

/**
 * Rewards since a position was opened, claimed or not, ÷ its time-weighted average capital × 365 days ÷ its age. Rewards
 * are pnl_with_rewards − pnl_usd_value. No rate if the position was empty in between, because its lifetime then has a gap.
 * @figure explore/reward_apr_since_opening
 * @source definition, from `pnl`
 * @proof test/unit/dashboard/explore/fee_apr_test.ts
 */
export function rewardAprSinceOpening({ pnl, lifetime: { openedSec, closedSec, wasEmpty }, untilSec }: TimeOpen): Rate {
  if (pnl.pnl_with_rewards === null) return { reason: pnl.pnl_with_rewards_missing ?? 'its rewards are not known' }
  if (openedSec === undefined) return { reason: 'its history has no deposit' }
  if (wasEmpty) return { reason: 'it was empty for a time' }
  const fees = Number(pnl.pnl_with_rewards) - Number(pnl.pnl_usd_value)
  const capital = Number(pnl.time_weighted_average_capital)
  return toYearlyRate({ fees, capital, seconds: (closedSec ?? untilSec) - openedSec })
}

/** Lists the flows among events: what a custodian did with a position moves neither of its tokens. */
export function listFlows(events: readonly Flow[]) {
  return events.filter(({ custodian }) => custodian === undefined)
}

interface DaysHeld {
  readonly before: FullPosition
  readonly now: FullPosition
  /** Oldest first. */
  readonly flows: readonly Flow[]
  readonly fromSec: number
  readonly untilSec: number
}

/**
 * Fees over the last days: fees uncollected now, less fees uncollected then, plus fees collected in between, token by
 * token, at current prices; ÷ the average capital × 365 days ÷ these days. The average capital is the average liquidity
 * of these days × the value of one unit of liquidity, the mean of then and now.
 * @figure explore/fee_apr_of_days
 * @source definition, from the position `at_time` and its flows since
 * @proof test/unit/dashboard/explore/fee_apr_test.ts
 */
export function feeAprOfDays({ before, now, flows, fromSec, untilSec }: DaysHeld): Rate {
  const since = flows.filter(({ timestamp }) => timestamp > fromSec && timestamp <= untilSec)
  const [feesThen, feesNow] = [before.uncollected_fees, now.uncollected_fees]
  if (!feesThen || !feesNow) return { reason: 'its fees are not separated from withdrawn principal' }
  const capital = computeAverageCapital({ before, now, since, fromSec, untilSec })
  if (capital === undefined) return { reason: 'a price is missing' }
  let fees = 0
  for (const side of SIDES) {
    const price = now.usd[`${side}_price`]
    if (price === null) return { reason: 'a price is missing' }
    const collected = since.reduce((sum, flow) => sum + Number(flow.fees?.[side].amount ?? 0), 0)
    fees += (Number(feesNow[side].amount) - Number(feesThen[side].amount) + collected) * Number(price)
  }
  return toYearlyRate({ fees, capital, seconds: untilSec - fromSec })
}

interface CapitalHeld {
  readonly before: FullPosition
  readonly now: FullPosition
  readonly since: readonly Flow[]
  readonly fromSec: number
  readonly untilSec: number
}

function computeAverageCapital({ before, now, since, fromSec, untilSec }: CapitalHeld) {
  const worths = [before, now].flatMap(({ position_state: { liquidity }, usd }) =>
    liquidity === '0' ? [] : [usd.amounts === null ? Number.NaN : Number(usd.amounts) / Number(liquidity)],
  )
  if (worths.some(Number.isNaN)) return undefined
  if (worths.length === 0) return 0
  const start = BigInt(before.position_state.liquidity)
  const steps = [start, ...listLiquidity(since, start)]
  const times = [fromSec, ...since.map(({ timestamp }) => timestamp), untilSec]
  const liquiditySec = steps.reduce(
    (sum, liquidity, at) => sum + Number(liquidity) * ((times[at + 1] ?? 0) - (times[at] ?? 0)),
    0,
  )
  return (liquiditySec / (untilSec - fromSec)) * (worths.reduce((sum, worth) => sum + worth, 0) / worths.length)
}

/** Liquidity after each flow. */
function listLiquidity(flows: readonly Flow[], start: bigint) {
  let remaining = start
  return flows.map(({ type, liquidity }) => {
    if (type === 'increase') remaining += BigInt(liquidity)
    if (type === 'decrease') remaining -= BigInt(liquidity)
    return remaining
  })
}

interface Earnings {
  readonly fees: number
  readonly capital: number
  readonly seconds: number
}

function toYearlyRate({ fees, capital, seconds }: Earnings): Rate {
  if (!(seconds > 0)) return { reason: 'no time has passed' }
  if (!(capital > 0)) return { reason: 'there was no capital' }
  return { apr: ((fees / capital) * YEAR_SEC) / seconds }
}
