import { type Address, type Hex, toFunctionSelector } from 'viem'
import { createBlockCache } from '../../../chain/block_cache.ts'
import { type ContractCall, readMulticall } from '../../../chain/call/many/multicall.ts'
import { decodeAddress, decodeWord, encodeCall, toLowerHex } from '../../../chain/call/words.ts'
import { type ChainClient, ContractUnresponsiveError, type Endpoint } from '../../../chain/rpc/client.ts'
import type { FirstBlocks } from '../../../finance/first_blocks.ts'
import type { PriceSource } from '../../../finance/price/past/sources.ts'
import type { Work } from '../../../lib/async/work.ts'
import type { Clock } from '../../../lib/clock.ts'
import type { EventsTarget } from '../../lending/read_events.ts'
import type { CometTarget } from '../event/log.ts'
import type { CompoundV3Market } from '../table.ts'

const BASE_TOKEN = toFunctionSelector('baseToken()')
const NUM_ASSETS = toFunctionSelector('numAssets()')
const GET_ASSET_INFO = toFunctionSelector('getAssetInfo(uint8)')
/** Word of the token in `getAssetInfo`. */
const ASSET_WORD = 1
/** The longest list of collaterals that a market can have. */
const ASSETS_MAX = 24n
const BUDGET_MS = 4_000
const CACHE_ENTRIES_MAX = 500
/** Amounts are valued by the chain's own sources: feeds of many markets answer in the base token. */
const CHAIN_PRICES: PriceSource = { kind: 'chain' }

/** Reads what the history of a market needs. */
export type CometTargetReader = ReturnType<typeof createCometTargetReader>

/** Creates a reader that reads each market once per block. */
export function createCometTargetReader({
  clock,
  firstBlocks,
}: {
  readonly clock: Clock
  readonly firstBlocks?: FirstBlocks | undefined
}) {
  const cache = createBlockCache<EventsTarget<CometTarget> & Awaited<ReturnType<typeof readTokens>>>({
    clock,
    entriesMax: CACHE_ENTRIES_MAX,
  })

  /** The first block of a market: the configured one, else the one that was found; 0 until then. */
  function findStart(client: ChainClient, { comet, startBlock }: CompoundV3Market): number {
    if (startBlock > 0) return startBlock
    const probe = { contract: comet, getters: [BASE_TOKEN] }
    firstBlocks?.want(client, probe)
    return Number(firstBlocks?.get(client.chain.id, probe) ?? 0n)
  }

  return {
    /** The market at the newest block, with every collateral that it has had. Throws `UnavailableError`. */
    read(client: ChainClient, market: CompoundV3Market, work: Work): Promise<EventsTarget<CometTarget>> {
      const { chain } = client
      const read = async (shared: Work) => {
        const tokens = await client.read(
          (endpoint, within) => readTokens(endpoint, { chainId: chain.id, market, clock }, within),
          { work: shared, budgetMs: BUDGET_MS },
        )
        const { base, collaterals } = tokens
        const contract = toLowerHex(market.comet)
        const target = { chainId: chain.id, contract, startBlock: findStart(client, market), base, collaterals }
        return { ...tokens, target, getSource: () => CHAIN_PRICES }
      }
      return cache.reuse({ chain, key: `compound_v3_market:${market.comet}`, read }, work)
    },
  }
}

/** The base token of a market and its collaterals, which are never removed. */
async function readTokens(
  endpoint: Endpoint,
  query: { readonly chainId: number; readonly market: CompoundV3Market; readonly clock: Clock },
  work: Work,
) {
  const { chainId, market, clock } = query
  const to: Address = market.comet
  const ask = async (calls: readonly ContractCall[], words: number) => {
    const { results, block } = await readMulticall(endpoint, { calls, block: { chainId }, clock }, work)
    const answers = results.map((answer): Hex => {
      if (answer === undefined || answer.length < 2 + 64 * words) throw createSilenceError(market)
      return answer
    })
    return { answers, block }
  }
  const { answers: facts, block } = await ask(
    [BASE_TOKEN, NUM_ASSETS].map((data) => ({ to, data })),
    1,
  )
  const [base = '0x', count = '0x'] = facts
  const assets = decodeWord(count, 0)
  if (assets > ASSETS_MAX) throw createSilenceError(market)
  const calls = Array.from({ length: Number(assets) }, (_, index) => ({
    to,
    data: encodeCall(GET_ASSET_INFO, BigInt(index)),
  }))
  const { answers } = calls.length === 0 ? { answers: [] } : await ask(calls, ASSET_WORD + 1)
  return {
    block,
    base: toLowerHex(decodeAddress(base, 0)),
    collaterals: answers.map((answer) => toLowerHex(decodeAddress(answer, ASSET_WORD))),
  }
}

function createSilenceError({ market }: CompoundV3Market): ContractUnresponsiveError {
  return new ContractUnresponsiveError(`market "${market}" does not return its tokens`)
}
