import { rmSync } from 'node:fs'

/**
 * Loaded before the service (`bun --preload`): answers, at the socket of `BENCH_WATCH`, how long the event loop was held
 * at most since it was asked before, in milliseconds.
 */

const TICK_MS = 1

let seenMs = performance.now()
let longestMs = 0

function tick(): void {
  const nowMs = performance.now()
  longestMs = Math.max(longestMs, nowMs - seenMs - TICK_MS)
  seenMs = nowMs
}

const unix = process.env['BENCH_WATCH']
if (unix !== undefined) {
  setInterval(tick, TICK_MS).unref()
  // That of the process before.
  rmSync(unix, { force: true })
  Bun.serve({
    unix,
    fetch() {
      const answer = String(longestMs)
      longestMs = 0
      return new Response(answer)
    },
  }).unref()
}
