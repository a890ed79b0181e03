import { type Address, zeroAddress } from 'viem'
import type { Holding, Holdings } from '../../family/holding.ts'
import type { FinanceChain } from '../../finance/chain.ts'
import type { PoolPriceOutcome } from '../../finance/price/pool/pool_price.ts'
import type { QuotedToken } from '../../finance/price/pool/read_pool_prices.ts'
import type { UsdPrice, UsdPriceOutcome } from '../../finance/price/price.ts'
import type { Balance, Balances } from '../../finance/token/balance/read_balances.ts'
import { toTokenSet } from '../../finance/token/list/list.ts'
import { isNativeToken } from '../../finance/token/list/native.ts'
import { pow10 } from '../../lib/number/fixed_point.ts'
import type { HeldAsset, Pricing } from '../sum/row.ts'

/** Most unread contracts and positions that an answer names; more are only counted. */
const NAMED_MAX = 5

/** One endpoint's answers about a wallet, all at one block. */
export interface EndpointAnswers {
  readonly balances: Balances
  readonly holdings: readonly Holdings[]
  /** Prices by pools, for tokens without another source. */
  readonly prices: ReadonlyMap<Address, PoolPriceOutcome>
}

/** The chain and the caller's tokens of a read. */
interface AssetQuery {
  readonly chain: FinanceChain
  /** Tokens that the caller names. */
  readonly tokens: readonly Address[]
  /** The price of the native token by the feed that the chain borrows; absent if it borrows none that is served. */
  readonly borrowed?: UsdPriceOutcome | undefined
}

/** Finds the tokens of positions whose wallet balances were not read yet. */
export function findUnaskedTokens(
  { holdings }: Pick<EndpointAnswers, 'holdings'>,
  { chain, tokens }: AssetQuery,
): ReadonlySet<Address> {
  const positionTokens = collectOwnTokens(holdings)
  const listed = toTokenSet(chain.tokens.addresses)
  const isAsked = (token: Address) => listed.has(token) || tokens.includes(token) || token === zeroAddress
  const inPositions = collectHeldTokens(holdings)
  return new Set([...inPositions].filter((token) => !isAsked(token) && !positionTokens.has(token)))
}

/** True if a wallet has or owes anything that a feed of another chain prices. */
export function isBorrowedPriceNeeded(
  { balances, holdings }: Pick<EndpointAnswers, 'balances' | 'holdings'>,
  chain: FinanceChain,
): boolean {
  const rows = [...balances.rows, ...holdings.flatMap((each) => each.rows)]
  const isBorrower = ({ token: { address } }: Pick<Holding, 'token'>) =>
    isNative(chain, address) || chain.borrowedFeed?.stablecoins.includes(address)
  return chain.borrowedFeed !== undefined && rows.some(isBorrower)
}

/** True for the native token, its doubles and its wrapper. */
function isNative(chain: FinanceChain, token: Address): boolean {
  return isNativeToken(chain, token) || token === chain.nativeCurrency?.wrapped
}

/**
 * Returns the price of a token without a price of its own by the feed that its chain borrows: that of the native token,
 * and the dollar of a list where the feed answers, because a chain that prices one of the two alone makes false sums.
 */
function borrowPrice(
  { price, token: { address } }: Pick<Holding, 'token' | 'price'>,
  { chain, borrowed }: Pick<AssetQuery, 'chain' | 'borrowed'>,
): UsdPriceOutcome {
  const { borrowedFeed } = chain
  if (price.kind !== 'missing' || borrowed === undefined || borrowedFeed === undefined) return price
  if (isNative(chain, address)) {
    if (borrowed.kind === 'missing') return borrowed
    return { kind: 'price', price: { ...borrowed.price, chainId: borrowedFeed.chainId } }
  }
  const isDollar = borrowed.kind === 'price' && borrowedFeed.stablecoins.includes(address)
  return isDollar ? { kind: 'price', price: { units: 1n, scale: 0, source: 'stablecoin' } } : price
}

/** Finds the tokens without a configured price source, which pools may price; excludes spam. */
export function findUnpricedTokens({ balances, holdings }: Omit<EndpointAnswers, 'prices'>): QuotedToken[] {
  const positionTokens = collectOwnTokens(holdings)
  const unsourced = [
    ...balances.rows.filter(({ price, spam }) => isUnsourced(price) && spam === undefined),
    ...holdings.flatMap(({ rows }) => rows.filter(({ price, refused }) => isUnsourced(price) && refused === undefined)),
  ]
  const decimals = new Map(unsourced.map(({ token }) => [token.address, token.decimals]))
  return [...decimals].flatMap(([address, digits]) =>
    digits === undefined || positionTokens.has(address) || address === zeroAddress ? [] : { address, decimals: digits },
  )
}

function isUnsourced(price: UsdPriceOutcome): boolean {
  return price.kind === 'missing' && !price.hasSource
}

/** Converts answers to assets, and lists the holdings that were not read. */
export function toHeldAssets(
  answers: EndpointAnswers,
  { chain, tokens, borrowed }: AssetQuery,
): { assets: HeldAsset[]; notRead: string[] } {
  const { balances, holdings, prices } = answers
  const positionTokens = collectOwnTokens(holdings)
  const rows = holdings.flatMap((each) => each.rows)
  const getPrice = (row: Pick<Holding, 'token' | 'price' | 'marketPrice'>): Pricing => {
    const { token, marketPrice } = row
    const price = borrowPrice(row, { chain, borrowed })
    if (!isUnsourced(price)) return price
    return raiseDebtPrice(toPricing(prices.get(token.address) ?? price), marketPrice)
  }
  // Memory may have asked for tokens of positions that are gone at this block: an answer depends on the block alone.
  const inPositions = collectHeldTokens(holdings)
  const isShown = ({ token: { address }, isListed }: Balance) =>
    !positionTokens.has(address) && (isListed || inPositions.has(address) || tokens.includes(address))
  const walletAssets = balances.rows.filter(isShown).map(
    ({ token, spam, raw, isListed, price }): HeldAsset => ({
      chainId: chain.id,
      kind: 'wallet',
      token,
      amount: raw,
      price: getPrice({ token, price }),
      // A position vouches for its own amounts only: a third party can give the wallet one.
      isUnlisted: !isListed,
      refused: spam === undefined ? undefined : { reason: 'spam', detail: spam },
      position: null,
    }),
  )
  const positionAssets = rows.map((row): HeldAsset => {
    const { kind, token, amount, refused, payable, withdrawable, position } = row
    return {
      chainId: chain.id,
      kind,
      token,
      amount,
      price: getPrice(row),
      isUnlisted: false,
      refused,
      payable,
      withdrawable,
      position,
    }
  })
  return { assets: [...walletAssets, ...positionAssets], notRead: listNotRead(answers, chain) }
}

/** Prices a debt at the greater of two prices: neither pools nor the oracle of a permissionless market lower it. */
function raiseDebtPrice(pricing: Pricing, marketPrice: UsdPrice | undefined): Pricing {
  if (marketPrice === undefined) return pricing
  if (pricing.kind === 'missing')
    return { kind: 'price', price: marketPrice, ...(pricing.marks && { marks: pricing.marks }) }
  const { price, debtPrice = price } = pricing
  const [own, other] = [debtPrice.units * pow10(marketPrice.scale), marketPrice.units * pow10(debtPrice.scale)]
  return other > own ? { ...pricing, debtPrice: marketPrice } : pricing
}

/** Converts a price, or the reason for none, to the terms of rows. */
function toPricing(outcome: PoolPriceOutcome | UsdPriceOutcome): Pricing {
  if (!('boundUsd' in outcome)) return outcome
  const { price, debtPrice, boundUsd, marks } = outcome
  return { kind: 'price', price, debtPrice, boundUsd, marks }
}

/** Collects the tokens of positions, also of those that are empty now. */
function collectHeldTokens(holdings: readonly Holdings[]): ReadonlySet<Address> {
  return new Set(holdings.flatMap(({ rows, emptied = [] }) => [...rows.map(({ token }) => token.address), ...emptied]))
}

function collectOwnTokens(holdings: readonly Holdings[]): ReadonlySet<Address> {
  return new Set(holdings.flatMap(({ ownTokens }) => ownTokens))
}

function listNotRead({ balances: { silent }, holdings }: EndpointAnswers, { id }: FinanceChain): string[] {
  const reasons = [
    ...silent.map((token) => `token ${token}, which does not say what the wallet has`),
    ...holdings.flatMap(({ notRead }) => notRead),
  ]
  const omitted = reasons.length - NAMED_MAX
  return [
    ...reasons.slice(0, NAMED_MAX).map((each) => `chain ${id}: ${each}`),
    ...(omitted > 0 ? [`chain ${id}: ${omitted} more tokens and positions that do not answer`] : []),
  ]
}
