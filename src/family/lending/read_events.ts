import { type Address, getAddress, type Hex } from 'viem'
import type { Block } from '../../chain/block.ts'
import { readBlock } from '../../chain/evm/read_block.ts'
import type { ChainClient } from '../../chain/rpc/client.ts'
import type { Database } from '../../db/database.ts'
import type { FinanceClient } from '../../finance/chain.ts'
import { createPriceReader } from '../../finance/price/past/price_reader.ts'
import type { PriceSource } from '../../finance/price/past/sources.ts'
import { createTokenReader } from '../../finance/token/read_tokens.ts'
import type { CompleteHistory, History, Stream, StreamTarget } from '../../history/stream.ts'
import { allOrAbort } from '../../lib/async/parallel.ts'
import { noteUnwitnessed, type Work } from '../../lib/async/work.ts'
import type { Clock } from '../../lib/clock.ts'
import { PendingError, UnavailableError } from '../../lib/error.ts'
import { groupBy } from '../../lib/group_by.ts'
import type { PinnedRead } from '../../lib/pinned_list.ts'
import { createBlockResolver, momentError } from '../moment.ts'
import {
  LENDING_EVENT_TYPES,
  type LendingEvent,
  type LendingEventKind,
  type LendingEventType,
  readLendingEvents,
} from './lending_event.ts'
import type { PricedEvent } from './present.ts'

/** A missing price rarely appears within seconds. */
const PRICE_RETRY_SEC = 60

/** The target that events are followed on, and the sources of their assets' prices. */
export interface EventsTarget<Target extends StreamTarget> {
  readonly target: Target
  /** The same object for events whose prices are read together. */
  readonly getSource: (event: LendingEvent) => PriceSource
}

/** A query for one page of a wallet's events. */
interface EventsQuery<Target extends StreamTarget> {
  readonly client: FinanceClient
  /** Target that is read along with the newest block. */
  readonly pendingTarget: Promise<EventsTarget<Target>>
  readonly wallet: Address
  /** One of the target's markets; absent: all. */
  readonly market?: Hex | undefined
  /** Absent: all. */
  readonly type?: LendingEventType | undefined
  readonly page: number
  readonly limit: number
  /** Blocks at which a list began that a cursor continues; absent: it begins at the newest. */
  readonly reads?: readonly PinnedRead[] | undefined
}

/** One page of a wallet's events, newest first, and the number of all, as of a block. */
interface EventsPage {
  readonly events: readonly PricedEvent[]
  readonly total: number
  readonly block: Block
}

/** Reads events of wallets in the markets of a family. */
export type EventReader<Target extends StreamTarget> = ReturnType<typeof createEventReader<Target>>

/** Creates a reader over the history of the process. */
export function createEventReader<Target extends StreamTarget>(options: {
  readonly stream: Stream<LendingEvent, Target>
  readonly history: History
  readonly db: Database
  readonly clock: Clock
}) {
  const { stream, history, db, clock } = options
  const tokens = createTokenReader(clock)
  const prices = createPriceReader({ db, clock })
  const { resolveBlock } = createBlockResolver(clock)

  /** Finds the block at which a list began that goes on. Throws `CodedError` INVALID_PARAMETER if it was replaced. */
  async function findBegin({ client, reads }: EventsQuery<Target>, work: Work): Promise<Block | undefined> {
    if (reads === undefined) return undefined
    const block = await resolveBlock(client, { reads }, work)
    if (typeof block === 'string') throw momentError({ reads }, block)
    return block
  }

  /** Reads the page from the unfinalized tail, then the database; one statement returns coverage, total and rows. */
  async function readPage(
    { client, wallet, market, type, page, limit }: EventsQuery<Target>,
    target: Target,
    ensured: Pick<CompleteHistory<LendingEvent>, 'tail' | 'storedTo'>,
  ): Promise<{ readonly rows: readonly LendingEvent[]; readonly total: number }> {
    const kinds: readonly LendingEventKind[] = type === undefined ? LENDING_EVENT_TYPES : [type]
    const tail = ensured.tail
      .filter((row) => kinds.includes(row.kind) && (market === undefined || row.market === market))
      .sort(newestFirst)
    const skip = (page - 1) * limit
    const young = tail.slice(skip, skip + limit)
    // A chain that has no final block of the market yet has stored none.
    if (ensured.storedTo < target.startBlock) return { rows: young, total: tail.length }
    const stored = await readLendingEvents(db, {
      target,
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
     * Reads a page of events. Throws `UnavailableError` with the progress if the history is not complete yet, naming
     * the asset and the remedy if a price is missing, and if the chain or the database cannot be read.
     */
    async read(query: EventsQuery<Target>, work: Work): Promise<EventsPage> {
      const { client, pendingTarget } = query
      const subject = query.wallet.toLowerCase() as Hex
      const deferredTarget = { chainId: client.chain.id, read: async () => (await pendingTarget).target }
      const upTo = query.reads?.find(({ chainId }) => chainId === client.chain.id)?.number
      const [{ target, getSource }, ensured, begin = ensured.block] = await Promise.all([
        pendingTarget,
        history.ensure({ stream, target: deferredTarget, subject, ...(upTo && { upTo: BigInt(upTo) }) }, work),
        findBegin(query, work),
      ])
      const block = begin.number < ensured.block.number ? begin : ensured.block
      if (ensured.isUntouched) return { events: [], total: 0, block }
      if (!ensured.isAgreed) noteUnwitnessed(work, [client.chain.id])
      const last = Number(block.number)
      const tail = ensured.tail.filter((row) => row.block <= last)
      const { rows, total } = await readPage(query, target, { tail, storedTo: Math.min(ensured.storedTo, last) })
      work.onTimeout(() => pricesPendingError(client))
      const timed = await addTimes(client, rows, work)
      const assets = [...new Set(timed.map(({ asset }) => asset))]
      const readPrices = async (source: PriceSource, priced: readonly TimedEvent[]) => {
        const requests = priced.map(({ asset, block, timestampSec }) => ({
          token: getAddress(asset),
          block: { number: BigInt(block), timestampSec: BigInt(timestampSec) },
          isFinal: block <= ensured.storedTo,
        }))
        const found = await prices.pricesAt(client, { source, requests }, work)
        return priced.map((event, index) => [event, found[index]] as const)
      }
      const [facts, ...groups] = await Promise.all([
        tokens.readFacts(client, assets, work),
        ...[...groupBy(timed, getSource)].map(([source, priced]) => readPrices(source, priced)),
      ])
      const outcomes = new Map(groups.flat())
      const events = timed.map((event): PricedEvent => {
        const token = facts.get(event.asset)
        const outcome = outcomes.get(event)
        if (token === undefined || outcome === undefined) throw new Error('Every event has a token and an outcome')
        if (outcome.kind === 'missing') throw missingPriceError(client, event, { ...token, reason: outcome.because })
        return { ...event, token, price: outcome.price }
      })
      return { events, total, block }
    },
  }
}

/** An event with the time of its block. */
type TimedEvent = LendingEvent & { readonly timestampSec: number }

/** Compares newest first; the debt of a liquidation comes before its collateral. */
function newestFirst(a: LendingEvent, b: LendingEvent): number {
  return b.block - a.block || b.logIndex - a.logIndex || a.leg - b.leg
}

/** Adds times that are missing in the logs from the headers of the blocks. */
async function addTimes(
  client: ChainClient,
  rows: readonly LendingEvent[],
  work: Work,
): Promise<readonly TimedEvent[]> {
  const missing = [...new Set(rows.filter(({ timestampSec }) => timestampSec === null).map(({ block }) => block))]
  const headers = await allOrAbort(
    missing.map((number) => (shared: Work) => {
      const query = { chainId: client.chain.id, number: BigInt(number) }
      return client.read((endpoint, within) => readBlock(endpoint, query, within), {
        work: shared,
        past: 'header',
      })
    }),
    work,
  )
  const times = new Map(headers.map(({ number, timestampSec }) => [Number(number), Number(timestampSec)]))
  return rows.map((row) => ({ ...row, timestampSec: row.timestampSec ?? times.get(row.block) ?? 0 }))
}

/** The error if the request times out after the events were read; prices read so far are stored. */
function pricesPendingError({ chain: { id, name } }: ChainClient): PendingError {
  return new PendingError(`The history of chain ${id} (${name}) is read; the prices of its events are being read`)
}

function missingPriceError(
  { chain: { id, name } }: ChainClient,
  { asset, block }: LendingEvent,
  { symbol, reason }: { readonly symbol: string; readonly reason: string },
): UnavailableError {
  return new UnavailableError(
    `Cannot price ${symbol} (${getAddress(asset)}) at block ${block} of chain ${id} (${name}) because ${reason}: ` +
      `set an endpoint with archive state in RPC_URL_${id}, or a price feed of the token in CHAINS_FILE`,
    { retryAfterSec: PRICE_RETRY_SEC },
  )
}
