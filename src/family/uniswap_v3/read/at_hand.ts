import { untilAborted } from '../../../lib/async/abort.ts'
import type { Life, LifeQuestion, LifeReader } from './lives.ts'

/** Lives for answers that do not wait for them. */
export interface LivesAtHand {
  /**
   * Lives in the order of the questions, each undefined if it is not at hand within a moment. One that was never read
   * whole is then read in the background, so that a later answer may have it. Never throws.
   */
  read(questions: readonly LifeQuestion[]): Promise<(Life | undefined)[]>
}

/** How long an answer waits for lives that were read whole before, milliseconds. */
const MOMENT_MS = 250
/** Time for a life in the background; how many at the same time, and how many wait. */
const BACKGROUND_MS = 30_000
const BACKGROUND_AT_ONCE = 2
const QUEUE_MAX = 200
/** Positions that are remembered as read. */
const KNOWN_MAX = 100_000

/** Makes it over a reader. */
export function createLivesAtHand(lives: LifeReader): LivesAtHand {
  const known = new Set<string>()
  const queue = new Map<string, LifeQuestion>()
  let working = 0

  async function work(): Promise<void> {
    working++
    for (const [key, question] of queue) {
      queue.delete(key)
      await readInto(key, question, AbortSignal.timeout(BACKGROUND_MS)).catch(() => undefined)
    }
    working--
  }

  async function readInto(key: string, question: LifeQuestion, signal: AbortSignal): Promise<Life | undefined> {
    const life = await untilAborted(lives.read(question, signal), signal)
    known.add(key)
    for (const oldest of known) {
      if (known.size <= KNOWN_MAX) break
      known.delete(oldest)
    }
    return life
  }

  return {
    read: (questions) =>
      Promise.all(
        questions.map(async (question) => {
          const key = `${question.client.chain.id}:${question.deployment.manager}:${question.tokenId}`
          if (known.has(key)) {
            const life = await readInto(key, question, AbortSignal.timeout(MOMENT_MS)).catch(() => undefined)
            // History that ends earlier tells nothing about this block.
            return life !== undefined && life.end.number < (question.block ?? 0n) ? undefined : life
          }
          if (queue.size < QUEUE_MAX) queue.set(key, question)
          if (working < BACKGROUND_AT_ONCE) void work()
          return undefined
        }),
      ),
  }
}
