import type { FullPosition, PositionList } from '../lib/shapes.ts'
import type { RequestedPart } from './requests/answers.ts'

/** Families whose requests name the health factor that safe amounts keep. */
const TARGETED = ['aave', 'morpho', 'kamino', 'lending', 'obligation']

/** Price of the answers that another target health factor asks for again. */
export function sumTargetCredits(parts: readonly RequestedPart[]) {
  return sumCredits(parts.filter(({ family }) => TARGETED.includes(family)))
}

/** Sums the charges of the answers that came. */
export function sumCredits(parts: readonly RequestedPart[]) {
  return parts.reduce((sum, { answer }) => sum + ((answer?.ok && answer.credits) || 0), 0)
}

/** Collects the figures of the liquidity that has loaded. */
export function collectFigures(parts: readonly RequestedPart[]) {
  const lists = parts.flatMap(({ family, answer }) =>
    family === 'liquidity' && answer?.ok ? [answer.body as PositionList] : [],
  )
  const positions = lists.flatMap(({ data }) => data) as FullPosition[]
  const priced = positions.filter(({ usd }) => usd.total !== null)
  const firstPages = lists.flatMap(({ pagination }) => (pagination.page === 1 ? [pagination.total] : []))
  return {
    notLoaded: firstPages.reduce((sum, total) => sum + total, 0) - positions.length,
    fees: positions.flatMap(({ usd, withdrawable_error: error }) => (error ? [] : (usd.uncollected_fees ?? []))),
    withdrawn: priced.flatMap(({ usd }) => usd.withdrawn_principal ?? []),
    // Without its history the fees within a position's uncollected sum are unknown.
    mixed: priced.flatMap(({ usd, uncollected_fees: fees }) =>
      fees === null ? [usd.total ?? '0', `-${usd.amounts}`] : [],
    ),
  }
}
