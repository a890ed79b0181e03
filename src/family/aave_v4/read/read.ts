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
import type { AaveV4Deployment, AaveV4Spoke } from '../table.ts'
import { decodeLens, encodeRead, type RawRead } from './abi.ts'
import { LENS_RUNTIME } from './lens_artifact.ts'
import { type ChainRead, interpret } from './position.ts'
import { askTraces } from './trace.ts'

/** Time for one chain over all its pages and attempts. */
const BUDGET_MS = 4_500
/** The same for traces, a call for five wallets. */
const TRACES_BUDGET_MS = 15_000
/** Readings are cached until the next block: at most this many over all chains, and at most this many bytes. */
const CACHE_ENTRIES_MAX = 2_000
const CACHE_BYTES_MAX = 64 * 1024 * 1024
/** Approximate memory of a read, a position and one of its assets. */
const READ_BYTES = 2_048
const POSITION_BYTES = 1_024
const ASSET_BYTES = 1_536
/**
 * Wallets in one call, by mode, with which it stays under 50 million gas: one takes 1 million gas in 75 reserves if it
 * has nothing there, 4 million with something in every spoke.
 */
const PAGE_SIZES = { override: 40, deployless: 10 } as const
/** Longest answer of one page, bytes. As hexadecimal text it is a quarter of the transport's limit. */
const PAGE_BYTES_MAX = 1_000_000
/** Wallets of a light call. */
const LIGHT_WALLETS_MAX = 4

/** Client, spokes and block for reading a chain. */
export type AaveV4Target = FamilyTarget<AaveV4Spoke>

/** Reads positions, each chain at one block. */
export type SpokeReader = ReturnType<typeof createSpokeReader>

/** Creates a reader over the configured chains that have deployments. */
export function createSpokeReader(options: {
  readonly clients: ReadonlyMap<number, FinanceClient>
  readonly deployments: ReadonlyMap<number, AaveV4Deployment>
  readonly clock: Clock
  readonly firstBlocks?: FirstBlocks | undefined
}) {
  const { clients, deployments, clock, firstBlocks } = options
  const targets = createTargets(clients, new Map([...deployments].map(([id, { spokes }]) => [id, spokes])))
  const limits = { entriesMax: CACHE_ENTRIES_MAX, bytesMax: CACHE_BYTES_MAX, getSize: getReadBytes }
  const cache = createBlockCache<ChainRead>({ clock, ...limits })
  const past = createHistoricalTargets<AaveV4Spoke>({
    name: 'Aave V4',
    clock,
    firstBlocks,
    getContract: ({ address }) => address,
    getters: [toFunctionSelector('ORACLE()')],
  })

  /** Reads wallets from one endpoint, uninterpreted. Throws as `Endpoint.call`, also if a spoke does not answer. */
  function ask(endpoint: Endpoint, target: AaveV4Target, wallets: readonly Address[], work: Work): Promise<RawRead> {
    const { client, block: at, deployments: spokes } = target
    const deployment = deployments.get(client.chain.id)
    if (deployment === undefined) throw new Error(`Cannot read chain ${client.chain.id}: it has no Aave V4`)
    const query = { accessManager: deployment.accessManager, spokes: spokes.map(({ address }) => address), wallets }
    const reading: LensReading<RawRead> = {
      topic: 'aave_v4',
      runtime: LENS_RUNTIME,
      chainId: client.chain.id,
      at,
      clock,
      async read(lens) {
        const raw = await readWallets(lens, query)
        checkSpokes(raw, spokes)
        return raw
      },
    }
    return readByLens(endpoint, reading, work)
  }

  /** Creates the read of the spokes of a target that stand at its block. */
  const createAttempt = (requested: AaveV4Target, wallets: readonly Address[]) => (endpoint: Endpoint, work: Work) =>
    past.readDeployed(
      requested,
      async (target) => interpret(await ask(endpoint, target, wallets, work), { spokes: target.deployments, wallets }),
      work,
    )

  const toLimits = (target: AaveV4Target) => ({ budgetMs: BUDGET_MS, ...toReadOptions(target) })

  function readTarget(target: AaveV4Target, wallets: readonly Address[], work: Work): Promise<WithExpiry<ChainRead>> {
    const read = (shared: Work): Promise<ChainRead> =>
      target.client.read(createAttempt(target, wallets), { work: shared, ...toLimits(target) })
    return cache.reuse({ ...toCacheKey(target, wallets), read }, work)
  }

  return {
    /** Targets on the chains that have this family, by chain id. */
    targets,
    past,
    ask,
    /**
     * The wallets' positions in the spokes of these targets, which are read concurrently. If one target fails, throws
     * `UnavailableError` naming the chain.
     */
    read: (
      wallets: readonly Address[],
      { targets: requested, work }: { readonly targets: readonly AaveV4Target[]; readonly work: Work },
    ) =>
      allOrAbort(
        requested.map((target) => (shared: Work) => readTarget(target, wallets, shared)),
        work,
      ),
    /**
     * The wallets' positions at the past block of one target, by quorum of endpoints: answers agree if their texts are
     * equal. Throws as `readByQuorum`.
     */
    readAgreed: (
      wallets: readonly Address[],
      {
        target,
        ...options
      }: { readonly target: AaveV4Target; readonly toText: (read: ChainRead) => string; readonly work: Work },
    ) =>
      readByQuorum(target.client, createAttempt(target, wallets), {
        ...options,
        ...toLimits(target),
        what: `what ${wallets.length} wallets had at block ${target.block?.number}`,
      }),
    /** Whether the only spoke of the target keeps a trace of each wallet, by quorum. Throws as `readByQuorum`. */
    readTraces: (wallets: readonly Address[], target: AaveV4Target, work: Work) =>
      readByQuorum(target.client, (endpoint, within) => askTraces(endpoint, { target, wallets, clock }, within), {
        work,
        ...toLimits(target),
        budgetMs: TRACES_BUDGET_MS,
        what: 'whether wallets had moved a token',
        toText: (traces: readonly boolean[]) => traces.join(),
      }),
  }
}

/** Chain and cache key of a reading. */
function toCacheKey({ client, deployments, block }: AaveV4Target, wallets: readonly Address[]) {
  const spokesKey = deployments.map(({ address }) => address).join()
  return { chain: client.chain, key: `aave_v4:${block?.hash ?? ''}:${spokesKey}:${hashWallets(wallets)}` }
}

/** Hash of the wallets, because 500 addresses are a long key. */
const hashWallets = memoize((wallets: readonly Address[]) => hash('sha256', wallets.join().toLowerCase()))

/** Throws if a spoke does not answer: without it, positions would be missing. */
function checkSpokes({ answered }: RawRead, spokes: readonly AaveV4Spoke[]): void {
  const silent = spokes.find((_, index) => answered[index] !== true)
  if (silent === undefined) return
  const leftOutBy = spokes.length > 1 ? 'market_id' : undefined
  throw new ContractUnresponsiveError(`spoke "${silent.name}" does not answer`, leftOutBy)
}

function getReadBytes({ wallets, unanswerable }: ChainRead): number {
  const positions = wallets.flatMap((each) => each.positions)
  const assets = positions.reduce((sum, each) => sum + each.assets.length, 0)
  return READ_BYTES + (positions.length + unanswerable.length) * POSITION_BYTES + assets * ASSET_BYTES
}

/** Reads wallets: one call at the latest block, or, for many wallets or a past block, all pages at one pinned block. */
async function readWallets(
  { mode, call, ...paging }: LensAccess,
  query: Omit<Parameters<typeof encodeRead>[0], 'bytesMax'>,
): Promise<RawRead> {
  const { wallets } = query
  const pages = await readPages<RawRead>({
    ...paging,
    pageSize: PAGE_SIZES[mode],
    countMin: wallets.length,
    async read({ start, end, block }) {
      const part = wallets.slice(start, end)
      const data = encodeRead({ ...query, wallets: part, bytesMax: PAGE_BYTES_MAX })
      return decodeLens(await call({ data, block, isLight: part.length <= LIGHT_WALLETS_MAX }))
    },
    count: () => wallets.length,
  })
  return mergePages(pages)
}

/** Merges pages of the same block into one read. Wallet indexes shift by the previous pages; duplicates are harmless. */
export function mergePages(pages: LensPages<RawRead>): RawRead {
  const shiftWallets = <T extends { readonly wallet: number }>(start: number, items: readonly T[]): T[] =>
    items.map((item) => ({ ...item, wallet: item.wallet + start }))
  return {
    ...pages[0].page,
    // A spoke may answer one page and run out of gas in another.
    answered: pages[0].page.answered.map((_, index) => pages.every(({ page }) => page.answered[index])),
    taken: pages.reduce((sum, { page }) => sum + page.taken, 0),
    spokes: pages.flatMap(({ page }) => page.spokes),
    reserves: pages.flatMap(({ page }) => page.reserves),
    accounts: pages.flatMap(({ start, page }) => shiftWallets(start, page.accounts)),
    broken: pages.flatMap(({ start, page }) => shiftWallets(start, page.broken)),
  }
}
