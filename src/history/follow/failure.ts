import type { Hex } from 'viem'
import type { PinnedBlock } from '../../chain/block.ts'
import { finalAgeMaxSec } from '../../chain/block_age.ts'
import type { Chain } from '../../chain/chain.ts'
import { type ChainClient, RpcRefusedError } from '../../chain/rpc/client.ts'
import type { Clock } from '../../lib/clock.ts'
import { PendingError, UnavailableError, UpstreamError } from '../../lib/error.ts'
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
import type { Tip } from '../tip.ts'
import type { FollowEntry, ProgressEstimate } from './entry.ts'

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

const OFF_RETRY_SEC = 60
const RETRY_SEC = { least: 1, unknown: 5, most: 15 }

/** The operator has switched histories off. */
export function historySwitchedOffError({ chain: { id, name } }: ChainClient): UnavailableError {
  const message = `The history of chain ${id} (${name}) is not read: the operator has switched histories off`
  return new UnavailableError(message, { retryAfterSec: OFF_RETRY_SEC })
}

/** Throws `UnavailableError` if the last block of a history is too old for a current answer. */
export function checkHistoryAge({ chain }: ChainClient, { number, timestampSec }: PinnedBlock, clock: Clock): void {
  const ageSec = Math.round(clock.now() / 1_000 - Number(timestampSec))
  const maxSec = finalAgeMaxSec(chain)
  if (ageSec <= maxSec) return
  throw new UnavailableError(
    `The history of chain ${chain.id} (${chain.name}) ends at block ${number}, which is ${ageSec} s old (check "final block", at most ${Math.round(maxSec)} s): its endpoints have no later final block, and the blocks after it are too many to be read with an answer`,
    { retryAfterSec: RETRY_SEC.most },
  )
}

/** The error of a request that times out before the newest block is known. */
export function tipPendingError({ chain: { id, name } }: ChainClient): PendingError {
  const message = `The history of chain ${id} (${name}) is being read: waiting for the latest block`
  return new PendingError(message, { retryAfterSec: RETRY_SEC.least })
}

/** The error of a request that times out after all final blocks are stored. */
export function tailPendingError({ chain: { id, name } }: ChainClient, { finalized }: Tip): PendingError {
  const message = `The history of chain ${id} (${name}) is being read: 100 % done up to block ${finalized.number}, which is final; the blocks after it are being read`
  return new PendingError(message, { retryAfterSec: RETRY_SEC.least, progress: { percent: 100 } })
}

/** The error of a request that times out while final blocks are missing. */
export function historyPendingError({ chain }: ChainClient, progress: ProgressEstimate | undefined): PendingError {
  const { percent = 0, blocks, seconds } = progress ?? {}
  const left = blocks === undefined ? '' : `, ${blocks.toLocaleString('en')} blocks left`
  const retryAfterSec = Math.min(RETRY_SEC.most, Math.max(RETRY_SEC.least, Math.ceil(seconds ?? RETRY_SEC.unknown)))
  return new PendingError(`The history of chain ${chain.id} (${chain.name}) is being read: ${percent} % done${left}`, {
    retryAfterSec,
    progress: { percent, ...(blocks === undefined ? {} : { left: { count: blocks, unit: 'blocks' } }) },
  })
}

/** Issues older than this are not reported, milliseconds. */
const REPORTED_MS = 600_000

/** Creates the record of why histories of chains fail, for the operator. */
export function createHistoryIssues(clock: Clock) {
  const issuesByChain = new Map<number, { readonly message: string; readonly atMs: number }>()

  return {
    /** Records why a request about a chain fails, until one succeeds. A pending history is no failure. */
    async watch<T>(chainId: number, read: () => Promise<T>): Promise<T> {
      try {
        const answer = await read()
        issuesByChain.delete(chainId)
        return answer
      } catch (error) {
        if (error instanceof UnavailableError && !(error instanceof PendingError)) {
          issuesByChain.set(chainId, { message: error.message, atMs: clock.monotonicMs() })
        }
        throw error
      }
    },
    /** The last recent issue of each chain. */
    listRecent(): ReadonlyMap<number, string> {
      const recentIssues = [...issuesByChain].filter(([, { atMs }]) => clock.monotonicMs() - atMs < REPORTED_MS)
      return new Map(recentIssues.map(([chainId, { message }]) => [chainId, message]))
    },
  }
}
