import { createBoundShare, type SharedAmount } from '../../finance/price/bound.ts'
import { exactSum, type UsdPrice, usdValue } from '../../finance/price/price.ts'
import { groupBy } from '../../lib/group_by.ts'
import { type Decimal, formatFixed } from '../../lib/number/decimal.ts'
import { sharePots } from './pot.ts'
import {
  type HeldAsset,
  type Priced,
  type Row,
  type RowWithdrawal,
  UNCOUNTED_REASONS,
  type UncountedReason,
} from './row.ts'

/** A reason and its sentence. */
type Rejection = readonly [UncountedReason, string]

/** Which tokens are counted. */
interface ClassifyOptions {
  readonly includeUnlisted: boolean
}

/**
 * Converts assets to rows in their order, each with its verdict. A debt is counted whenever it has a price: reasons
 * against owning a token do not apply to owing it, and no bound does. Assets count as far as they can be paid out, those
 * that are paid from the same tokens together, and those that a pool prices all together, over kinds and wallets, at most
 * what is owed in the same token plus the bound of its price. Refused amounts take no part: a third party could give the
 * wallet such a position of any size, at no cost.
 *
 * @figure value_usd
 * @source amount × price, a debt negative; bounded as `createBoundShare` says
 * @proof test/unit/portfolio/sum/classify_test.ts
 */
export function classifyAssets(held: readonly HeldAsset[], options: ClassifyOptions): Row[] {
  const assets = sharePots(held)
  const shares = createShares(assets, options)
  return assets.map((asset) => {
    const { chainId, kind, token, amount, position, term, isCollateral, frozenAmount, slot, price } = asset
    const count = countAsset(asset, { ...options, share: shares.get(toKey(asset)) })
    return {
      chainId,
      kind,
      token,
      amount,
      position,
      term,
      isCollateral,
      frozenAmount,
      slot,
      price: getPrice(asset),
      marks: price.marks ?? [],
      withdrawal: toWithdrawal(asset),
      ...count,
    }
  })
}

/**
 * Computes what a withdrawal of a row alone pays: all of it, or what its family says. Prices do not limit it, so that it may
 * be more than what counts.
 *
 * @figure usd
 * @source the families' `Withdrawable`
 * @proof test/contract/portfolio/withdrawable_test.ts
 */
function toWithdrawal(asset: HeldAsset): RowWithdrawal | undefined {
  const { kind, amount, withdrawable, refused } = asset
  if (kind === 'wallet' || kind === 'borrowed' || refused?.reason === 'dust') return undefined
  const raw = withdrawable === undefined ? amount : withdrawable.amount
  return { raw, value: raw === undefined ? undefined : computeValue(asset, raw), limitedBy: withdrawable?.limitedBy }
}

/** Parts of a token's amounts that count, and the sentence that says why not all. */
interface TokenShare {
  readonly count: (amount: bigint) => SharedAmount
  readonly detail: string
}

/** Creates the shares of the tokens whose price has a bound. */
function createShares(assets: readonly HeldAsset[], options: ClassifyOptions): ReadonlyMap<string, TokenShare> {
  const shares = new Map<string, TokenShare>()
  // Sums are needed only for prices with a bound.
  if (!assets.some(isBounded)) return shares
  for (const [key, tokenAssets] of groupBy(assets, toKey)) {
    const [first] = tokenAssets.filter(isBounded)
    const decimals = first?.token.decimals
    if (first === undefined || decimals === undefined) continue
    const { price, debtPrice = price, boundUsd } = first.price
    const counting = tokenAssets.filter((each) => each.kind !== 'borrowed' && !isRejected(each, options))
    const bounded = { decimals, price, debtPrice, boundUsd }
    const held = sumPayable(counting.filter(isBounded))
    if (held === 0n) continue
    const owed = sumPayable(tokenAssets.filter(({ kind }) => kind === 'borrowed'))
    const heldElsewhere = sumPayable(counting.filter((each) => !isBounded(each)))
    const value = formatCents(usdValue(held + heldElsewhere, { decimals, price }))
    const detail = `The holding would be worth ${value} US dollars, and its pools pay ${formatCents(boundUsd)}`
    shares.set(key, { count: createBoundShare(bounded, { held, heldElsewhere, owed }), detail })
  }
  return shares
}

/** True if the price vouches for a limited value. */
function isBounded(asset: HeldAsset): asset is HeldAsset & { readonly price: Priced & { readonly boundUsd: Decimal } } {
  return asset.price.kind === 'price' && asset.price.boundUsd !== undefined
}

function sumPayable(assets: readonly HeldAsset[]): bigint {
  return assets.reduce((sum, asset) => sum + getPayable(asset), 0n)
}

function getPayable({ amount, payable }: HeldAsset): bigint {
  return payable?.amount ?? amount
}

function toKey({ chainId, token }: HeldAsset): string {
  return `${chainId}:${token.address}`
}

function getPrice({ kind, price }: HeldAsset): UsdPrice | undefined {
  if (price.kind === 'missing') return undefined
  return kind === 'borrowed' ? (price.debtPrice ?? price.price) : price.price
}

function isRejected(asset: HeldAsset, options: ClassifyOptions): boolean {
  return findRejections(asset, options).length > 0
}

/** Finds the reasons against counting anything of an asset. */
function findRejections(asset: HeldAsset, { includeUnlisted }: ClassifyOptions): Rejection[] {
  const { kind, refused, isUnlisted } = asset
  const rejections: Rejection[] = []
  if (kind !== 'borrowed') {
    if (refused !== undefined) rejections.push([refused.reason, refused.detail])
    if (isUnlisted && !includeUnlisted) rejections.push(['unlisted', 'The token is in no list that was asked'])
  }
  if (computeValue(asset) === undefined) rejections.push(toUnpricedRejection(asset))
  return rejections
}

function countAsset(
  asset: HeldAsset,
  { share, ...options }: ClassifyOptions & { readonly share: TokenShare | undefined },
): Pick<Row, 'verdict' | 'rest'> {
  const { kind, amount, payable } = asset
  const value = computeValue(asset)
  const [first] = findRejections(asset, options).sort(([a], [b]) => toRank(a) - toRank(b))
  if (first !== undefined) return rejectAll(asset, first)
  if (value === undefined) throw new Error('Cannot count a row without a value')
  if (kind === 'borrowed') {
    return { verdict: { counted: true, value: { ...value, units: -value.units } }, rest: undefined }
  }
  const payableAmount = getPayable(asset)
  const shared = share !== undefined && isBounded(asset) ? share.count(payableAmount) : undefined
  const counted = shared?.value ?? computeValue(asset, payableAmount) ?? value
  const reason = payable?.reason ?? 'exceeds_liquidity'
  if (counted.units === 0n) return rejectAll(asset, [reason, payable?.detail ?? share?.detail ?? ''])
  const unpaid = amount - payableAmount
  const raw = unpaid + (shared?.restRaw ?? 0n)
  if (raw === 0n) return { verdict: { counted: true, value: counted }, rest: undefined }
  const values = [computeValue(asset, unpaid), shared?.restValue].filter((each) => each !== undefined)
  const restValue = isWorthUnknown(reason) ? undefined : exactSum(values)
  return { verdict: { counted: true, value: counted }, rest: { raw, value: restValue, reason } }
}

/** True if an amount that does not count has no known worth: at maturity it is paid at par, before it is not. */
function isWorthUnknown(reason: UncountedReason): boolean {
  return reason === 'at_maturity'
}

function rejectAll(asset: HeldAsset, [reason, detail]: Rejection): Pick<Row, 'verdict' | 'rest'> {
  const { kind, amount } = asset
  const value = computeValue(asset)
  const rest = { raw: amount, value: kind === 'borrowed' || isWorthUnknown(reason) ? undefined : value, reason }
  return { verdict: { counted: false, reason, detail }, rest }
}

function toRank(reason: UncountedReason): number {
  return UNCOUNTED_REASONS.indexOf(reason)
}

/** Computes the value of an amount, of all of the asset by default; undefined without a price or decimals. */
function computeValue(asset: HeldAsset, amount = asset.amount): Decimal | undefined {
  const price = getPrice(asset)
  const { decimals } = asset.token
  return decimals === undefined || price === undefined ? undefined : usdValue(amount, { decimals, price })
}

function toUnpricedRejection({ token, price }: HeldAsset): Rejection {
  if (price.kind === 'missing') return [price.reason, `It has no price because ${price.because}`]
  return ['unpriced', `Token ${token.address} has no usable decimals`]
}

function formatCents({ units, scale }: Decimal): string {
  return formatFixed(units, { scale, digits: 2 })
}
