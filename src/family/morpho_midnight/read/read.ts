import type { Block } from '../../../chain/block.ts'
import type { Endpoint } from '../../../chain/rpc/client.ts'
import type { FinanceClient } from '../../../finance/chain.ts'
import type { FirstBlocks } from '../../../finance/first_blocks.ts'
import type { Work } from '../../../lib/async/work.ts'
import type { Clock } from '../../../lib/clock.ts'
import { createIsolatedReading } from '../../lending/read_isolated.ts'
import { createHistoricalTargets, createTargets, type FamilyTarget, toReadOptions } from '../../moment.ts'
import type { MidnightDeployment } from '../table.ts'
import { decodeLens, encodeRead, type MarketsQuery } from './abi.ts'
import { LENS_RUNTIME } from './lens_artifact.ts'
import { interpret, type MarketRead } from './position.ts'

/** Time for one wallet over all pages and attempts. */
const BUDGET_MS = 4_000
/** Markets in one call, by mode: each takes about 100,000 gas, and a page ends early if oracles burn more. */
const PAGE_SIZES = { override: 200, deployless: 50 } as const
/** Maximum number of markets of a light call. */
const LIGHT_MARKETS_MAX = 30
/** Client, deployment and block for reading a chain's markets; the one deployment is Midnight. */
export type MidnightTarget = FamilyTarget<MidnightDeployment>

/** Query for a wallet's positions in markets; ids in lower case, each once. */
export type WalletMarketsQuery = Omit<MarketsQuery, 'midnight'>

/** The interpreted reading: an entry for each requested market. */
export interface WalletRead {
  readonly block: Block
  readonly markets: readonly MarketRead[]
}

/** A target with the query. */
type TargetQuery = MidnightTarget & { readonly walletQuery: WalletMarketsQuery }

/** Reads positions in Midnight's markets. */
export type PositionReader = ReturnType<typeof createPositionReader>

/** Creates a reader over the configured chains that have Midnight. */
export function createPositionReader(options: {
  readonly clients: ReadonlyMap<number, FinanceClient>
  readonly deployments: ReadonlyMap<number, MidnightDeployment>
  readonly clock: Clock
  readonly firstBlocks?: FirstBlocks | undefined
}) {
  const { clients, deployments, clock } = options
  const targets = createTargets(clients, new Map([...deployments].map(([id, deployment]) => [id, [deployment]])))

  const createReading = createIsolatedReading({
    topic: 'morpho_midnight',
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
    past: createHistoricalTargets<MidnightDeployment>({
      name: 'Morpho Midnight',
      clock,
      firstBlocks: options.firstBlocks,
      getContract: ({ midnight }) => midnight,
    }),
    /** The result of `read` by one endpoint. Throws as `Endpoint.call`. */
    ask,
    /** The same without interpretation. */
    askRaw: createAsk((raw) => raw),
    /**
     * One wallet's positions in markets with all inputs of their figures, at one block: one request if the endpoint
     * overrides state and the markets fit into one call. Throws `UnavailableError` naming the chain.
     */
    read: (target: MidnightTarget, walletQuery: WalletMarketsQuery, work: Work): Promise<WalletRead> =>
      target.client.read((endpoint, within) => ask(endpoint, { ...target, walletQuery }, within), {
        work,
        budgetMs: BUDGET_MS,
        ...toReadOptions(target),
      }),
  }
}

function toMarketsQuery(target: MidnightTarget, walletQuery: WalletMarketsQuery): MarketsQuery {
  return { midnight: getDeployment(target).midnight, ...walletQuery }
}

/** The one deployment of a target. */
export function getDeployment({ client, deployments: [deployment] }: MidnightTarget): MidnightDeployment {
  if (deployment === undefined) throw new Error(`Cannot read chain ${client.chain.id}: it has no Morpho Midnight`)
  return deployment
}
