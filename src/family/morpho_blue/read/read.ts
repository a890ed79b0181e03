import { hash } from 'node:crypto'
import type { Hex } from 'viem'
import type { Block } from '../../../chain/block.ts'
import { createBlockCache, type WithExpiry } from '../../../chain/block_cache.ts'
import type { Endpoint } from '../../../chain/rpc/client.ts'
import type { FinanceClient } from '../../../finance/chain.ts'
import type { FirstBlocks } from '../../../finance/first_blocks.ts'
import type { Work } from '../../../lib/async/work.ts'
import type { Clock } from '../../../lib/clock.ts'
import { memoize } from '../../../lib/memoize.ts'
import { createIsolatedReading } from '../../lending/read_isolated.ts'
import { createHistoricalTargets, createTargets, type FamilyTarget, toReadOptions } from '../../moment.ts'
import type { MorphoBlueDeployment } from '../table.ts'
import { decodeLens, encodeRead, type MarketsQuery } from './abi.ts'
import { LENS_RUNTIME } from './lens_artifact.ts'
import { interpret, type MarketRead } from './position.ts'

/** Time for one wallet over all pages and attempts. */
const BUDGET_MS = 4_000
/** Markets in one call, by mode: each takes about 200,000 gas, and a page ends early if oracles burn more. */
const PAGE_SIZES = { override: 200, deployless: 50 } as const
/** Maximum number of markets of a light call. */
const LIGHT_MARKETS_MAX = 30
/** Readings are cached until the next block: at most this many over all chains, and at most this many bytes. */
const CACHE_ENTRIES_MAX = 10_000
const CACHE_BYTES_MAX = 64 * 1024 * 1024
/** Approximate memory of a read and of one of its markets. */
const READ_BYTES = 512
const MARKET_BYTES = 4_096

/** Client, deployment and block for reading a chain's markets; the one deployment is Morpho. */
export type MorphoBlueTarget = FamilyTarget<MorphoBlueDeployment>

/** Query for a wallet's positions in markets; ids in lower case, each once. */
export type WalletMarketsQuery = Omit<MarketsQuery, 'morpho'>

/** The interpreted reading: an entry for each requested market. */
export interface WalletRead {
  readonly block: Block
  readonly markets: readonly MarketRead[]
}

/** A target with the query. */
type TargetQuery = MorphoBlueTarget & { readonly walletQuery: WalletMarketsQuery }

/** Reads positions in Morpho's markets. */
export type PositionReader = ReturnType<typeof createPositionReader>

/** Creates a reader over the configured chains that have Morpho. */
export function createPositionReader(options: {
  readonly clients: ReadonlyMap<number, FinanceClient>
  readonly deployments: ReadonlyMap<number, MorphoBlueDeployment>
  readonly clock: Clock
  readonly firstBlocks?: FirstBlocks | undefined
}) {
  const { clients, deployments, clock } = options
  const targets = createTargets(clients, new Map([...deployments].map(([id, deployment]) => [id, [deployment]])))
  const limits = { entriesMax: CACHE_ENTRIES_MAX, bytesMax: CACHE_BYTES_MAX, getSize: getReadBytes }
  const cache = createBlockCache<WalletRead>({ clock, ...limits })

  const createReading = createIsolatedReading({
    topic: 'morpho_blue',
    runtime: LENS_RUNTIME,
    pageSizes: PAGE_SIZES,
    lightMax: LIGHT_MARKETS_MAX,
    encode: encodeRead,
    decode: decodeLens,
    clock,
  })

  /** Creates the read of one endpoint. If `read`, which interprets the answer, throws, the endpoint has failed. */
  function createAsk<T>(read: Parameters<typeof createReading<T>>[0]) {
    const ask = createReading(read)
    return (endpoint: Endpoint, { walletQuery, ...target }: TargetQuery, work: Work): Promise<T> =>
      ask(endpoint, { target, query: toMarketsQuery(target, walletQuery) }, work)
  }

  const ask = createAsk((raw, query, chain): WalletRead => {
    return { block: raw.block, markets: interpret(raw, { chain, query }) }
  })

  return {
    /** Targets on the chains that have this family, by chain id. */
    targets,
    past: createHistoricalTargets<MorphoBlueDeployment>({
      name: 'Morpho Blue',
      clock,
      firstBlocks: options.firstBlocks,
      getContract: ({ morpho }) => morpho,
    }),
    /** The result of `read` by one endpoint. Throws as `Endpoint.call`. */
    ask,
    /** The same without interpretation. */
    askRaw: createAsk((raw) => raw),
    /**
     * One wallet's positions in markets with all inputs of their figures, at one block: one request if the endpoint
     * overrides state and the markets fit into one call. Throws `UnavailableError` naming the chain.
     */
    read(target: MorphoBlueTarget, walletQuery: WalletMarketsQuery, work: Work): Promise<WithExpiry<WalletRead>> {
      const read = (shared: Work): Promise<WalletRead> =>
        target.client.read((endpoint, within) => ask(endpoint, { ...target, walletQuery }, within), {
          work: shared,
          budgetMs: BUDGET_MS,
          ...toReadOptions(target),
        })
      return cache.reuse({ ...toCacheKey(target, toMarketsQuery(target, walletQuery)), read }, work)
    },
  }
}

function toMarketsQuery(target: MorphoBlueTarget, walletQuery: WalletMarketsQuery): MarketsQuery {
  return { morpho: getDeployment(target).morpho, ...walletQuery }
}

/** The one deployment of a target. */
export function getDeployment({ client, deployments: [deployment] }: MorphoBlueTarget): MorphoBlueDeployment {
  if (deployment === undefined) throw new Error(`Cannot read chain ${client.chain.id}: it has no Morpho`)
  return deployment
}

/** Chain and cache key of a reading. */
function toCacheKey({ client, block }: MorphoBlueTarget, { morpho, marketIds, wallet }: MarketsQuery) {
  const idsKey = marketIds.length === 1 ? marketIds.join() : hashIds(marketIds)
  return { chain: client.chain, key: `morpho_blue:${block?.hash ?? ''}:${morpho}:${idsKey}:${wallet}` }
}

/** Hash of the ids, because many ids are a long key. */
const hashIds = memoize((marketIds: readonly Hex[]) => hash('sha256', marketIds.join()))

function getReadBytes({ markets }: WalletRead): number {
  return READ_BYTES + markets.filter(({ kind }) => kind !== 'absent').length * MARKET_BYTES
}
