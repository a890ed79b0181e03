import { type Address, type Hex, toFunctionSelector } from 'viem'
import type { Block } from '../../../chain/block.ts'
import { createBlockCache } from '../../../chain/block_cache.ts'
import { type ContractCall, type ReturnData, readMulticall } from '../../../chain/call/many/multicall.ts'
import { decodeAddress, decodeWord, encodeCall, toLowerHex } from '../../../chain/call/words.ts'
import { type ChainClient, ContractUnresponsiveError, type Endpoint } from '../../../chain/rpc/client.ts'
import type { EventsPlace } from '../../../finance/lending/read_events.ts'
import type { Clock } from '../../../lib/clock.ts'
import { UpstreamError } from '../../../lib/error.ts'
import type { LendingTarget, ReserveToken } from '../event/target.ts'
import type { AaveV3Deployment } from '../table/deployments.ts'

const GET_POOL = toFunctionSelector('getPool()')
const GET_PRICE_ORACLE = toFunctionSelector('getPriceOracle()')
const GET_RESERVES_LIST = toFunctionSelector('getReservesList()')
const GET_RESERVE_DATA = toFunctionSelector('getReserveData(address asset)')
/** Words of `getReserveData` that hold the tokens, the same in every version. */
const TOKEN_WORDS = { supply: 8, stable_debt: 9, variable_debt: 10 } as const
const BUDGET_MS = 4_000
const CACHE_ENTRIES_MAX = 500
/** Its pool, then its list, then its reserves. */
const SHAPE_TRIES = 3

/** Reads what the history of a market needs to know about it. */
export type MarketReader = ReturnType<typeof createMarketReader>

/** What a market was like when it was read last: where to ask, and for what. */
interface Shape {
  readonly pool: Address
  readonly assets: readonly Address[]
}

interface Reading extends EventsPlace<LendingTarget> {
  readonly block: Block
  readonly shape: Shape
}

/** Makes a reader that reads each market once per block. */
export function createMarketReader(clock: Clock) {
  const cache = createBlockCache<Reading>({ clock, entriesMax: CACHE_ENTRIES_MAX })
  const shapes = new Map<string, Shape>()
  return {
    /**
     * The market at the newest block, so that no reserve that was listed since can be missing in what is final; reserves
     * that were dropped are left out. Its own oracle prices them. Throws `UnavailableError`.
     */
    read(client: ChainClient, deployment: AaveV3Deployment, signal: AbortSignal): Promise<EventsPlace<LendingTarget>> {
      const { chain } = client
      const key = `aave_v3_market:${deployment.poolAddressesProvider}`
      const name = `${chain.id}:${key}`
      const read = async (shared: AbortSignal): Promise<Reading> => {
        const question = { chainId: chain.id, deployment, clock, shape: shapes.get(name) }
        const market = await client.read((endpoint, within) => readMarket(endpoint, question, within), {
          signal: shared,
          budgetMs: BUDGET_MS,
        })
        shapes.set(name, market.shape)
        return market
      }
      return cache.reuse({ chain, key, read }, signal)
    },
  }
}

/** Asks for everything at once where the market was last; again, step by step, if it has changed since. */
async function readMarket(
  endpoint: Endpoint,
  question: {
    readonly chainId: number
    readonly deployment: AaveV3Deployment
    readonly clock: Clock
    readonly shape: Shape | undefined
  },
  signal: AbortSignal,
): Promise<Reading> {
  const { chainId, deployment, clock } = question
  const { market } = deployment
  let { shape } = question
  for (let tries = 0; tries < SHAPE_TRIES; tries++) {
    const asked = shape
    const calls = questionsFor(deployment, asked)
    const { results, block } = await readMulticall(endpoint, { calls, block: { chainId }, clock }, signal)
    const [pool, oracle, list, ...data] = results
    const found = decodeAddress(wordsOf(pool, { count: 1, market }), 0)
    const assets = asked?.pool === found ? assetsIn(list, market) : undefined
    shape = { pool: found, assets: assets ?? [] }
    if (assets === undefined || assets.join() !== asked?.assets.join()) continue
    const { startBlock } = deployment
    const place = { chainId, contract: toLowerHex(found), startBlock, tokens: tokensIn(assets, { data, market }) }
    const priced = {
      provider: deployment.poolAddressesProvider,
      oracle: decodeAddress(wordsOf(oracle, { count: 1, market }), 0),
    }
    return { block, place, shape, asker: { kind: 'aave_market', ...priced } }
  }
  throw new UpstreamError('The market changed while it was read')
}

function questionsFor({ poolAddressesProvider: provider }: AaveV3Deployment, shape: Shape | undefined): ContractCall[] {
  const ofProvider = [GET_POOL, GET_PRICE_ORACLE].map((data) => ({ to: provider, data }))
  if (shape === undefined) return ofProvider
  const { pool, assets } = shape
  const ofPool = [GET_RESERVES_LIST, ...assets.map((asset) => encodeCall(GET_RESERVE_DATA, asset))]
  return [...ofProvider, ...ofPool.map((data) => ({ to: pool, data }))]
}

function assetsIn(list: ReturnData, market: string): Address[] {
  const count = Number(decodeWord(wordsOf(list, { count: 2, market }), 1))
  return Array.from({ length: count }, (_, index) =>
    decodeAddress(wordsOf(list, { count: 2 + count, market }), 2 + index),
  )
}

function tokensIn(
  assets: readonly Address[],
  { data, market }: { readonly data: readonly ReturnData[]; readonly market: string },
): ReadonlyMap<Hex, ReserveToken> {
  const tokens = new Map<Hex, ReserveToken>()
  for (const [index, asset] of assets.entries()) {
    const words = wordsOf(data[index], { count: 11, market })
    for (const [side, word] of Object.entries(TOKEN_WORDS) as [ReserveToken['side'], number][]) {
      if (decodeWord(words, word) === 0n) continue
      tokens.set(toLowerHex(decodeAddress(words, word)), { asset: toLowerHex(asset), side })
    }
  }
  return tokens
}

/** The answer, if it has so many words. Throws `ContractUnresponsiveError` otherwise: a market without its reserves is not one. */
function wordsOf(answer: ReturnData, { count, market }: { readonly count: number; readonly market: string }): Hex {
  if (answer === undefined || answer.length < 2 + 64 * count) {
    throw new ContractUnresponsiveError(`market "${market}" does not say what its reserves are`)
  }
  return answer
}
