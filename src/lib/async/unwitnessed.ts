import { getRequesters, withRequesters } from './requesters.ts'

/** Ids of the chains of which the work under a signal rests on the word of one endpoint. It grows while the work runs. */
export type Unwitnessed = ReadonlySet<number>

/** Nothing rests on the word of one endpoint. */
export const NO_CHAINS: Unwitnessed = new Set()
const chainsBySignal = new WeakMap<AbortSignal, Set<number>>()

/** Returns the chains noted under a signal so far; none if it was never tracked. */
export function getUnwitnessed(signal: AbortSignal): Unwitnessed {
  return chainsBySignal.get(signal) ?? NO_CHAINS
}

/** Notes, if the work under a signal is tracked, that it rests on the word of one endpoint of these chains. */
export function noteUnwitnessed(signal: AbortSignal, chainIds: Iterable<number>): void {
  const noted = chainsBySignal.get(signal)
  if (noted !== undefined) for (const chainId of chainIds) noted.add(chainId)
}

/** Begins to note chains under a signal and returns it. Code that derives a signal passes them on by `continueWork`. */
export function trackUnwitnessed(signal: AbortSignal): AbortSignal {
  chainsBySignal.set(signal, new Set())
  return signal
}

/** Makes `derived` a signal of the same work: it has the same requesters, and what it notes is noted for `signal`. */
export function continueWork(signal: AbortSignal, derived: AbortSignal): AbortSignal {
  const noted = chainsBySignal.get(signal)
  if (noted !== undefined) chainsBySignal.set(derived, noted)
  return withRequesters(getRequesters(signal), derived)
}

/**
 * Runs a part of the work under a signal whose notes are its own, for a result that is kept or stored: returns the
 * result and its chains, which are noted for the whole work too.
 */
export async function tellUnwitnessed<T>(
  signal: AbortSignal,
  part: (own: AbortSignal) => Promise<T>,
): Promise<{ readonly value: T; readonly unwitnessed: Unwitnessed }> {
  const controller = new AbortController()
  const abort = () => controller.abort(signal.reason)
  if (signal.aborted) abort()
  else signal.addEventListener('abort', abort, { once: true })
  const own = trackUnwitnessed(withRequesters(getRequesters(signal), controller.signal))
  try {
    const value = await part(own)
    const unwitnessed = getUnwitnessed(own)
    noteUnwitnessed(signal, unwitnessed)
    return { value, unwitnessed }
  } finally {
    signal.removeEventListener('abort', abort)
  }
}
