import { readFileSync } from 'node:fs'
import { ancestors, type Process } from './processes.ts'

const LOOK_MS = 200
/** What the clock on the wall may gain on the other before the machine must have slept. */
const SLEPT_MS = 1_000
const RUNNER =
  /^(?:\S*\/)?(?:(?:npm|npx|bunx|pnpm|yarn)(?: |$)|bun(?:\.exe)? (?:run|x) |node \S*\/(?:npm|npx)(?:-cli\.js)?(?: |$))/
const SHELL = /^(?:\S*\/)?(?:ba|da|z|k|a)?sh -c /

/**
 * Looks after the package runners that this process was started by, `npx bun run` say: calls `onGone`, once, when one of
 * them ends, or when a shell between them was sent a signal, for that one is ours. npm hands its signals to such a
 * shell, and dash keeps an interrupt to itself until its command ends, so that nothing below it ever hears of it.
 * Answers how to stop looking.
 */
export function watchParentRunner(onGone: () => void): () => void {
  const starters = listStarters(ancestors(process.pid))
  const shells = starters.filter(({ command }) => SHELL.test(command))
  let wakeUps = readWakeUps(shells)
  let lag = Date.now() - performance.now()
  let woken = false
  // Ctrl-Z followed by `fg` wakes up the shells as well.
  const onContinue = () => {
    woken = true
  }
  process.on('SIGCONT', onContinue)

  const timer = setInterval(() => {
    const slept = Date.now() - performance.now() - lag > SLEPT_MS
    if (slept || woken) {
      wakeUps = readWakeUps(shells)
      lag = Date.now() - performance.now()
      woken = false
    }
    if (starters.every(({ pid }) => lives(pid)) && readWakeUps(shells) === wakeUps) return
    stop()
    onGone()
  }, LOOK_MS)
  timer.unref()

  function stop(): void {
    clearInterval(timer)
    process.off('SIGCONT', onContinue)
  }
  return stop
}

/** The runners directly above, with the shells between them; who started those has its own reasons to end. */
function listStarters(above: readonly Process[]): readonly Process[] {
  const end = above.findIndex(({ command }) => !RUNNER.test(command) && !SHELL.test(command))
  const near = end < 0 ? above : above.slice(0, end)
  return near.slice(0, near.findLastIndex(({ command }) => RUNNER.test(command)) + 1)
}

function lives(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}

/** How often the shells have gone to sleep again, as Linux counts it: one that waits for its command wakes for signals only. */
function readWakeUps(shells: readonly Process[]): string {
  if (process.platform !== 'linux') return ''
  return shells.map(({ pid }) => /^voluntary_ctxt_switches:\t(\d+)$/m.exec(readStatus(pid))?.[1]).join()
}

function readStatus(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/status`, 'utf8')
  } catch {
    // It has ended.
    return ''
  }
}
