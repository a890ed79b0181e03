import type { Address, Hex } from 'viem'
import { createBlockCache } from '../../chain/block_cache.ts'
import { type ChainClient, type Endpoint, RevertError } from '../../chain/client.ts'
import { callByOverride, callDeployless, type Rung, readByRung } from '../../chain/lens.ts'
import type { Clock } from '../../lib/clock.ts'
import { decodeLens, encodeRead, noMorpho, type PriceSources, type Question } from './abi.ts'
import type { MorphoBlueDeployment } from './deployments.ts'
import { LENS_RUNTIME } from './lens_artifact.ts'
import { interpret, type PositionRead } from './position.ts'
import { readStaged } from './read_multicall.ts'
import type { RawRead } from './state.ts'

/** Time for one position over all tries. */
const BUDGET_MS = 4_000
/** Positions that are kept until the next block. */
const CACHE_ENTRIES_MAX = 10_000

/** Ways of reading, best first. */
export type RungName = 'override' | 'deployless' | 'staged'

/** Where a chain's markets are read. */
export interface Place {
  readonly client: ChainClient
  readonly deployment: MorphoBlueDeployment
}

/** Reads positions in Morpho's markets. */
export interface PositionReader {
  /** Chains that have this family, by id. */
  readonly places: ReadonlyMap<number, Place>
  /**
   * One wallet's position in one market and all that its figures depend on, at one block, in one request where the
   * endpoint overrides state. Throws `UnavailableError` that names the chain.
   */
  read(place: Place, request: PositionRequest): Promise<PositionRead>
}

/** Which position, and until when it is wanted. */
export interface PositionRequest {
  /** In lower case. */
  readonly marketId: Hex
  readonly wallet: Address
  readonly signal: AbortSignal
}

/** Makes a reader over the chains that are configured and have Morpho. `rungs` narrows the ways of reading. */
export function createPositionReader(options: {
  readonly clients: ReadonlyMap<number, ChainClient>
  readonly deployments: ReadonlyMap<number, MorphoBlueDeployment>
  readonly clock: Clock
  readonly rungs?: readonly RungName[]
}): PositionReader {
  const { clients, deployments, clock, rungs = ['override', 'deployless', 'staged'] } = options
  const places = new Map<number, Place>()
  for (const [id, client] of clients) {
    const deployment = deployments.get(id)
    if (deployment !== undefined) places.set(id, { client, deployment })
  }
  const cache = createBlockCache<PositionRead>({ clock, entriesMax: CACHE_ENTRIES_MAX })

  return {
    places,
    read({ client, deployment }, { marketId, wallet, signal }) {
      const { chain } = client
      const question: Question = { morpho: deployment.morpho, marketId, wallet }
      const read = (shared: AbortSignal): Promise<PositionRead> =>
        client.read(
          async (endpoint, attemptSignal) => {
            const ladder = rungs.map((name) => rungOf(name, { client, question, endpoint }))
            return interpret(await climb(endpoint, ladder, attemptSignal), { chain, question })
          },
          { signal: shared, budgetMs: BUDGET_MS },
        )
      const key = `morpho_blue:${question.morpho}:${marketId}:${wallet}`
      return cache.reuse({ chain, key, read }, signal)
    },
  }

  async function climb(endpoint: Endpoint, ladder: readonly Rung<RawRead>[], signal: AbortSignal): Promise<RawRead> {
    try {
      return await readByRung(endpoint, { topic: 'morpho_blue', rungs: ladder, clock }, signal)
    } catch (error) {
      // Nothing in the lens reverts of itself: it is the contract that answers like no Morpho.
      if (error instanceof RevertError) throw noMorpho()
      throw error
    }
  }
}

interface Way {
  readonly client: ChainClient
  readonly question: Question
  readonly endpoint: Endpoint
}

function rungOf(name: RungName, { client, question, endpoint }: Way): Rung<RawRead> {
  const prices = pricesOf(client)
  if (name === 'staged') {
    const { id: chainId, multicall3 } = client.chain
    return { name, run: (signal) => readStaged({ endpoint, chainId, multicall3, prices }, question, signal) }
  }
  const call = name === 'override' ? callByOverride : callDeployless
  return {
    name,
    async run(signal) {
      const data = encodeRead(question, prices)
      const raw = decodeLens(await call(endpoint, { runtime: LENS_RUNTIME, data, block: 'latest' }, signal))
      endpoint.observeBlock(raw.block)
      return raw
    },
  }
}

function pricesOf({ chain }: ChainClient): PriceSources {
  const feeds = Object.entries(chain.prices.usdFeeds) as [Address, { readonly feed: Address }][]
  return { feeds: feeds.map(([token, { feed }]) => ({ token, feed })), aaveOracle: chain.prices.aaveOracle }
}
