import { hash } from 'node:crypto'
import type { Hex } from 'viem'
import type { Block } from '../../../chain/block.ts'
import { createBlockCache, type WithExpiry } from '../../../chain/block_cache.ts'
import { type LensAccess, type LensReading, readByLens } from '../../../chain/call/lens.ts'
import { readPages } from '../../../chain/call/pages.ts'
import type { Endpoint } from '../../../chain/rpc/client.ts'
import type { FinanceChain, FinanceClient } from '../../../finance/chain.ts'
import { getPriceSources } from '../../../finance/price/price_sources.ts'
import type { Clock } from '../../../lib/clock.ts'
import { memoize } from '../../../lib/memoize.ts'
import { createHistoricalTargets } from '../../historical_targets.ts'
import { createTargets, type FamilyTarget, toReadOptions } from '../../target.ts'
import type { RawRead } from '../math/state.ts'
import type { MorphoBlueDeployment } from '../table/deployments.ts'
import { decodeLens, encodeRead, type MarketsQuery } from './abi.ts'
import { LENS_RUNTIME } from './lens_artifact.ts'
import { interpret, type MarketRead } from './position.ts'

/** Time for one wallet over all pages and tries. */
const BUDGET_MS = 4_000
/** Markets in one call: each takes about 200,000 gas, and a page ends early if oracles burn more. */
const PAGE_SIZES = { override: 200, deployless: 50 } as const
/** So many take little gas. */
const LIGHT_MARKETS_MAX = 30
/** Readings are kept until the next block: at most this many over all chains, and at most this many bytes. */
const CACHE_ENTRIES_MAX = 10_000
const CACHE_BYTES_MAX = 64 * 1024 * 1024
/** About how much memory a read and one of its markets take. */
const READ_BYTES = 512
const MARKET_BYTES = 4_096

/** Where a chain's markets are read; its one deployment is Morpho. */
export type MorphoBlueTarget = FamilyTarget<MorphoBlueDeployment>

/** Which markets of which wallet; ids in lower case, each once. */
export type WalletMarketsQuery = Omit<MarketsQuery, 'morpho'>

/** What a reading means: an entry for each market that was asked for. */
export interface WalletRead {
  readonly block: Block
  readonly markets: readonly MarketRead[]
}

/** What is asked, and where. */
type AskedPlace = MorphoBlueTarget & { readonly asked: WalletMarketsQuery }

type RawMarkets = Omit<RawRead, 'taken'>

/** Reads positions in Morpho's markets. */
export type PositionReader = ReturnType<typeof createPositionReader>

/** Makes a reader over the chains that are configured and have Morpho. */
export function createPositionReader(options: {
  readonly clients: ReadonlyMap<number, FinanceClient>
  readonly deployments: ReadonlyMap<number, MorphoBlueDeployment>
  readonly clock: Clock
}) {
  const { clients, deployments, clock } = options
  const places = createTargets(clients, new Map([...deployments].map(([id, deployment]) => [id, [deployment]])))
  const limits = { entriesMax: CACHE_ENTRIES_MAX, bytesMax: CACHE_BYTES_MAX, bytesOf }
  const cache = createBlockCache<WalletRead>({ clock, ...limits })

  /** What `read` makes of the answer may throw too: then it is the endpoint's. */
  function askFor<T>(read: (raw: RawMarkets, question: MarketsQuery, chain: FinanceChain) => T) {
    return async (endpoint: Endpoint, { asked, ...place }: AskedPlace, signal: AbortSignal): Promise<T> => {
      const { chain } = place.client
      const question = questionOf(place, asked)
      const reading: LensReading<T> = {
        topic: 'morpho_blue',
        runtime: LENS_RUNTIME,
        chainId: chain.id,
        at: place.block,
        clock,
        read: async (lens) => read(await readMarkets(lens, question, chain), question, chain),
      }
      return await readByLens(endpoint, reading, signal)
    }
  }

  const ask = askFor((raw, question, chain): WalletRead => {
    return { block: raw.block, markets: interpret(raw, { chain, question }) }
  })

  return {
    /** Chains that have this family, by id. */
    places,
    past: createHistoricalTargets<MorphoBlueDeployment>({
      name: 'Morpho Blue',
      clock,
      contractOf: ({ morpho }) => morpho,
    }),
    /** What `read` gives, of one endpoint. Throws as `Endpoint.call`. */
    ask,
    /** The same as the chain answers it. */
    askRaw: askFor((raw) => raw),
    /**
     * What one wallet has in some markets, and everything that the figures depend on, at one block: one request if the
     * endpoint overrides state and they are no more than one call holds. Throws `UnavailableError` that names the chain.
     */
    read(place: MorphoBlueTarget, asked: WalletMarketsQuery, signal: AbortSignal): Promise<WithExpiry<WalletRead>> {
      const read = (shared: AbortSignal): Promise<WalletRead> =>
        place.client.read((endpoint, within) => ask(endpoint, { ...place, asked }, within), {
          signal: shared,
          budgetMs: BUDGET_MS,
          ...toReadOptions(place),
        })
      return cache.reuse({ ...keptAs(place, questionOf(place, asked)), read }, signal)
    },
  }
}

/** All markets in pages at one block, most often one. Throws as `readPages`. */
async function readMarkets(
  { way, call, ...paging }: LensAccess,
  question: MarketsQuery,
  chain: FinanceChain,
): Promise<RawMarkets> {
  const { marketIds } = question
  const sources = getPriceSources(chain)
  const [{ page: first }, ...others] = await readPages<RawRead>({
    ...paging,
    pageSize: PAGE_SIZES[way],
    countMin: marketIds.length,
    async read({ start, end, block }) {
      const data = encodeRead({ ...question, marketIds: marketIds.slice(start, end) }, sources)
      const answer = await call({ data, block, isLight: marketIds.length <= LIGHT_MARKETS_MAX })
      return decodeLens(answer, { isIdle: marketIds.length === 0 })
    },
    count: () => marketIds.length,
  })
  return { ...first, entries: [first, ...others.map(({ page }) => page)].flatMap(({ entries }) => entries) }
}

function questionOf(place: MorphoBlueTarget, asked: WalletMarketsQuery): MarketsQuery {
  return { morpho: getDeployment(place).morpho, ...asked }
}

/** The one deployment of a place. */
export function getDeployment({ client, deployments: [deployment] }: MorphoBlueTarget): MorphoBlueDeployment {
  if (deployment === undefined) throw new Error(`Cannot read chain ${client.chain.id}: it has no Morpho`)
  return deployment
}

/** Under which chain and key a reading is kept. */
function keptAs({ client, block }: MorphoBlueTarget, { morpho, marketIds, wallet }: MarketsQuery) {
  const asked = marketIds.length === 1 ? marketIds.join() : hashOf(marketIds)
  return { chain: client.chain, key: `morpho_blue:${block?.hash ?? ''}:${morpho}:${asked}:${wallet}` }
}

/** Because many ids are a long key. */
const hashOf = memoize((marketIds: readonly Hex[]) => hash('sha256', marketIds.join()))

function bytesOf({ markets }: WalletRead): number {
  return READ_BYTES + markets.filter(({ kind }) => kind !== 'absent').length * MARKET_BYTES
}
