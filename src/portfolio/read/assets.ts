import { type Address, zeroAddress } from 'viem'
import type { Holding, Holdings } from '../../family/holding.ts'
import type { FinanceChain } from '../../finance/chain.ts'
import type { QuotedToken } from '../../finance/price/pool/read_pool_prices.ts'
import type { UsdPriceOutcome } from '../../finance/price/price.ts'
import type { Balances } from '../../finance/token/balance/read_balances.ts'
import { toTokenSet } from '../../finance/token/list/list.ts'
import type { HeldAsset, Pricing } from '../sum/row.ts'

/** Contracts and positions that an answer names as not read; the others are a number. */
const NAMED_MAX = 5

/** What one endpoint answered about a wallet, all at one block. */
export interface EndpointAnswers {
  readonly balances: Balances
  readonly holdings: readonly Holdings[]
  /** Prices by pools, of tokens that nobody else prices. */
  readonly prices: ReadonlyMap<Address, Pricing>
}

/** Where answers are from. */
interface AssetQuery {
  readonly chain: FinanceChain
  /** Tokens that the caller names. */
  readonly tokens: readonly Address[]
}

/** Tokens of positions whose balances in the wallet were not asked for, as far as these answers show. */
export function findUnaskedTokens(
  { holdings }: Pick<EndpointAnswers, 'holdings'>,
  { chain, tokens }: AssetQuery,
): ReadonlySet<Address> {
  const own = ownTokensOf(holdings)
  const listed = toTokenSet(chain.tokens.addresses)
  const isAsked = (token: Address) => listed.has(token) || tokens.includes(token) || token === zeroAddress
  const inPositions = new Set(holdings.flatMap(({ rows }) => rows.map(({ token }) => token.address)))
  return new Set([...inPositions].filter((token) => !isAsked(token) && !own.has(token)))
}

/** Tokens that nobody is configured to price, so that their pools may be asked. Spam is not asked about. */
export function findUnpricedTokens({ balances, holdings }: Omit<EndpointAnswers, 'prices'>): QuotedToken[] {
  const own = ownTokensOf(holdings)
  const unsourced = [
    ...balances.rows.filter(({ price, spam }) => isUnsourced(price) && spam === undefined),
    ...holdings.flatMap(({ rows }) => rows.filter(({ price, refused }) => isUnsourced(price) && refused === undefined)),
  ]
  const decimals = new Map(unsourced.map(({ token }) => [token.address, token.decimals]))
  return [...decimals].flatMap(([address, digits]) =>
    digits === undefined || own.has(address) || address === zeroAddress ? [] : { address, decimals: digits },
  )
}

function isUnsourced(price: UsdPriceOutcome): boolean {
  return price.kind === 'missing' && !price.hasSource
}

/** The assets that answers tell of, and what is missing from them. */
export function toHeldAssets(
  answers: EndpointAnswers,
  chain: FinanceChain,
): { assets: HeldAsset[]; notRead: string[] } {
  const { balances, holdings, prices } = answers
  const own = ownTokensOf(holdings)
  const rows = holdings.flatMap((each) => each.rows)
  // A stranger can give the wallet a position that is refused: it vouches for no token.
  const inPositions = new Set(rows.filter(({ refused }) => refused === undefined).map(({ token }) => token.address))
  const priceOf = ({ token, price }: Pick<Holding, 'token' | 'price'>): Pricing =>
    (isUnsourced(price) ? prices.get(token.address) : undefined) ?? price
  const inWallet = balances.rows
    .filter(({ token }) => !own.has(token.address))
    .map(
      ({ token, spam, raw, isListed, price }): HeldAsset => ({
        chainId: chain.id,
        kind: 'wallet',
        token,
        amount: raw,
        price: priceOf({ token, price }),
        isUnlisted: !isListed && !inPositions.has(token.address),
        refused: spam === undefined ? undefined : { reason: 'spam', detail: spam },
        position: null,
      }),
    )
  const held = rows.map((row): HeldAsset => {
    const { kind, token, amount, refused, position } = row
    return { chainId: chain.id, kind, token, amount, price: priceOf(row), isUnlisted: false, refused, position }
  })
  return { assets: [...inWallet, ...held], notRead: notReadIn(answers, chain) }
}

function ownTokensOf(holdings: readonly Holdings[]): ReadonlySet<Address> {
  return new Set(holdings.flatMap(({ ownTokens }) => ownTokens))
}

function notReadIn({ balances: { silent }, holdings }: EndpointAnswers, { id }: FinanceChain): string[] {
  const said = [
    ...silent.map((token) => `token ${token}, which does not say what the wallet has`),
    ...holdings.flatMap(({ notRead }) => notRead),
  ]
  const more = said.length - NAMED_MAX
  return [
    ...said.slice(0, NAMED_MAX).map((each) => `chain ${id}: ${each}`),
    ...(more > 0 ? [`chain ${id}: ${more} more tokens and positions that do not answer`] : []),
  ]
}
