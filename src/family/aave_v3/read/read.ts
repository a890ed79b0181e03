import { hash } from 'node:crypto'
import { type Address, toFunctionSelector } from 'viem'
import { createBlockCache, type WithExpiry } from '../../../chain/block_cache.ts'
import { type LensAccess, type LensReading, readByLens } from '../../../chain/call/lens.ts'
import { type LensPages, readPages } from '../../../chain/call/pages.ts'
import { readByQuorum } from '../../../chain/past/quorum.ts'
import { ContractUnresponsiveError, type Endpoint } from '../../../chain/rpc/client.ts'
import type { FinanceClient } from '../../../finance/chain.ts'
import type { FirstBlocks } from '../../../finance/first_blocks.ts'
import { allOrAbort } from '../../../lib/async/parallel.ts'
import type { Work } from '../../../lib/async/work.ts'
import type { Clock } from '../../../lib/clock.ts'
import { memoize } from '../../../lib/memoize.ts'
import { createHistoricalTargets, createTargets, type FamilyTarget, toReadOptions } from '../../moment.ts'
import type { AaveV3Deployment } from '../table.ts'
import {
  decodeHasMovements,
  decodeLens,
  decodeNamed,
  encodeHasMovements,
  encodeNamed,
  encodeRead,
  type RawRead,
} from './abi.ts'
import { LENS_RUNTIME } from './lens_artifact.ts'
import { type ChainRead, interpret } from './position.ts'

/** Time for one chain over all its pages and attempts. */
const BUDGET_MS = 4_500
/** Readings are cached until the next block: at most this many over all chains, and at most this many bytes. */
const CACHE_ENTRIES_MAX = 2_000
const CACHE_BYTES_MAX = 64 * 1024 * 1024
/** Approximate memory of a read, a position and one of its assets. */
const READ_BYTES = 2_048
const POSITION_BYTES = 1_024
const ASSET_BYTES = 512

/** Client, deployments and block for reading a chain's markets. */
export type AaveV3Target = FamilyTarget<AaveV3Deployment>

/** A provider exists before its pool and its oracle. */
const GETTERS = ['getPool()', 'getPriceOracle()'].map((each) => toFunctionSelector(each))

/** Reads lending positions, each chain at one block. */
export type LendingReader = ReturnType<typeof createLendingReader>

/** Creates a reader over the configured chains that have deployments. */
export function createLendingReader(options: {
  readonly clients: ReadonlyMap<number, FinanceClient>
  readonly deployments: ReadonlyMap<number, readonly AaveV3Deployment[]>
  readonly clock: Clock
  readonly firstBlocks?: FirstBlocks | undefined
}) {
  const { clients, clock } = options
  const targets = createTargets(clients, options.deployments)
  const limits = { entriesMax: CACHE_ENTRIES_MAX, bytesMax: CACHE_BYTES_MAX, getSize: getReadBytes }
  const cache = createBlockCache<ChainRead>({ clock, ...limits })
  const past = createHistoricalTargets({
    name: 'Aave V3',
    clock,
    firstBlocks: options.firstBlocks,
    getContract: getProvider,
    getters: GETTERS,
  })

  /** Creates the read of a target from one endpoint. */
  function createAttempt<T>({ client, block: at }: AaveV3Target, read: (lens: LensAccess) => Promise<T>) {
    const chainId = client.chain.id
    const reading: LensReading<T> = { topic: 'aave_v3', runtime: LENS_RUNTIME, chainId, at, clock, read }
    return (endpoint: Endpoint, work: Work): Promise<T> => readByLens(endpoint, reading, work)
  }

  /** Creates the read of wallets from one endpoint. */
  function createPositionsAttempt(requested: AaveV3Target, wallets: readonly Address[]) {
    const readFrom = (endpoint: Endpoint, target: AaveV3Target, work: Work): Promise<ChainRead> => {
      const { deployments, isBundled = false } = target
      const providers = deployments.map(getProvider)
      const attempt = createAttempt(target, async (lens): Promise<ChainRead> => {
        const raw = await readWallets(lens, { providers, wallets, isLight: isBundled })
        checkMarkets(raw, target)
        return interpret(raw, { deployments, wallets })
      })
      return attempt(endpoint, work)
    }
    return (endpoint: Endpoint, work: Work) =>
      past.readDeployed(requested, (target) => readFrom(endpoint, target, work), work)
  }

  function readTarget(target: AaveV3Target, wallets: readonly Address[], work: Work): Promise<WithExpiry<ChainRead>> {
    const read = (shared: Work): Promise<ChainRead> =>
      target.client.read(createPositionsAttempt(target, wallets), { work: shared, ...toLimits(target) })
    return cache.reuse({ ...toCacheKey(target, wallets), read }, work)
  }

  return {
    /** Targets on the chains that have this family, by chain id. */
    targets,
    past,
    /**
     * The wallets' positions in the markets of these targets, which are read concurrently. If one target fails, throws
     * `UnavailableError` naming the chain.
     */
    read: (
      wallets: readonly Address[],
      { targets: requested, work }: { readonly targets: readonly AaveV3Target[]; readonly work: Work },
    ) =>
      allOrAbort(
        requested.map((target) => (shared: Work) => readTarget(target, wallets, shared)),
        work,
      ),
    /**
     * A wallet's holdings in the markets of a target by one endpoint, with the names of its tokens. Throws as
     * `Endpoint.call`, and `ContractUnresponsiveError` if a market does not answer.
     */
    async askNamed(endpoint: Endpoint, { wallet, ...target }: AaveV3Target & { readonly wallet: Address }, work: Work) {
      const data = encodeNamed(target.deployments.map(getProvider), wallet)
      const attempt = createAttempt(target, async ({ call, at, observeBlock }) => {
        const named = decodeNamed(await call({ data, block: at ?? 'latest', isLight: true }))
        observeBlock(named.block)
        return named
      })
      const read = await attempt(endpoint, work)
      checkMarkets(read, target)
      return read
    },
    /**
     * The wallets' positions at the past block of one target, by quorum of endpoints: answers agree if their texts are
     * equal. Throws as `readByQuorum`.
     */
    readAgreed: (
      wallets: readonly Address[],
      {
        target,
        ...options
      }: {
        readonly target: AaveV3Target
        readonly toText: (read: ChainRead) => string
        readonly work: Work
      },
    ) =>
      readByQuorum(target.client, createPositionsAttempt(target, wallets), {
        ...options,
        ...toLimits(target),
        what: `what ${wallets.length} wallets had at block ${target.block?.number}`,
      }),
    /**
     * Whether each wallet ever had a token movement in the only market of the target, up to its block, by quorum of
     * endpoints with one call each. Throws as `readByQuorum`.
     */
    readMovements: (wallets: readonly Address[], target: AaveV3Target, work: Work) =>
      readByQuorum(target.client, createAttempt(target, createMovementsAttempt(target, wallets)), {
        work,
        ...toLimits(target),
        what: 'whether wallets had moved a token',
        toText: (touched: readonly boolean[]) => touched.join(),
      }),
  }
}

function toLimits(target: AaveV3Target) {
  return { budgetMs: BUDGET_MS, ...toReadOptions(target) }
}

/** The address that identifies a market on its chain. */
function getProvider({ poolAddressesProvider }: AaveV3Deployment): Address {
  return poolAddressesProvider
}

/** Chain and cache key of a reading. */
function toCacheKey({ client, deployments, block }: AaveV3Target, wallets: readonly Address[]) {
  const walletsKey = wallets.length === 1 ? wallets.join().toLowerCase() : hashWallets(wallets)
  return {
    chain: client.chain,
    key: `aave_v3:${block?.hash ?? ''}:${deployments.map(getProvider).join()}:${walletsKey}`,
  }
}

/** Hash of the wallets, because 500 addresses are a long key. */
const hashWallets = memoize((wallets: readonly Address[]) => hash('sha256', wallets.join().toLowerCase()))

function createMovementsAttempt({ deployments: [deployment] }: AaveV3Target, wallets: readonly Address[]) {
  return async ({ call, at, observeBlock }: LensAccess): Promise<readonly boolean[]> => {
    if (deployment === undefined) throw new Error('Cannot read movements: the target has no market')
    const data = encodeHasMovements(deployment.poolAddressesProvider, wallets)
    const answer = decodeHasMovements(await call({ data, block: at ?? 'latest' }))
    observeBlock(answer.block)
    if (answer.touched !== undefined) return answer.touched
    // At a past block the market may not exist yet.
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

function getReadBytes({ wallets, unanswerable }: ChainRead): number {
  const positions = wallets.flatMap((each) => each.positions)
  const assets = positions.reduce((sum, each) => sum + each.assets.length, 0)
  return READ_BYTES + (positions.length + unanswerable.length) * POSITION_BYTES + assets * ASSET_BYTES
}

/**
 * Wallets in one call, by mode. A wallet costs about 4,000 gas for each reserve of its markets; a deployless call
 * shares its gas with the deployment, and nodes that need this mode allow the least gas.
 */
const PAGE_SIZES = { override: 250, deployless: 100 } as const
/** Longest answer of one page, bytes. As hexadecimal text it is a quarter of the transport's limit. */
const PAGE_BYTES_MAX = 1_000_000
/** Wallets of a light call: four take 3.8 million gas in three markets of the tests, one takes 3 million. */
const LIGHT_WALLETS_MAX = 4
/** Wallets of a light background call: 20 million gas are enough in a market of 60 reserves. */
const TOGETHER_PAGE_SIZE = 40

/** Wallets and the providers of the markets to read. */
interface WalletsQuery {
  readonly providers: readonly Address[]
  readonly wallets: readonly Address[]
  /** Wallets per call. @default the maximum of the mode */
  readonly pageSize?: number
  /** True if calls must be light, so that they can be bundled with other light calls. */
  readonly isLight?: boolean
}

/**
 * Reads wallets: one call at the latest block, or, for many wallets or a past block, all pages at one pinned block.
 * Throws `UpstreamError` if the pages are not of one block, `RpcRefusedError` if one wallet does not fit into a call.
 */
export async function readWallets(
  { mode: way, call, ...paging }: LensAccess,
  { providers, wallets, isLight = false, ...options }: WalletsQuery,
): Promise<RawRead> {
  const { pageSize = isLight ? TOGETHER_PAGE_SIZE : PAGE_SIZES[way] } = options
  const pages = await readPages<RawRead>({
    ...paging,
    pageSize,
    countMin: wallets.length,
    async read({ start, end, block }) {
      const pageWallets = wallets.slice(start, end)
      const data = encodeRead({ providers, wallets: pageWallets, bytesMax: PAGE_BYTES_MAX })
      return decodeLens(await call({ data, block, isLight: isLight || pageWallets.length <= LIGHT_WALLETS_MAX }))
    },
    count: () => wallets.length,
  })
  return mergePages(pages)
}

/** Merges pages of the same block into one read. Wallet indexes shift by the previous pages; duplicates are dropped. */
function mergePages(pages: LensPages<RawRead>): RawRead {
  const shiftWallets = <T extends { readonly wallet: number }>(start: number, items: readonly T[]): T[] =>
    items.map((item) => ({ ...item, wallet: item.wallet + start }))
  return {
    ...pages[0].page,
    taken: pages.reduce((sum, { page }) => sum + page.taken, 0),
    reserves: distinct(pages.flatMap(({ page }) => page.reserves)),
    categories: distinct(pages.flatMap(({ page }) => page.categories)),
    accounts: pages.flatMap(({ start, page }) => shiftWallets(start, page.accounts)),
    broken: pages.flatMap(({ start, page }) => shiftWallets(start, page.broken)),
  }
}

function distinct<T extends { readonly market: number; readonly id: number }>(facts: readonly T[]): T[] {
  return [...new Map(facts.map((fact) => [`${fact.market}:${fact.id}`, fact])).values()]
}
