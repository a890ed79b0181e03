import * as v from 'valibot'
import { type Address, getAddress, isAddress } from 'viem'
import type { Chain, UsdFeed } from './chain/chain.ts'
import { isBase58Address } from './lib/base58.ts'

/** A feed named without its heartbeat is taken to speak at least once a day, the longest that Chainlink uses. */
const HEARTBEAT_SEC_DEFAULT = 86_400

const checksummed = v.pipe(
  v.string(),
  v.check((text) => isAddress(text), 'expected an EVM address: 0x and 40 hex digits, with a right checksum if any'),
  v.transform((text): Address => getAddress(text)),
)

const rpcUrl = v.pipe(v.string(), v.check(isHttpUrl, 'expected an http or https URL'))

const rpcUrls = v.pipe(v.array(rpcUrl), v.minLength(1), v.maxLength(32))

const blockNumber = v.pipe(v.number(), v.safeInteger(), v.minValue(0))

const feed = v.union([
  v.pipe(
    checksummed,
    v.transform((address) => ({ feed: address, heartbeatSec: HEARTBEAT_SEC_DEFAULT })),
  ),
  v.strictObject({ feed: checksummed, heartbeatSec: v.pipe(v.number(), v.safeInteger(), v.minValue(1)) }),
])

const usdFeeds = v.pipe(
  v.record(v.string(), feed),
  v.check((feeds) => Object.keys(feeds).every((token) => isAddress(token)), 'expected addresses of tokens as keys'),
  v.transform(
    (feeds): Readonly<Record<Address, UsdFeed>> =>
      Object.fromEntries(Object.entries(feeds).map(([token, each]) => [getAddress(token), each])),
  ),
)

const chainRow = v.strictObject({
  id: v.pipe(v.number(), v.safeInteger(), v.minValue(1)),
  name: v.pipe(v.string(), v.nonEmpty(), v.maxLength(64)),
  rpcUrls,
  blockTimeMs: v.optional(v.pipe(v.number(), v.safeInteger(), v.minValue(0), v.maxValue(600_000))),
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
  const parsed = v.safeParse(chainsFile, json)
  if (parsed.success) {
    const { chains, solana = {} } = parsed.output
    return { rows: chains, solana, mistakes: repeatedIds(chains) }
  }
  return {
    rows: [],
    solana: {},
    mistakes: parsed.issues.map((issue) => {
      const place = v.getDotPath(issue) ?? 'the file'
      const expected = issue.type === 'check' || issue.expected === null ? issue.message : `expected ${issue.expected}`
      return `CHAINS_FILE: ${place}: ${expected}`
    }),
  }
}

/** The chain that a row describes, laid over the built-in one of the same id where there is one. */
export function chainFromRow(row: ChainRow, builtIn: Chain | undefined): Chain {
  const multicall3 = row.multicall3 ?? builtIn?.multicall3
  const wrappedNative = row.prices?.wrappedNative ?? builtIn?.prices.wrappedNative
  const aaveOracle = row.prices?.aaveOracle ?? builtIn?.prices.aaveOracle
  return {
    id: row.id,
    name: row.name,
    rpcUrls: row.rpcUrls,
    blockTimeMs: row.blockTimeMs ?? builtIn?.blockTimeMs ?? 0,
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
  const ids = rows.map((row) => row.id)
  const repeated = new Set(ids.filter((id, index) => ids.indexOf(id) !== index))
  return [...repeated].map((id) => `CHAINS_FILE: chain ${id} is described twice`)
}
