import { hash } from 'node:crypto'
import { type Address, toFunctionSelector } from 'viem'
import { createBlockCache, type WithExpiry } from '../../../chain/block_cache.ts'
import { type LensAccess, type LensReading, readByLens } from '../../../chain/call/lens.ts'
import { readMulticall } from '../../../chain/call/many/multicall.ts'
import { readPages } from '../../../chain/call/pages.ts'
import { encodeCall } from '../../../chain/call/words.ts'
import { readByQuorum } from '../../../chain/past/quorum.ts'
import { ContractUnresponsiveError, type Endpoint } from '../../../chain/rpc/client.ts'
import type { FinanceClient } from '../../../finance/chain.ts'
import type { FirstBlocks } from '../../../finance/first_blocks.ts'
import { getPriceSources, type PriceSources } from '../../../finance/price/price_sources.ts'
import { allOrAbort } from '../../../lib/async/parallel.ts'
import type { Work } from '../../../lib/async/work.ts'
import type { Clock } from '../../../lib/clock.ts'
import { memoize } from '../../../lib/memoize.ts'
import { createHistoricalTargets, createTargets, type FamilyTarget, toReadOptions } from '../../moment.ts'
import type { CompoundV3Market } from '../table.ts'
import { decodeLens, encodeRead, type RawRead } from './abi.ts'
import { LENS_RUNTIME } from './lens_artifact.ts'
import { type ChainRead, interpret } from './position.ts'

/** Time for one chain over all its pages and attempts. */
const BUDGET_MS = 4_500
/** Readings are cached until the next block: at most this many over all chains, and at most this many bytes. */
const CACHE_ENTRIES_MAX = 2_000
const CACHE_BYTES_MAX = 64 * 1024 * 1024
/** Approximate memory of a read, and of a position with its tokens. */
const READ_BYTES = 2_048
const POSITION_BYTES = 4_096
/** Wallets in one call, by mode: in six markets one takes 100,000 gas if it has nothing, a million if it has all. */
const PAGE_SIZES = { override: 100, deployless: 20 } as const
/** Longest answer of one page, bytes. As hexadecimal text it is a quarter of the transport's limit. */
const PAGE_BYTES_MAX = 1_000_000
/** Wallets of a light call. */
const LIGHT_WALLETS_MAX = 4

const USER_BASIC = toFunctionSelector('userBasic(address)')
/** Length of its answer, five words. */
const USER_BASIC_DIGITS = 2 + 5 * 64

/** Client, markets and block for reading a chain. */
export type CompoundV3Target = FamilyTarget<CompoundV3Market>

/** Reads positions, each chain at one block. */
export type CometReader = ReturnType<typeof createCometReader>

/** Creates a reader over the configured chains that have markets. */
export function createCometReader(options: {
  readonly clients: ReadonlyMap<number, FinanceClient>
  readonly deployments: ReadonlyMap<number, readonly CompoundV3Market[]>
  readonly clock: Clock
  readonly firstBlocks?: FirstBlocks | undefined
}) {
  const { clients, deployments, clock, firstBlocks } = options
  const limits = { entriesMax: CACHE_ENTRIES_MAX, bytesMax: CACHE_BYTES_MAX, getSize: getReadBytes }
  const cache = createBlockCache<ChainRead>({ clock, ...limits })
  const past = createHistoricalTargets<CompoundV3Market>({
    name: 'Compound V3',
    clock,
    firstBlocks,
    getContract: ({ comet }) => comet,
    getters: [toFunctionSelector('baseToken()')],
  })

  /** Reads wallets from one endpoint. Throws as `Endpoint.call`, also if a market does not answer. */
  function ask(endpoint: Endpoint, target: CompoundV3Target, wallets: readonly Address[], work: Work) {
    const { client, block: at, deployments: markets } = target
    const { chain } = client
    const reading: LensReading<ChainRead> = {
      topic: 'compound_v3',
      runtime: LENS_RUNTIME,
      chainId: chain.id,
      at,
      clock,
      async read(lens) {
        const raw = await readWallets(lens, { markets, wallets }, getPriceSources(chain))
        checkMarkets(raw, markets)
        return interpret(raw, { chain, markets, wallets })
      },
    }
    return readByLens(endpoint, reading, work)
  }

  /** Creates the read of the markets of a target that stand at its block. */
  const createAttempt = (target: CompoundV3Target, wallets: readonly Address[]) => (endpoint: Endpoint, within: Work) =>
    past.readDeployed(target, (deployed) => ask(endpoint, deployed, wallets, within), within)

  function readTarget(target: CompoundV3Target, wallets: readonly Address[], work: Work) {
    const attempt = createAttempt(target, wallets)
    const read = (shared: Work): Promise<ChainRead> =>
      target.client.read(attempt, { work: shared, ...toLimits(target) })
    return cache.reuse({ ...toCacheKey(target, wallets), read }, work)
  }

  return {
    /** Targets on the chains that have this family, by chain id. */
    targets: createTargets(clients, deployments),
    past,
    ask,
    /**
     * The wallets' positions in the markets of these targets, which are read concurrently. If one target fails, throws
     * `UnavailableError` naming the chain.
     */
    read: (
      wallets: readonly Address[],
      { targets: requested, work }: { readonly targets: readonly CompoundV3Target[]; readonly work: Work },
    ): Promise<readonly WithExpiry<ChainRead>[]> =>
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
      }: {
        readonly target: CompoundV3Target
        readonly toText: (read: ChainRead) => string
        readonly work: Work
      },
    ) =>
      readByQuorum(target.client, createAttempt(target, wallets), {
        ...options,
        ...toLimits(target),
        what: `what ${wallets.length} wallets had at block ${target.block?.number}`,
      }),
    /** Whether the only market of the target keeps a trace of each wallet, by quorum. Throws as `readByQuorum`. */
    readTraces: (wallets: readonly Address[], target: CompoundV3Target, work: Work) =>
      readByQuorum(target.client, (endpoint, within) => askTraces(endpoint, { target, wallets, clock }, within), {
        work,
        ...toLimits(target),
        what: 'whether wallets had moved a token',
        toText: (traces: readonly boolean[]) => traces.join(),
      }),
  }
}

/**
 * Asks whether the market stores anything of each wallet. The index of rewards stays after it first lent or owed; what
 * shows that it has collateral goes with that.
 */
async function askTraces(
  endpoint: Endpoint,
  {
    target: { client, block, deployments },
    wallets,
    clock,
  }: { readonly target: CompoundV3Target; readonly wallets: readonly Address[]; readonly clock: Clock },
  work: Work,
): Promise<readonly boolean[]> {
  const [market] = deployments
  if (market === undefined) throw new Error('Cannot read traces: the target has no market')
  // The lens reads the parent block.
  if (block?.number === 0n) return wallets.map(() => false)
  const calls = wallets.map((wallet) => ({ to: market.comet, data: encodeCall(USER_BASIC, wallet) }))
  const { results } = await readMulticall(
    endpoint,
    { calls, block: block ?? { chainId: client.chain.id }, clock },
    work,
  )
  return results.map((answer = '0x') => {
    // At a past block the market may not stand yet.
    if (answer.length < USER_BASIC_DIGITS && block !== undefined) return false
    if (answer.length < USER_BASIC_DIGITS) {
      throw new ContractUnresponsiveError(`market "${market.market}" does not answer`)
    }
    return /[^0]/.test(answer.slice(2))
  })
}

function toLimits(target: CompoundV3Target) {
  return { budgetMs: BUDGET_MS, ...toReadOptions(target) }
}

/** Chain and cache key of a reading. */
function toCacheKey({ client, deployments, block }: CompoundV3Target, wallets: readonly Address[]) {
  const marketsKey = deployments.map(({ comet }) => comet).join()
  return { chain: client.chain, key: `compound_v3:${block?.hash ?? ''}:${marketsKey}:${hashWallets(wallets)}` }
}

/** Hash of the wallets, because 500 addresses are a long key. */
const hashWallets = memoize((wallets: readonly Address[]) => hash('sha256', wallets.join().toLowerCase()))

/** Throws if a market does not answer: without it, positions would be missing. */
function checkMarkets({ silent: [silent] }: RawRead, markets: readonly CompoundV3Market[]): void {
  if (silent === undefined) return
  const leftOutBy = markets.length > 1 ? 'market_id' : undefined
  throw new ContractUnresponsiveError(`market "${markets[silent]?.market}" does not answer`, leftOutBy)
}

function getReadBytes({ wallets }: ChainRead): number {
  return READ_BYTES + wallets.reduce((sum, { positions }) => sum + positions.length * POSITION_BYTES, 0)
}

/** Reads wallets: one call at the latest block, or, for many wallets or a past block, all pages at one pinned block. */
async function readWallets(
  { mode, call, ...paging }: LensAccess,
  query: Omit<Parameters<typeof encodeRead>[0], 'bytesMax'>,
  sources: PriceSources,
): Promise<RawRead> {
  const { wallets } = query
  const pages = await readPages<RawRead>({
    ...paging,
    pageSize: PAGE_SIZES[mode],
    countMin: wallets.length,
    async read({ start, end, block }) {
      const part = wallets.slice(start, end)
      const data = encodeRead({ ...query, wallets: part, bytesMax: PAGE_BYTES_MAX }, sources)
      return decodeLens(await call({ data, block, isLight: part.length <= LIGHT_WALLETS_MAX }))
    },
    count: () => wallets.length,
  })
  return {
    ...pages[0].page,
    taken: pages.reduce((sum, { page }) => sum + page.taken, 0),
    // Several pages may have the same market: all are of one block.
    markets: pages.flatMap(({ page }) => page.markets),
    collaterals: pages.flatMap(({ page }) => page.collaterals),
    accounts: pages.flatMap(({ start, page }) =>
      page.accounts.map((each) => ({ ...each, wallet: each.wallet + start })),
    ),
    silent: pages.flatMap(({ page }) => page.silent),
  }
}
