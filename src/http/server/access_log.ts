import type { Clock } from '../../lib/clock.ts'
import type { Log } from '../../lib/log.ts'
import type { LoggedAddress } from '../request/client_address.ts'

/** A finished request, without anything that its caller wrote but its id: no query, no key. */
interface AnsweredRequest {
  readonly requestId: string
  /** Template of the endpoint, or one of a few fixed words. */
  readonly route: string
  readonly status: number
  readonly latencyMs: number
  readonly credits: number
  /** Who pays; undefined for a request without a known key. */
  readonly caller: { readonly organizationId: string; readonly apiKeyId: string } | undefined
  readonly from?: LoggedAddress
}

const WINDOW_MS = 1_000
/** Maximum number of lines a second: of all requests, and of those without a known key, which any client can send. */
const LINES_MAX = 1_000
const STRANGERS_MAX = 50

/**
 * Creates a function that logs a finished request: at `debug`, or at `info` if `isOn`, and then at most so many a second;
 * those left out are counted in one line.
 */
export function createAccessLog({
  log,
  clock,
  isOn,
}: {
  readonly log: Log
  readonly clock: Clock
  readonly isOn: boolean
}): (request: AnsweredRequest) => void {
  const level = isOn ? 'info' : 'debug'
  let lines = 0
  let strangers = 0
  let left = 0
  let isWindowOpen = false

  function openWindow(): void {
    isWindowOpen = true
    clock.after(
      WINDOW_MS,
      () => {
        if (left > 0) log.info({ msg: 'Left out lines of answered requests', lines: left })
        lines = strangers = left = 0
        isWindowOpen = false
      },
      { keepsAlive: false },
    )
  }

  /** Counts a line; false if it is one too many. */
  function isRoomFor(isStranger: boolean): boolean {
    if (!isWindowOpen) openWindow()
    if (lines >= LINES_MAX || (isStranger && strangers >= STRANGERS_MAX)) {
      left += 1
      return false
    }
    lines += 1
    if (isStranger) strangers += 1
    return true
  }

  return ({ requestId, route, status, latencyMs, credits, caller, from }) => {
    if (isOn && !isRoomFor(caller === undefined)) return
    const { organizationId: organization, apiKeyId: key } = caller ?? NO_CALLER
    const roundedMs = Math.round(latencyMs * 10) / 10
    const outcome = { route, status, latencyMs: roundedMs, credits }
    log[level]({ msg: 'Answered a request', requestId, ...outcome, organization, key, from })
  }
}

const NO_CALLER = { organizationId: undefined, apiKeyId: undefined }
