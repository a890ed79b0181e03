import { type Address, encodeFunctionData, type Hex, parseAbi } from 'viem'
import type { Block } from '../../../chain/block.ts'
import { createBlockCache } from '../../../chain/block_cache.ts'
import { type Answer, readCalls } from '../../../chain/call/many/read_calls.ts'
import { addressOf, wordOf } from '../../../chain/call/words.ts'
import { readLatestBlock } from '../../../chain/read_block.ts'
import type { ChainClient, Endpoint } from '../../../chain/rpc/client.ts'
import type { Clock } from '../../../lib/clock.ts'
import { UpstreamError } from '../../../lib/error.ts'
import type { AaveV3Deployment } from '../deployments.ts'
import type { LendingPlace, ReserveToken } from '../event/place.ts'

const ABI = parseAbi([
  'function getPool() view returns (address)',
  'function getReservesList() view returns (address[])',
  'function getReserveData(address asset) view returns (uint256[15])',
])
/** Words of `getReserveData` that hold the tokens, the same in every version. */
const TOKEN_WORDS = { supply: 8, stable_debt: 9, variable_debt: 10 } as const
const BUDGET_MS = 4_000
const CACHE_ENTRIES_MAX = 500

/** Reads what the history of a market needs to know about it. */
export interface MarketReader {
  /**
   * The market with the tokens of its reserves, at the newest block, so that no later listed one can be missing in what
   * is final. Reserves that were dropped are not among them. Throws `UnavailableError`.
   */
  place(client: ChainClient, deployment: AaveV3Deployment, signal: AbortSignal): Promise<LendingPlace>
}

/** Makes a reader that reads each market once per block. */
export function createMarketReader(clock: Clock): MarketReader {
  const cache = createBlockCache<{ readonly block: Block; readonly place: LendingPlace }>({
    ...{ clock, entriesMax: CACHE_ENTRIES_MAX },
  })
  return {
    async place(client, deployment, signal) {
      const { chain } = client
      const read = (shared: AbortSignal) =>
        client.read((endpoint, within) => readPlace(endpoint, { chainId: chain.id, deployment, clock }, within), {
          ...{ signal: shared, budgetMs: BUDGET_MS },
        })
      const key = `aave_v3_market:${deployment.poolAddressesProvider}`
      return (await cache.reuse({ chain, key, read }, signal)).place
    },
  }
}

async function readPlace(
  endpoint: Endpoint,
  question: { readonly chainId: number; readonly deployment: AaveV3Deployment; readonly clock: Clock },
  signal: AbortSignal,
): Promise<{ readonly block: Block; readonly place: LendingPlace }> {
  const { chainId, deployment, clock } = question
  const block = await readLatestBlock(endpoint, chainId, signal)
  const ask = async (to: Address, data: readonly Hex[]): Promise<readonly Answer[]> => {
    const questions = data.map((each) => ({ to, data: each }))
    return (await readCalls(endpoint, { questions, block, clock }, signal)).answers
  }
  const { poolAddressesProvider, startBlock } = deployment
  const [found] = await ask(poolAddressesProvider, [encodeFunctionData({ abi: ABI, functionName: 'getPool' })])
  const pool = addressOf(wordsOf(found, 1), 0)
  const [list] = await ask(pool, [encodeFunctionData({ abi: ABI, functionName: 'getReservesList' })])
  const count = Number(wordOf(wordsOf(list, 2), 1))
  const assets = Array.from({ length: count }, (_, index) => addressOf(wordsOf(list, 2 + count), 2 + index))
  const data = await ask(
    pool,
    assets.map((asset) => encodeFunctionData({ abi: ABI, functionName: 'getReserveData', args: [asset] })),
  )
  const tokens = new Map<Hex, ReserveToken>()
  for (const [index, asset] of assets.entries()) {
    const words = wordsOf(data[index], 11)
    for (const [side, word] of Object.entries(TOKEN_WORDS) as [ReserveToken['side'], number][]) {
      if (wordOf(words, word) === 0n) continue
      tokens.set(lower(addressOf(words, word)), { asset: lower(asset), side })
    }
  }
  return { block, place: { chainId, contract: lower(pool), startBlock, tokens } }
}

/** The answer, if it has so many words. Throws `UpstreamError` otherwise: a market without its reserves is no market. */
function wordsOf(answer: Answer, count: number): Hex {
  if (answer === undefined || answer.length < 2 + 64 * count) {
    throw new UpstreamError('The market does not say what its reserves are')
  }
  return answer
}

function lower(address: Address): Hex {
  return address.toLowerCase() as Hex
}
