import type { Answer, Failure } from '../../lib/api.ts'
import type { FullPosition } from '../../lib/shapes.ts'
/** Positions at the first moments. */
export interface Past {
  readonly positions: readonly FullPosition[]
  readonly failure?: Failure
}

interface ReadPastOptions {
  readonly positions: readonly FullPosition[]
  readonly signal: AbortSignal
  readonly read: (moment: number) => Promise<Answer<{ data: FullPosition }> | Failure>
  readonly onPast: (past: Past) => void
}

/**
 * Reads a position at moments, one after the other, until one fails. Moments already read are not paid again.
 * `moments`: Unix seconds. `positions`: at the first moments, from an earlier run; nothing is read and `onPast` is not
 * called after `signal` fires.
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
