import { type Address, getAddress, type Hex } from 'viem'
import type { Block } from '../../chain/block.ts'
import { readBlock } from '../../chain/evm/read_block.ts'
import type { ChainClient } from '../../chain/rpc/client.ts'
import type { Database } from '../../db/database.ts'
import type { CompleteHistory, History, Stream, StreamTarget } from '../../history/stream.ts'
import { allOrAbort } from '../../lib/async/all_or_abort.ts'
import { registerTimeoutError } from '../../lib/async/timeout_error.ts'
import type { Clock } from '../../lib/clock.ts'
import { PendingError, UnavailableError } from '../../lib/error.ts'
import type { FinanceClient } from '../chain.ts'
import { createPriceReader } from '../price/past/price_reader.ts'
import type { PriceSource } from '../price/past/sources.ts'
import { createTokenReader } from '../token/read_tokens.ts'
import {
  LENDING_EVENT_TYPES,
  type LendingEvent,
  type LendingEventKind,
  type LendingEventType,
  readLendingEvents,
} from './lending_event.ts'
import type { PricedEvent } from './present.ts'

/** A price that no source can tell now will hardly be there in a second. */
const PRICE_RETRY_SEC = 60

/** Where events are followed, and who prices their assets. */
export interface EventsPlace<Place extends StreamTarget> {
  readonly place: Place
  readonly asker: PriceSource
}

/** Which events of which wallet. */
interface EventsQuestion<Place extends StreamTarget> {
  readonly client: FinanceClient
  /** Is read beside the newest block. */
  readonly from: Promise<EventsPlace<Place>>
  readonly wallet: Address
  /** The only one of the place's markets; absent: all. */
  readonly market?: Hex | undefined
  /** Absent: all. */
  readonly type?: LendingEventType | undefined
  readonly page: number
  readonly limit: number
}

/** One page of a wallet's events, newest first, and how many there are in all, as of a block. */
interface EventsPage {
  readonly events: readonly PricedEvent[]
  readonly total: number
  readonly block: Block
}

/** Reads events of wallets in the markets of a family. */
export type EventReader<Place extends StreamTarget> = ReturnType<typeof createEventReader<Place>>

/** Makes a reader over the history of the process. */
export function createEventReader<Place extends StreamTarget>(options: {
  readonly stream: Stream<LendingEvent, Place>
  readonly history: History
  readonly db: Database
  readonly clock: Clock
}) {
  const { stream, history, db, clock } = options
  const tokens = createTokenReader(clock)
  const prices = createPriceReader({ db, clock })

  /** The page from the unfinalized end and, below it, from the database: one statement for coverage, total and rows. */
  async function pageOf(
    { client, wallet, market, type, page, limit }: EventsQuestion<Place>,
    place: Place,
    ensured: CompleteHistory<LendingEvent>,
  ): Promise<{ readonly rows: readonly LendingEvent[]; readonly total: number }> {
    const kinds: readonly LendingEventKind[] = type === undefined ? LENDING_EVENT_TYPES : [type]
    const tail = ensured.tail
      .filter((row) => kinds.includes(row.kind) && (market === undefined || row.market === market))
      .sort(newestFirst)
    const skip = (page - 1) * limit
    const young = tail.slice(skip, skip + limit)
    const stored = await readLendingEvents(db, {
      place,
      stream: stream.name,
      wallet,
      toBlock: ensured.storedTo,
      kinds,
      market,
      skip: Math.max(0, skip - tail.length),
      max: limit - young.length,
    })
    if (stored === undefined) {
      throw new UnavailableError(
        `The history of chain ${client.chain.id} (${client.chain.name}) is not complete any more`,
      )
    }
    return { rows: [...young, ...stored.events], total: tail.length + stored.total }
  }

  return {
    /**
     * Throws `UnavailableError` if the history is not complete yet, with its progress; if a price is missing, naming the
     * asset and what helps; and if the chain or the database cannot be read.
     */
    async read(question: EventsQuestion<Place>, signal: AbortSignal): Promise<EventsPage> {
      const { client, from } = question
      const subject = question.wallet.toLowerCase() as Hex
      const unread = { chainId: client.chain.id, read: async () => (await from).place }
      const [{ place, asker }, ensured] = await Promise.all([
        from,
        history.ensure({ stream, place: unread, subject }, signal),
      ])
      if (ensured.isUntouched) return { events: [], total: 0, block: ensured.block }
      const { rows, total } = await pageOf(question, place, ensured)
      registerTimeoutError(signal, () => pricesMissing(client))
      const timed = await withTimes(client, rows, signal)
      const assets = [...new Set(timed.map(({ asset }) => asset))]
      const [facts, found] = await Promise.all([
        tokens.facts(client, assets, signal),
        prices.pricesAt(
          client,
          {
            asker,
            wanted: timed.map(({ asset, block, timestampSec }) => ({
              token: getAddress(asset),
              block: { number: BigInt(block), timestampSec: BigInt(timestampSec) },
              isFinal: block <= ensured.storedTo,
            })),
          },
          signal,
        ),
      ])
      const events = timed.map((event, index): PricedEvent => {
        const token = facts.get(event.asset)
        const outcome = found[index]
        if (token === undefined || outcome === undefined) throw new Error('Every event has a token and an outcome')
        if (outcome.kind === 'missing') throw withoutPrice(client, event, { ...token, because: outcome.because })
        return { ...event, token, price: outcome.price }
      })
      return { events, total, block: ensured.block }
    },
  }
}

/** Newest first; of a liquidation the debt before the collateral. */
function newestFirst(a: LendingEvent, b: LendingEvent): number {
  return b.block - a.block || b.logIndex - a.logIndex || a.leg - b.leg
}

/** Fills in the times that endpoints did not give with the logs, from the headers of the blocks. */
async function withTimes(client: ChainClient, rows: readonly LendingEvent[], signal: AbortSignal) {
  const missing = [...new Set(rows.filter(({ timestampSec }) => timestampSec === null).map(({ block }) => block))]
  const headers = await allOrAbort(
    missing.map((number) => (shared: AbortSignal) => {
      const question = { chainId: client.chain.id, number: BigInt(number) }
      return client.read((endpoint, within) => readBlock(endpoint, question, within), {
        signal: shared,
        past: 'header',
      })
    }),
    signal,
  )
  const times = new Map(headers.map(({ number, timestampSec }) => [Number(number), Number(timestampSec)]))
  return rows.map((row) => ({ ...row, timestampSec: row.timestampSec ?? times.get(row.block) ?? 0 }))
}

/** Said if the request's time ends when all events are known; what was priced is kept. */
function pricesMissing({ chain: { id, name } }: ChainClient): PendingError {
  return new PendingError(`The history of chain ${id} (${name}) is read; the prices of its events are being read`)
}

function withoutPrice(
  { chain: { id, name } }: ChainClient,
  { asset, block }: LendingEvent,
  { symbol, because }: { readonly symbol: string; readonly because: string },
): UnavailableError {
  return new UnavailableError(
    `Cannot price ${symbol} (${getAddress(asset)}) at block ${block} of chain ${id} (${name}) because ${because}: ` +
      `set an endpoint with archive state in RPC_URL_${id}, or a price feed of the token in CHAINS_FILE`,
    { retryAfterSec: PRICE_RETRY_SEC },
  )
}
