import { type Hex, toFunctionSelector } from 'viem'
import type { PinnedBlock } from '../../../chain/block.ts'
import { readMulticall } from '../../../chain/call/many/multicall.ts'
import { encodeCall, tryDecodeUint } from '../../../chain/call/words.ts'
import { createBlockFinder } from '../../../chain/past/block_at.ts'
import { getCacheTtlMs, noteWitnesses, readByQuorum } from '../../../chain/past/quorum.ts'
import { type ChainClient, isUnavailable } from '../../../chain/rpc/client.ts'
import type { Work } from '../../../lib/async/work.ts'
import type { Clock } from '../../../lib/clock.ts'
import { UnavailableError } from '../../../lib/error.ts'
import { createLru } from '../../../lib/lru.ts'

export const CONVERT_TO_ASSETS = toFunctionSelector('convertToAssets(uint256)')
const BUDGET_MS = 4_000
const RETRY_SEC = 60
/** Worths of final blocks that are remembered. */
const KNOWN_MAX = 50_000

/** Shares at a block, and what they are worth there. */
export interface BlockWorth {
  readonly timestampSec: number
  /** By number of shares, smallest units of the asset. */
  readonly assets: ReadonlyMap<bigint, bigint>
}

/** Creates a reader of what shares of a vault were worth at the ends of blocks; it remembers final ones. */
export function createWorthReader(clock: Clock) {
  const finder = createBlockFinder(clock)
  const known = createLru<{ readonly value: BlockWorth; readonly witnesses: number; readonly untilMs: number }>({
    entriesMax: KNOWN_MAX,
    isOver: ({ untilMs }) => untilMs <= clock.monotonicMs(),
  })

  async function readAt(client: ChainClient, query: WorthQuery, block: PinnedBlock, work: Work) {
    const { vault, shares } = query
    const calls = shares.map((each) => ({ to: vault, data: encodeCall(CONVERT_TO_ASSETS, each) }))
    const read = async () =>
      await readByQuorum(
        client,
        async (endpoint, within) => {
          const { results } = await readMulticall(endpoint, { calls, block, clock }, within)
          return results.map(tryDecodeUint)
        },
        {
          work,
          budgetMs: BUDGET_MS,
          past: block,
          what: `what shares were worth at block ${block.number}`,
          toText: (assets) => assets.join(),
        },
      )
    const { value, endpoints } = await read().catch((error: unknown) => {
      throw isUnavailable(error, 'pruned') ? createPrunedError(client, query, error) : error
    })
    const assets = shares.map((each, index): readonly [bigint, bigint] => {
      const amount = value[index]
      if (amount === undefined) throw createSilentError(client, query)
      return [each, amount]
    })
    return { assets: new Map(assets), witnesses: endpoints.length }
  }

  /**
   * Reads a block: its time, and what these shares of a vault are worth at its end; two endpoints must agree. Notes what
   * rests on the word of one. Throws `UnavailableError` naming the remedy if no endpoint keeps its state, or if the vault
   * did not tell; `ChainUnavailableError` (disputed) if endpoints contradict each other.
   */
  return async (client: ChainClient, query: WorthQuery, work: Work): Promise<BlockWorth> => {
    const { vault, number, shares, isFinal } = query
    const key = `${client.chain.id}:${vault}:${number}:${shares.join()}`
    const found = known.get(key)
    if (found !== undefined && found.untilMs > clock.monotonicMs()) {
      noteWitnesses(client, found.witnesses, work)
      return found.value
    }
    const block = await finder.findReportedBlock(client, BigInt(number), work)
    const time = { timestampSec: Number(block.timestampSec) }
    if (shares.length === 0) return { ...time, assets: new Map() }
    const { assets, witnesses } = await readAt(client, query, block, work)
    noteWitnesses(client, witnesses, work)
    const value = { ...time, assets }
    if (isFinal) known.set(key, { value, witnesses, untilMs: clock.monotonicMs() + getCacheTtlMs(client, witnesses) })
    return value
  }
}

interface WorthQuery {
  readonly vault: Hex
  readonly number: number
  /** Different numbers of shares, in a fixed order. */
  readonly shares: readonly bigint[]
  /** True if the block can never be replaced. */
  readonly isFinal: boolean
}

function createPrunedError({ chain: { id, name } }: ChainClient, { vault, number }: WorthQuery, cause: unknown) {
  return new UnavailableError(
    `Cannot tell what shares of vault ${vault} were worth at block ${number} of chain ${id} (${name}), in which they ` +
      `moved without assets, because no endpoint keeps its state: set an endpoint with archive state in RPC_URL_${id}`,
    { retryAfterSec: RETRY_SEC, cause },
  )
}

function createSilentError({ chain: { id, name } }: ChainClient, { vault, number }: WorthQuery) {
  return new UnavailableError(
    `Cannot tell what shares of vault ${vault} were worth at block ${number} of chain ${id} (${name}), in which they ` +
      'moved without assets, because the vault did not tell',
    { retryAfterSec: RETRY_SEC },
  )
}
