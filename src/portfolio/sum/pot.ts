import type { Source } from '../../family/holding.ts'
import { minBigint } from '../../lib/number/fixed_point.ts'
import type { HeldAsset } from './row.ts'

/**
 * Limits what counts of supplies that are paid from the same tokens to what these can pay to all of them, as if each were
 * withdrawn after the one before it: several wallets in one market, and vaults that lend to the same market.
 */
export function sharePots(assets: readonly HeldAsset[]): readonly HeldAsset[] {
  const left = new Map<string, bigint>()
  return assets.map((asset) => {
    const { sources, chainId, payable, amount } = asset
    // What is refused for another reason takes nothing of them.
    if (sources === undefined || asset.refused !== undefined) return asset
    const alone = payable?.amount ?? amount
    const paid = sources.reduce((sum, source) => sum + take(source, { chainId, wanted: alone - sum, left }), 0n)
    if (paid === alone) return asset
    const detail = `Other positions count on the same tokens, of which ${paid} units are left for this one`
    const reason = sources[0]?.[0]?.reason ?? 'exceeds_liquidity'
    return { ...asset, payable: { amount: paid, detail, reason } }
  })
}

/** Takes what a source still has, at most what is wanted, out of each of its pots. */
function take(
  source: Source,
  { chainId, wanted, left }: { readonly chainId: number; readonly wanted: bigint; readonly left: Map<string, bigint> },
): bigint {
  const pots = source.map(({ key, amount }) => {
    const name = `${chainId}:${key}`
    return { name, rest: left.get(name) ?? amount }
  })
  const taken = pots.reduce((least, { rest }) => minBigint(least, rest), wanted)
  for (const { name, rest } of pots) left.set(name, rest - taken)
  return taken
}
