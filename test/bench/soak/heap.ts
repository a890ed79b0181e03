import { heapStats } from 'bun:jsc'
import { rmSync } from 'node:fs'
import { createServer } from 'node:http'

/**
 * Loaded before the service: collects its garbage, and answers at the socket of `BENCH_HEAP` what is left. Heaps that are
 * only looked at tell when they were collected last.
 */

/** What lives in a process after a collection. */
export interface LiveHeap {
  /** With what objects hold outside of the heap. */
  readonly bytes: number
  readonly objects: number
  readonly byType: Readonly<Record<string, number>>
}

const unix = process.env['BENCH_HEAP']
if (unix !== undefined) {
  rmSync(unix, { force: true })
  createServer((_, response) => {
    Bun.gc(true)
    const { heapSize, objectCount, objectTypeCounts } = heapStats()
    response.end(JSON.stringify({ bytes: heapSize, objects: objectCount, byType: objectTypeCounts } satisfies LiveHeap))
  })
    .listen(unix)
    .unref()
}
