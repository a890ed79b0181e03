import type { Answer, Failure } from '../../lib/api.ts'
import type { FullPosition } from '../../lib/shapes.ts'

/** Positions at the first moments. */
export interface Past {
  readonly positions: readonly FullPosition[]
  readonly failure?: Failure
}

interface ReadPastOptions {
  /** Positions at the first moments, from an earlier run. */
  readonly positions: readonly FullPosition[]
  readonly signal: AbortSignal
  readonly read: (moment: number) => Promise<Answer<{ data: FullPosition }> | Failure>
  /** Is not called after `signal` fires. */
  readonly onPast: (past: Past) => void
}

/**
 * Reads a position at moments (Unix seconds), one after the other, until one fails or `signal` fires. Moments already
 * read are not paid again.
 */
export async function readPast(
  moments: readonly number[],
  { positions: before, signal, read, onPast }: ReadPastOptions,
) {
  const positions = [...before]
  onPast({ positions: [...positions] })
  for (const moment of moments.slice(before.length)) {
    const answer = await read(moment)
    if (signal.aborted) return
    if (!answer.ok) return onPast({ positions, failure: answer })
    positions.push(answer.body.data)
    onPast({ positions: [...positions] })
  }
}
