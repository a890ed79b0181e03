import type { SeriesStart } from '../../../finance/series/series.ts'

/** State at a midnight: the wallet had moved a token before, or not yet, or no endpoint reaches back. */
export type Movement = 'before' | 'not_yet' | 'unknown'

/** Parts that each round divides the days into: it leaves one of them. */
const PARTS = 4

/**
 * Finds the first midnight by which a wallet had moved a token; `isCut` if no endpoint reaches back to earlier ones.
 * Reads three days at a time. By the midnight of `from` the wallet had not moved a token, or the market did not exist;
 * by that of `to` it had. A movement is never undone, and an endpoint that keeps a block keeps all later ones, so the
 * results form three runs: unknown, not yet, before.
 */
export async function findFirstDay(
  { from, to }: { readonly from: number; readonly to: number },
  readMovement: (day: number) => Promise<Movement>,
): Promise<SeriesStart> {
  let [low, high] = [from, to]
  let isCut = false
  while (high - low > 1) {
    const span = high - low
    const days = [1, 2, 3].map((part) => low + Math.floor((span * part) / PARTS)).filter((day) => day > low)
    const movements = await Promise.all(
      [...new Set(days)].map(async (day) => ({ day, movement: await readMovement(day) })),
    )
    const first = movements.findIndex(({ movement }) => movement === 'before')
    const last = first < 0 ? movements.at(-1) : movements[first - 1]
    high = movements[first]?.day ?? high
    if (last === undefined) continue
    low = last.day
    isCut = last.movement === 'unknown'
  }
  return { day: high, isCut }
}
