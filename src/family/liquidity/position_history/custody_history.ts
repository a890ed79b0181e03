import { type Address, toFunctionSelector } from 'viem'
import type { PinnedBlock } from '../../../chain/block.ts'
import { readMulticall } from '../../../chain/call/many/multicall.ts'
import { readLatestBlock } from '../../../chain/evm/read_block.ts'
import { createBlockFinder } from '../../../chain/past/block_at.ts'
import { getCacheTtlMs, isOneWord, noteWitnesses, readByQuorum } from '../../../chain/past/quorum.ts'
import type { Endpoint } from '../../../chain/rpc/client.ts'
import type { FinanceClient } from '../../../finance/chain.ts'
import type { createPriceReader } from '../../../finance/price/past/price_reader.ts'
import type { PriceBlock } from '../../../finance/price/past/prices_at.ts'
import { createCache } from '../../../lib/async/cache.ts'
import { allOrAbort, mapChunks } from '../../../lib/async/parallel.ts'
import { noteUnwitnessed, type Work } from '../../../lib/async/work.ts'
import type { Clock } from '../../../lib/clock.ts'
import { UnavailableError, UpstreamError } from '../../../lib/error.ts'
import type { CustodyEvent } from './custody_event.ts'
import {
  type CustodyHistory,
  type CustodyMark,
  type CustodyRead,
  NO_CUSTODY,
  type UnknownCustody,
} from './custody_mark.ts'
import { decodePnlToken, type OwnPrice } from './flow_price.ts'

const NOT_READ: UnknownCustody = { because: 'what its custodian paid is not read yet', isLasting: false }
const NEVER_READ: UnknownCustody = { because: 'what custodians of its kind paid is not read', isLasting: true }

/** Blocks of one batch of prices, and batches at the same time. */
const BLOCKS_AT_ONCE = { size: 8, runningMax: 3 }
const TOKENS_MAX = 1_000
const DECIMALS = toFunctionSelector('decimals()')

/**
 * Creates a reader that adds times and prices to custodians' events. It says why where they cannot be read: then profit
 * and loss is told without them. Throws as it is aborted.
 */
export function createCustodyReader({
  prices,
  clock,
}: {
  readonly prices: Pick<ReturnType<typeof createPriceReader>, 'pricesAt'>
  readonly clock: Clock
}) {
  const blocks = createBlockFinder(clock)
  const decimals = createCache<number>({ clock, entriesMax: TOKENS_MAX })

  async function readBlock(client: FinanceClient, { block, timestampSec }: CustodyEvent, isFinal: boolean, work: Work) {
    const number = BigInt(block)
    if (isFinal && timestampSec !== null) return { number, timestampSec: BigInt(timestampSec) }
    return await blocks.findReportedBlock(client, number, work)
  }

  function readDecimals(client: FinanceClient, token: Address, work: Work): Promise<number> {
    const read = async (shared: Work) => {
      const attempt = async (endpoint: Endpoint, within: Work) => {
        const block = await readLatestBlock(endpoint, client.chain.id, within)
        const { results } = await readMulticall(
          endpoint,
          { calls: [{ to: token, data: DECIMALS }], block, clock },
          within,
        )
        return decodePnlToken(results[0], token).decimals
      }
      const options = { work: shared, what: `the decimals of reward ${token}`, toText: String }
      const { value, endpoints } = await readByQuorum(client, attempt, options)
      noteWitnesses(client, endpoints.length, shared)
      return { value, lifeMs: getCacheTtlMs(client, endpoints.length) }
    }
    return decimals.get({ key: `${client.chain.id}:${token}`, read }, work)
  }

  /** Reads prices of rewards, each at its block. */
  async function priceRewards(
    client: FinanceClient,
    events: readonly (CustodyEvent & { readonly at: PriceBlock; readonly isFinal: boolean })[],
    work: Work,
  ): Promise<readonly CustodyMark['reward'][]> {
    const requests = events.flatMap(({ token, at: block, isFinal }) => (token ? [{ token, block, isFinal }] : []))
    const outcomes = await prices.pricesAt(client, { source: { kind: 'chain' }, requests }, work)
    if (outcomes.some(({ witnesses }) => isOneWord(witnesses))) noteUnwitnessed(work, [client.chain.id])
    let next = 0
    return await allOrAbort(
      events.map(({ token }) => {
        if (token === undefined) return async () => undefined
        const outcome = outcomes[next++]
        return async (within: Work) => {
          const price: OwnPrice =
            outcome?.kind === 'price' ? outcome.price : { because: outcome?.because ?? 'no source of it was asked' }
          return { token, decimals: await readDecimals(client, token, within), price }
        }
      }),
      work,
    )
  }

  async function addFacts(client: FinanceClient, { events, finalTo, unpaid }: CustodyRead, work: Work) {
    const marks = await mapChunks(
      events,
      BLOCKS_AT_ONCE,
      async (some, within) => {
        const dated = await allOrAbort(
          some.map((event) => async (shared: Work) => {
            const isFinal = event.block <= finalTo
            return { ...event, isFinal, at: await readBlock(client, event, isFinal, shared) }
          }),
          within,
        )
        const rewards = await priceRewards(client, dated, within)
        return some.map((event, index): CustodyMark => {
          const reward = rewards[index]
          return { event, timestampSec: dated[index]?.at.timestampSec ?? 0n, ...(reward && { reward }) }
        })
      },
      work,
    )
    return { marks, unpaid }
  }

  return async (
    client: FinanceClient,
    { reading, end }: { readonly reading: Promise<CustodyRead | undefined>; readonly end: Pick<PinnedBlock, 'number'> },
    work: Work,
  ): Promise<CustodyHistory> => {
    try {
      const read = await reading
      if (read === undefined) return NEVER_READ
      const last = Number(end.number)
      if (read.end < last) return NOT_READ
      const events = read.events.filter(({ block, kind }) => block <= last && kind !== 'update')
      return events.length === 0 ? NO_CUSTODY : await addFacts(client, { ...read, events }, work)
    } catch (error) {
      if (work.signal.aborted) throw error
      if (error instanceof UnavailableError || error instanceof UpstreamError) return NOT_READ
      throw error
    }
  }
}
