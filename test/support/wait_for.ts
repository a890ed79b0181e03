const POLL_MS = 10

/** Waits until `holds()`. Throws an error that names `what` after `limitMs`, shortly before a test is given up. */
export async function waitFor(
  what: string,
  holds: () => boolean | Promise<boolean>,
  limitMs: number = 50_000,
): Promise<void> {
  const deadline = performance.now() + limitMs
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error(`Cannot wait longer than ${limitMs} ms: expected ${what}`)
    await Bun.sleep(POLL_MS)
  }
}
