import { divideSignificant } from '../../../finance/math/liquidity.ts'
import { getConfidence, type UsdPrice } from '../../../finance/price/price.ts'
import { pow10 } from '../../../lib/number/fixed_point.ts'
import type { Holding } from '../../holding.ts'
import type { AccountToken } from '../math/account.ts'
import { computeClaimable, computeWithdrawableBase, computeWithdrawableCollateral } from '../math/withdrawal.ts'
import type { Position } from '../read/position.ts'

/** Parts of a position: the token that is lent and borrowed, what secures it, and what is paid beside interest. */
export const PARTS = { base: 'base', collateral: 'collateral', rewards: 'rewards' } as const

/** A position in a market as rows of a portfolio. */
export function toHoldings(position: Position): Holding[] {
  const { market, base, supplied, owed, collaterals, reward } = position
  const toRow = (
    token: AccountToken,
    amount: bigint,
    { part, ...limits }: Pick<Holding, 'withdrawable' | 'payable'> & { readonly part: keyof typeof PARTS },
  ): Holding => ({
    kind: 'supplied',
    token,
    amount,
    price: token.price,
    position: { family: 'compound-v3', market_id: market, part },
    ...limits,
  })
  const marketPrice = owed === 0n ? undefined : computeMarketPrice(position)
  return [
    ...(supplied === 0n
      ? []
      : [toRow(base, supplied, { part: 'base', withdrawable: computeWithdrawableBase(position) })]),
    ...collaterals.map((each) => {
      const withdrawable = computeWithdrawableCollateral(position, each)
      return toRow(each.token, each.amount, { part: 'collateral', withdrawable })
    }),
    ...(typeof reward === 'object' ? [toRow(reward.token, reward.amount, limitReward(reward))] : []),
    ...(owed === 0n
      ? []
      : [
          {
            ...toRow(base, owed, { part: 'base', withdrawable: undefined }),
            kind: 'borrowed' as const,
            ...(marketPrice && { marketPrice }),
          },
        ]),
  ]
}

/** A claim that the contract cannot pay in full pays nothing. */
function limitReward(reward: Exclude<Position['reward'], undefined | string>) {
  const withdrawable = computeClaimable(reward)
  const payable = withdrawable && { amount: withdrawable.amount ?? 0n, detail: UNFUNDED }
  return { part: PARTS.rewards, withdrawable, payable }
}

const UNFUNDED = 'The contract that pays rewards has less of the token than is owed'

/**
 * Computes the price of the base token by the market's own feeds: the price of a collateral by an oracle × the ratio of both
 * by the market, with 18 significant digits, in whichever unit these feeds answer. Undefined if no oracle prices one.
 *
 * @figure price_usd
 * @source Comet.sol `getPrice`
 * @proof test/unit/family/compound_v3/math_test.ts
 */
export function computeMarketPrice({
  price,
  collaterals,
}: Pick<Position, 'price' | 'collaterals'>): UsdPrice | undefined {
  for (const { token, price: ownPrice = 0n } of collaterals) {
    if (price === undefined || ownPrice === 0n || token.price.kind === 'missing') continue
    const { price: usd } = token.price
    if (!['oracle', 'derived'].includes(getConfidence(usd))) continue
    const quotient = divideSignificant(usd.units * price, ownPrice * pow10(usd.scale))
    return { ...quotient, source: 'market_oracle' }
  }
  return undefined
}
