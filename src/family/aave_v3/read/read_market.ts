import { type Address, type Hex, toFunctionSelector } from 'viem'
import type { Block } from '../../../chain/block.ts'
import { createBlockCache } from '../../../chain/block_cache.ts'
import { type ContractCall, type ReturnData, readMulticall } from '../../../chain/call/many/multicall.ts'
import { decodeAddress, decodeWord, encodeCall, toLowerHex } from '../../../chain/call/words.ts'
import { type ChainClient, ContractUnresponsiveError, type Endpoint } from '../../../chain/rpc/client.ts'
import type { FinanceClient } from '../../../finance/chain.ts'
import type { PriceSource } from '../../../finance/price/past/sources.ts'
import { createCache } from '../../../lib/async/cache.ts'
import type { Work } from '../../../lib/async/work.ts'
import type { Clock } from '../../../lib/clock.ts'
import { UnavailableError, UpstreamError } from '../../../lib/error.ts'
import type { EventsTarget } from '../../lending/read_events.ts'
import type { LendingTarget, ReserveToken } from '../event/log.ts'
import type { AaveV3Deployment } from '../table.ts'

const GET_POOL = toFunctionSelector('getPool()')
const GET_PRICE_ORACLE = toFunctionSelector('getPriceOracle()')
const GET_RESERVES_LIST = toFunctionSelector('getReservesList()')
const GET_RESERVE_DATA = toFunctionSelector('getReserveData(address asset)')
/** Word indexes of the tokens in `getReserveData`, the same in every version. */
const TOKEN_WORDS = { supply: 8, stable_debt: 9, variable_debt: 10 } as const
const BUDGET_MS = 4_000
const CACHE_ENTRIES_MAX = 500
/** One attempt each to learn the pool, the list and the reserves. */
const SHAPE_ATTEMPTS = 3

/** Reads a market's contracts, for its history. */
export type MarketReader = ReturnType<typeof createMarketReader>

/** Pool and assets of a market at the last read, from which the next calls are made. */
interface Shape {
  readonly pool: Address
  readonly assets: readonly Address[]
}

interface Reading extends EventsTarget<LendingTarget> {
  readonly block: Block
  /** Prices the market. */
  readonly oracle: Address
  readonly shape: Shape
}

/** Creates a reader that reads each market once per block. */
export function createMarketReader(clock: Clock) {
  const cache = createBlockCache<Reading>({ clock, entriesMax: CACHE_ENTRIES_MAX })
  const shapes = new Map<string, Shape>()
  return {
    /**
     * The market at the newest block, so that every reserve with final events is included; dropped reserves are not.
     * The market's own oracle prices them. Throws `UnavailableError`.
     */
    read(client: ChainClient, deployment: AaveV3Deployment, work: Work): Promise<Reading> {
      const { chain } = client
      const key = `aave_v3_market:${deployment.poolAddressesProvider}`
      const name = `${chain.id}:${key}`
      const read = async (shared: Work): Promise<Reading> => {
        const query = { chainId: chain.id, deployment, clock, shape: shapes.get(name) }
        const market = await client.read((endpoint, within) => readMarket(endpoint, query, within), {
          work: shared,
          budgetMs: BUDGET_MS,
        })
        shapes.set(name, market.shape)
        return market
      }
      return cache.reuse({ chain, key, read }, work)
    },
  }
}

/** Reads everything in one call by the last known shape; if the market has changed, repeats with the new shape. */
async function readMarket(
  endpoint: Endpoint,
  query: {
    readonly chainId: number
    readonly deployment: AaveV3Deployment
    readonly clock: Clock
    readonly shape: Shape | undefined
  },
  work: Work,
): Promise<Reading> {
  const { chainId, deployment, clock } = query
  const { market } = deployment
  let { shape } = query
  for (let attempts = 0; attempts < SHAPE_ATTEMPTS; attempts++) {
    const lastShape = shape
    const calls = createCalls(deployment, lastShape)
    const { results, block } = await readMulticall(endpoint, { calls, block: { chainId }, clock }, work)
    const [pool, oracle, list, ...data] = results
    const poolAddress = decodeAddress(requireWords(pool, { count: 1, market }), 0)
    const assets = lastShape?.pool === poolAddress ? decodeAssets(list, market) : undefined
    shape = { pool: poolAddress, assets: assets ?? [] }
    if (assets === undefined || assets.join() !== lastShape?.assets.join()) continue
    const { startBlock } = deployment
    const target = {
      chainId,
      contract: toLowerHex(poolAddress),
      startBlock,
      tokens: decodeTokens(assets, { data, market }),
    }
    const oracleAddress = decodeAddress(requireWords(oracle, { count: 1, market }), 0)
    const source: PriceSource = {
      kind: 'aave_market',
      provider: deployment.poolAddressesProvider,
      oracle: oracleAddress,
    }
    return { block, target, shape, oracle: oracleAddress, getSource: () => source }
  }
  throw new UpstreamError('Cannot read the market: it changed during the read')
}

function createCalls({ poolAddressesProvider: provider }: AaveV3Deployment, shape: Shape | undefined): ContractCall[] {
  const providerCalls = [GET_POOL, GET_PRICE_ORACLE].map((data) => ({ to: provider, data }))
  if (shape === undefined) return providerCalls
  const { pool, assets } = shape
  const poolCalls = [GET_RESERVES_LIST, ...assets.map((asset) => encodeCall(GET_RESERVE_DATA, asset))]
  return [...providerCalls, ...poolCalls.map((data) => ({ to: pool, data }))]
}

function decodeAssets(list: ReturnData, market: string): Address[] {
  const count = Number(decodeWord(requireWords(list, { count: 2, market }), 1))
  return Array.from({ length: count }, (_, index) =>
    decodeAddress(requireWords(list, { count: 2 + count, market }), 2 + index),
  )
}

function decodeTokens(
  assets: readonly Address[],
  { data, market }: { readonly data: readonly ReturnData[]; readonly market: string },
): ReadonlyMap<Hex, ReserveToken> {
  const tokens = new Map<Hex, ReserveToken>()
  for (const [index, asset] of assets.entries()) {
    const words = requireWords(data[index], { count: 11, market })
    for (const [side, word] of Object.entries(TOKEN_WORDS) as [ReserveToken['side'], number][]) {
      if (decodeWord(words, word) === 0n) continue
      tokens.set(toLowerHex(decodeAddress(words, word)), { asset: toLowerHex(asset), side })
    }
  }
  return tokens
}

/** Requires `count` words of an answer. Throws `ContractUnresponsiveError` otherwise: the reserves are unknown. */
function requireWords(answer: ReturnData, { count, market }: { readonly count: number; readonly market: string }): Hex {
  if (answer === undefined || answer.length < 2 + 64 * count) {
    throw new ContractUnresponsiveError(`market "${market}" does not return its reserves`)
  }
  return answer
}

/** Listings of reserves and changes of a market's contracts are rare; a sweep finds subjects missed meanwhile. */
const KNOWN_MS = 3_600_000
/** Time before a market that does not answer is read again. */
const SILENT_MS = 60_000
const MARKETS_MAX = 1_000

/** The contracts of a market that watching needs. */
type MarketFacts = Pick<Reading, 'target' | 'oracle'>

/** Cached contracts of the markets. */
export type MarketContracts = ReturnType<typeof createMarketContracts>

/** Creates it with an empty cache. */
export function createMarketContracts(clock: Clock) {
  const markets = createMarketReader(clock)
  const cache = createCache<MarketFacts | undefined>({ clock, entriesMax: MARKETS_MAX })
  const lastTargets = new Map<number, readonly LendingTarget[]>()

  async function readFacts(client: FinanceClient, deployment: AaveV3Deployment, work: Work) {
    try {
      const { target, oracle } = await markets.read(client, deployment, work)
      return { value: { target, oracle }, lifeMs: KNOWN_MS }
    } catch (error) {
      if (error instanceof UnavailableError && error.cause instanceof ContractUnresponsiveError)
        return { value: undefined, lifeMs: SILENT_MS }
      throw error
    }
  }

  return {
    /** The markets that answer, by name; reads them once an hour. Throws `UnavailableError`. */
    async read(
      client: FinanceClient,
      deployments: readonly AaveV3Deployment[],
      work: Work,
    ): Promise<ReadonlyMap<string, MarketFacts>> {
      const entries = await Promise.all(
        deployments.map(async (deployment) => {
          const key = `${client.chain.id}:${deployment.poolAddressesProvider}`
          const read = (shared: Work) => readFacts(client, deployment, shared)
          return [deployment.market, await cache.get({ key, read }, work)] as const
        }),
      )
      const facts = new Map(entries.flatMap(([market, each]) => (each === undefined ? [] : [[market, each] as const])))
      lastTargets.set(
        client.chain.id,
        [...facts.values()].map(({ target }) => target),
      )
      return facts
    },
    /** The targets of the last result, from memory. */
    getLastTargets: (chainId: number): readonly LendingTarget[] => lastTargets.get(chainId) ?? [],
  }
}
