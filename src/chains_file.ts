import * as v from 'valibot'
import { type Address, getAddress, isAddress } from 'viem'
import type { Chain, UsdFeed } from './chain/chain.ts'
import { SOLANA_CHAIN_ID } from './chain/solana.ts'
import { isBase58Address } from './lib/base58.ts'

/** A feed named without its heartbeat is taken to speak at least once a day, the longest that Chainlink uses. */
const HEARTBEAT_SEC_DEFAULT = 86_400

const checksummed = v.pipe(
  v.string(),
  v.check((text) => isAddress(text), 'expected an EVM address: 0x and 40 hex digits, with a right checksum if any'),
  v.transform((text): Address => getAddress(text)),
)

const rpcUrl = v.pipe(v.string(), v.check(isHttpUrl, 'expected an http or https URL'))

const rpcUrls = v.pipe(
  v.array(rpcUrl),
  v.minLength(1, 'expected 1 to 32 URLs'),
  v.maxLength(32, 'expected 1 to 32 URLs'),
)

const blockNumber = v.pipe(v.number(), v.safeInteger(), v.minValue(0))

const feed = v.union(
  [
    v.pipe(
      checksummed,
      v.transform((address) => ({ feed: address, heartbeatSec: HEARTBEAT_SEC_DEFAULT })),
    ),
    v.strictObject({ feed: checksummed, heartbeatSec: v.pipe(v.number(), v.safeInteger(), v.minValue(1)) }),
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

const chainRow = v.strictObject({
  id: v.pipe(
    v.number(),
    v.safeInteger(),
    v.minValue(1),
    v.notValue(SOLANA_CHAIN_ID, `expected another id, ${SOLANA_CHAIN_ID} is Solana's`),
  ),
  name: v.pipe(v.string(), v.nonEmpty('expected 1 to 64 characters'), v.maxLength(64, 'expected 1 to 64 characters')),
  rpcUrls,
  blockTimeMs: v.optional(v.pipe(v.number(), v.safeInteger(), v.minValue(0), v.maxValue(600_000))),
  maxBlockAgeSec: v.optional(v.pipe(v.number(), v.safeInteger(), v.minValue(1))),
  finality: v.optional(
    v.union([
      v.strictObject({ depth: v.pipe(v.number(), v.safeInteger(), v.minValue(0)) }),
      v.strictObject({ tag: v.picklist(['safe', 'finalized']) }),
    ]),
  ),
  multicall3: v.optional(checksummed),
  uniswapV3: v.optional(
    v.array(
      v.strictObject({
        manager: checksummed,
        factory: checksummed,
        startBlock: v.optional(blockNumber, 0),
        code: v.optional(v.pipe(v.string(), v.regex(/^[a-z0-9_]{1,64}$/)), 'uniswap_v3'),
      }),
    ),
  ),
  aaveV3: v.optional(
    v.array(
      v.strictObject({
        market: v.pipe(v.string(), v.regex(/^[a-z0-9_-]{1,64}$/)),
        poolAddressesProvider: checksummed,
        startBlock: v.optional(blockNumber, 0),
      }),
    ),
  ),
  morphoBlue: v.optional(v.strictObject({ morpho: checksummed, startBlock: v.optional(blockNumber, 0) })),
  prices: v.optional(
    v.strictObject({
      usdFeeds: v.optional(usdFeeds),
      stablecoins: v.optional(v.array(checksummed)),
      aaveOracle: v.optional(checksummed),
      wrappedNative: v.optional(checksummed),
    }),
  ),
  spamTokens: v.optional(v.array(checksummed)),
})

const solanaRow = v.strictObject({
  rpcUrls: v.optional(rpcUrls),
  klendProgram: v.optional(v.pipe(v.string(), v.check(isBase58Address, 'expected the base58 address of a program'))),
  slotMs: v.optional(v.pipe(v.number(), v.safeInteger(), v.minValue(100), v.maxValue(10_000))),
})

const chainsFile = v.strictObject({ chains: v.optional(v.array(chainRow), []), solana: v.optional(solanaRow) })

/** One chain of a `CHAINS_FILE`: what it leaves out, a built-in row of the same id supplies. */
export type ChainRow = v.InferOutput<typeof chainRow>

/** Solana as a `CHAINS_FILE` describes it. */
export type SolanaRow = v.InferOutput<typeof solanaRow>

/** Parses the text of a `CHAINS_FILE`. Every mistake is one sentence that names the place and never a value, which may hold a secret. */
export function parseChainsFile(text: string): {
  readonly rows: readonly ChainRow[]
  readonly solana: SolanaRow
  readonly mistakes: readonly string[]
} {
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    return { rows: [], solana: {}, mistakes: ['CHAINS_FILE: expected valid JSON'] }
  }
  // An array without elements would pass for an object without keys.
  if (Array.isArray(json)) return { rows: [], solana: {}, mistakes: ['CHAINS_FILE: expected an object with "chains"'] }
  const parsed = v.safeParse(chainsFile, json)
  if (parsed.success) {
    const { chains, solana = {} } = parsed.output
    return { rows: chains, solana, mistakes: [...repeatedIds(chains), ...chains.flatMap(repeatedDeployments)] }
  }
  return {
    rows: [],
    solana: {},
    mistakes: parsed.issues.map((issue) => `CHAINS_FILE: ${v.getDotPath(issue) ?? 'the file'}: ${explained(issue)}`),
  }
}

/** What is wrong, in words: ours where a step of the schema has some, else what valibot expected. */
function explained({ message, expected, received }: v.BaseIssue<unknown>): string {
  if (expected === 'never') return 'there is no such setting'
  if (received === 'undefined') return 'it is required'
  return message.startsWith('Invalid ') ? `expected ${expected}` : message
}

/** The chain that a row describes, laid over the built-in one of the same id where there is one. */
export function chainFromRow(row: ChainRow, builtIn: Chain | undefined): Chain {
  const multicall3 = row.multicall3 ?? builtIn?.multicall3
  const wrappedNative = row.prices?.wrappedNative ?? builtIn?.prices.wrappedNative
  const maxBlockAgeSec = row.maxBlockAgeSec ?? builtIn?.maxBlockAgeSec
  const aaveOracle = row.prices?.aaveOracle ?? builtIn?.prices.aaveOracle
  return {
    id: row.id,
    name: row.name,
    rpcUrls: row.rpcUrls,
    blockTimeMs: row.blockTimeMs ?? builtIn?.blockTimeMs ?? 0,
    ...(maxBlockAgeSec === undefined ? {} : { maxBlockAgeSec }),
    finality: row.finality ?? builtIn?.finality ?? { depth: 64 },
    ...(multicall3 === undefined ? {} : { multicall3 }),
    prices: {
      usdFeeds: row.prices?.usdFeeds ?? builtIn?.prices.usdFeeds ?? {},
      stablecoins: row.prices?.stablecoins ?? builtIn?.prices.stablecoins ?? [],
      ...(aaveOracle === undefined ? {} : { aaveOracle }),
      ...(wrappedNative === undefined ? {} : { wrappedNative }),
    },
    spamTokens: row.spamTokens ?? builtIn?.spamTokens ?? [],
  }
}

/** True for an absolute http(s) URL. */
export function isHttpUrl(text: string): boolean {
  if (!URL.canParse(text)) return false
  const { protocol } = new URL(text)
  return protocol === 'http:' || protocol === 'https:'
}

function repeatedIds(rows: readonly ChainRow[]): string[] {
  return repeated(rows.map(({ id }) => id)).map((id) => `CHAINS_FILE: chain ${id} is described twice`)
}

/** A manager or a market that stands twice on a chain would be listed, and charged, twice. */
function repeatedDeployments({ id, uniswapV3 = [], aaveV3 = [] }: ChainRow): string[] {
  const managers = repeated(uniswapV3.map(({ manager }) => manager)).map((manager) => `manager ${manager}`)
  const markets = repeated(aaveV3.map(({ market }) => market)).map((market) => `market "${market}"`)
  return [...managers, ...markets].map((what) => `CHAINS_FILE: ${what} of chain ${id} is described twice`)
}

function repeated<T>(values: readonly T[]): T[] {
  return [...new Set(values.filter((value, index) => values.indexOf(value) !== index))]
}
