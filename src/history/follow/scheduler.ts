import type { FollowEntry } from './entry.ts'

/** Maximum number of concurrent tasks, per requester and in total. */
const TASKS_MAX = { requester: 4, all: 256 } as const

/** Creates a scheduler that shares tasks among requesters, so that a large request does not hold up the others. */
export function createFairScheduler() {
  const running = new Map<string, number>()
  let all = 0
  const countTasks = (requester: string) => running.get(requester) ?? 0
  const canStart = (requester: string) => all < TASKS_MAX.all && countTasks(requester) < TASKS_MAX.requester

  return {
    /** The requester of an entry with the fewest tasks; undefined if all of them have reached their limit. */
    pickRequester: ({ requesters }: Pick<FollowEntry, 'requesters'>) =>
      [...requesters].sort((a, b) => countTasks(a) - countTasks(b)).find(canStart),
    /** True if a requester may start one more task. */
    mayStart: canStart,
    start(requester: string): void {
      all++
      running.set(requester, countTasks(requester) + 1)
    },
    end(requester: string): void {
      all--
      if (countTasks(requester) > 1) running.set(requester, countTasks(requester) - 1)
      else running.delete(requester)
    },
  }
}
