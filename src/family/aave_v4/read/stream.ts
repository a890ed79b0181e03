import { type Hex, toFunctionSelector } from 'viem'
import type { PinnedBlock } from '../../../chain/block.ts'
import { createBlockCache } from '../../../chain/block_cache.ts'
import { type ContractCall, readMulticall } from '../../../chain/call/many/multicall.ts'
import { decodeAddress, decodeWord, encodeCall, toLowerHex } from '../../../chain/call/words.ts'
import { type ChainClient, ContractUnresponsiveError, type Endpoint } from '../../../chain/rpc/client.ts'
import type { PriceSource } from '../../../finance/price/past/sources.ts'
import type { Stream } from '../../../history/stream.ts'
import type { Work } from '../../../lib/async/work.ts'
import type { Clock } from '../../../lib/clock.ts'
import { LENDING_EVENTS, type LendingEvent, readAllLendingEvents } from '../../lending/lending_event.ts'
import { readAtFinal } from '../../lending/read_at_final.ts'
import type { EventsTarget } from '../../lending/read_events.ts'
import { decodeLogs } from '../event/decode.ts'
import { checkFold, type StoredPosition } from '../event/fold.ts'
import { createFilters, fromReserveKey, type SpokeTarget, toSpokeTarget } from '../event/log.ts'
import type { AaveV4Spoke } from '../table.ts'

/** Name of the stream in the database; never changes. */
const NAME = 'aave_v4_lending'
const BUDGET_MS = 4_000

const GET_RESERVE_COUNT = toFunctionSelector('getReserveCount()')
const GET_RESERVE = toFunctionSelector('getReserve(uint256)')
const GET_USER_POSITION = toFunctionSelector('getUserPosition(uint256,address)')
const ORACLE = toFunctionSelector('ORACLE()')
/** As in the lens. */
const RESERVES_MAX = 512n
const CACHE_ENTRIES_MAX = 500

/**
 * Creates the stream of what wallets did in spokes. Rows are proven by the fold: added up, they must be what the spoke has
 * stored of the wallet, to the unit. An emptied position leaves no trace, so nothing but its logs says when it began.
 */
export function createSpokeStream({ clock }: { readonly clock: Clock }): Stream<LendingEvent, SpokeTarget> {
  return {
    name: NAME,
    table: LENDING_EVENTS,
    filters: createFilters,
    decode: decodeLogs,
    async verify(target, { subject: wallet, client, db, toBlock }, work) {
      const stored = await readAtFinal(
        client,
        { chainId: target.chainId, number: toBlock },
        (endpoint, block, within) => readStored(endpoint, { target, wallet, block, clock }, within),
        work,
      )
      if (stored === undefined) return
      const rows = await readAllLendingEvents(db, { target, stream: NAME, wallet, toBlock })
      if (rows !== undefined) checkFold(target, rows, { stored, toBlock })
    },
  }
}

/** What the spoke has stored of a wallet, in the order of its reserves. Throws as `Endpoint.call`. */
async function readStored(
  endpoint: Endpoint,
  query: { readonly target: SpokeTarget; readonly wallet: Hex; readonly block: PinnedBlock; readonly clock: Clock },
  work: Work,
): Promise<readonly StoredPosition[]> {
  const { target, wallet, block, clock } = query
  const to = target.contract
  const calls = target.assets.map((_, id) => ({ to, data: encodeCall(GET_USER_POSITION, BigInt(id), wallet) }))
  const { results } = await readMulticall(endpoint, { calls, block, clock }, work)
  return results.map((answer = '0x') => {
    // The reserve does not exist yet.
    const word = (index: number) => (answer.length < 2 + 64 * 5 ? 0n : decodeWord(answer, index))
    return {
      drawnShares: word(0),
      premiumShares: word(1),
      premiumOffsetRay: BigInt.asIntN(256, word(2)),
      suppliedShares: word(3),
    }
  })
}

/** Reads what the history of a spoke needs. */
export type SpokeTargetReader = ReturnType<typeof createSpokeTargetReader>

/** Creates a reader that reads each spoke once per block. */
export function createSpokeTargetReader(clock: Clock) {
  const cache = createBlockCache<EventsTarget<SpokeTarget> & Awaited<ReturnType<typeof readReserves>>>({
    clock,
    entriesMax: CACHE_ENTRIES_MAX,
  })
  return {
    /**
     * The spoke at the newest block, with every reserve that final events name; its own oracle prices each of them.
     * Throws `UnavailableError`.
     */
    read(client: ChainClient, spoke: AaveV4Spoke, work: Work): Promise<EventsTarget<SpokeTarget>> {
      const { chain } = client
      const read = async (shared: Work) => {
        const reserves = await client.read(
          (endpoint, within) => readReserves(endpoint, { chainId: chain.id, spoke, clock }, within),
          { work: shared, budgetMs: BUDGET_MS },
        )
        const { assets, oracle } = reserves
        const sources = assets.map(
          (_, reserveId): PriceSource => ({ kind: 'aave_reserve', spoke: spoke.address, reserveId, oracle }),
        )
        const getSource = ({ market }: LendingEvent): PriceSource => {
          const source = market === null ? undefined : sources[fromReserveKey(market)]
          if (source === undefined) throw new Error(`Cannot price an event of reserve ${market}: it is not known`)
          return source
        }
        return { ...reserves, target: toSpokeTarget(chain.id, spoke, assets), getSource }
      }
      return cache.reuse({ chain, key: `aave_v4_spoke:${spoke.address}`, read }, work)
    },
  }
}

/** The tokens of a spoke's reserves by their ids, and its oracle. */
async function readReserves(
  endpoint: Endpoint,
  { chainId, spoke, clock }: { readonly chainId: number; readonly spoke: AaveV4Spoke; readonly clock: Clock },
  work: Work,
) {
  const { name, address: to } = spoke
  const toReserveCall = (id: bigint): ContractCall => ({ to, data: encodeCall(GET_RESERVE, id) })
  const ask = async (calls: readonly ContractCall[]) => {
    const { results, block } = await readMulticall(endpoint, { calls, block: { chainId }, clock }, work)
    const words = results.map((answer) => {
      if (answer === undefined || answer.length < 66) {
        throw new ContractUnresponsiveError(`spoke "${name}" does not return its reserves`)
      }
      return answer
    })
    return { words, block }
  }
  const { words: facts, block } = await ask([GET_RESERVE_COUNT, ORACLE].map((data) => ({ to, data })))
  const [count = '0x', oracle = '0x'] = facts
  const reserves = decodeWord(count, 0)
  if (reserves > RESERVES_MAX) throw new ContractUnresponsiveError(`spoke "${name}" does not return its reserves`)
  const ids = Array.from({ length: Number(reserves) }, (_, id) => BigInt(id))
  const { words } = ids.length === 0 ? { words: [] } : await ask(ids.map(toReserveCall))
  return { block, assets: words.map((word) => toLowerHex(decodeAddress(word, 0))), oracle: decodeAddress(oracle, 0) }
}
