/** Names of the requesters that work is done for; empty for the service's own work. More may join while it runs. */
export type Requesters = ReadonlySet<string>

const NO_REQUESTERS: Requesters = new Set()
const requestersBySignal = new WeakMap<AbortSignal, Requesters>()

/** Returns the requesters of the work under a signal, which fires when the last of them has left. */
export function getRequesters(signal: AbortSignal): Requesters {
  return requestersBySignal.get(signal) ?? NO_REQUESTERS
}

/** Attaches requesters to a signal and returns it. Code that derives a signal from another passes its requesters on. */
export function withRequesters(requesters: Requesters, signal: AbortSignal): AbortSignal {
  if (requesters !== NO_REQUESTERS) requestersBySignal.set(signal, requesters)
  return signal
}
