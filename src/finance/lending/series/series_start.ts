import { NoBlockError } from '../../../chain/past/block_at.ts'
import { DisputeError } from '../../../chain/past/quorum.ts'
import { StatePrunedError } from '../../../chain/rpc/client.ts'
import { DAY_SEC, type Midnights } from '../../../history/midnight.ts'
import type { Recheck } from '../../../history/recheck.ts'
import type { Clock } from '../../../lib/clock.ts'
import { UnavailableError } from '../../../lib/error.ts'
import type { SeriesRequest, SeriesStart } from '../../series/series.ts'
import type { FirstDay, SnapshotStore } from '../../series/store.ts'
import { findFirstDay, type Movement } from './first_day.ts'
import type { SnapshotFigures, SnapshotMarket } from './market.ts'
import { createMovementCheck } from './movement_check.ts'

/** Finds the days on which wallets' series in lending markets begin, those of their first token movements. */
export function createSeriesStartFinder(parts: {
  readonly midnights: Midnights
  readonly store: SnapshotStore<SnapshotFigures>
  readonly recheck: Recheck
  readonly clock: Clock
}) {
  const { midnights, store, recheck, clock } = parts
  const hasMoved = createMovementCheck()
  const today = () => Math.floor(clock.now() / 1_000 / DAY_SEC)

  async function movementAt(
    { place: market, wallet }: SeriesRequest<SnapshotMarket>,
    { day, heard }: { readonly day: number; readonly heard: (witnesses: number) => void },
    signal: AbortSignal,
  ): Promise<Movement> {
    try {
      const block = await midnights.of(market.client, day, signal)
      const { hasMoved: is, witnesses } = await hasMoved(market, { wallet, block })
      heard(Math.min(witnesses, block.witnesses))
      return is ? 'before' : 'not_yet'
    } catch (error) {
      if (error instanceof StatePrunedError) return 'unknown'
      if (!(error instanceof NoBlockError)) throw error
      // Either the chain began later, or it has made no block since that midnight.
      return Number(error.nearest.timestampSec) > day * DAY_SEC ? 'not_yet' : 'before'
    }
  }

  /** The first midnight that has a snapshot; undefined if the wallet never moved a token. */
  async function beginningOf(
    request: SeriesRequest<SnapshotMarket>,
    signal: AbortSignal,
  ): Promise<SeriesStart | undefined> {
    const { place: market, wallet } = request
    const series = await store.series(market, wallet)
    const known = series?.first
    if (known !== undefined && !recheck.isDue(market.client, known.witnesses)) return { day: known.day, isCut: false }
    if (series === undefined && !(await hasMoved(market, { wallet })).hasMoved) return undefined
    // Noted at once: without past state each midnight that passes unnoticed is lost.
    if (series === undefined) await store.follow(market, wallet, undefined)
    try {
      const { first, witnesses } = await findFirst(request, signal)
      // Another one cannot have been found before: no endpoint reaches back.
      if (known !== undefined && first.isCut) return { day: known.day, isCut: false }
      if (!first.isCut) await noteFirst(request, { known, found: { day: first.day, witnesses } })
      return first
    } catch (error) {
      if (known === undefined || !(error instanceof UnavailableError) || error instanceof DisputeError) throw error
      recheck.answered(market.client, 0)
      return { day: known.day, isCut: false }
    }
  }

  async function findFirst(request: SeriesRequest<SnapshotMarket>, signal: AbortSignal) {
    let witnesses = Number.POSITIVE_INFINITY
    const heard = (said: number) => {
      witnesses = Math.min(witnesses, said)
    }
    const search = { from: request.place.firstDayMin, to: today() + 1 }
    const first = await findFirstDay(search, (day) => movementAt(request, { day, heard }, signal))
    // Without an answer that counts nobody gave it.
    const counted = Number.isFinite(witnesses) ? witnesses : 1
    recheck.answered(request.place.client, counted)
    return { first, witnesses: counted }
  }

  async function noteFirst(
    { place: market, wallet }: SeriesRequest<SnapshotMarket>,
    { known, found }: { readonly known: FirstDay | undefined; readonly found: FirstDay },
  ): Promise<void> {
    const { chain, log } = market.client
    if (known !== undefined && known.day !== found.day) {
      if (found.witnesses <= known.witnesses) {
        throw new DisputeError(
          `Cannot believe the first day of wallet ${wallet} on chain ${chain.id} (${chain.name}): one endpoint gave ` +
            'another one before (second witness)',
        )
      }
      log.warn({ msg: 'Replaced a first day that one RPC endpoint had given', chainId: chain.id, wallet })
    }
    await store.follow(market, wallet, found)
  }

  return beginningOf
}
