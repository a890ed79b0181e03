import type { Address } from 'viem'
import { QUORUM } from '../../chain/past/quorum.ts'
import type { FinanceClient } from '../../finance/chain.ts'
import type { PortfolioFigures, PortfolioSnapshots, PortfolioTarget } from '../../finance/series/portfolio.ts'
import { CodedError } from '../../lib/error.ts'
import type { BorrowedPriceReader } from '../read/borrowed_price.ts'
import type { AssetReader } from '../read/read_chain.ts'
import { createSnapshotTarget, type MidnightQuery } from './target.ts'

/** Most midnights of an answer, and their default number. */
export const SNAPSHOTS_MAX = 366
export const SNAPSHOTS_DEFAULT = 30

const DAY_SEC = 86_400

/** Which snapshots to return. */
export interface SnapshotQuery {
  readonly wallet: Address
  readonly chainId: number
  readonly tokens: readonly Address[]
  readonly includeUnlisted: boolean
  /** Number of latest midnights. */
  readonly days: number
}

/** The value of a wallet at a midnight. */
export interface DaySnapshot extends PortfolioFigures {
  /** The midnight, Unix seconds. */
  readonly timestampSec: number
  /** The last block at or before the midnight. */
  readonly blockNumber: bigint
}

/** Reads daily snapshots of the value of wallets. */
export type SnapshotReader = ReturnType<typeof createSnapshotReader>

/** Creates a reader over the stored snapshots and the reader of new ones. */
export function createSnapshotReader(options: {
  readonly clients: ReadonlyMap<number, FinanceClient>
  readonly reader: AssetReader
  readonly borrowedPrices: Pick<BorrowedPriceReader, 'describe'>
  /** Lists what is read on a chain: the families by name, each with its deployments. */
  readonly listDeployments: (chainId: number) => readonly string[]
  readonly snapshots: PortfolioSnapshots
}) {
  const { clients, reader, borrowedPrices, listDeployments, snapshots } = options

  function createTarget(
    client: FinanceClient,
    query: Pick<MidnightQuery, 'tokens' | 'includeUnlisted'>,
  ): PortfolioTarget {
    const { chain } = client
    const borrowedFeed = borrowedPrices.describe(chain)
    return createSnapshotTarget(reader, { ...query, client, borrowedFeed, families: listDeployments(chain.id) })
  }

  return {
    /**
     * Returns a snapshot for each midnight from the first one at which the wallet had anything, counted or not, oldest
     * first; whether one endpoint alone gave some of them; and the day of the first snapshot, days since the epoch, if
     * no endpoint has the state of earlier ones.
     * Throws like `SnapshotSeries.of` and `AssetReader.read`.
     */
    async readSnapshots({ wallet, chainId, tokens, includeUnlisted, days }: SnapshotQuery, signal: AbortSignal) {
      const client = clients.get(chainId)
      if (client === undefined)
        throw new CodedError('INVALID_PARAMETER', `Cannot read chain ${chainId}: it is not served`)
      const target = createTarget(client, { tokens, includeUnlisted })
      const {
        snapshots: storedDays,
        cutAt,
        today,
      } = await snapshots.series.read({ target, wallet, span: days }, signal)
      const answeredDays = storedDays.flatMap(({ day, witnesses, figures }) =>
        figures === undefined ? [] : { day, witnesses, ...figures },
      )
      const firstDay = answeredDays.find(({ rows }) => rows > 0)
      const fromDay = Math.max(today - days + 1, firstDay?.day ?? today + 1)
      const shown = answeredDays.filter(({ day }) => day >= fromDay)
      const blocks = await snapshots.readBlocks(
        target,
        shown.map(({ day }) => day),
        signal,
      )
      return {
        snapshots: shown.map(
          ({ day, witnesses, ...figures }, index): DaySnapshot => ({
            ...figures,
            timestampSec: day * DAY_SEC,
            blockNumber: blocks[index]?.number ?? 0n,
          }),
        ),
        isUnwitnessed: shown.some(({ witnesses }) => witnesses < QUORUM),
        cutAt: cutAt === undefined ? undefined : (shown[0]?.day ?? today),
      }
    },
    /** Takes the last midnight for all wallets with snapshots, like `takeDailySnapshots`. */
    takeDaily(signal: AbortSignal): Promise<number> {
      const targets = [...clients.values()].map((client) =>
        createTarget(client, { tokens: [], includeUnlisted: false }),
      )
      return snapshots.takeDaily(targets, signal)
    },
  }
}
