import { hash } from 'node:crypto'
import type { Address } from 'viem'
import { createBlockCache, type WithExpiry } from '../../../chain/block_cache.ts'
import { type LensAccess, type LensReading, readByLens } from '../../../chain/call/lens.ts'
import { readByQuorum } from '../../../chain/past/quorum.ts'
import { ContractUnresponsiveError, type Endpoint } from '../../../chain/rpc/client.ts'
import type { FinanceClient } from '../../../finance/chain.ts'
import { allOrAbort } from '../../../lib/async/all_or_abort.ts'
import type { Clock } from '../../../lib/clock.ts'
import { memoize } from '../../../lib/memoize.ts'
import { createHistoricalTargets } from '../../historical_targets.ts'
import { createTargets, type FamilyTarget, toReadOptions } from '../../target.ts'
import type { AaveV3Deployment } from '../table/deployments.ts'
import { decodeHasMovements, decodeNamed, encodeHasMovements, encodeNamed, type RawRead } from './abi.ts'
import { LENS_RUNTIME } from './lens_artifact.ts'
import { type ChainRead, interpret } from './position.ts'
import { readWallets } from './read_lens.ts'

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
export type AaveV3Target = FamilyTarget<AaveV3Deployment>

/** Reads lending positions, each chain at one block. */
export type LendingReader = ReturnType<typeof createLendingReader>

/** Makes a reader over the chains that are configured and have deployments. */
export function createLendingReader(options: {
  readonly clients: ReadonlyMap<number, FinanceClient>
  readonly deployments: ReadonlyMap<number, readonly AaveV3Deployment[]>
  readonly clock: Clock
}) {
  const { clients, clock } = options
  const places = createTargets(clients, options.deployments)
  const limits = { entriesMax: CACHE_ENTRIES_MAX, bytesMax: CACHE_BYTES_MAX, bytesOf }
  const cache = createBlockCache<ChainRead>({ clock, ...limits })

  /** How one endpoint is asked something of a place. */
  function attemptAt<T>({ client, block: at }: AaveV3Target, read: (lens: LensAccess) => Promise<T>) {
    const chainId = client.chain.id
    const reading: LensReading<T> = { topic: 'aave_v3', runtime: LENS_RUNTIME, chainId, at, clock, read }
    return (endpoint: Endpoint, signal: AbortSignal): Promise<T> => readByLens(endpoint, reading, signal)
  }

  /** How one endpoint is asked about the wallets. */
  function positionsAt(place: AaveV3Target, wallets: readonly Address[]) {
    const { deployments, together = false } = place
    const providers = deployments.map(providerOf)
    return attemptAt(place, async (lens): Promise<ChainRead> => {
      const raw = await readWallets(lens, { providers, wallets, together })
      checkMarkets(raw, place)
      return interpret(raw, { deployments, wallets })
    })
  }

  function readPlace(
    place: AaveV3Target,
    wallets: readonly Address[],
    signal: AbortSignal,
  ): Promise<WithExpiry<ChainRead>> {
    const read = (shared: AbortSignal): Promise<ChainRead> =>
      place.client.read(positionsAt(place, wallets), { signal: shared, ...limitsOf(place) })
    return cache.reuse({ ...keptAs(place, wallets), read }, signal)
  }

  return {
    /** Chains that have this family, by id. */
    places,
    past: createHistoricalTargets({ name: 'Aave V3', clock, contractOf: providerOf }),
    /**
     * What the wallets have in the markets of the places given, which are asked at the same time. If one place fails,
     * throws `UnavailableError` that names the chain.
     */
    read: (
      wallets: readonly Address[],
      { places: asked, signal }: { readonly places: readonly AaveV3Target[]; readonly signal: AbortSignal },
    ) =>
      allOrAbort(
        asked.map((place) => (shared: AbortSignal) => readPlace(place, wallets, shared)),
        signal,
      ),
    /**
     * What one endpoint says that a wallet holds in the markets of a place, with the names of its tokens. Throws as
     * `Endpoint.call`, and `ContractUnresponsiveError` if a market does not answer.
     */
    async askNamed(
      endpoint: Endpoint,
      { wallet, ...place }: AaveV3Target & { readonly wallet: Address },
      signal: AbortSignal,
    ) {
      const data = encodeNamed(place.deployments.map(providerOf), wallet)
      const ask = attemptAt(place, async ({ call, at, observeBlock }) => {
        const named = decodeNamed(await call({ data, block: at ?? 'latest', isLight: true }))
        observeBlock(named.block)
        return named
      })
      const read = await ask(endpoint, signal)
      checkMarkets(read, place)
      return read
    },
    /**
     * What the wallets have at the block of one place, in the past, as different endpoints agree on it: answers are the
     * same if `textOf` them is. Throws as `readByQuorum`.
     */
    readAgreed: (
      wallets: readonly Address[],
      {
        place,
        ...of
      }: {
        readonly place: AaveV3Target
        readonly textOf: (read: ChainRead) => string
        readonly signal: AbortSignal
      },
    ) =>
      readByQuorum(place.client, positionsAt(place, wallets), {
        ...of,
        ...limitsOf(place),
        what: `what ${wallets.length} wallets had at block ${place.block?.number}`,
      }),
    /**
     * Whether each wallet ever had a token movement in the only market of the place, up to the block of the place, as
     * different endpoints agree on it. One call of each. Throws as `readByQuorum`.
     */
    touched: (wallets: readonly Address[], place: AaveV3Target, signal: AbortSignal) =>
      readByQuorum(place.client, attemptAt(place, touchedIn(place, wallets)), {
        signal,
        ...limitsOf(place),
        what: 'whether wallets had moved a token',
        textOf: (touched: readonly boolean[]) => touched.join(),
      }),
  }
}

function limitsOf(place: AaveV3Target) {
  return { budgetMs: BUDGET_MS, ...toReadOptions(place) }
}

/** What names a market on its chain. */
function providerOf({ poolAddressesProvider }: AaveV3Deployment): Address {
  return poolAddressesProvider
}

/** Under which chain and key a reading is kept. */
function keptAs({ client, deployments, block }: AaveV3Target, wallets: readonly Address[]) {
  const asked = wallets.length === 1 ? wallets.join().toLowerCase() : hashOf(wallets)
  return { chain: client.chain, key: `aave_v3:${block?.hash ?? ''}:${deployments.map(providerOf).join()}:${asked}` }
}

/** Because 500 addresses are a long key. */
const hashOf = memoize((wallets: readonly Address[]) => hash('sha256', wallets.join().toLowerCase()))

function touchedIn({ deployments: [deployment] }: AaveV3Target, wallets: readonly Address[]) {
  return async ({ call, at, observeBlock }: LensAccess): Promise<readonly boolean[]> => {
    if (deployment === undefined) throw new Error('Cannot ask for movements: the place has no market')
    const data = encodeHasMovements(deployment.poolAddressesProvider, wallets)
    const answer = decodeHasMovements(await call({ data, block: at ?? 'latest' }))
    observeBlock(answer.block)
    if (answer.touched !== undefined) return answer.touched
    // In the past the market may not have stood yet.
    if (at !== undefined) return wallets.map(() => false)
    throw new ContractUnresponsiveError(`market "${deployment.market}" does not answer`)
  }
}

/** Throws if a market does not answer: without it, positions would be missing. */
function checkMarkets({ markets }: RawRead, { deployments }: Pick<AaveV3Target, 'deployments'>): void {
  const silent = deployments.find((_, index) => markets[index]?.answered !== true)
  if (silent === undefined) return
  const leftOutBy = deployments.length > 1 ? 'market_id' : undefined
  throw new ContractUnresponsiveError(`market "${silent.market}" does not answer in US dollars`, leftOutBy)
}

function bytesOf({ wallets, unanswerable }: ChainRead): number {
  const positions = wallets.flatMap((each) => each.positions)
  const assets = positions.reduce((sum, each) => sum + each.assets.length, 0)
  return READ_BYTES + (positions.length + unanswerable.length) * POSITION_BYTES + assets * ASSET_BYTES
}
