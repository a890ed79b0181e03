import { type Hex, toFunctionSelector } from 'viem'
import { type ReturnData, readMulticall } from '../../chain/call/many/multicall.ts'
import { tryDecodeUint } from '../../chain/call/words.ts'
import { readLatestBlock } from '../../chain/evm/read_block.ts'
import { type ChainClient, ContractUnresponsiveError } from '../../chain/rpc/client.ts'
import { createCache } from '../../lib/async/cache.ts'
import type { Work } from '../../lib/async/work.ts'
import type { Clock } from '../../lib/clock.ts'
import { decodeTokenText, TEXT_BYTES_MAX, toTokenDisplayText } from './text.ts'

export interface TokenFacts {
  /** Empty if the token has no symbol. */
  readonly symbol: string
  readonly name: string
  readonly decimals: number
}

const SELECTORS = ['symbol()', 'name()', 'decimals()'].map((signature) => toFunctionSelector(signature))
/** Cache time, milliseconds: issuers rarely rename tokens. */
const LIFE_MS = 3_600_000
const CACHE_ENTRIES_MAX = 2_000
const DECIMALS_MAX = 255n

/** Creates a reader that caches each set of tokens for an hour. */
export function createTokenReader(clock: Clock) {
  const cache = createCache<ReadonlyMap<Hex, TokenFacts>>({ clock, entriesMax: CACHE_ENTRIES_MAX })
  return {
    /** Reads tokens, by address in lower case. Throws `UnavailableError`. */
    readFacts(client: ChainClient, tokens: readonly Hex[], work: Work): Promise<ReadonlyMap<Hex, TokenFacts>> {
      const sorted = [...tokens].sort()
      if (sorted.length === 0) return Promise.resolve(new Map())
      const read = async (shared: Work) => ({
        value: await readTokenFacts(client, { tokens: sorted, clock }, shared),
        lifeMs: LIFE_MS,
      })
      return cache.get({ key: `${client.chain.id}:${sorted.join()}`, read }, work)
    },
  }
}

function readTokenFacts(
  client: ChainClient,
  { tokens, clock }: { readonly tokens: readonly Hex[]; readonly clock: Clock },
  work: Work,
): Promise<ReadonlyMap<Hex, TokenFacts>> {
  return client.read(
    async (endpoint, within) => {
      const block = await readLatestBlock(endpoint, client.chain.id, within)
      const calls = tokens.flatMap((to) => SELECTORS.map((data) => ({ to, data })))
      const { results } = await readMulticall(endpoint, { calls, block, clock }, within)
      return new Map(
        tokens.map((token, index) => {
          const [symbol, name, decimals] = results.slice(3 * index, 3 * index + 3)
          return [token, { symbol: toText(symbol), name: toText(name), decimals: toDecimals(decimals, token) }]
        }),
      )
    },
    { work },
  )
}

function toText(answer: ReturnData): string {
  return toTokenDisplayText(decodeTokenText(answer?.slice(0, 2 + 2 * TEXT_BYTES_MAX) as Hex | undefined))
}

function toDecimals(answer: ReturnData, token: Hex): number {
  const decimals = tryDecodeUint(answer)
  if (decimals === undefined || decimals > DECIMALS_MAX) {
    // Any account makes such a token, so no endpoint is blamed.
    throw new ContractUnresponsiveError(`token ${token} does not tell its decimals: it returns no uint8`)
  }
  return Number(decimals)
}
