import type { Block, PinnedBlock } from '../../chain/block.ts'
import { readMulticall } from '../../chain/call/many/multicall.ts'
import { createBlockFinder, NoBlockError } from '../../chain/past/block_at.ts'
import type { Work } from '../../lib/async/work.ts'
import type { Clock } from '../../lib/clock.ts'
import { CodedError, UnavailableError } from '../../lib/error.ts'
import type { Decimal } from '../../lib/number/decimal.ts'
import { minBigint } from '../../lib/number/fixed_point.ts'
import type { FinanceClient, UsdFeed } from '../chain.ts'
import { PAST_HEARTBEAT_SEC } from '../price/past/dated_client.ts'
import { createLatestRoundCalls, decodeLatestRound } from '../price/past/rounds.ts'
import { getMaxFeedAgeSec } from '../price/price.ts'
import { CURRENCIES, CURRENCY_FEED_ROWS, type Currency } from './table.ts'

const BUDGET_MS = 2_500
/** The chain whose feeds tell rates where the answer's own chain has none. */
const LENDER_ID = 1

/** US dollars per unit of a currency. */
export interface ExchangeRate extends Decimal {
  readonly currency: Currency
  /** When the feed last answered, seconds since the epoch. */
  readonly asOfSec: bigint
  /** True if that is longer ago than the feed's heartbeat allows. */
  readonly isStale: boolean
  /** The chain of the feed. */
  readonly chainId: number
}

/** What an answer was read from. */
interface RatedAnswer {
  /** Its chains, each with the block of its read, by hash if it is known; a slot of Solana has none. */
  readonly reads: readonly { readonly chainId: number; readonly block?: Block }[]
  /** Chains that could not be read. */
  readonly unread: readonly number[]
  /** True if it names its moment: then heartbeats are the slowest that there were. */
  readonly isDated: boolean
}

/** Reads rates of currencies. */
export type RateReader = ReturnType<typeof createRateReader>

/** Creates a reader over the served chains. */
export function createRateReader(options: {
  readonly clients: ReadonlyMap<number, FinanceClient>
  readonly clock: Clock
}) {
  const { clients, clock } = options
  const blocks = createBlockFinder(clock)

  /** Finds the lender's block: that of its own read, else the last one that is not later than any read. */
  function findBlock(lender: FinanceClient, { reads }: RatedAnswer, work: Work): Promise<PinnedBlock> {
    const own = reads.find(({ chainId }) => chainId === lender.chain.id)?.block
    if (own?.hash !== undefined) return Promise.resolve({ ...own, hash: own.hash })
    if (own !== undefined) return blocks.findReportedBlock(lender, own.number, work)
    const nowSec = BigInt(Math.floor(clock.now() / 1_000))
    const timesSec = reads.flatMap(({ block }) => block?.timestampSec ?? [])
    return blocks.findByTime(lender, timesSec.reduce(minBigint, nowSec), work)
  }

  return {
    /**
     * Reads the rate of a currency by the round of its feed at the block of an answer. However old the round is, it is told.
     * Throws `CodedError` INVALID_PARAMETER if no served chain has a feed, or if it told nothing yet at that block,
     * `UnavailableError` if it cannot be read.
     */
    async read(currency: Currency, answer: RatedAnswer, work: Work): Promise<ExchangeRate> {
      const { lender, feed: row } = chooseLender(clients, currency, answer)
      const { id: chainId, name } = lender.chain
      const place = `${name} (${chainId})`
      let block: PinnedBlock
      try {
        block = await findBlock(lender, answer, work)
      } catch (error) {
        if (error instanceof NoBlockError) throw noRateError(currency, `${place} had not begun`)
        throw error
      }
      const { results } = await lender.read(
        (endpoint, within) =>
          readMulticall(endpoint, { calls: createLatestRoundCalls(row.feed), block, isLight: true, clock }, within),
        { work, budgetMs: BUDGET_MS, isBundled: true, past: block },
      )
      const round = decodeLatestRound(results[0], results[1])
      if (round === undefined || round.answer <= 0n || round.updatedAtSec > block.timestampSec) {
        if (answer.isDated) throw noRateError(currency, `its feed on ${place} tells no rate at block ${block.number}`)
        throw new UnavailableError(`Cannot tell figures in ${currency}: its feed on ${place} does not answer`)
      }
      const ageSec = block.timestampSec - round.updatedAtSec
      return {
        currency,
        units: round.answer,
        scale: round.decimals,
        asOfSec: round.updatedAtSec,
        isStale: ageSec > BigInt(getMaxFeedAgeSec(answer.isDated ? toDatedFeed(row) : row)),
        chainId,
      }
    },
  }
}

/**
 * Chooses whose feed tells the rate: that of the only chain of the answer, else Ethereum's, else that of the first chain that
 * has one; chains that just failed come last. Throws `CodedError` INVALID_PARAMETER if no served chain has a feed.
 */
export function chooseLender(
  clients: ReadonlyMap<number, FinanceClient>,
  currency: Currency,
  { reads, unread }: Pick<RatedAnswer, 'reads' | 'unread'>,
): { readonly lender: FinanceClient; readonly feed: UsdFeed } {
  const read = new Set(reads.map(({ chainId }) => chainId))
  const own = read.size === 1 ? [...read] : []
  const readable = [...own, LENDER_ID, ...read, ...clients.keys()].filter((chainId) => !unread.includes(chainId))
  for (const chainId of [...readable, ...unread]) {
    const lender = clients.get(chainId)
    const feed = lender && findFeed(chainId, currency)
    if (lender !== undefined && feed !== undefined) return { lender, feed }
  }
  throw unservedError(currency, [...clients.keys()])
}

function findFeed(chainId: number, currency: Currency): UsdFeed | undefined {
  const row = CURRENCY_FEED_ROWS[chainId]?.find(([each]) => each === currency)
  return row && { feed: row[1], heartbeatSec: row[2] }
}

function toDatedFeed({ feed, heartbeatSec }: UsdFeed): UsdFeed {
  return { feed, heartbeatSec: Math.max(heartbeatSec, PAST_HEARTBEAT_SEC) }
}

/** The error for a currency of which no served chain has a feed: it names those that can be told. */
function unservedError(currency: Currency, chainIds: readonly number[]): CodedError {
  const served = CURRENCIES.filter((each) => chainIds.some((chainId) => findFeed(chainId, each) !== undefined))
  const expected =
    served.length === 0
      ? 'expected none here, no served chain has feeds of currencies'
      : `expected one of ${served.join(', ')}, of which served chains have feeds`
  return new CodedError('INVALID_PARAMETER', `Cannot read parameter "currency": ${expected}, got "${currency}"`)
}

function noRateError(currency: Currency, reason: string): CodedError {
  return new CodedError(
    'INVALID_PARAMETER',
    `Cannot read parameter "currency": expected none here, ${reason}, got "${currency}"`,
  )
}
