import type { Address } from 'viem'
import { portfolioSnapshotStore } from '../../../sql/functions.ts'
import { portfolioSnapshotList } from '../../../sql/queries.ts'
import type { Database } from '../../db/database.ts'
import { createMidnights } from '../../history/midnight.ts'
import { createRecheck } from '../../history/recheck.ts'
import { toHexDigits } from '../../history/stored_part.ts'
import { delay } from '../../lib/async/abort.ts'
import { createRateLimiter } from '../../lib/async/rate_limiter.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Log } from '../../lib/log.ts'
import { takeDailySnapshots } from './daily.ts'
import { createSnapshotSeries } from './series.ts'
import { createSnapshotTaker } from './snapshot_taker.ts'
import { createSnapshotStore, type SnapshotTable } from './store.ts'
import type { SnapshotTarget } from './target.ts'

/**
 * Each takes some milliseconds of the event loop, so they are spread: a fifth of the time at most, and a year in five
 * seconds.
 */
const READINGS_PER_SECOND = 70

/** What a wallet was worth at a midnight: US dollars with 6 digits, as the route of that moment answers them. */
export interface PortfolioFigures {
  readonly netWorthUsd: string
  readonly assetsUsd: string
  /** What is borrowed. */
  readonly debtUsd: string
  readonly walletUsd: string
  readonly liquidityUsd: string
  readonly suppliedUsd: string
  /** Rows without a price. */
  readonly unpriced: number
  /** All rows, whether they count or not. */
  readonly rows: number
}

/** A chain with the tokens that are asked there; their hash is its name. */
export interface PortfolioTarget extends SnapshotTarget<PortfolioFigures> {
  /** True if each further midnight is taken for wallets that were asked for. */
  readonly isFollowed: boolean
}

/** Daily snapshots of portfolios. */
export type PortfolioSnapshots = ReturnType<typeof createPortfolioSnapshots>

/** Makes them over a database; `holder` names this process in leases. */
export function createPortfolioSnapshots(services: {
  readonly db: Database
  readonly holder: string
  readonly clock: Clock
  readonly log: Log
}) {
  const { db, holder, clock } = services
  const midnights = createMidnights({ db, clock })
  const store = createSnapshotStore(db, { holder, table: portfolioSnapshots(db) })
  const rate = createRateLimiter({ perSecond: READINGS_PER_SECOND, burstMs: 0, clock, sleep: delay })
  const taker = createSnapshotTaker({ midnights, store, rate })
  const beginningOf = async ({ place, wallet }: { readonly place: PortfolioTarget; readonly wallet: Address }) => {
    if (place.isFollowed) await store.follow(place, wallet, undefined)
    return { day: 0, isCut: false }
  }
  return {
    series: createSnapshotSeries({ beginningOf, midnights, store, taker, recheck: createRecheck(clock), clock }),
    /** The blocks of midnights. Throws as `Midnights.of`. */
    async blocksOf({ client }: PortfolioTarget, days: readonly number[], signal: AbortSignal) {
      const [from = 0, to = -1] = [days[0], days.at(-1)]
      await midnights.load(client, { from, to })
      return await Promise.all(days.map((day) => midnights.of(client, day, signal)))
    },
    /** As `takeDailySnapshots`. */
    takeDaily: (places: readonly PortfolioTarget[], signal: AbortSignal) =>
      takeDailySnapshots({ ...services, places, midnights, store, taker }, signal),
  }
}

function portfolioSnapshots(db: Database): SnapshotTable<PortfolioFigures> {
  return {
    async list({ chainId, name }, wallet, max) {
      const rows = await portfolioSnapshotList(db, {
        chainId,
        name: toHexDigits(name),
        wallet: toHexDigits(wallet),
        max,
      })
      return rows.map(({ day, witnesses, unpriced, row_count, ...usd }) => ({
        day,
        witnesses,
        figures: {
          netWorthUsd: usd.net_worth,
          assetsUsd: usd.assets,
          debtUsd: usd.debt,
          walletUsd: usd.held,
          liquidityUsd: usd.liquidity,
          suppliedUsd: usd.supplied,
          unpriced,
          rows: row_count,
        },
      }))
    },
    async keep({ chainId, name }, { day, block, witnesses }, rows) {
      // A portfolio can always be told: what has no price is counted as that.
      const kept = rows.flatMap(({ wallet, figures }) => (figures === undefined ? [] : { wallet, ...figures }))
      return await portfolioSnapshotStore(db, {
        chainId,
        name: toHexDigits(name),
        day,
        hash: toHexDigits(block.hash),
        witnesses,
        wallets: kept.map(({ wallet }) => toHexDigits(wallet)),
        netWorths: kept.map((each) => each.netWorthUsd),
        assets: kept.map((each) => each.assetsUsd),
        debts: kept.map((each) => each.debtUsd),
        held: kept.map((each) => each.walletUsd),
        liquidity: kept.map((each) => each.liquidityUsd),
        supplied: kept.map((each) => each.suppliedUsd),
        unpriced: kept.map((each) => each.unpriced),
        rowCounts: kept.map((each) => each.rows),
      })
    },
  }
}
