import type { FollowEntry } from './entry.ts'

/** Tasks of one asker at the same time, and of all of them. */
const TASKS_MAX = { asker: 4, all: 256 } as const

/** Shares the work among those who asked for it, so that one who asks for much does not hold up the others. */
export function createFairScheduler() {
  const running = new Map<string, number>()
  let all = 0
  const countOf = (asker: string) => running.get(asker) ?? 0
  const mayStart = (asker: string) => all < TASKS_MAX.all && countOf(asker) < TASKS_MAX.asker

  return {
    /** Who may start a task: of an entry's askers the one with the fewest. Undefined: all have as many as they may. */
    nextFor: ({ askers }: Pick<FollowEntry, 'askers'>) =>
      [...askers].sort((a, b) => countOf(a) - countOf(b)).find(mayStart),
    /** True if an asker may start one more task. */
    mayStart,
    start(asker: string): void {
      all++
      running.set(asker, countOf(asker) + 1)
    },
    end(asker: string): void {
      all--
      if (countOf(asker) > 1) running.set(asker, countOf(asker) - 1)
      else running.delete(asker)
    },
  }
}
