import type { Address } from 'viem'
import { lendingSnapshotStore } from '../../../sql/functions.ts'
import { lendingSnapshotList } from '../../../sql/queries.ts'
import type { PinnedBlock } from '../../chain/block.ts'
import { NoBlockError } from '../../chain/past/block_at.ts'
import type { QuorumResult } from '../../chain/past/quorum.ts'
import { ChainUnavailableError, isUnavailable } from '../../chain/rpc/client.ts'
import type { Database } from '../../db/database.ts'
import { takeDailySnapshots } from '../../finance/series/daily.ts'
import {
  createSnapshotSeries,
  type SeriesRequest,
  type SeriesStart,
  type SnapshotSeries,
} from '../../finance/series/series.ts'
import { createSnapshotTaker } from '../../finance/series/snapshot_taker.ts'
import {
  createSnapshotStore,
  type FirstDay,
  type SnapshotStore,
  type SnapshotTable,
  type SnapshotTarget,
} from '../../finance/series/store.ts'
import { createMidnights, DAY_SEC, type Midnights } from '../../history/midnight.ts'
import { createRecheck, type Recheck } from '../../history/recheck.ts'
import { toHexDigits } from '../../history/stored_part.ts'
import { readInHalves } from '../../lib/async/halves.ts'
import { createWork, type Work } from '../../lib/async/work.ts'
import type { Clock } from '../../lib/clock.ts'
import { UnavailableError } from '../../lib/error.ts'
import type { FamilyServices } from '../contract.ts'

/** Figures of a wallet in a market at a midnight, as the live route formats them. */
export interface SnapshotFigures {
  readonly collateralUsd: string
  readonly debtUsd: string
  readonly netWorthUsd: string
  readonly healthFactor: string
}

/** Completes the series of lending markets. */
export type LendingSeries = SnapshotSeries<SnapshotFigures, SnapshotMarket>

/** A market with daily snapshots, and how its family reads it. */
export interface SnapshotMarket extends SnapshotTarget<SnapshotFigures> {
  /** No wallet can have moved a token before this day, in whole days since the epoch. */
  readonly firstDayMin: number
  /**
   * Reads whether each wallet ever had a token movement in the market, up to a past block or the newest one, by quorum.
   * Throws as `readByQuorum`.
   */
  readMovements(
    block: PinnedBlock | undefined,
    wallets: readonly Address[],
    work: Work,
  ): Promise<QuorumResult<readonly boolean[]>>
}

/** Figure of a health factor without debt; the database stores it as null. */
const NO_DEBT = 'MAX'

/** Creates the table of lending snapshots over the database. */
export function lendingSnapshots(db: Database): SnapshotTable<SnapshotFigures> {
  return {
    async list({ chainId, name }, wallet, max) {
      const rows = await lendingSnapshotList(db, {
        chainId,
        contract: toHexDigits(name),
        wallet: toHexDigits(wallet),
        max,
      })
      return rows.map(({ day, collateral, debt, net_worth, health_factor, witnesses }) => ({
        day,
        witnesses,
        figures:
          collateral === null || debt === null || net_worth === null
            ? undefined
            : {
                collateralUsd: collateral,
                debtUsd: debt,
                netWorthUsd: net_worth,
                healthFactor: health_factor ?? NO_DEBT,
              },
      }))
    },
    async save({ chainId, name }, { day, block, witnesses }, rows) {
      const column = (value: (figures: SnapshotFigures) => string) =>
        rows.map(({ figures }) => (figures === undefined ? '' : value(figures)))
      return await lendingSnapshotStore(db, {
        chainId,
        contract: toHexDigits(name),
        day,
        hash: toHexDigits(block.hash),
        witnesses,
        wallets: rows.map(({ wallet }) => toHexDigits(wallet)),
        collaterals: column((each) => each.collateralUsd),
        debts: column((each) => each.debtUsd),
        netWorths: column((each) => each.netWorthUsd),
        healthFactors: column(({ healthFactor }) => (healthFactor === NO_DEBT ? '' : healthFactor)),
      })
    },
  }
}

/** Creates a finder of the first day of wallets' series in lending markets, that of the first token movement. */
function createSeriesStartFinder(parts: {
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
    work: Work,
  ): Promise<Movement> {
    try {
      const block = await midnights.findBlock(market.client, day, work)
      const { hasMoved, witnesses } = await checkMovement(market, { wallet, block })
      onWitnesses(Math.min(witnesses, block.witnesses))
      return hasMoved ? 'before' : 'not_yet'
    } catch (error) {
      if (isUnavailable(error, 'pruned')) return 'unknown'
      if (!(error instanceof NoBlockError)) throw error
      // Either the chain started later, or it has no block since that midnight.
      return Number(error.nearest.timestampSec) > day * DAY_SEC ? 'not_yet' : 'before'
    }
  }

  /** Finds the first midnight with a snapshot; undefined if the wallet never moved a token. */
  async function findSeriesStart(request: SeriesRequest<SnapshotMarket>, work: Work): Promise<SeriesStart | undefined> {
    const { target: market, wallet } = request
    const series = await store.findSeries(market, wallet)
    const storedFirst = series?.first
    if (storedFirst !== undefined && !recheck.isDue(market.client, storedFirst.witnesses))
      return { day: storedFirst.day, isCut: false }
    if (series === undefined && !(await checkMovement(market, { wallet })).hasMoved) return undefined
    // Follow the wallet at once: without past state a missed midnight is lost.
    if (series === undefined) await store.follow(market, wallet, undefined)
    try {
      const { first, witnesses } = await findFirst(request, work)
      // A cut search cannot correct the stored day: no endpoint reaches back.
      if (storedFirst !== undefined && first.isCut) return { day: storedFirst.day, isCut: false }
      if (!first.isCut) await storeFirst(request, { known: storedFirst, found: { day: first.day, witnesses } })
      return first
    } catch (error) {
      if (storedFirst === undefined || !(error instanceof UnavailableError) || isUnavailable(error, 'disputed'))
        throw error
      recheck.recordAnswer(market.client, 0)
      return { day: storedFirst.day, isCut: false }
    }
  }

  async function findFirst(request: SeriesRequest<SnapshotMarket>, work: Work) {
    let witnesses = Number.POSITIVE_INFINITY
    const onWitnesses = (count: number) => {
      witnesses = Math.min(witnesses, count)
    }
    const search = { from: request.target.firstDayMin, to: today() + 1 }
    const first = await findFirstDay(search, (day) => readMovement(request, { day, heard: onWitnesses }, work))
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
        throw new ChainUnavailableError(
          'disputed',
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

/** State at a midnight: the wallet had moved a token before, or not yet, or no endpoint reaches back. */
export type Movement = 'before' | 'not_yet' | 'unknown'

/** Parts that each round divides the days into: it leaves one of them. */
const PARTS = 4

/**
 * Finds the first midnight by which a wallet had moved a token; `isCut` if no endpoint reaches back to earlier ones.
 * Reads three days at a time. By the midnight of `from` the wallet had not moved a token, or the market did not exist;
 * by that of `to` it had. A movement is never undone, and an endpoint that keeps a block keeps all later ones, so the
 * results form three runs: unknown, not yet, before.
 */
export async function findFirstDay(
  { from, to }: { readonly from: number; readonly to: number },
  readMovement: (day: number) => Promise<Movement>,
): Promise<SeriesStart> {
  let [low, high] = [from, to]
  let isCut = false
  while (high - low > 1) {
    const span = high - low
    const days = [1, 2, 3].map((part) => low + Math.floor((span * part) / PARTS)).filter((day) => day > low)
    const movements = await Promise.all(
      [...new Set(days)].map(async (day) => ({ day, movement: await readMovement(day) })),
    )
    const first = movements.findIndex(({ movement }) => movement === 'before')
    const last = first < 0 ? movements.at(-1) : movements[first - 1]
    high = movements[first]?.day ?? high
    if (last === undefined) continue
    low = last.day
    isCut = last.movement === 'unknown'
  }
  return { day: high, isCut }
}

/** Wallets in one call: one without movements costs about 300,000 gas in a market of 60 reserves. */
const WALLETS_MAX = 100

interface WalletMovement {
  readonly hasMoved: boolean
  readonly witnesses: number
}

/** A call that has not been sent yet. */
interface Group {
  readonly wallets: Address[]
  readonly answers: Promise<readonly PromiseSettledResult<WalletMovement>[]>
}

/**
 * Creates a check whether a wallet ever had a token movement in a market, up to a past block or the newest one;
 * `witnesses` counts the endpoints that agree. Wallets of the same block and event-loop turn share a call, and one that
 * makes it fail fails alone. Throws as `SnapshotMarket.readMovements`.
 */
export function createMovementCheck() {
  const groups = new Map<string, Group>()

  function startGroup(key: string, market: SnapshotMarket, block: PinnedBlock | undefined): Group {
    const wallets: Address[] = []
    const sent = new Promise<void>((resolve) => setImmediate(resolve))
    const answers = sent.then(() => {
      if (groups.get(key) === group) groups.delete(key)
      return readInHalves(wallets, readPart, (error) => isUnavailable(error, 'pruned'))
    })
    async function readPart(part: readonly Address[]): Promise<readonly WalletMovement[]> {
      // A signal of its own: one caller's abort must not end the call of the others.
      const { value, endpoints } = await market.readMovements(block, part, createWork(new AbortController().signal))
      return part.map((_, index) => ({ hasMoved: value[index] === true, witnesses: endpoints.length }))
    }
    const group: Group = { wallets, answers }
    groups.set(key, group)
    return group
  }

  return async (
    market: SnapshotMarket,
    { wallet, block }: { readonly wallet: Address; readonly block?: PinnedBlock },
  ): Promise<WalletMovement> => {
    const key = `${market.chainId}:${market.name}:${block?.hash ?? ''}`
    const openGroup = groups.get(key)
    const group =
      openGroup !== undefined && openGroup.wallets.length < WALLETS_MAX ? openGroup : startGroup(key, market, block)
    const at = group.wallets.push(wallet) - 1
    const answer = (await group.answers)[at]
    if (answer?.status !== 'fulfilled') throw answer?.reason
    return answer.value
  }
}

/** Creates what completes the series of wallets. */
export function createLendingSeries(services: FamilyServices): LendingSeries {
  const { clock } = services
  const parts = { ...createSnapshotParts(services), recheck: createRecheck(clock), clock }
  return createSnapshotSeries({ ...parts, findSeriesStart: createSeriesStartFinder(parts) })
}

/** Creates the daily work on all markets of a family. */
export function createDailyRounds(services: FamilyServices, targets: readonly SnapshotMarket[]) {
  const { clock, log } = services
  const parts = { ...createSnapshotParts(services), targets, clock, log }
  return (signal: AbortSignal): Promise<number> => takeDailySnapshots(parts, createWork(signal))
}

/** Parts for taking snapshots: the stored midnights and snapshots, and the reader of new ones. */
function createSnapshotParts({ db, clock, holder }: FamilyServices) {
  const midnights = createMidnights({ db, clock })
  const store = createSnapshotStore(db, { holder, table: lendingSnapshots(db) })
  return { midnights, store, taker: createSnapshotTaker({ midnights, store, clock }) }
}
