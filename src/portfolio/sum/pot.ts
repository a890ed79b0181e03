import { minBigint } from '../../lib/number/fixed_point.ts'
import type { HeldAsset } from './row.ts'

/**
 * Limits what counts of several wallets' supplies in one market to what it can pay out to them together, in their order.
 * Each wallet alone could be paid so much, so that portfolios of one wallet do not change.
 */
export function sharePots(assets: readonly HeldAsset[]): HeldAsset[] {
  const left = new Map<string, bigint>()
  return assets.map((asset) => {
    const { pot, chainId, payable, amount } = asset
    // What is refused for another reason takes nothing of it.
    if (pot === undefined || asset.refused !== undefined) return asset
    const key = `${chainId}:${pot.key}`
    const rest = left.get(key) ?? pot.amount
    const alone = payable?.amount ?? amount
    const paid = minBigint(alone, rest)
    left.set(key, rest - paid)
    if (paid === alone) return asset
    const detail = `Its market can pay ${pot.amount} units to all of these wallets together`
    return { ...asset, payable: { amount: paid, detail, reason: pot.reason } }
  })
}
