/** Names of those for whom work is done; empty if it is for nobody in particular. More may join while it goes on. */
export type Requesters = ReadonlySet<string>

const NO_ASKERS: Requesters = new Set()
const askersBySignal = new WeakMap<AbortSignal, Requesters>()

/** Those for whom the work under a signal is done: it fires when the last of them has left. */
export function getRequesters(signal: AbortSignal): Requesters {
  return askersBySignal.get(signal) ?? NO_ASKERS
}

/** The same signal, of work that is done for them. A signal that is made from another one says for whom that one is. */
export function withRequesters(askers: Requesters, signal: AbortSignal): AbortSignal {
  if (askers !== NO_ASKERS) askersBySignal.set(signal, askers)
  return signal
}
