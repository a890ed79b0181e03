import type { Clock } from '../../lib/clock.ts'
import type { Log } from '../../lib/log.ts'
import type { Plane } from '../plane/plane.ts'
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
  /** The plane that answered, if one did. */
  readonly plane?: Plane
  readonly from?: LoggedAddress
}

const UNAUTHORIZED = 401
const WINDOW_MS = 1_000
/** Maximum number of lines a second of requests with a known key. */
const CALLERS_MAX = 1_000
/** Maximum of each group that any client can add to. */
const GROUP_MAX = 50

/**
 * Creates a function that logs a finished request: at `debug`, or at `info` if `isOn`, and then at most so many a second;
 * those left out are counted in one line. Strangers and each plane have lines of their own, and of these the refused
 * credentials (401), so that no flood hides who tries secrets at the operator's login, or succeeds.
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
  let callers = 0
  const others: Record<'refused' | 'answered', Map<Plane | undefined, number>> = {
    refused: new Map(),
    answered: new Map(),
  }
  let left = 0
  let isWindowOpen = false

  function openWindow(): void {
    isWindowOpen = true
    clock.after(
      WINDOW_MS,
      () => {
        if (left > 0) log.info({ msg: 'Left out lines of answered requests', lines: left })
        callers = left = 0
        others.refused.clear()
        others.answered.clear()
        isWindowOpen = false
      },
      { keepsAlive: false },
    )
  }

  /** Counts a line; false if it is one too many. */
  function isRoomFor(request: AnsweredRequest): boolean {
    if (!isWindowOpen) openWindow()
    const isRoom = request.caller === undefined ? countOther(request) <= GROUP_MAX : ++callers <= CALLERS_MAX
    if (!isRoom) left += 1
    return isRoom
  }

  function countOther({ plane, status }: AnsweredRequest): number {
    const counts = others[status === UNAUTHORIZED ? 'refused' : 'answered']
    const count = (counts.get(plane) ?? 0) + 1
    counts.set(plane, count)
    return count
  }

  return (request) => {
    if (isOn && !isRoomFor(request)) return
    const { requestId, route, status, latencyMs, credits, caller, from } = request
    const { organizationId: organization, apiKeyId: key } = caller ?? NO_CALLER
    const roundedMs = Math.round(latencyMs * 10) / 10
    const outcome = { route, status, latencyMs: roundedMs, credits }
    log[level]({ msg: 'Answered a request', requestId, ...outcome, organization, key, from })
  }
}

const NO_CALLER = { organizationId: undefined, apiKeyId: undefined }
