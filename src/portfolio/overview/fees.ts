import type { FeeMeter } from '../../family/outlook.ts'
import { usdValue } from '../../finance/price/price.ts'
import type { Decimal } from '../../lib/number/decimal.ts'
import { mulDivDown, Q128, wrap256 } from '../../lib/number/fixed_point.ts'
import { addRational, type Rational, rational, ZERO } from '../../lib/number/rational.ts'

const DAY_SEC = 86_400n

/**
 * Fees of a day that a position's liquidity of now would have earned at the pace since an earlier block, US dollars at
 * today's prices; or why they cannot be told, without a full stop. `getPrice` tells the price of a token by its address.
 *
 * @figure per_day_usd
 * @source v3-core `Position.update`: growth inside the range × liquidity ÷ 2^128; ÷ the time between both blocks
 * @proof test/contract/portfolio/overview_test.ts
 */
export function computeDailyFees(
  now: FeeMeter,
  before: FeeMeter | undefined,
  getPrice: (token: string) => Decimal | undefined,
): Rational | string {
  const elapsed = before === undefined ? 0n : now.timestampSec - before.timestampSec
  if (before === undefined || elapsed <= 0n) return 'It had no liquidity a day ago'
  let sum: Rational = ZERO
  const [token0, token1] = now.tokens
  const earned = [
    [token0, wrap256(now.growth0 - before.growth0)],
    [token1, wrap256(now.growth1 - before.growth1)],
  ] as const
  for (const [token, growth] of earned) {
    const amount = mulDivDown(growth, now.liquidity, Q128)
    if (amount === 0n) continue
    const price = getPrice(token.address) ?? token.price
    if (price === undefined) return `${token.symbol} has no price`
    const { units, scale } = usdValue(amount, { decimals: token.decimals, price })
    sum = addRational(sum, rational(units * DAY_SEC, 10n ** BigInt(scale) * elapsed))
  }
  return sum
}
