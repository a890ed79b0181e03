import type { Hex } from 'viem'
import type { Chain } from '../../chain/chain.ts'
import { RpcRefusedError } from '../../chain/rpc/client.ts'
import type { Clock } from '../../lib/clock.ts'
import { UnavailableError, UpstreamError } from '../../lib/error.ts'
import type { Log } from '../../lib/log.ts'
import { createLru } from '../../lib/lru.ts'
import { NotStoredError } from '../stored_part.ts'
import {
  HistoryUnavailableError,
  IncompleteError,
  NoWitnessError,
  SECOND_WITNESS_CHECK,
  type StreamTarget,
} from '../stream.ts'
import type { FollowEntry } from './entry.ts'

const CONFIGURE_RETRY_SEC = 60
/** Pause after a failure, doubled each time. With the longest one an endpoint that is well again serves in 25 seconds. */
const AGAIN_MS = { first: 1_000, most: 20_000 }
/** Pause after a faulty check: an endpoint may be mended soon. */
const FAULT_MS = 20_000
const FAULTS_MAX = 1_000

interface KnownFault {
  readonly error: HistoryUnavailableError
  readonly untilMs: number
}

/** Creates the record of recent failures in the histories of one follower. */
export function createRecentFailures(options: {
  readonly chain: Chain
  readonly stream: string
  readonly target: StreamTarget
  readonly log: Log
  readonly clock: Clock
}) {
  const { chain, stream, target, log, clock } = options
  const faults = createLru<KnownFault, Hex | null>({ entriesMax: FAULTS_MAX })
  const logFields = { chainId: chain.id, stream, contract: target.contract }
  let scanFailure: UnavailableError | undefined

  function recordFault(subject: Hex | null, error: HistoryUnavailableError): void {
    faults.set(subject, { error, untilMs: clock.monotonicMs() + FAULT_MS })
  }

  return {
    /**
     * Logs a failure of the entries' task, or of the scan they wait for, and settles them with it. Returns the pause
     * before the next attempt, milliseconds.
     */
    record(error: unknown, entries: readonly FollowEntry[], isScan: boolean): number {
      report(error, { log, logFields })
      const callerError = toCallerError(error, chain)
      const failure =
        error instanceof IncompleteError && callerError instanceof UnavailableError ? callerError : undefined
      if (isScan) scanFailure = failure
      if (callerError instanceof HistoryUnavailableError && callerError.reason === 'faulty') {
        for (const subject of isScan ? [null] : entries.map((entry) => entry.subject)) recordFault(subject, callerError)
      }
      for (const entry of entries) {
        entry.failures++
        entry.failure = failure
        entry.settle(callerError)
      }
      return Math.min(AGAIN_MS.most, AGAIN_MS.first * 2 ** (Math.max(...entries.map((entry) => entry.failures)) - 1))
    },
    /** Clears the failures after a task succeeded. */
    clear(entries: readonly FollowEntry[], isScan: boolean): void {
      if (isScan) scanFailure = undefined
      for (const entry of entries) {
        entry.failures = 0
        entry.failure = undefined
      }
    },
    /**
     * Settles an entry with a known fault of its plan; true if there is one, so that another read is useless. Copies
     * the failure of a scan to the entry.
     */
    rejectKnownFault(entry: FollowEntry, plan: 'subject' | 'global'): boolean {
      if (plan === 'global') entry.failure = scanFailure
      const fault = faults.get(plan === 'global' ? null : entry.subject)
      if (fault === undefined || clock.monotonicMs() >= fault.untilMs) return false
      entry.settle(fault.error)
      return true
    },
  }
}

/** Converts a failure of a task to the error for callers. */
function toCallerError(error: unknown, { id, name }: Chain): unknown {
  if (error instanceof IncompleteError && error.isFaulty) {
    return new HistoryUnavailableError(
      'faulty',
      `The history of chain ${id} (${name}) cannot be completed. ${error.message}: they may be wrong alike, so add another to RPC_URL_${id}; if that does not help, it is a bug to report`,
      { cause: error, retryAfterSec: FAULT_MS / 1_000 },
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
  return error instanceof UpstreamError || error instanceof RpcRefusedError || error instanceof NotStoredError
    ? new UnavailableError(`Cannot read the history of chain ${id} (${name})`, { cause: error })
    : error
}

/** The error for callers if no endpoint accepts ranges of `needed` blocks; the widest accepts `widest`. */
export function rangeTooNarrowError(
  { id, name }: Chain,
  { needed, widest }: { readonly needed: number; readonly widest: number },
): UnavailableError {
  return new UnavailableError(
    `The history of chain ${id} (${name}) needs an RPC endpoint that serves logs of at least ${needed} blocks a request, and the widest here serves ${widest}: add one to RPC_URL_${id}`,
    { retryAfterSec: CONFIGURE_RETRY_SEC },
  )
}

function report(
  error: unknown,
  { log, logFields }: { readonly log: Log; readonly logFields: Record<string, unknown> },
): void {
  if (error instanceof IncompleteError) {
    const { check, fromBlock, toBlock } = error
    const msg = error.isFaulty
      ? 'A history check failed twice with agreeing endpoints: they are wrong alike, or this is a bug'
      : 'Logs are missing at every endpoint'
    log.error({ msg, ...logFields, check, fromBlock, toBlock })
  } else if (error instanceof UpstreamError || error instanceof RpcRefusedError || error instanceof UnavailableError) {
    log.warn({ msg: 'Failed to read a history', ...logFields, reason: String(error) })
  } else if (!(error instanceof NotStoredError)) {
    log.error({ msg: 'Failed to read a history', ...logFields, error })
  }
}
