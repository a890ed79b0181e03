import { NoBlockError } from '../../../chain/past/block_at.ts'
import { DisputeError } from '../../../chain/past/quorum.ts'
import { StatePrunedError } from '../../../chain/rpc/client.ts'
import type { SeriesRequest, SeriesStart } from '../../../finance/series/series.ts'
import type { FirstDay, SnapshotStore } from '../../../finance/series/store.ts'
import { DAY_SEC, type Midnights } from '../../../history/midnight.ts'
import type { Recheck } from '../../../history/recheck.ts'
import type { Clock } from '../../../lib/clock.ts'
import { UnavailableError } from '../../../lib/error.ts'
import { findFirstDay, type Movement } from './first_day.ts'
import type { SnapshotFigures, SnapshotMarket } from './market.ts'
import { createMovementCheck } from './movement_check.ts'

/** Creates a finder of the first day of wallets' series in lending markets, that of the first token movement. */
export function createSeriesStartFinder(parts: {
  readonly midnights: Midnights
  readonly store: SnapshotStore<SnapshotFigures>
  readonly recheck: Recheck
  readonly clock: Clock
}) {
  const { midnights, store, recheck, clock } = parts
  const checkMovement = createMovementCheck()
  const today = () => Math.floor(clock.now() / 1_000 / DAY_SEC)

  async function readMovement(
    { target: market, wallet }: SeriesRequest<SnapshotMarket>,
    { day, heard: onWitnesses }: { readonly day: number; readonly heard: (witnesses: number) => void },
    signal: AbortSignal,
  ): Promise<Movement> {
    try {
      const block = await midnights.findBlock(market.client, day, signal)
      const { hasMoved, witnesses } = await checkMovement(market, { wallet, block })
      onWitnesses(Math.min(witnesses, block.witnesses))
      return hasMoved ? 'before' : 'not_yet'
    } catch (error) {
      if (error instanceof StatePrunedError) return 'unknown'
      if (!(error instanceof NoBlockError)) throw error
      // Either the chain started later, or it has no block since that midnight.
      return Number(error.nearest.timestampSec) > day * DAY_SEC ? 'not_yet' : 'before'
    }
  }

  /** Finds the first midnight with a snapshot; undefined if the wallet never moved a token. */
  async function findSeriesStart(
    request: SeriesRequest<SnapshotMarket>,
    signal: AbortSignal,
  ): Promise<SeriesStart | undefined> {
    const { target: market, wallet } = request
    const series = await store.findSeries(market, wallet)
    const storedFirst = series?.first
    if (storedFirst !== undefined && !recheck.isDue(market.client, storedFirst.witnesses))
      return { day: storedFirst.day, isCut: false }
    if (series === undefined && !(await checkMovement(market, { wallet })).hasMoved) return undefined
    // Follow the wallet at once: without past state a missed midnight is lost.
    if (series === undefined) await store.follow(market, wallet, undefined)
    try {
      const { first, witnesses } = await findFirst(request, signal)
      // A cut search cannot correct the stored day: no endpoint reaches back.
      if (storedFirst !== undefined && first.isCut) return { day: storedFirst.day, isCut: false }
      if (!first.isCut) await storeFirst(request, { known: storedFirst, found: { day: first.day, witnesses } })
      return first
    } catch (error) {
      if (storedFirst === undefined || !(error instanceof UnavailableError) || error instanceof DisputeError)
        throw error
      recheck.recordAnswer(market.client, 0)
      return { day: storedFirst.day, isCut: false }
    }
  }

  async function findFirst(request: SeriesRequest<SnapshotMarket>, signal: AbortSignal) {
    let witnesses = Number.POSITIVE_INFINITY
    const onWitnesses = (count: number) => {
      witnesses = Math.min(witnesses, count)
    }
    const search = { from: request.target.firstDayMin, to: today() + 1 }
    const first = await findFirstDay(search, (day) => readMovement(request, { day, heard: onWitnesses }, signal))
    // No midnight was read, so there is no count of witnesses.
    const witnessCount = Number.isFinite(witnesses) ? witnesses : 1
    recheck.recordAnswer(request.target.client, witnessCount)
    return { first, witnesses: witnessCount }
  }

  async function storeFirst(
    { target: market, wallet }: SeriesRequest<SnapshotMarket>,
    { known: before, found }: { readonly known: FirstDay | undefined; readonly found: FirstDay },
  ): Promise<void> {
    const { chain, log } = market.client
    if (before !== undefined && before.day !== found.day) {
      if (found.witnesses <= before.witnesses) {
        throw new DisputeError(
          `Cannot believe the first day of wallet ${wallet} on chain ${chain.id} (${chain.name}): another endpoint returned ` +
            'another day before (second witness)',
        )
      }
      log.warn({ msg: 'Corrected a series start that came from a single RPC endpoint', chainId: chain.id, wallet })
    }
    await store.follow(market, wallet, found)
  }

  return findSeriesStart
}
