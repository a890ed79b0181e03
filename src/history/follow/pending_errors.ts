import type { PinnedBlock } from '../../chain/block.ts'
import { finalAgeMaxSec } from '../../chain/block_age.ts'
import type { ChainClient } from '../../chain/rpc/client.ts'
import type { Clock } from '../../lib/clock.ts'
import { PendingError, UnavailableError } from '../../lib/error.ts'
import type { Tip } from '../tip.ts'
import type { ProgressEstimate } from './progress.ts'

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
