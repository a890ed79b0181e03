import type { Chain } from '../../chain/chain.ts'
import { UnavailableError, UpstreamError } from '../../lib/error.ts'
import type { Log } from '../../lib/log.ts'
import { NotStoredError } from '../rows/part.ts'
import { IncompleteError } from '../stream.ts'
import { SCAN_BLOCKS_MIN } from './plan.ts'

const CONFIGURE_RETRY_SEC = 60

/** What a caller is told about work on its history that failed. */
export function callersError(error: unknown, { id, name }: Chain): unknown {
  if (error instanceof IncompleteError) {
    return new UnavailableError(`The history of chain ${id} (${name}) is not complete. ${error.message}`, {
      cause: error,
    })
  }
  return error instanceof UpstreamError || error instanceof NotStoredError
    ? new UnavailableError(`Cannot read the history of chain ${id} (${name})`, { cause: error })
    : error
}

/** What a caller is told if no endpoint takes ranges long enough; the longest is `blocks`. */
export function tooNarrow({ id, name }: Chain, blocks: number): UnavailableError {
  return new UnavailableError(
    `The history of chain ${id} (${name}) needs an RPC endpoint that gives the logs of at least ${SCAN_BLOCKS_MIN} blocks a request, and the widest here gives ${blocks}: add one to RPC_URL_${id}`,
    { retryAfterSec: CONFIGURE_RETRY_SEC },
  )
}

/** Logs why the work on a history stopped for now. */
export function reportFailure(
  error: unknown,
  { log, ...at }: { readonly log: Log; readonly chainId: number; readonly stream: string },
): void {
  if (error instanceof IncompleteError) {
    const { check, fromBlock, toBlock } = error
    log.error({ msg: 'Found a history incomplete at every endpoint', ...at, check, fromBlock, toBlock })
  } else if (error instanceof UpstreamError || error instanceof UnavailableError) {
    log.warn({ msg: 'Could not go on with a history', ...at, reason: String(error) })
  } else if (!(error instanceof NotStoredError)) {
    log.error({ msg: 'Could not go on with a history', ...at, error })
  }
}
