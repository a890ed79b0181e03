import * as v from 'valibot'
import { type Address, getAddress, isAddress } from 'viem'
import { parseRpcUrl, RPC_URL_EXPECTED } from '../chain/rpc/url.ts'
import { SOLANA_CHAIN_ID } from '../chain/solana/client.ts'
import { address as checksummed, type Family, findDuplicates, kaminoEntries } from '../family/contract.ts'
import { FINANCE_CHAINS, type FinanceChain, settleStablecoins, type UsdFeed, type Wrapper } from '../finance/chain.ts'
import { WRAPPER_KINDS } from '../finance/price/table/wrappers.ts'
import { createTokenList, type NamedTokens } from '../finance/token/list/list.ts'
import { isJsonObject } from '../lib/text/json.ts'

/** Maximum tokens whose pools give prices. */
const QUOTES_MAX = 4
/** Maximum nested wrappers that `prices.sol` opens. */
const WRAPPERS_MAX = 2
const WRAPPERS_EXPECTED = `expected at most ${WRAPPERS_MAX} wrappers around a token, and none around itself`
/** Maximum of endpoints that must return the same bytes. */
const QUORUM_MAX = 5
const QUORUM_EXPECTED = `expected a whole number from 1 to ${QUORUM_MAX}`
/** Default heartbeat: a day, the longest that Chainlink uses. */
export const HEARTBEAT_SEC_DEFAULT = 86_400

const rpcUrl = v.pipe(
  v.string(),
  v.check((text) => parseRpcUrl(text) !== undefined, `expected ${RPC_URL_EXPECTED}`),
)

const rpcUrls = v.pipe(
  v.array(rpcUrl),
  v.minLength(1, 'expected 1 to 32 URLs'),
  v.maxLength(32, 'expected 1 to 32 URLs'),
)

const integerAtLeast = (min: number) => v.pipe(v.number(), v.safeInteger(), v.minValue(min))

const feed = v.union(
  [
    v.pipe(
      checksummed,
      v.transform((address) => ({ feed: address, heartbeatSec: HEARTBEAT_SEC_DEFAULT })),
    ),
    v.strictObject({ feed: checksummed, heartbeatSec: integerAtLeast(1) }),
  ],
  'expected the address of a feed, or an object with its "feed" and "heartbeatSec"',
)

const usdFeeds = v.pipe(
  v.record(v.string(), feed),
  v.check((feeds) => Object.keys(feeds).every((token) => isAddress(token)), 'expected addresses of tokens as keys'),
  v.check(
    (feeds) => findDuplicates(Object.keys(feeds).map((token) => token.toLowerCase())).length === 0,
    'expected each token once, in one spelling',
  ),
  v.transform(
    (feeds): Readonly<Record<Address, UsdFeed>> =>
      Object.fromEntries(Object.entries(feeds).map(([token, each]) => [getAddress(token), each])),
  ),
)

const wrappers = v.pipe(
  v.array(v.strictObject({ token: checksummed, kind: v.picklist(WRAPPER_KINDS), of: checksummed })),
  v.check((rows) => findDuplicates(rows.map(({ token }) => token)).length === 0, 'expected each token once'),
  v.check((rows) => areOpenable(rows), WRAPPERS_EXPECTED),
  v.transform(
    (rows): Readonly<Record<Address, Wrapper>> =>
      Object.fromEntries(rows.map(({ token, kind, of }) => [token, { kind, of }])),
  ),
)

/** True if a lens can open every wrapper, given its limit of nested wrappers. */
function areOpenable(rows: readonly { readonly token: Address; readonly of: Address }[]): boolean {
  const innerByToken = new Map(rows.map(({ token, of }) => [token, of]))
  return rows.every(({ of }) => {
    let token: Address | undefined = of
    for (let opened = 1; opened <= WRAPPERS_MAX && token !== undefined; opened++) token = innerByToken.get(token)
    return token === undefined
  })
}

/** Block explorer of a chain: pages link to its `/address/…` and `/tx/…`. */
const explorer = v.pipe(
  v.string(),
  v.check(isHttpUrl, 'expected an address that begins with https:// or http://'),
  v.transform((url) => url.replace(/\/+$/, '')),
)

const quotes = v.pipe(v.array(checksummed), v.maxLength(QUOTES_MAX, `expected at most ${QUOTES_MAX} tokens`))

/** Lists of a row that `"add"` joins to the built-in ones. */
const addedEntries = {
  prices: v.exactOptional(
    v.strictObject({
      usdFeeds: v.exactOptional(usdFeeds),
      stablecoins: v.exactOptional(v.array(checksummed)),
      wrappers: v.exactOptional(wrappers),
      quotes: v.exactOptional(quotes),
    }),
  ),
  nativeDoubles: v.exactOptional(v.array(checksummed)),
  spamTokens: v.exactOptional(v.array(checksummed)),
}

const chainEntries = {
  id: v.pipe(integerAtLeast(1), v.notValue(SOLANA_CHAIN_ID, `expected another id, ${SOLANA_CHAIN_ID} is Solana's`)),
  name: v.optional(
    v.pipe(v.string(), v.nonEmpty('expected 1 to 64 characters'), v.maxLength(64, 'expected 1 to 64 characters')),
  ),
  rpcUrls: v.optional(rpcUrls),
  quorum: v.optional(
    v.pipe(
      v.number(QUORUM_EXPECTED),
      v.integer(QUORUM_EXPECTED),
      v.minValue(1, QUORUM_EXPECTED),
      v.maxValue(QUORUM_MAX, QUORUM_EXPECTED),
    ),
  ),
  blockTimeMs: v.optional(v.pipe(integerAtLeast(0), v.maxValue(600_000))),
  reuseMs: v.optional(v.pipe(integerAtLeast(0), v.maxValue(600_000))),
  maxBlockAgeSec: v.optional(integerAtLeast(1)),
  finality: v.optional(
    v.union([v.strictObject({ depth: integerAtLeast(0) }), v.strictObject({ tag: v.picklist(['safe', 'finalized']) })]),
  ),
  prices: v.optional(
    v.strictObject({
      usdFeeds: v.exactOptional(usdFeeds),
      stablecoins: v.exactOptional(v.array(checksummed)),
      aaveOracle: v.exactOptional(checksummed),
      sequencerFeed: v.exactOptional(checksummed),
      bridged: v.exactOptional(v.array(checksummed)),
      unbacked: v.exactOptional(v.array(checksummed)),
      wrappedNative: v.exactOptional(checksummed),
      wrappers: v.exactOptional(wrappers),
      uniswapV3Factory: v.exactOptional(checksummed),
      quotes: v.exactOptional(quotes),
    }),
  ),
  explorer: v.optional(explorer),
  nativeSymbol: v.optional(
    v.pipe(v.string(), v.regex(/^[\x21-\x7e]{1,16}$/, 'expected 1 to 16 printable characters without spaces')),
  ),
  tokens: v.optional(v.array(checksummed)),
  nativeDoubles: v.optional(v.array(checksummed)),
  spamTokens: v.optional(v.array(checksummed)),
}

const solanaEntries = {
  rpcUrls: v.optional(rpcUrls),
  maxSlotAgeSec: v.optional(integerAtLeast(1)),
  slotMs: v.optional(v.pipe(integerAtLeast(100), v.maxValue(10_000))),
  explorer: v.optional(explorer),
  ...kaminoEntries,
}

/**
 * One chain of a `CHAINS_FILE`. A built-in row of the same id supplies missing values; a list stands in place of the
 * built-in one, and one under `add` is joined to it. Families add entries.
 */
type ChainRow = v.InferOutput<v.StrictObjectSchema<typeof chainEntries, undefined>> & {
  readonly add?: v.InferOutput<v.StrictObjectSchema<typeof addedEntries, undefined>> | undefined
}

/** The Solana entry of a `CHAINS_FILE`. Families add entries. */
export type SolanaRow = v.InferOutput<v.StrictObjectSchema<typeof solanaEntries, undefined>>

interface ChainsFile {
  readonly chains: readonly ChainRow[]
  readonly solana?: SolanaRow | undefined
}

/** Creates the schema of the file, with each family's entries in the rows of its network. */
function createChainsFileSchema(families: readonly FamilyEntries[]): v.GenericSchema<unknown, ChainsFile> {
  const mergeEntries = (network: Family['network'], part: 'entries' | 'addedEntries'): v.ObjectEntries =>
    Object.assign({}, ...families.filter((each) => each.network === network).map((each) => each[part]))
  const add = v.optional(v.strictObject({ ...mergeEntries('evm', 'addedEntries'), ...addedEntries }))
  return v.strictObject({
    chains: v.optional(v.array(v.strictObject({ ...mergeEntries('evm', 'entries'), ...chainEntries, add })), []),
    solana: v.optional(v.strictObject({ ...mergeEntries('solana', 'entries'), ...solanaEntries })),
  })
}

type FamilyEntries = Pick<Family, 'network' | 'entries' | 'addedEntries'> & {
  readonly adoptRows?: Family['adoptRows'] | undefined
}

/** A parsed `CHAINS_FILE`. Each mistake is one sentence with the path but no value, which may be secret. */
interface ParsedChainsFile {
  readonly rows: readonly ChainRow[]
  readonly solana: SolanaRow
  readonly mistakes: readonly string[]
}

/** Returns an empty result with these mistakes. */
export function invalidChainsFile(mistakes: readonly string[]): ParsedChainsFile {
  return { rows: [], solana: {}, mistakes }
}

/** Parses the text of a `CHAINS_FILE`. */
export function parseChainsFile(text: string, families: readonly FamilyEntries[]): ParsedChainsFile {
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    return invalidChainsFile(['CHAINS_FILE: expected valid JSON'])
  }
  // The schema would accept an empty array as an empty object.
  if (Array.isArray(json)) return invalidChainsFile(['CHAINS_FILE: expected an object with "chains"'])
  const parsed = v.safeParse(createChainsFileSchema(families), adoptRows(json, families))
  if (parsed.success) {
    const { chains, solana = {} } = parsed.output
    return { rows: chains, solana, mistakes: [...listRepeatedIds(chains), ...chains.flatMap(listRowMistakes)] }
  }
  return invalidChainsFile(parsed.issues.map((issue) => `CHAINS_FILE: ${formatIssue(issue)}`))
}

/** Lets families take over what is theirs in each row. */
function adoptRows(json: unknown, families: readonly FamilyEntries[]): unknown {
  if (!isJsonObject(json) || !Array.isArray(json['chains'])) return json
  const adopt = (row: unknown): unknown =>
    isJsonObject(row) ? families.reduce((each, family) => family.adoptRows?.(each) ?? each, row) : row
  return { ...json, chains: json['chains'].map(adopt) }
}

/** Formats an issue with its path: our schema's own message if it has one, else what valibot expected. */
export function formatIssue(issue: v.BaseIssue<unknown>): string {
  const { message, expected, received } = issue
  const path = v.getDotPath(issue) ?? 'the file'
  if (expected === 'never') return `${path}: there is no such setting`
  if (received === 'undefined') return `${path}: it is required`
  return `${path}: ${message.startsWith('Invalid ') ? `expected ${expected}` : message}`
}

/** Lists what a row lacks without a built-in chain, and mistakes of its lists once they are joined. */
function listRowMistakes(row: ChainRow, index: number): string[] {
  const builtIn = FINANCE_CHAINS.find(({ id }) => id === row.id)
  const missing = builtIn === undefined ? (['name', 'rpcUrls'] as const).filter((key) => row[key] === undefined) : []
  const { wrappers: joinedWrappers = {}, quotes: joinedQuotes = [] } = joinPrices(row, builtIn)
  const isOpenable = areOpenable(
    Object.entries(joinedWrappers).map(([token, { of }]) => ({ token: token as Address, of })),
  )
  return [
    ...missing.map((key) => `chains.${index}.${key}: it is required, because chain ${row.id} is not built in`),
    ...(isOpenable ? [] : [`chains.${index}.add.prices.wrappers: ${WRAPPERS_EXPECTED}, with those they are added to`]),
    ...(joinedQuotes.length <= QUOTES_MAX
      ? []
      : [`chains.${index}.add.prices.quotes: expected at most ${QUOTES_MAX} tokens, with those they are added to`]),
  ].map((mistake) => `CHAINS_FILE: ${mistake}`)
}

/** The price sources of a row over the built-in ones. */
function joinPrices({ prices, add: { prices: added = {} } = {} }: ChainRow, builtIn: FinanceChain | undefined) {
  const { wrappedNative: _, ...ownPrices } = prices ?? {}
  const { stablecoins = [] } = builtIn?.borrowedFeed ?? builtIn?.prices ?? {}
  const base: FinanceChain['prices'] = { usdFeeds: {}, ...builtIn?.prices, stablecoins, ...ownPrices }
  return {
    ...base,
    ...(added.usdFeeds && { usdFeeds: { ...base.usdFeeds, ...added.usdFeeds } }),
    ...(added.wrappers && { wrappers: { ...base.wrappers, ...added.wrappers } }),
    ...(added.stablecoins && { stablecoins: joinTokens(base.stablecoins, added.stablecoins) }),
    ...(added.quotes && { quotes: joinTokens(base.quotes, added.quotes) }),
  }
}

function joinTokens(base: readonly Address[] = [], added: readonly Address[] = []): readonly Address[] {
  return [...new Set([...base, ...added])]
}

/** Creates the chain that a row describes, as it is served: with the feed that it borrows, if it cannot price itself. */
export function toServedChain(row: ChainRow, builtIn: FinanceChain | undefined): FinanceChain {
  const chain = toFinanceChain(row, builtIn)
  return { ...chain, ...settleStablecoins(chain, { isBuiltIn: builtIn !== undefined }) }
}

/**
 * Lists the mistake of a row whose dollars could not count, because nothing prices the chain's native token: of a loan
 * between the two, one side without the other would be a large net worth or a large debt.
 */
export function listStablecoinMistakes({ id, prices, add }: ChainRow, served: FinanceChain): string[] {
  const named = [...(prices?.stablecoins ?? []), ...(add?.prices?.stablecoins ?? [])]
  if (named.length === 0 || served.prices.stablecoins.length > 0 || served.borrowedFeed !== undefined) return []
  return [
    `CHAINS_FILE: chain ${id}: expected a price of the native token beside "stablecoins": name its wrapped token in ` +
      '"wrappedNative" and a feed of that in "usdFeeds", or "aaveOracle"',
  ]
}

/** Creates a chain with the sources exactly as a row over the built-in chain of the same id, if any, names them. */
export function toFinanceChain(row: ChainRow, builtIn: FinanceChain | undefined): FinanceChain {
  const { id, name = builtIn?.name ?? '', rpcUrls = builtIn?.rpcUrls ?? [], quorum = 1, add } = row
  const prices = joinPrices(row, builtIn)
  const nativeCurrency = toNativeCurrency(row, builtIn)
  // 0 means that the block time is unknown.
  const blockTimeMs = row.blockTimeMs === 0 ? undefined : (row.blockTimeMs ?? builtIn?.blockTimeMs)
  const maxBlockAgeSec = row.maxBlockAgeSec ?? builtIn?.maxBlockAgeSec
  const nativeDoubles = joinTokens(row.nativeDoubles ?? builtIn?.nativeDoubles, add?.nativeDoubles)
  const explorerUrl = row.explorer ?? builtIn?.explorer
  return {
    id,
    name,
    rpcUrls,
    ...(quorum > 1 ? { quorum } : {}),
    ...nativeCurrency,
    ...(blockTimeMs === undefined ? {} : { blockTimeMs }),
    reuseMs: row.reuseMs ?? row.blockTimeMs ?? builtIn?.reuseMs ?? 0,
    ...(maxBlockAgeSec === undefined ? {} : { maxBlockAgeSec }),
    finality: row.finality ?? builtIn?.finality ?? { depth: 64 },
    ...(explorerUrl === undefined ? {} : { explorer: explorerUrl }),
    prices,
    tokens: createTokenList({ id, ...nativeCurrency, nativeDoubles, prices }, listOwnTokens(row)),
    ...(nativeDoubles.length === 0 ? {} : { nativeDoubles }),
    spamTokens: joinTokens(row.spamTokens ?? builtIn?.spamTokens, add?.spamTokens),
  }
}

/** What the price lists of a row leave out of the built-in ones: "34 price feeds". */
export function listOmittedPrices(chain: FinanceChain, builtIn: FinanceChain | undefined): readonly string[] {
  if (builtIn === undefined) return []
  const count = (theirs: readonly string[] = [], ours: readonly string[] = []) =>
    theirs.filter((token) => !ours.includes(token)).length
  const { usdFeeds, wrappers = {}, stablecoins, quotes } = builtIn.prices
  const counts = [
    ['price feeds', count(Object.keys(usdFeeds), Object.keys(chain.prices.usdFeeds))],
    ['wrappers', count(Object.keys(wrappers), Object.keys(chain.prices.wrappers ?? {}))],
    ['stablecoins', count(stablecoins, chain.prices.stablecoins)],
    ['quotes', count(quotes, chain.prices.quotes)],
  ] as const
  return counts.filter(([, omitted]) => omitted > 0).map(([what, omitted]) => `${omitted} ${what}`)
}

function toNativeCurrency(
  { nativeSymbol, prices }: ChainRow,
  builtIn: FinanceChain | undefined,
): Pick<FinanceChain, 'nativeCurrency'> {
  const { name, ...currency } = builtIn?.nativeCurrency ?? {}
  const isOtherSymbol = nativeSymbol !== undefined && nativeSymbol !== currency.symbol
  const nativeCurrency = {
    ...currency,
    ...(isOtherSymbol ? { symbol: nativeSymbol } : name === undefined ? {} : { name }),
    ...(prices?.wrappedNative === undefined ? {} : { wrapped: prices.wrappedNative }),
  }
  return Object.keys(nativeCurrency).length === 0 ? {} : { nativeCurrency }
}

function listOwnTokens({ tokens = [] }: ChainRow): readonly NamedTokens[] {
  return tokens.length === 0 ? [] : [{ name: 'CHAINS_FILE', addresses: tokens }]
}

/** True for an absolute http(s) URL. */
export function isHttpUrl(text: string): boolean {
  if (!URL.canParse(text)) return false
  const { protocol } = new URL(text)
  return protocol === 'http:' || protocol === 'https:'
}

function listRepeatedIds(rows: readonly ChainRow[]): string[] {
  return findDuplicates(rows.map(({ id }) => id)).map((id) => `CHAINS_FILE: chain ${id} is described twice`)
}
