import { hash } from 'node:crypto'
import type { Address } from 'viem'
import { createBlockCache, type WithExpiry } from '../../../chain/block_cache.ts'
import { type LensAccess, type LensReading, readByLens } from '../../../chain/call/lens.ts'
import { readPages } from '../../../chain/call/pages.ts'
import type { Endpoint } from '../../../chain/rpc/client.ts'
import type { FinanceClient } from '../../../finance/chain.ts'
import { getPriceSources, type PriceSources } from '../../../finance/price/price_sources.ts'
import { allOrAbort } from '../../../lib/async/parallel.ts'
import type { Work } from '../../../lib/async/work.ts'
import type { Clock } from '../../../lib/clock.ts'
import { memoize } from '../../../lib/memoize.ts'
import { createHistoricalTargets, createTargets, type FamilyTarget, toReadOptions } from '../../moment.ts'
import { addNamed, type VaultEntry } from '../table.ts'
import { decodeLens, encodeRead, type HoldingsQuery, listVaults, type RawPage } from './abi.ts'
import { LENS_RUNTIME } from './lens_artifact.ts'
import { interpret, type RawRead, type VaultsRead } from './position.ts'

/** Time for one chain over all its pages and attempts. */
const BUDGET_MS = 4_500
/** Readings are cached until the next block: at most this many over all chains, and at most this many bytes. */
const CACHE_ENTRIES_MAX = 2_000
const CACHE_BYTES_MAX = 64 * 1024 * 1024
/** Approximate memory of a read, and of a position with its tokens. */
const READ_BYTES = 2_048
const POSITION_BYTES = 4_096
/** Holdings in one call, by mode: one takes 7,000 gas if the wallet has nothing there, about 300,000 else. */
const PAGE_SIZES = { override: 2_000, deployless: 400 } as const
/** Longest answer of one page, bytes. As hexadecimal text it is a quarter of the transport's limit. */
const PAGE_BYTES_MAX = 1_000_000
/** Holdings of a light call. */
const LIGHT_HOLDINGS_MAX = 150

/** A vault or a registry. */
interface DatedEntry extends VaultEntry {
  readonly startBlock: number
}

function toDated(entry: VaultEntry): DatedEntry {
  return { startBlock: 0, ...entry }
}

/**
 * The target with vaults that a caller names besides; undefined if that leaves none to ask, as on a chain of which only
 * Morpho's registries are known.
 */
export function nameVaults<Target extends Pick<VaultsTarget, 'deployments'>>(
  target: Target,
  named?: readonly Address[],
): Target | undefined {
  const deployments = addNamed(target.deployments, named).map(toDated)
  return listVaults(deployments).length === 0 ? undefined : { ...target, deployments }
}

/** Client, vaults and block for reading a chain. */
export type VaultsTarget = FamilyTarget<DatedEntry>

/** Reads what wallets have in vaults, each chain at one block. */
export type VaultReader = ReturnType<typeof createVaultReader>

/** Creates a reader over the configured chains that have vaults. */
export function createVaultReader(options: {
  readonly clients: ReadonlyMap<number, FinanceClient>
  readonly deployments: ReadonlyMap<number, readonly VaultEntry[]>
  readonly clock: Clock
}) {
  const { clients, deployments, clock } = options
  const limits = { entriesMax: CACHE_ENTRIES_MAX, bytesMax: CACHE_BYTES_MAX, getSize: getReadBytes }
  const cache = createBlockCache<VaultsRead>({ clock, ...limits })
  const dated = [...deployments].map(([id, entries]) => [id, entries.map(toDated)] as const)

  /** Reads wallets from one endpoint. Throws as `Endpoint.call`. */
  function ask(endpoint: Endpoint, target: VaultsTarget, wallets: readonly Address[], work: Work) {
    const { client, block: at, deployments: entries } = target
    const { chain } = client
    const reading: LensReading<VaultsRead> = {
      topic: 'vaults',
      runtime: LENS_RUNTIME,
      chainId: chain.id,
      at,
      clock,
      read: async (lens) =>
        interpret(await readHoldings(lens, { entries, wallets }, getPriceSources(chain)), { chain, entries, wallets }),
    }
    return readByLens(endpoint, reading, work)
  }

  function readTarget(target: VaultsTarget, wallets: readonly Address[], work: Work) {
    const { client, block, deployments: entries } = target
    const read = (shared: Work): Promise<VaultsRead> =>
      client.read((endpoint, within) => ask(endpoint, target, wallets, within), {
        work: shared,
        budgetMs: BUDGET_MS,
        ...toReadOptions(target),
      })
    const vaultsKey = listVaults(entries)
      .map(({ address }) => address)
      .join()
    const key = `vaults:${block?.hash ?? ''}:${vaultsKey}:${hashWallets(wallets)}`
    return cache.reuse({ chain: client.chain, key, read }, work)
  }

  return {
    /** Targets on the chains that have vaults, by chain id. */
    targets: createTargets<DatedEntry>(clients, new Map(dated)),
    past: createHistoricalTargets<DatedEntry>({
      name: 'A vault',
      clock,
      getContract: ({ address }) => address,
      canReadBeforeDeployment: true,
    }),
    ask,
    /**
     * What the wallets have in the vaults of these targets, which are read concurrently. If one target fails, throws
     * `UnavailableError` naming the chain.
     */
    read: (
      wallets: readonly Address[],
      { targets: requested, work }: { readonly targets: readonly VaultsTarget[]; readonly work: Work },
    ): Promise<readonly WithExpiry<VaultsRead>[]> =>
      allOrAbort(
        requested.map((target) => (shared: Work) => readTarget(target, wallets, shared)),
        work,
      ),
  }
}

/** Hash of the wallets, because 500 addresses are a long key. */
const hashWallets = memoize((wallets: readonly Address[]) => hash('sha256', wallets.join().toLowerCase()))

function getReadBytes({ positions }: VaultsRead): number {
  return READ_BYTES + positions.length * POSITION_BYTES
}

/** Reads holdings: one call at the latest block, or, for many or at a past block, all pages at one pinned block. */
async function readHoldings(
  { mode, call, ...paging }: LensAccess,
  query: HoldingsQuery & { readonly wallets: readonly Address[] },
  sources: PriceSources,
): Promise<RawRead> {
  const vaultCount = listVaults(query.entries).length
  const holdingCount = vaultCount * query.wallets.length
  const pages = await readPages<RawPage>({
    ...paging,
    pageSize: PAGE_SIZES[mode],
    countMin: holdingCount,
    async read({ start, end: wanted, block }) {
      const end = Math.min(wanted, holdingCount)
      const data = encodeRead(query, { start, end, bytesMax: PAGE_BYTES_MAX }, sources)
      return decodeLens(await call({ data, block, isLight: end - start <= LIGHT_HOLDINGS_MAX }))
    },
    count: () => holdingCount,
  })
  const placed = pages.map(({ start, page }) => ({ ...page, start, firstWallet: Math.floor(start / vaultCount) }))
  return {
    block: pages[0].page.block,
    // Several pages may have the same vault: all are of one block.
    vaults: placed.flatMap(({ vaults }) => vaults),
    holdings: placed.flatMap(({ holdings, firstWallet }) =>
      holdings.map((each) => ({ ...each, wallet: each.wallet + firstWallet })),
    ),
    // A vault that does not answer is not asked again in its page.
    silent: placed.flatMap(({ silent, start, taken, firstWallet }) =>
      silent.flatMap(({ wallet, vault }) => {
        const last = Math.floor((start + taken - 1 - vault) / vaultCount)
        const first = wallet + firstWallet
        return Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => ({ wallet: first + index, vault }))
      }),
    ),
  }
}
