import { existsSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'

/**
 * Loaded before the service: answers, at the socket of `BENCH_WATCH`, how long the event loop was held
 * at most since it was asked before, in milliseconds. Time in which its thread waited for a processor of the machine does
 * not count, where the system tells it (Linux).
 */

const TICK_MS = 1

const SCHEDULE = `/proc/self/task/${process.pid}/schedstat`
const hasSchedule = existsSync(SCHEDULE)

let seenMs = performance.now()
let seenWaitMs = readWaitMs()
let longestMs = 0

/** How long the thread has waited for a processor so far. */
function readWaitMs(): number {
  return hasSchedule ? Number(readFileSync(SCHEDULE, 'latin1').split(' ')[1]) / 1e6 : 0
}

function tick(): void {
  const nowMs = performance.now()
  const waitMs = readWaitMs()
  longestMs = Math.max(longestMs, nowMs - seenMs - TICK_MS - (waitMs - seenWaitMs))
  seenMs = nowMs
  seenWaitMs = waitMs
}

const unix = process.env['BENCH_WATCH']
if (unix !== undefined) {
  setInterval(tick, TICK_MS).unref()
  // That of the process before.
  rmSync(unix, { force: true })
  createServer((_, response) => {
    response.end(String(longestMs))
    longestMs = 0
  })
    .listen(unix)
    .unref()
}
