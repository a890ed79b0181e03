import * as v from 'valibot'
import { type Address, getAddress, isAddress } from 'viem'
import { parseRpcUrl, RPC_URL_EXPECTED } from '../../chain/rpc/url.ts'
import { SOLANA_CHAIN_ID } from '../../chain/solana/client.ts'
import type { Family } from '../../family/family.ts'
import { address as checksummed, findDuplicates, kaminoEntries } from '../../family/setting.ts'
import type { FinanceChain, UsdFeed, Wrapper } from '../../finance/chain.ts'
import { WRAPPER_KINDS } from '../../finance/price/table/wrappers.ts'
import { createTokenList, type NamedTokens } from '../../finance/token/list/list.ts'

/** Tokens whose pools are asked for prices. */
const QUOTES_MAX = 4
/** Wrappers that `prices.sol` opens. */
const WRAPPERS_MAX = 2
/** Endpoints that must give the same bytes. */
const QUORUM_MAX = 5
const QUORUM_EXPECTED = `expected a whole number from 1 to ${QUORUM_MAX}`
/** Default: a day, the longest heartbeat that Chainlink uses. */
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

const wholeFrom = (min: number) => v.pipe(v.number(), v.safeInteger(), v.minValue(min))

const feed = v.union(
  [
    v.pipe(
      checksummed,
      v.transform((address) => ({ feed: address, heartbeatSec: HEARTBEAT_SEC_DEFAULT })),
    ),
    v.strictObject({ feed: checksummed, heartbeatSec: wholeFrom(1) }),
  ],
  'expected the address of a feed, or an object with its "feed" and "heartbeatSec"',
)

const usdFeeds = v.pipe(
  v.record(v.string(), feed),
  v.check((feeds) => Object.keys(feeds).every((token) => isAddress(token)), 'expected addresses of tokens as keys'),
  v.transform(
    (feeds): Readonly<Record<Address, UsdFeed>> =>
      Object.fromEntries(Object.entries(feeds).map(([token, each]) => [getAddress(token), each])),
  ),
)

const wrappers = v.pipe(
  v.array(v.strictObject({ token: checksummed, kind: v.picklist(WRAPPER_KINDS), of: checksummed })),
  v.check((rows) => findDuplicates(rows.map(({ token }) => token)).length === 0, 'expected each token once'),
  v.check(
    (rows) => areOpened(rows),
    `expected at most ${WRAPPERS_MAX} wrappers around a token, and none around itself`,
  ),
  v.transform(
    (rows): Readonly<Record<Address, Wrapper>> =>
      Object.fromEntries(rows.map(({ token, kind, of }) => [token, { kind, of }])),
  ),
)

/** Whether what is inside each of them is found by opening no more wrappers than a lens opens. */
function areOpened(rows: readonly { readonly token: Address; readonly of: Address }[]): boolean {
  const inside = new Map(rows.map(({ token, of }) => [token, of]))
  return rows.every(({ of }) => {
    let token: Address | undefined = of
    for (let opened = 1; opened <= WRAPPERS_MAX && token !== undefined; opened++) token = inside.get(token)
    return token === undefined
  })
}

/** Site that shows what is on a chain: pages link to its `/address/…` and `/tx/…`. */
const explorer = v.pipe(
  v.string(),
  v.check(isHttpUrl, 'expected an address that begins with https:// or http://'),
  v.transform((url) => url.replace(/\/+$/, '')),
)

const chainEntries = {
  id: v.pipe(wholeFrom(1), v.notValue(SOLANA_CHAIN_ID, `expected another id, ${SOLANA_CHAIN_ID} is Solana's`)),
  name: v.pipe(v.string(), v.nonEmpty('expected 1 to 64 characters'), v.maxLength(64, 'expected 1 to 64 characters')),
  rpcUrls,
  quorum: v.optional(
    v.pipe(
      v.number(QUORUM_EXPECTED),
      v.integer(QUORUM_EXPECTED),
      v.minValue(1, QUORUM_EXPECTED),
      v.maxValue(QUORUM_MAX, QUORUM_EXPECTED),
    ),
  ),
  blockTimeMs: v.optional(v.pipe(wholeFrom(0), v.maxValue(600_000))),
  reuseMs: v.optional(v.pipe(wholeFrom(0), v.maxValue(600_000))),
  maxBlockAgeSec: v.optional(wholeFrom(1)),
  finality: v.optional(
    v.union([v.strictObject({ depth: wholeFrom(0) }), v.strictObject({ tag: v.picklist(['safe', 'finalized']) })]),
  ),
  prices: v.optional(
    v.strictObject({
      usdFeeds: v.exactOptional(usdFeeds),
      stablecoins: v.exactOptional(v.array(checksummed)),
      aaveOracle: v.exactOptional(checksummed),
      wrappedNative: v.exactOptional(checksummed),
      wrappers: v.exactOptional(wrappers),
      uniswapV3Factory: v.exactOptional(checksummed),
      quotes: v.exactOptional(
        v.pipe(v.array(checksummed), v.maxLength(QUOTES_MAX, `expected at most ${QUOTES_MAX} tokens`)),
      ),
    }),
  ),
  explorer: v.optional(explorer),
  nativeSymbol: v.optional(
    v.pipe(v.string(), v.regex(/^[\x21-\x7e]{1,16}$/, 'expected 1 to 16 printable characters without spaces')),
  ),
  tokens: v.optional(v.array(checksummed)),
  spamTokens: v.optional(v.array(checksummed)),
}

const solanaEntries = {
  rpcUrls: v.optional(rpcUrls),
  maxSlotAgeSec: v.optional(wholeFrom(1)),
  slotMs: v.optional(v.pipe(wholeFrom(100), v.maxValue(10_000))),
  explorer: v.optional(explorer),
  ...kaminoEntries,
}

/** One chain of a `CHAINS_FILE`. A built-in row of the same id supplies what it leaves out. Families add entries. */
type ChainRow = v.InferOutput<v.StrictObjectSchema<typeof chainEntries, undefined>>

/** Solana as a `CHAINS_FILE` describes it. Families add entries. */
export type SolanaRow = v.InferOutput<v.StrictObjectSchema<typeof solanaEntries, undefined>>

interface ChainsFile {
  readonly chains: readonly ChainRow[]
  readonly solana?: SolanaRow | undefined
}

/** The whole file, with each family's entries in the rows of its network. */
function chainsFileWith(
  families: readonly Pick<Family, 'network' | 'entries'>[],
): v.GenericSchema<unknown, ChainsFile> {
  const added = (network: Family['network']): v.ObjectEntries =>
    Object.assign({}, ...families.filter((each) => each.network === network).map(({ entries }) => entries))
  return v.strictObject({
    chains: v.optional(v.array(v.strictObject({ ...added('evm'), ...chainEntries })), []),
    solana: v.optional(v.strictObject({ ...added('solana'), ...solanaEntries })),
  })
}

/** What a `CHAINS_FILE` describes. Each mistake is one sentence that names the place but no value, which may be secret. */
interface ParsedChainsFile {
  readonly rows: readonly ChainRow[]
  readonly solana: SolanaRow
  readonly mistakes: readonly string[]
}

/** A file that describes nothing, for these mistakes. */
export function invalidChainsFile(mistakes: readonly string[]): ParsedChainsFile {
  return { rows: [], solana: {}, mistakes }
}

/** Parses the text of a `CHAINS_FILE`. */
export function parseChainsFile(
  text: string,
  families: readonly Pick<Family, 'network' | 'entries'>[],
): ParsedChainsFile {
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    return invalidChainsFile(['CHAINS_FILE: expected valid JSON'])
  }
  // The schema would take an empty array for an empty object.
  if (Array.isArray(json)) return invalidChainsFile(['CHAINS_FILE: expected an object with "chains"'])
  const parsed = v.safeParse(chainsFileWith(families), json)
  if (parsed.success) {
    const { chains, solana = {} } = parsed.output
    return { rows: chains, solana, mistakes: repeatedIds(chains) }
  }
  return invalidChainsFile(parsed.issues.map((issue) => `CHAINS_FILE: ${formatIssue(issue)}`))
}

/** What is wrong where in a file: our schema's own words if it has some, else what valibot expected. */
export function formatIssue(issue: v.BaseIssue<unknown>): string {
  const { message, expected, received } = issue
  const place = v.getDotPath(issue) ?? 'the file'
  if (expected === 'never') return `${place}: there is no such setting`
  if (received === 'undefined') return `${place}: it is required`
  return `${place}: ${message.startsWith('Invalid ') ? `expected ${expected}` : message}`
}

/** The chain that a row describes, laid over the built-in one of the same id, if any. */
export function chainFromRow(row: ChainRow, builtIn: FinanceChain | undefined): FinanceChain {
  const { id, name, rpcUrls, quorum = 1 } = row
  const { wrappedNative: _, ...ownPrices } = row.prices ?? {}
  const prices = { usdFeeds: {}, stablecoins: [], ...builtIn?.prices, ...ownPrices }
  const nativeCurrency = nativeFromRow(row, builtIn)
  // 0 says that the block time is not known.
  const blockTimeMs = row.blockTimeMs === 0 ? undefined : (row.blockTimeMs ?? builtIn?.blockTimeMs)
  const maxBlockAgeSec = row.maxBlockAgeSec ?? builtIn?.maxBlockAgeSec
  const site = row.explorer ?? builtIn?.explorer
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
    ...(site === undefined ? {} : { explorer: site }),
    prices,
    tokens: createTokenList({ id, ...nativeCurrency, prices }, ownTokens(row)),
    spamTokens: row.spamTokens ?? builtIn?.spamTokens ?? [],
  }
}

function nativeFromRow(
  { nativeSymbol, prices }: ChainRow,
  builtIn: FinanceChain | undefined,
): Pick<FinanceChain, 'nativeCurrency'> {
  const { name, ...known } = builtIn?.nativeCurrency ?? {}
  const isAnother = nativeSymbol !== undefined && nativeSymbol !== known.symbol
  const nativeCurrency = {
    ...known,
    ...(isAnother ? { symbol: nativeSymbol } : name === undefined ? {} : { name }),
    ...(prices?.wrappedNative === undefined ? {} : { wrapped: prices.wrappedNative }),
  }
  return Object.keys(nativeCurrency).length === 0 ? {} : { nativeCurrency }
}

function ownTokens({ tokens = [] }: ChainRow): readonly NamedTokens[] {
  return tokens.length === 0 ? [] : [{ name: 'CHAINS_FILE', addresses: tokens }]
}

/** True for an absolute http(s) URL. */
export function isHttpUrl(text: string): boolean {
  if (!URL.canParse(text)) return false
  const { protocol } = new URL(text)
  return protocol === 'http:' || protocol === 'https:'
}

function repeatedIds(rows: readonly ChainRow[]): string[] {
  return findDuplicates(rows.map(({ id }) => id)).map((id) => `CHAINS_FILE: chain ${id} is described twice`)
}
