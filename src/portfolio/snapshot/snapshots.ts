import type { Address } from 'viem'
import type { FinanceClient } from '../../finance/chain.ts'
import type { PortfolioFigures, PortfolioSnapshots, PortfolioTarget } from '../../finance/series/portfolio.ts'
import { CodedError } from '../../lib/error.ts'
import type { AssetReader } from '../read/read_chain.ts'
import { createSnapshotTarget, type MidnightQuery } from './target.ts'

/** Most midnights of an answer, and those of one that does not say how many. */
export const SNAPSHOTS_MAX = 366
export const SNAPSHOTS_DEFAULT = 30

const DAY_SEC = 86_400

/** Whose snapshots are asked for. */
export interface SnapshotQuery {
  readonly wallet: Address
  readonly chainId: number
  readonly tokens: readonly Address[]
  readonly includeUnlisted: boolean
  /** Newest midnights. */
  readonly days: number
}

/** What a wallet was worth at a midnight. */
export interface DaySnapshot extends PortfolioFigures {
  /** The midnight, Unix seconds. */
  readonly timestampSec: number
  /** The last one at or before it. */
  readonly blockNumber: bigint
}

/** Daily snapshots of what wallets are worth. */
export type SnapshotReader = ReturnType<typeof createSnapshotReader>

/** Makes it over the stored snapshots and who reads new ones. */
export function createSnapshotReader(options: {
  readonly clients: ReadonlyMap<number, FinanceClient>
  readonly reader: AssetReader
  readonly familiesOn: (chainId: number) => readonly string[]
  readonly snapshots: PortfolioSnapshots
}) {
  const { clients, reader, familiesOn, snapshots } = options

  function placeOf(client: FinanceClient, asked: Pick<MidnightQuery, 'tokens' | 'includeUnlisted'>): PortfolioTarget {
    return createSnapshotTarget(reader, { ...asked, client, families: familiesOn(client.chain.id) })
  }

  return {
    /**
     * One for each midnight from the first one on at which the wallet had anything, counted or not, oldest first; and the
     * day of the first one, whole days since the epoch, if no endpoint reaches back to those before it. Throws as
     * `SnapshotSeries.of` and `AssetReader.read`.
     */
    async of({ wallet, chainId, tokens, includeUnlisted, days }: SnapshotQuery, signal: AbortSignal) {
      const client = clients.get(chainId)
      if (client === undefined)
        throw new CodedError('INVALID_PARAMETER', `Cannot read chain ${chainId}: it is not served`)
      const place = placeOf(client, { tokens, includeUnlisted })
      const { snapshots: stored, cutAt, today } = await snapshots.series.of({ place, wallet, span: days }, signal)
      const told = stored.flatMap(({ day, figures }) => (figures === undefined ? [] : { day, ...figures }))
      const begun = told.find(({ rows }) => rows > 0)
      const from = Math.max(today - days + 1, begun?.day ?? today + 1)
      const shown = told.filter(({ day }) => day >= from)
      const blocks = await snapshots.blocksOf(
        place,
        shown.map(({ day }) => day),
        signal,
      )
      return {
        snapshots: shown.map(
          ({ day, ...figures }, index): DaySnapshot => ({
            ...figures,
            timestampSec: day * DAY_SEC,
            blockNumber: blocks[index]?.number ?? 0n,
          }),
        ),
        cutAt: cutAt === undefined ? undefined : (shown[0]?.day ?? today),
      }
    },
    /** Takes the last midnight for all wallets that were asked for. As `takeDaily`. */
    takeDaily(signal: AbortSignal): Promise<number> {
      const everybody = [...clients.values()].map((client) => placeOf(client, { tokens: [], includeUnlisted: false }))
      return snapshots.takeDaily(everybody, signal)
    },
  }
}
