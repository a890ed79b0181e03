import type { PinnedBlock } from '../../chain/block.ts'
import { createBlockCache } from '../../chain/block_cache.ts'
import { type ContractCall, readMulticall } from '../../chain/call/many/multicall.ts'
import { createBlockFinder, NoBlockError } from '../../chain/past/block_at.ts'
import { QUORUM } from '../../chain/past/quorum.ts'
import type { BorrowedFeed, FinanceChain, FinanceClient } from '../../finance/chain.ts'
import type { PriceReader } from '../../finance/price/past/price_reader.ts'
import {
  createRangeQuestion,
  decodeSequencer,
  findRoundFault,
  readRanges,
} from '../../finance/price/past/round_faults.ts'
import { createLatestRoundCall, createLatestRoundCalls, decodeLatestRound } from '../../finance/price/past/rounds.ts'
import { computeDirectPrice, noPriceBecause, type UsdPriceOutcome } from '../../finance/price/price.ts'
import type { Work } from '../../lib/async/work.ts'
import type { Clock } from '../../lib/clock.ts'
import { UnavailableError } from '../../lib/error.ts'

const BUDGET_MS = 2_500
/** A block older than this is final on every chain, so that its price may be stored. */
const SETTLED_SEC = 86_400
/** Far above the number of feeds that chains borrow. */
const ENTRIES_MAX = 64

/** The price of a chain's native token by a feed of another chain, and the number of endpoints that agree on it. */
export interface BorrowedPrice {
  readonly outcome: UsdPriceOutcome
  readonly witnesses: number
}

/** Reads prices that chains borrow. */
export type BorrowedPriceReader = ReturnType<typeof createBorrowedPriceReader>

/** Creates a reader over the served chains. */
export function createBorrowedPriceReader(options: {
  readonly clients: ReadonlyMap<number, FinanceClient>
  readonly prices: PriceReader
  readonly clock: Clock
}) {
  const { clients, prices, clock } = options
  const blocks = createBlockFinder(clock)
  const newestRounds = createBlockCache<Awaited<ReturnType<typeof readRound>>>({ clock, entriesMax: ENTRIES_MAX })

  /** Reads the latest round of the feed and what decides whether it is believed; at the newest block if no other. */
  function readRound(lender: FinanceClient, { token }: BorrowedFeed, at: PinnedBlock | undefined, work: Work) {
    const { chain } = lender
    const { usdFeeds, sequencerFeed } = chain.prices
    const feed = usdFeeds[token]?.feed ?? token
    return lender.read(
      async (endpoint, within) => {
        const readCalls = (calls: readonly ContractCall[]) =>
          readMulticall(endpoint, { calls, block: at ?? { chainId: chain.id }, isLight: true, clock }, within)
        const question = createRangeQuestion(feed)
        const roundCalls = createLatestRoundCalls(feed)
        const sequencerCalls = sequencerFeed === undefined ? [] : [createLatestRoundCall(sequencerFeed)]
        const { results, block } = await readCalls([...roundCalls, ...question.calls, ...sequencerCalls])
        const answers = results.slice(roundCalls.length)
        const ranges = await readRanges(
          [{ question, answers: answers.splice(0, question.calls.length) }],
          async (calls) => (await readCalls(calls)).results,
        )
        const [sequencer] = answers.map(decodeSequencer)
        return { block, round: decodeLatestRound(results[0], results[1]), range: ranges.get(feed), sequencer }
      },
      { work, budgetMs: BUDGET_MS, isBundled: true, ...(at && { past: at }) },
    )
  }

  /** Finds the lender's last block at a moment of the borrower, whose clock may run ahead. */
  function findBlock(lender: FinanceClient, timeSec: bigint, work: Work): Promise<PinnedBlock> {
    const nowSec = BigInt(Math.floor(clock.now() / 1_000))
    return blocks.findByTime(lender, timeSec < nowSec ? timeSec : nowSec, work)
  }

  async function readNewest(
    lender: FinanceClient,
    feed: BorrowedFeed,
    timeSec: bigint,
    work: Work,
  ): Promise<UsdPriceOutcome> {
    const { chain } = lender
    const key = `${feed.token}:${chain.prices.usdFeeds[feed.token]?.feed}`
    const read = (shared: Work) => readRound(lender, feed, undefined, shared)
    const newest = await newestRounds.reuse({ chain, key, read }, work)
    const changedSecs = [newest.round?.updatedAtSec ?? 0n, newest.sequencer?.sinceSec ?? 0n]
    const isLater = newest.block.timestampSec > timeSec && changedSecs.some((sec) => sec > timeSec)
    // A round and a status that are not later were the latest ones at the moment too.
    const { round, range, sequencer } = isLater
      ? await readRound(lender, feed, await findBlock(lender, timeSec, work), work)
      : newest
    const roundFault = round && findRoundFault(round, { range, sequencer, blockTimestampSec: timeSec })
    return computeDirectPrice(feed.token, {
      prices: chain.prices,
      answers: { round, roundFault, aave: undefined },
      blockTimestampSec: timeSec,
    })
  }

  async function readPast(
    lender: FinanceClient,
    { token }: BorrowedFeed,
    timeSec: bigint,
    work: Work,
  ): Promise<BorrowedPrice> {
    const block = await findBlock(lender, timeSec, work)
    const isFinal = clock.now() / 1_000 - Number(block.timestampSec) > SETTLED_SEC
    const requests = [{ token, block, isFinal }]
    const [found] = await prices.pricesAt(lender, { source: { kind: 'chain' }, requests }, work)
    if (found?.kind === 'price') return { outcome: found, witnesses: found.witnesses }
    if (found === undefined || found.witnesses === 0)
      throw new UnavailableError(
        `Cannot read the feed of chain ${lender.chain.id} (${lender.chain.name}) at its block ${block.number}: ` +
          (found?.because ?? 'no endpoint answered'),
      )
    return { outcome: noPriceBecause(found.because), witnesses: found.witnesses }
  }

  return {
    /** Names the feed that prices a chain's native token, for keys of what is stored; empty if none is served. */
    describe({ borrowedFeed }: FinanceChain): string {
      if (borrowedFeed === undefined) return ''
      const { chainId, token, stablecoins } = borrowedFeed
      const { feed, heartbeatSec } = clients.get(chainId)?.chain.prices.usdFeeds[token] ?? {}
      return feed === undefined ? '' : `${chainId} ${feed} ${heartbeatSec} ${stablecoins.join()}`
    },
    /**
     * Reads the price of a chain's native token at a moment of that chain, by the round of the lender's last block that
     * is not later; undefined if the chain borrows none that is served. A live read has the heartbeat of today, one
     * request, and no price if the lender cannot be read. A dated read is believed and stored as a price of a flow is,
     * and throws `UnavailableError` then.
     */
    async read(
      { borrowedFeed }: FinanceChain,
      { timeSec, isDated }: { readonly timeSec: bigint; readonly isDated: boolean },
      work: Work,
    ): Promise<BorrowedPrice | undefined> {
      const lender = borrowedFeed && clients.get(borrowedFeed.chainId)
      if (borrowedFeed === undefined || lender?.chain.prices.usdFeeds[borrowedFeed.token] === undefined)
        return undefined
      try {
        if (isDated) return await readPast(lender, borrowedFeed, timeSec, work)
        return { outcome: await readNewest(lender, borrowedFeed, timeSec, work), witnesses: 1 }
      } catch (error) {
        const { name } = lender.chain
        if (error instanceof NoBlockError)
          return { outcome: noPriceBecause(`${name}, whose feed prices it, began later`), witnesses: QUORUM }
        if (isDated || work.signal.aborted || !(error instanceof UnavailableError)) throw error
        return { outcome: noPriceBecause(`${name}, whose feed prices it, cannot be read now`), witnesses: 0 }
      }
    },
  }
}
