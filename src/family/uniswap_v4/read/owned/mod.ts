import type { PinnedBlock } from '../../../../chain/block.ts'
import { toLowerHex } from '../../../../chain/call/words.ts'
import type { ReadOptions } from '../../../../chain/rpc/client.ts'
import type { Database } from '../../../../db/database.ts'
import { positionSubject } from '../../../../finance/liquidity/position_history/position_flow.ts'
import { readWalletEntries, WALLET_ENTRIES } from '../../../../finance/wallet_entry.ts'
import type { History, StreamTarget } from '../../../../history/stream.ts'
import { timeoutSignal, untilAborted } from '../../../../lib/async/abort.ts'
import { registerTimeoutError } from '../../../../lib/async/timeout_error.ts'
import type { Clock } from '../../../../lib/clock.ts'
import { AbortedError, PendingError, UnavailableError } from '../../../../lib/error.ts'
import { createLru } from '../../../../lib/lru.ts'
import type { FindOwnedIds, WalletTarget } from '../ownership.ts'
import {
  continueScan,
  countCallsLeft,
  isComplete,
  type Scan,
  type ScanState,
  startScan,
  UnexpectedStorageError,
} from './scan.ts'
import { TRANSFER_STREAM } from './transfers.ts'

/** A scan of so many calls is never weighed against reading logs. */
const SCAN_CALLS_MAX = 16
/** What one request for logs covers as a rule, and how often each block's are read. */
const LOG_BLOCKS = 10_000
const LOG_READS = 2
/** Time for one round trip of a scan over all tries. */
const BUDGET_MS = 4_500
/** How long a caller waits for a scan of many calls; then it is told when to come back. */
const WAIT_MS = 4_000
/** A scan that nobody waits for ends after this time: its block is then too old for most nodes. */
const SCAN_LIMIT_MS = 180_000
/** Scans and storings at a time. */
const RUNNING_MAX = 8
/** Ids that are looked at first. */
const KNOWN_MAX = 2_000
/** Wallets whose finished scans are remembered until they are stored. */
const SCANNED_MAX = 1_000
const RETRY_SEC = { least: 1, most: 15 }
/** In the database: what a scan found at a final block. */
const SCAN_STREAM = 'uniswap_v4_scan'

/** A scan that outlasts the request that began it. */
interface Running {
  state: ScanState
  readonly startedMs: number
  readonly first: ScanState
  readonly done: Promise<unknown>
}

/**
 * Makes a finder of positions over the history of the process. It scans the manager's storage, newest id first, if that
 * takes 16 calls or fewer calls than reading `Transfer` logs, else reads those; what cannot be scanned is read from logs.
 * What was found at a final block is stored, as ids to look at first: each list is proved anew by its number.
 */
export function createOwnedFinder(options: {
  readonly history: History
  readonly db: Database
  readonly clock: Clock
  /** How long a caller waits for a scan of many calls, milliseconds. @default {4000} */
  readonly waitMs?: number
}): FindOwnedIds {
  const { history, db, clock, waitMs = WAIT_MS } = options
  const running = new Map<string, Running>()
  const storing = new Set<string>()
  const scanned = createLru<readonly bigint[]>({ entriesMax: SCANNED_MAX })

  /** Ids that the wallet was sent up to the block, of those that are stored. */
  async function stored(asked: WalletTarget, toBlock: number) {
    const wallet = toLowerHex(asked.wallet)
    const { isWhole, entries } = await readWalletEntries(db, {
      place: placeOf(asked),
      stream: TRANSFER_STREAM.name,
      wallet,
      toBlock,
    })
    return { isWhole, ids: entries.map(BigInt) }
  }

  async function byLogs(asked: WalletTarget, block: PinnedBlock, signal: AbortSignal): Promise<readonly bigint[]> {
    const place = placeOf(asked)
    const subject = toLowerHex(asked.wallet)
    const ensured = await history.ensure({ stream: TRANSFER_STREAM, place, subject, upTo: block.number }, signal)
    const toBlock = Math.min(ensured.storedTo, Number(block.number))
    const { isWhole, ids } = await stored(asked, toBlock)
    if (!isWhole && toBlock >= place.startBlock) {
      const { id, name } = asked.client.chain
      throw new PendingError(`The history of chain ${id} (${name}) is not complete any more: it is read again`)
    }
    const young = ensured.tail.filter((entry) => entry.block <= Number(block.number)).map(({ entry }) => BigInt(entry))
    return [...new Set([...ids, ...young])]
  }

  function step(
    scan: Scan & { readonly client: WalletTarget['client'] },
    { state, ...reading }: Pick<ReadOptions, 'priority'> & { readonly state?: ScanState },
    signal: AbortSignal,
  ): Promise<ScanState> {
    const { client, block } = scan
    const limits = { signal, budgetMs: BUDGET_MS, past: block, ...reading }
    return client.read(
      (endpoint, within) =>
        state === undefined ? startScan(endpoint, scan, within) : continueScan(endpoint, scan, state, within),
      limits,
    )
  }

  /** Goes on with a scan, and forgets it when it ends; how it ends is told to whoever asks meanwhile. */
  function goOn(key: string, asked: WalletTarget, scan: ScanOf, first: ScanState): Running {
    const limit = timeoutSignal(SCAN_LIMIT_MS)
    const run = async () => {
      while (!isComplete(work.state)) {
        work.state = await step(scan, { state: work.state, priority: 'background' }, limit)
      }
      scanned.set(key, work.state.owned)
      keep(key, asked, work.state.owned)
    }
    // Begins when `work` is there.
    const done = Promise.resolve()
      .then(run)
      .finally(() => running.delete(key))
    done.catch(() => {})
    const work: Running = { state: first, first, startedMs: clock.monotonicMs(), done }
    running.set(key, work)
    return work
  }

  /** Stores what the wallet owns at the final block, if it is known which that is. Nobody waits for it. */
  function keep(key: string, asked: WalletTarget, owned: readonly bigint[]): void {
    if (storing.has(key) || storing.size >= RUNNING_MAX || owned.length === 0) return
    storing.add(key)
    const limit = timeoutSignal(SCAN_LIMIT_MS)
    const { client, wallet } = asked
    const chainId = client.chain.id
    const run = async () => {
      const tip = await history.prepare?.(chainId, limit).tip()
      if (tip === undefined) return
      const { finalized: block, epoch } = tip
      const known = owned.slice(0, KNOWN_MAX)
      const { ids } = await stored(asked, Number(block.number))
      if (owned.every((id) => ids.includes(id))) return
      const state = await step(scanOf(asked, block, known), { priority: 'background' }, limit)
      const at = Number(block.number)
      const part = {
        place: placeOf(asked),
        stream: SCAN_STREAM,
        subjects: [toLowerHex(wallet)],
        fromBlock: at,
        toBlock: at,
      }
      const rows = state.owned.map((id) => ({ wallet: toLowerHex(wallet), entry: positionSubject(id), block: at }))
      if (isComplete(state)) await WALLET_ENTRIES.store(db, { ...part, rows, witnesses: 1, epoch })
    }
    // What is not stored is scanned again.
    run()
      .catch(() => {})
      .finally(() => storing.delete(key))
  }

  function scanOf(asked: WalletTarget, block: PinnedBlock, known: readonly bigint[]): ScanOf {
    const { client, wallet, deployment } = asked
    const { chain } = client
    return { client, wallet, manager: deployment.positionManager, chainId: chain.id, block, clock, known }
  }

  /** Undefined if logs are the better way, or the only one. */
  async function byScan(
    asked: WalletTarget,
    block: PinnedBlock,
    signal: AbortSignal,
  ): Promise<readonly bigint[] | undefined> {
    const key = `${asked.client.chain.id}:${asked.deployment.positionManager}:${asked.wallet}`
    const under = running.get(key)
    if (under !== undefined) await finished(asked, under, signal)
    const { ids } = await stored(asked, Number(block.number))
    const known = [...new Set([...(scanned.get(key) ?? []), ...ids])].slice(-KNOWN_MAX)
    const scan = scanOf(asked, block, known)
    let state = await step(scan, {}, signal)
    const calls = countCallsLeft(state)
    if (!isComplete(state) && calls >= SCAN_CALLS_MAX) {
      if (callsByLogs(asked, block) < calls) return undefined
      if (running.size >= RUNNING_MAX) throw pending(asked, { state, first: state, startedMs: clock.monotonicMs() })
      const work = goOn(key, asked, scan, state)
      await finished(asked, work, signal)
      return work.state.owned
    }
    while (!isComplete(state)) state = await step(scan, { state }, signal)
    if (state.owned.some((id) => !ids.includes(id))) keep(key, asked, state.owned)
    return state.owned
  }

  /** Waits for a scan. Throws `PendingError` with the progress if it takes long, or what it ended with. */
  async function finished(asked: WalletTarget, work: Running, signal: AbortSignal): Promise<void> {
    registerTimeoutError(signal, () => pending(asked, work))
    try {
      await untilAborted(work.done, AbortSignal.any([signal, timeoutSignal(waitMs)]))
    } catch (error) {
      if (!(error instanceof AbortedError) || signal.aborted) throw error
      throw pending(asked, work)
    }
  }

  function pending({ client: { chain } }: WalletTarget, work: Omit<Running, 'done'>): PendingError {
    const { state, first, startedMs } = work
    const seconds = (clock.monotonicMs() - startedMs) / 1_000
    const done = Number(first.rest - state.rest)
    const left = done === 0 ? RETRY_SEC.most : (Number(state.rest) * seconds) / done
    const percent = Math.floor(100 - (100 * Number(state.rest)) / Math.max(1, Number(state.nextId)))
    return new PendingError(
      `The positions on chain ${chain.id} (${chain.name}) are being looked for: ${percent} % of ${state.nextId.toLocaleString('en')} ids done`,
      {
        retryAfterSec: Math.min(RETRY_SEC.most, Math.max(RETRY_SEC.least, Math.ceil(left))),
        progress: { percent, left: { count: Number(state.rest), unit: 'ids' } },
      },
    )
  }

  return async (asked, block, signal) => {
    try {
      const ids = await byScan(asked, block, signal)
      if (ids !== undefined) return ids
    } catch (error) {
      const isElsewhere = error instanceof UnavailableError && !(error instanceof PendingError)
      if (!isElsewhere && !(error instanceof UnexpectedStorageError)) throw error
    }
    return await byLogs(asked, block, signal)
  }
}

type ScanOf = Scan & { readonly client: WalletTarget['client'] }

/** Requests that a wallet's logs take from the beginning. */
function callsByLogs({ deployment }: WalletTarget, { number }: PinnedBlock): number {
  const blocks = Math.max(0, Number(number) - deployment.startBlock)
  return LOG_READS * Math.ceil(blocks / LOG_BLOCKS)
}

function placeOf({ client, deployment }: Pick<WalletTarget, 'client' | 'deployment'>): StreamTarget {
  const { positionManager, startBlock } = deployment
  return { chainId: client.chain.id, contract: toLowerHex(positionManager), startBlock }
}
