import { statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import { TIMED_OUT, withTimeout } from '../lib/async/abort.ts'
import type { Clock } from '../lib/clock.ts'
import { getErrnoCode } from '../lib/error.ts'
import type { Job } from '../lib/job.ts'
import type { Log } from '../lib/log.ts'
import type { Metrics } from '../lib/metrics.ts'

const EVERY_MS = 30_000
const READ_MAX_MS = 5_000

/**
 * Reads how many bytes may still be written to the disk of a directory by users other than root. Takes the nearest parent
 * that exists, because the directory itself may be created later. Throws as `statfs`.
 */
export async function readFreeBytes(directory: string): Promise<number> {
  try {
    const { bavail, bsize } = await statfs(directory)
    return bavail * bsize
  } catch (error) {
    const parent = dirname(directory)
    if (getErrnoCode(error) !== 'ENOENT' || parent === directory) throw error
    return readFreeBytes(parent)
  }
}

/**
 * Registers the free bytes of the disk of the embedded database, which a job reads, because rendering must not wait for a
 * disk. They stand until the next round ends, and are absent if it fails.
 */
export function diskMetricsJob(
  metrics: Metrics,
  {
    dataDir,
    log,
    clock,
    readFree = readFreeBytes,
  }: {
    readonly dataDir: string
    readonly log: Log
    readonly clock: Clock
    readonly readFree?: typeof readFreeBytes
  },
): Job {
  let freeBytes: number | undefined
  // One at a time: a disk that hangs keeps a thread for each.
  let reading: Promise<number> | undefined
  metrics.gauges({
    name: 'walletscope_data_free_bytes',
    help: 'Bytes that the embedded database can still write to the disk of DATA_DIR.',
    labels: [],
    aggregation: 'least',
    read: () => (freeBytes === undefined ? [] : [[[], freeBytes]]),
  })
  return {
    name: 'disk',
    everyMs: EVERY_MS,
    retryMs: { least: EVERY_MS, most: EVERY_MS },
    async round() {
      reading ??= readFree(dataDir).finally(() => {
        reading = undefined
      })
      try {
        freeBytes = await withTimeout(reading, { ms: READ_MAX_MS, clock })
      } catch (error) {
        freeBytes = undefined
        throw error
      }
      return undefined
    },
    onError: (error) =>
      log.warn({
        msg: 'Cannot read how much room the disk of DATA_DIR has',
        error: error === TIMED_OUT ? 'it does not answer' : getErrnoCode(error),
      }),
  }
}
