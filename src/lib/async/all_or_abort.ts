import { continueWork } from './unwitnessed.ts'

/** Runs all tasks concurrently; the first failure aborts the others. */
export async function allOrAbort<T>(
  tasks: readonly ((signal: AbortSignal) => Promise<T>)[],
  signal: AbortSignal,
): Promise<T[]> {
  const [only] = tasks
  if (only === undefined) return []
  if (tasks.length === 1) return [await only(signal)]
  const controller = new AbortController()
  const shared = continueWork(signal, AbortSignal.any([signal, controller.signal]))
  try {
    return await Promise.all(tasks.map((task) => task(shared)))
  } catch (error) {
    controller.abort()
    throw error
  }
}
