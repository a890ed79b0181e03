import type { Hex } from 'viem'
import type { Chain } from '../../chain/chain.ts'
import type { Clock } from '../../lib/clock.ts'
import { UnavailableError, UpstreamError } from '../../lib/error.ts'
import type { Log } from '../../lib/log.ts'
import { createLru } from '../../lib/lru.ts'
import { NotStoredError } from '../stored_part.ts'
import {
  FaultyCheckError,
  IncompleteError,
  NoWitnessError,
  SECOND_WITNESS_CHECK,
  type StreamTarget,
} from '../stream.ts'
import type { FollowEntry } from './entry.ts'

/** A history that reading again does not complete: the fault is this program's. */
export class HistoryFaultError extends UnavailableError {}

const CONFIGURE_RETRY_SEC = 60
/** Pause after a failure, doubled each time. */
const AGAIN_MS = { first: 1_000, most: 30_000 }
/** After this time it is read once more if a check was faulty. */
const FAULT_MS = 600_000
const FAULTS_MAX = 1_000

/** What failed lately in the histories of one follower. */
export function createRecentFailures(options: {
  readonly chain: Chain
  readonly stream: string
  readonly place: StreamTarget
  readonly log: Log
  readonly clock: Clock
}) {
  const { chain, stream, place, log, clock } = options
  const faults = createLru<{ readonly error: HistoryFaultError; readonly untilMs: number }, Hex | null>({
    entriesMax: FAULTS_MAX,
  })
  const at = { chainId: chain.id, stream, contract: place.contract }
  let ofScan: UnavailableError | undefined

  return {
    /**
     * Logs why work on the histories of some, or a scan that they wait for, stopped, and tells them. Gives how long to
     * pause before it is tried again, milliseconds.
     */
    note(error: unknown, of: readonly FollowEntry[], isScan: boolean): number {
      report(error, { log, at })
      const shown = callersError(error, chain)
      const failure = error instanceof IncompleteError && shown instanceof UnavailableError ? shown : undefined
      if (isScan) ofScan = failure
      if (shown instanceof HistoryFaultError) {
        const untilMs = clock.monotonicMs() + FAULT_MS
        for (const subject of isScan ? [null] : of.map((entry) => entry.subject))
          faults.set(subject, { error: shown, untilMs })
      }
      for (const entry of of) {
        entry.failures++
        entry.failure = failure
        entry.settle(shown)
      }
      return Math.min(AGAIN_MS.most, AGAIN_MS.first * 2 ** (Math.max(...of.map((entry) => entry.failures)) - 1))
    },
    /** That work went on. */
    forget(of: readonly FollowEntry[], isScan: boolean): void {
      if (isScan) ofScan = undefined
      for (const entry of of) {
        entry.failures = 0
        entry.failure = undefined
      }
    },
    /**
     * Tells who waits for a history what is known to be wrong with reading it, for itself or for everybody; true if
     * reading it again is of no use.
     */
    tell(entry: FollowEntry, plan: 'subject' | 'everybody'): boolean {
      if (plan === 'everybody') entry.failure = ofScan
      const fault = faults.get(plan === 'everybody' ? null : entry.subject)
      if (fault === undefined || clock.monotonicMs() >= fault.untilMs) return false
      entry.settle(fault.error)
      return true
    },
  }
}

/** What a caller is told about work on its history that failed. */
function callersError(error: unknown, { id, name }: Chain): unknown {
  if (error instanceof FaultyCheckError) {
    return new HistoryFaultError(
      `The history of chain ${id} (${name}) cannot be completed. ${error.message}: that is a fault of ours, please report it`,
      { cause: error, retryAfterSec: CONFIGURE_RETRY_SEC },
    )
  }
  if (error instanceof IncompleteError) {
    return new UnavailableError(`The history of chain ${id} (${name}) is not complete. ${error.message}`, {
      cause: error,
    })
  }
  if (error instanceof NoWitnessError) {
    return new UnavailableError(
      `Cannot read the history of chain ${id} (${name}) now. ${error.message} (check "${SECOND_WITNESS_CHECK}")`,
      { cause: error },
    )
  }
  return error instanceof UpstreamError || error instanceof NotStoredError
    ? new UnavailableError(`Cannot read the history of chain ${id} (${name})`, { cause: error })
    : error
}

/** What a caller is told if no endpoint takes ranges long enough; the longest is `blocks`. */
export function rangeTooNarrowError(
  { id, name }: Chain,
  { needed, widest }: { readonly needed: number; readonly widest: number },
): UnavailableError {
  return new UnavailableError(
    `The history of chain ${id} (${name}) needs an RPC endpoint that gives the logs of at least ${needed} blocks a request, and the widest here gives ${widest}: add one to RPC_URL_${id}`,
    { retryAfterSec: CONFIGURE_RETRY_SEC },
  )
}

function report(error: unknown, { log, at }: { readonly log: Log; readonly at: Record<string, unknown> }): void {
  if (error instanceof IncompleteError) {
    const { check, fromBlock, toBlock } = error
    const msg =
      error instanceof FaultyCheckError
        ? 'Found a check of a history to be wrong, which is a fault of this program'
        : 'Found a history incomplete at every endpoint'
    log.error({ msg, ...at, check, fromBlock, toBlock })
  } else if (error instanceof UpstreamError || error instanceof UnavailableError) {
    log.warn({ msg: 'Could not go on with a history', ...at, reason: String(error) })
  } else if (!(error instanceof NotStoredError)) {
    log.error({ msg: 'Could not go on with a history', ...at, error })
  }
}
