import type { FollowEntry } from './entry.ts'

/** Shares the work among those who asked for it, so that one who asks for much does not hold up the others. */
interface Turns {
  /** Who may start a task for an entry: of its askers the one with the fewest. Undefined: all have as many as they may. */
  nextFor(entry: FollowEntry): string | undefined
  /** True if an asker may start one more task. */
  mayStart(asker: string): boolean
  start(asker: string): void
  end(asker: string): void
}

/** Tasks of one asker at the same time, and of all of them. */
const TASKS_MAX = { asker: 4, all: 256 } as const

/** Starts without tasks. */
export function createTurns(): Turns {
  const running = new Map<string, number>()
  let all = 0
  const countOf = (asker: string) => running.get(asker) ?? 0
  const mayStart = (asker: string) => all < TASKS_MAX.all && countOf(asker) < TASKS_MAX.asker

  return {
    nextFor: ({ askers }) => [...askers].sort((a, b) => countOf(a) - countOf(b)).find(mayStart),
    mayStart,
    start(asker) {
      all++
      running.set(asker, countOf(asker) + 1)
    },
    end(asker) {
      all--
      if (countOf(asker) > 1) running.set(asker, countOf(asker) - 1)
      else running.delete(asker)
    },
  }
}
