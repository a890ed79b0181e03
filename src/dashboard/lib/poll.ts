import { delay } from './time.ts'

interface PollRepeatedlyOptions<T> {
  readonly everyMs: number | undefined
  readonly signal: AbortSignal
  readonly isVisible: () => boolean
  readonly onAnswer: (answer: T) => void
  readonly wait?: typeof delay
}

/**
 * Reads again and again, each time `everyMs` after the previous answer, so that no read ends the one before it. Hidden pages
 * do not read. Without `everyMs` it reads once. Rejects only when `signal` fires.
 */
export async function pollRepeatedly<T>(
  read: () => Promise<T>,
  { everyMs, signal, isVisible, onAnswer, wait = delay }: PollRepeatedlyOptions<T>,
) {
  while (!signal.aborted) {
    const answer = await read()
    signal.throwIfAborted()
    onAnswer(answer)
    if (everyMs === undefined) return
    do await wait(everyMs, signal)
    while (!isVisible())
  }
}
