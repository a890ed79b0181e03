import { exceedsLiquidity } from '../../finance/price/pool/pool_price.ts'
import { type UsdPrice, usdValue } from '../../finance/price/price.ts'
import { type Decimal, formatFixed } from '../../lib/number/decimal.ts'
import { type HeldAsset, type Pricing, type Row, UNCOUNTED_REASONS, type UncountedReason, type Verdict } from './row.ts'

/** A reason and its sentence. */
type Rejection = readonly [UncountedReason, string]

/**
 * The rows of assets in their order, each with its verdict. A debt is counted whenever it has a price: what speaks
 * against owning a token says nothing for owing it. What a pool prices is refused if all that the wallet has of the token
 * on the chain, as whatever kind, would be worth more than the tokens that the pool pays with. What a position cannot
 * pay out is left out of that: strangers could give the wallet such a position of any size, at no cost.
 *
 * @figure value_usd
 * @source amount × price, a debt negative; the bound is `pool` of the prices
 * @proof test/portfolio/sum/classify_test.ts
 */
export function classifyAssets(
  assets: readonly HeldAsset[],
  { includeUnlisted }: { readonly includeUnlisted: boolean },
): Row[] {
  // Without a price by a pool nothing is bounded.
  const totals = assets.some(({ price }) => price.kind === 'price' && price.liquidityUsd !== undefined)
    ? totalsOf(assets)
    : undefined
  return assets.map((asset) => {
    const { chainId, kind, token, amount, position, frozen, slot, price } = asset
    const verdict = verdictOn(asset, { includeUnlisted, total: totals?.get(keyOf(asset)) ?? amount })
    return { chainId, kind, token, amount, position, frozen, slot, price: priceIn(price), verdict }
  })
}

/** How much of each token there is, as far as it can be paid out. */
function totalsOf(assets: readonly HeldAsset[]): ReadonlyMap<string, bigint> {
  const totals = new Map<string, bigint>()
  for (const asset of assets) {
    if (asset.refused?.reason === 'exceeds_liquidity') continue
    totals.set(keyOf(asset), (totals.get(keyOf(asset)) ?? 0n) + asset.amount)
  }
  return totals
}

function keyOf({ chainId, token }: HeldAsset): string {
  return `${chainId}:${token.address}`
}

function priceIn(pricing: Pricing): UsdPrice | undefined {
  return pricing.kind === 'price' ? pricing.price : undefined
}

function verdictOn(
  asset: HeldAsset,
  { includeUnlisted, total }: { readonly includeUnlisted: boolean; readonly total: bigint },
): Verdict {
  const { kind, token, amount, price, refused, isUnlisted } = asset
  const { decimals } = token
  const objections: Rejection[] = []
  if (kind !== 'borrowed') {
    if (refused !== undefined) objections.push([refused.reason, refused.detail])
    if (isUnlisted && !includeUnlisted) objections.push(['unlisted', 'The token is in no list that was asked'])
  }
  const value = worthOf(amount, { decimals, price })
  if (value === undefined) objections.push(unpriced(asset))
  else if (kind !== 'borrowed' && price.kind === 'price' && price.liquidityUsd !== undefined) {
    const worth = worthOf(total, { decimals, price })
    if (worth !== undefined && exceedsLiquidity(worth, { liquidityUsd: price.liquidityUsd })) {
      const detail = `The holding would be worth ${cents(worth)} US dollars, and the pool holds ${cents(price.liquidityUsd)}`
      objections.push(['exceeds_liquidity', detail])
    }
  }
  const [first] = objections.sort(([a], [b]) => UNCOUNTED_REASONS.indexOf(a) - UNCOUNTED_REASONS.indexOf(b))
  if (first !== undefined) return { counted: false, reason: first[0], detail: first[1] }
  if (value === undefined) throw new Error('Cannot count a row without a value')
  return { counted: true, value: kind === 'borrowed' ? { ...value, units: -value.units } : value }
}

/** Undefined without a price or decimals. */
function worthOf(
  amount: bigint,
  { decimals, price }: { readonly decimals: number | undefined; readonly price: Pricing },
): Decimal | undefined {
  if (decimals === undefined || price.kind === 'missing') return undefined
  return usdValue(amount, { decimals, price: price.price })
}

function unpriced({ token, price }: HeldAsset): Rejection {
  if (price.kind === 'missing') return [price.reason, `It has no price because ${price.because}`]
  return ['unpriced', `Token ${token.address} has no usable decimals`]
}

function cents({ units, scale }: Decimal): string {
  return formatFixed(units, { scale, digits: 2 })
}
