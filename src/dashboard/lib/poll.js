import { delay } from './time.js'

/**
 * Reads again and again, each time `everyMs` after the previous answer, so that no read ends the one before it. Hidden pages
 * do not read. Without `everyMs` it reads once. Rejects only when `signal` fires.
 * @template T
 * @param {() => Promise<T>} read
 * @param {{ everyMs: number | undefined, signal: AbortSignal, isVisible: () => boolean, onAnswer: (answer: T) => void, wait?: typeof delay }} options
 */
export async function pollRepeatedly(read, { everyMs, signal, isVisible, onAnswer, wait = delay }) {
  while (!signal.aborted) {
    const answer = await read()
    signal.throwIfAborted()
    onAnswer(answer)
    if (everyMs === undefined) return
    do await wait(everyMs, signal)
    while (!isVisible())
  }
}
