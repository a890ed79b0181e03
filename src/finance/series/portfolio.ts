import type { Address } from 'viem'
import { portfolioSnapshotStore } from '../../../sql/functions.ts'
import { portfolioSnapshotList } from '../../../sql/queries.ts'
import type { Database } from '../../db/database.ts'
import { createMidnights } from '../../history/midnight.ts'
import { createRecheck } from '../../history/recheck.ts'
import { toHexDigits } from '../../history/stored_part.ts'
import { createRateLimiter } from '../../lib/async/rate_limiter.ts'
import type { Work } from '../../lib/async/work.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Log } from '../../lib/log.ts'
import { takeDailySnapshots } from './daily.ts'
import { createSnapshotSeries } from './series.ts'
import { createSnapshotTaker } from './snapshot_taker.ts'
import { createSnapshotStore, type SnapshotTable, type SnapshotTarget } from './store.ts'

/**
 * Rate of readings. Each takes some milliseconds of the event loop; at this rate they take at most a fifth of it, and a
 * year takes five seconds.
 */
const READINGS_PER_SECOND = 70

/** Worth of a wallet at a midnight: US dollars with 6 digits, as the route of that moment formats them. */
export interface PortfolioFigures {
  /** Null if it cannot be told. */
  readonly netWorthUsd: string | null
  readonly assetsUsd: string
  /** All that is borrowed. */
  readonly debtUsd: string
  readonly walletUsd: string
  readonly liquidityUsd: string
  readonly suppliedUsd: string
  /** Rows without a price. */
  readonly unpriced: number
  /** All rows, whether they count or not. */
  readonly rows: number
  /** What the sums lack: what, of how much (whole tokens), and why. */
  readonly gaps: readonly { readonly what: string; readonly amount: string | null; readonly why: string }[]
}

/** A chain with the tokens that are read on it; its name is their hash. */
export interface PortfolioTarget extends SnapshotTarget<PortfolioFigures> {
  /** True if every later midnight is taken for wallets that were requested once. */
  readonly isFollowed: boolean
}

/** Daily snapshots of portfolios. */
export type PortfolioSnapshots = ReturnType<typeof createPortfolioSnapshots>

/** Creates portfolio snapshots over a database; `holder` names this process in leases. */
export function createPortfolioSnapshots(services: {
  readonly db: Database
  readonly holder: string
  readonly clock: Clock
  readonly log: Log
}) {
  const { db, holder, clock } = services
  const midnights = createMidnights({ db, clock })
  const store = createSnapshotStore(db, { holder, table: portfolioSnapshots(db) })
  const rate = createRateLimiter({ perSecond: READINGS_PER_SECOND, burstMs: 0, clock })
  const taker = createSnapshotTaker({ midnights, store, rate, clock })
  const findSeriesStart = async ({
    target,
    wallet,
  }: {
    readonly target: PortfolioTarget
    readonly wallet: Address
  }) => {
    if (target.isFollowed) await store.follow(target, wallet, undefined)
    return { day: 0, isCut: false }
  }
  return {
    series: createSnapshotSeries({ findSeriesStart, midnights, store, taker, recheck: createRecheck(clock), clock }),
    /** Reads the blocks of midnights. Throws as `Midnights.findBlock`. */
    async readBlocks({ client }: Pick<PortfolioTarget, 'client'>, days: readonly number[], work: Work) {
      const [from = 0, to = -1] = [days[0], days.at(-1)]
      await midnights.load(client, { from, to })
      return await Promise.all(days.map((day) => midnights.findBlock(client, day, work)))
    },
    /** Takes snapshots as `takeDailySnapshots`. */
    takeDaily: (targets: readonly PortfolioTarget[], work: Work) =>
      takeDailySnapshots({ ...services, targets, midnights, store, taker }, work),
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
      return rows.map(({ day, witnesses, unpriced, row_count, gaps, ...usd }) => ({
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
          gaps: JSON.parse(gaps) as PortfolioFigures['gaps'],
        },
      }))
    },
    async save({ chainId, name }, { day, block, witnesses }, rows) {
      // A portfolio always has figures: rows without a price are counted as `unpriced`.
      const valued = rows.flatMap(({ wallet, figures }) => (figures === undefined ? [] : { wallet, ...figures }))
      return await portfolioSnapshotStore(db, {
        chainId,
        name: toHexDigits(name),
        day,
        hash: toHexDigits(block.hash),
        witnesses,
        wallets: valued.map(({ wallet }) => toHexDigits(wallet)),
        // An empty text is null: arrays of arguments have no nulls.
        netWorths: valued.map((each) => each.netWorthUsd ?? ''),
        assets: valued.map((each) => each.assetsUsd),
        debts: valued.map((each) => each.debtUsd),
        held: valued.map((each) => each.walletUsd),
        liquidity: valued.map((each) => each.liquidityUsd),
        supplied: valued.map((each) => each.suppliedUsd),
        unpriced: valued.map((each) => each.unpriced),
        rowCounts: valued.map((each) => each.rows),
        gaps: valued.map((each) => JSON.stringify(each.gaps)),
      })
    },
  }
}
