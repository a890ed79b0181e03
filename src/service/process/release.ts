import { type Clock, repeat } from '../../lib/clock.ts'

const LOOK_MS = 5_000
/** CPU between two looks below which a process is idle, milliseconds. */
const IDLE_CPU_MS = 100

/**
 * Calls `release` once, as soon as this process is idle after its start. Most code that a start ran is not needed again, and
 * nothing else would drop it; a busy process keeps what it compiled. Returns a function that ends the looks.
 */
export function releaseOnceIdle(
  release: () => void,
  { clock, readCpuMs = readProcessCpuMs }: { readonly clock: Clock; readonly readCpuMs?: () => number },
): () => void {
  let seenMs = readCpuMs()
  const end = repeat(
    clock,
    LOOK_MS,
    () => {
      const usedMs = readCpuMs() - seenMs
      seenMs += usedMs
      if (usedMs >= IDLE_CPU_MS) return
      end()
      release()
    },
    { keepsAlive: false },
  )
  return end
}

/** CPU that all threads of this process have used, milliseconds. */
function readProcessCpuMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1_000
}
