import { type Address, getAddress, type Hex } from 'viem'
import type { Block } from '../../../chain/block.ts'
import { readBlock } from '../../../chain/read_block.ts'
import type { ChainClient } from '../../../chain/rpc/client.ts'
import type { Database } from '../../../db/database.ts'
import type { FinanceClient } from '../../../finance/chain.ts'
import {
  LENDING_EVENT_TYPES,
  type LendingEvent,
  type LendingEventKind,
  type LendingEventType,
  readLendingEvents,
} from '../../../finance/lending/lending_event.ts'
import type { PricedEvent } from '../../../finance/lending/present.ts'
import { createPriceReader } from '../../../finance/price/price_reader.ts'
import { createTokenReader } from '../../../finance/token/read_tokens.ts'
import type { Ensured, History } from '../../../history/stream.ts'
import { whenLate } from '../../../lib/async/late.ts'
import { together } from '../../../lib/async/together.ts'
import type { Clock } from '../../../lib/clock.ts'
import { PendingError, UnavailableError } from '../../../lib/error.ts'
import type { LendingPlace } from '../event/place.ts'
import type { AaveV3Deployment } from '../table/deployments.ts'
import { createMarketReader } from './read_market.ts'
import { createLendingStream, LENDING_STREAM } from './stream.ts'

/** A price that no source can tell now will hardly be there in a second. */
const PRICE_RETRY_SEC = 60

/** Which events of which wallet. */
interface EventsQuestion {
  readonly client: FinanceClient
  readonly deployment: AaveV3Deployment
  readonly wallet: Address
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

/** Reads events of wallets in markets. */
export interface EventReader {
  /**
   * Throws `UnavailableError` if the history is not complete yet, with its progress; if a price is missing, naming the
   * asset and what helps; and if the chain or the database cannot be read.
   */
  read(question: EventsQuestion, signal: AbortSignal): Promise<EventsPage>
}

/** Makes a reader over the history of the process. */
export function createEventReader(options: {
  readonly history: History
  readonly db: Database
  readonly clock: Clock
}): EventReader {
  const { history, db, clock } = options
  const markets = createMarketReader(clock)
  const tokens = createTokenReader(clock)
  const prices = createPriceReader({ db, clock })
  const stream = createLendingStream({ clock })

  return {
    async read(question, signal) {
      const { client, deployment } = question
      const subject = question.wallet.toLowerCase() as Hex
      const reading = markets.read(client, deployment, signal)
      const unread = { chainId: client.chain.id, read: async () => (await reading).place }
      const [{ place, oracle }, ensured] = await Promise.all([
        reading,
        history.ensure({ stream, place: unread, subject }, signal),
      ])
      if (ensured.isUntouched) return { events: [], total: 0, block: ensured.block }
      const { rows, total } = await pageOf(db, { question, place, ensured })
      whenLate(signal, () => pricesMissing(client))
      const timed = await withTimes(client, rows, signal)
      const assets = [...new Set(rows.map(({ asset }) => asset))]
      const [facts, found] = await Promise.all([
        tokens.facts(client, assets, signal),
        prices.pricesAt(
          client,
          {
            asker: { kind: 'aave_market', provider: deployment.poolAddressesProvider, oracle },
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

/** The page from the unfinalized end and, below it, from the database: one statement for coverage, total and rows. */
async function pageOf(
  db: Database,
  options: { readonly question: EventsQuestion; readonly place: LendingPlace; readonly ensured: Ensured<LendingEvent> },
): Promise<{ readonly rows: readonly LendingEvent[]; readonly total: number }> {
  const { question, place, ensured } = options
  const { client, wallet, type, page, limit } = question
  const kinds: readonly LendingEventKind[] = type === undefined ? LENDING_EVENT_TYPES : [type]
  const tail = ensured.tail.filter(({ kind }) => kinds.includes(kind)).sort(newestFirst)
  const skip = (page - 1) * limit
  const young = tail.slice(skip, skip + limit)
  const stored = await readLendingEvents(db, {
    place,
    stream: LENDING_STREAM,
    wallet,
    toBlock: ensured.storedTo,
    kinds,
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

/** Newest first; of a liquidation the debt before the collateral. */
function newestFirst(a: LendingEvent, b: LendingEvent): number {
  return b.block - a.block || b.logIndex - a.logIndex || a.leg - b.leg
}

/** Fills in the times that endpoints did not give with the logs, from the headers of the blocks. */
async function withTimes(client: ChainClient, rows: readonly LendingEvent[], signal: AbortSignal) {
  const missing = [...new Set(rows.filter(({ timestampSec }) => timestampSec === null).map(({ block }) => block))]
  const headers = await together(
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
