import { formatPercentage, formatUsdE6 } from '../../finance/figure.ts'
import { sumE6, usdValue } from '../../finance/price/price.ts'
import { presentAmount, presentToken } from '../present.ts'
import type { Row } from '../sum/row.ts'
import type { Sale } from './sell.ts'

/** Presents what selling brings. `rows`: those of the wallet, which describe its tokens. */
export function presentSale({ into, decimals, price, brings, sold, owed }: Sale, rows: readonly Row[]) {
  const usd = decimals === undefined || price === undefined ? undefined : usdValue(brings, { decimals, price })
  return {
    into,
    brings: { ...presentAmount(brings, decimals), usd: usd === undefined ? null : formatUsdE6(sumE6([usd])) },
    sold: sold.map(({ token, amount, brings: own, pools, impact, blockage }) => ({
      token: presentToken(token),
      amount: presentAmount(amount, token.decimals),
      brings: own === undefined ? null : presentAmount(own, decimals),
      pools: [...pools],
      price_impact_percentage: impact === undefined ? null : formatPercentage(impact),
      blocked_by: blockage?.reason ?? null,
      detail: blockage?.detail ?? null,
    })),
    owed: owed.flatMap(({ token: address, amount }) => {
      const token = rows.find((row) => row.token.address === address)?.token
      return token === undefined ? [] : [{ token: presentToken(token), amount: presentAmount(amount, token.decimals) }]
    }),
  }
}
