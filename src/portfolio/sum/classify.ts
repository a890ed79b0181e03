import { exceedsBound } from '../../finance/price/pool/pool_price.ts'
import { type UsdPrice, usdValue } from '../../finance/price/price.ts'
import { type Decimal, formatFixed } from '../../lib/number/decimal.ts'
import { type HeldAsset, type Pricing, type Row, UNCOUNTED_REASONS, type UncountedReason, type Verdict } from './row.ts'

/** A reason and its sentence. */
type Rejection = readonly [UncountedReason, string]

/**
 * Converts assets to rows in their order, each with its verdict. A debt is counted whenever it has a price: reasons
 * against owning a token do not apply to owing it. A pool-priced token is not counted if the wallet's total holding of
 * it on the chain, over all kinds, exceeds what its pools pay for it. The total excludes amounts that a
 * position cannot pay out: a third party could give the wallet such a position of any size, at no cost.
 *
 * @figure value_usd
 * @source amount × price, a debt negative; the bound is `pool` of the prices
 * @proof test/portfolio/sum/classify_test.ts
 */
export function classifyAssets(
  assets: readonly HeldAsset[],
  { includeUnlisted }: { readonly includeUnlisted: boolean },
): Row[] {
  // Totals are needed only for prices by pools.
  const totals = assets.some(({ price }) => price.kind === 'price' && price.boundUsd !== undefined)
    ? sumPayable(assets)
    : undefined
  return assets.map((asset) => {
    const { chainId, kind, token, amount, position, frozen, slot, price } = asset
    const verdict = classifyAsset(asset, { includeUnlisted, total: totals?.get(getKey(asset)) ?? amount })
    return { chainId, kind, token, amount, position, frozen, slot, price: getPrice(price, kind), verdict }
  })
}

/** Sums the amount of each token that can be paid out. */
function sumPayable(assets: readonly HeldAsset[]): ReadonlyMap<string, bigint> {
  const totals = new Map<string, bigint>()
  for (const asset of assets) {
    if (asset.refused?.reason === 'exceeds_liquidity') continue
    totals.set(getKey(asset), (totals.get(getKey(asset)) ?? 0n) + asset.amount)
  }
  return totals
}

function getKey({ chainId, token }: HeldAsset): string {
  return `${chainId}:${token.address}`
}

/** Returns the price of an asset or of a debt, which may be larger. */
function getPrice(pricing: Pricing, kind: HeldAsset['kind']): UsdPrice | undefined {
  if (pricing.kind === 'missing') return undefined
  return kind === 'borrowed' ? (pricing.debtPrice ?? pricing.price) : pricing.price
}

function classifyAsset(
  asset: HeldAsset,
  { includeUnlisted, total }: { readonly includeUnlisted: boolean; readonly total: bigint },
): Verdict {
  const { kind, token, amount, price, refused, isUnlisted } = asset
  const { decimals } = token
  const rejections: Rejection[] = []
  if (kind !== 'borrowed') {
    if (refused !== undefined) rejections.push([refused.reason, refused.detail])
    if (isUnlisted && !includeUnlisted) rejections.push(['unlisted', 'The token is in no list that was asked'])
  }
  const value = computeValue(amount, { decimals, price: getPrice(price, kind) })
  if (value === undefined) rejections.push(toUnpricedRejection(asset))
  else if (kind !== 'borrowed' && price.kind === 'price' && price.boundUsd !== undefined) {
    const totalValue = computeValue(total, { decimals, price: price.price })
    if (totalValue !== undefined && exceedsBound(totalValue, { boundUsd: price.boundUsd })) {
      const detail = `The holding would be worth ${formatCents(totalValue)} US dollars, and its pools pay ${formatCents(price.boundUsd)}`
      rejections.push(['exceeds_liquidity', detail])
    }
  }
  const [first] = rejections.sort(([a], [b]) => UNCOUNTED_REASONS.indexOf(a) - UNCOUNTED_REASONS.indexOf(b))
  if (first !== undefined) return { counted: false, reason: first[0], detail: first[1] }
  if (value === undefined) throw new Error('Cannot count a row without a value')
  return { counted: true, value: kind === 'borrowed' ? { ...value, units: -value.units } : value }
}

/** Computes the value of an amount; undefined without a price or decimals. */
function computeValue(
  amount: bigint,
  { decimals, price }: { readonly decimals: number | undefined; readonly price: UsdPrice | undefined },
): Decimal | undefined {
  return decimals === undefined || price === undefined ? undefined : usdValue(amount, { decimals, price })
}

function toUnpricedRejection({ token, price }: HeldAsset): Rejection {
  if (price.kind === 'missing') return [price.reason, `It has no price because ${price.because}`]
  return ['unpriced', `Token ${token.address} has no usable decimals`]
}

function formatCents({ units, scale }: Decimal): string {
  return formatFixed(units, { scale, digits: 2 })
}
