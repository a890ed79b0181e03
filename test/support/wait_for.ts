const POLL_MS = 10

/** Waits until `holds()`. Throws an error that names `what` after `limitMs`. */
export async function waitFor(
  what: string,
  holds: () => boolean | Promise<boolean>,
  limitMs: number = 10_000,
): Promise<void> {
  const deadline = performance.now() + limitMs
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error(`Cannot wait longer than ${limitMs} ms: expected ${what}`)
    await Bun.sleep(POLL_MS)
  }
}

/**
 * True if work settles before a timer of `ms`. Both belong to one event loop, which a busy machine delays alike: what is
 * compared is their order.
 */
export function settlesBefore(ms: number, work: Promise<unknown>): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const timer = setTimeout(() => resolve(false), ms)
  const settled = () => {
    clearTimeout(timer)
    resolve(true)
  }
  work.then(settled, settled)
  return promise
}
