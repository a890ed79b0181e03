import { hash } from 'node:crypto'
import type { Address } from 'viem'
import { type BlockCache, createBlockCache } from '../../../chain/block_cache.ts'
import { LENS_WAYS, type LensWay, ladderOf, type Rung, readByRung } from '../../../chain/call/lens.ts'
import type { ChainClient, Endpoint } from '../../../chain/rpc/client.ts'
import { together } from '../../../lib/async/together.ts'
import type { Clock } from '../../../lib/clock.ts'
import { UpstreamError } from '../../../lib/error.ts'
import { onceEach } from '../../../lib/once_each.ts'
import { createPastPlaces, type PastPlaces } from '../../past.ts'
import { allOf, type Place as FamilyPlace, placesOf, readingOf, SilentError } from '../../place.ts'
import type { AaveV3Deployment } from '../deployments.ts'
import { type ChainRead, interpret } from '../position.ts'
import { decodeTouched, encodeTouched } from './abi.ts'
import { LENS_RUNTIME } from './lens_artifact.ts'
import { readByLens } from './read_lens.ts'
import type { RawRead } from './state.ts'

/**
 * Wallets in one call. A wallet costs about 4,000 gas for each reserve of its markets; a deployless call shares its gas
 * with the deployment, and the nodes that need one allow the least gas.
 */
const PAGE_SIZES = { override: 250, deployless: 100 } as const
/** Time for one chain over all its pages and tries. */
const BUDGET_MS = 4_500
/** Readings are kept until the next block: at most this many over all chains, and at most this many bytes. */
const CACHE_ENTRIES_MAX = 2_000
const CACHE_BYTES_MAX = 64 * 1024 * 1024
/** About how much memory a read, a position and one of its assets take. */
const READ_BYTES = 2_048
const POSITION_BYTES = 1_024
const ASSET_BYTES = 512

/** Where a chain's markets are read. */
export type Place = FamilyPlace<AaveV3Deployment>

/** Reads lending positions, each chain at one block. */
export interface LendingReader {
  /** Chains that have this family, by id. */
  readonly places: ReadonlyMap<number, Place>
  readonly past: PastPlaces<AaveV3Deployment>
  /**
   * What the wallets have in the markets of the places given, which are asked at the same time. If one place fails,
   * throws `UnavailableError` that names the chain.
   */
  read(wallets: readonly Address[], options: ReadOptions): Promise<ChainRead[]>
  /** What `read` would give without reading; undefined if that of any place is not kept. */
  atHand(wallets: readonly Address[], places: readonly Place[]): ChainRead[] | undefined
  /**
   * Whether each wallet ever had a token movement in the only market of the place, up to the block of the place. One
   * call. Throws like `read`.
   */
  touched(wallets: readonly Address[], place: Place, signal: AbortSignal): Promise<readonly boolean[]>
}

/** Which chains and markets to ask. */
export interface ReadOptions {
  readonly places: readonly Place[]
  readonly signal: AbortSignal
}

/** Makes a reader over the chains that are configured and have deployments. `ways` narrows the ways of reading. */
export function createLendingReader(options: {
  readonly clients: ReadonlyMap<number, ChainClient>
  readonly deployments: ReadonlyMap<number, readonly AaveV3Deployment[]>
  readonly clock: Clock
  readonly ways?: readonly LensWay[]
}): LendingReader {
  const { clients, clock, ways = LENS_WAYS } = options
  const places = placesOf(clients, options.deployments)
  const limits = { entriesMax: CACHE_ENTRIES_MAX, bytesMax: CACHE_BYTES_MAX, bytesOf }
  const cache: BlockCache<ChainRead> = createBlockCache<ChainRead>({ clock, ...limits })

  function readPlace(place: Place, wallets: readonly Address[], signal: AbortSignal): Promise<ChainRead> {
    const { client, deployments } = place
    const read = (shared: AbortSignal): Promise<ChainRead> =>
      client.read(
        async (endpoint, attemptSignal) => {
          const ladder = ladderFor(place, wallets, { endpoint, ways })
          const raw = await readByRung(endpoint, { topic: 'aave_v3', rungs: ladder, clock }, attemptSignal)
          checkMarkets(raw, place)
          return interpret(raw, { deployments, wallets })
        },
        { signal: shared, budgetMs: BUDGET_MS, ...readingOf(place) },
      )
    return cache.reuse({ ...keptAs(place, wallets), read }, signal)
  }

  return {
    places,
    past: createPastPlaces<AaveV3Deployment>({
      ...{ name: 'Aave V3', clock },
      contractOf: ({ poolAddressesProvider }) => poolAddressesProvider,
    }),
    read: (wallets, { places: asked, signal }) =>
      together(
        asked.map((place) => (shared: AbortSignal) => readPlace(place, wallets, shared)),
        signal,
      ),
    atHand: (wallets, asked) => allOf(asked, (place) => cache.kept(keptAs(place, wallets))),
    touched: (wallets, place, signal) =>
      place.client.read(
        (endpoint, attemptSignal) => {
          const rungs = touchedLadder(place, wallets, { endpoint, ways })
          return readByRung(endpoint, { topic: 'aave_v3', rungs, clock }, attemptSignal)
        },
        { signal, budgetMs: BUDGET_MS, ...readingOf(place) },
      ),
  }
}

/** Under which chain and key a reading is kept. */
function keptAs({ client, deployments, block }: Place, wallets: readonly Address[]) {
  const providers = deployments.map(({ poolAddressesProvider }) => poolAddressesProvider)
  return { chain: client.chain, key: `aave_v3:${block?.hash ?? ''}:${providers.join()}:${walletsKey(wallets)}` }
}

function walletsKey(wallets: readonly Address[]): string {
  return wallets.length === 1 ? wallets.join().toLowerCase() : hashOf(wallets)
}

/** Because 500 addresses are a long key. */
const hashOf = onceEach((wallets: readonly Address[]) => hash('sha256', wallets.join().toLowerCase()))

function ladderFor(
  { client: { chain }, deployments, block }: Place,
  wallets: readonly Address[],
  { endpoint, ways }: { readonly endpoint: Endpoint; readonly ways: readonly LensWay[] },
): Rung<RawRead>[] {
  const providers = deployments.map(({ poolAddressesProvider }) => poolAddressesProvider)
  return ladderOf({
    ways,
    endpoint,
    chainId: chain.id,
    at: block,
    runtime: LENS_RUNTIME,
    byLens: (access, way) => readByLens({ ...access, providers, pageSize: PAGE_SIZES[way] }, wallets),
  })
}

function touchedLadder(
  { client, deployments: [deployment], block }: Place,
  wallets: readonly Address[],
  { endpoint, ways }: { readonly endpoint: Endpoint; readonly ways: readonly LensWay[] },
): Rung<readonly boolean[]>[] {
  return ladderOf({
    ways,
    endpoint,
    chainId: client.chain.id,
    at: block,
    runtime: LENS_RUNTIME,
    async byLens({ call, at, observeBlock }) {
      if (deployment === undefined) throw new Error('Cannot ask for movements: the place has no market')
      const data = encodeTouched(deployment.poolAddressesProvider, wallets)
      const answer = decodeTouched(await call({ data, block: at ?? 'latest' }))
      observeBlock(answer.block)
      // In the past the market may not have stood yet.
      if (answer.touched === undefined && at !== undefined) return wallets.map(() => false)
      if (answer.touched === undefined) throw new UpstreamError(`Market ${deployment.market} does not answer`)
      return answer.touched
    },
  })
}

/** Throws if a market does not answer: without it, positions would be missing. */
function checkMarkets({ markets }: RawRead, { deployments }: Place): void {
  const silent = deployments.find((_, index) => markets[index]?.answered !== true)
  if (silent !== undefined) throw new SilentError(`Market ${silent.market} does not answer in US dollars`)
}

function bytesOf({ wallets, unanswerable }: ChainRead): number {
  const positions = wallets.flatMap((each) => each.positions)
  const assets = positions.reduce((sum, each) => sum + each.assets.length, 0)
  return READ_BYTES + (positions.length + unanswerable.length) * POSITION_BYTES + assets * ASSET_BYTES
}
