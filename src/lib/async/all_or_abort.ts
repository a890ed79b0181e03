import { limitWork, type Work } from './work.ts'

/** Runs all tasks concurrently; the first failure aborts the others. */
export async function allOrAbort<T>(tasks: readonly ((work: Work) => Promise<T>)[], work: Work): Promise<T[]> {
  const [only] = tasks
  if (only === undefined) return []
  if (tasks.length === 1) return [await only(work)]
  const controller = new AbortController()
  const shared = limitWork(work, controller.signal)
  try {
    return await Promise.all(tasks.map((task) => task(shared)))
  } catch (error) {
    controller.abort()
    throw error
  }
}
