import type { SeriesStart } from '../../series/series.ts'

/** What is known of a midnight: the wallet had moved a token by then, or not yet, or no endpoint reaches back to it. */
export type Movement = 'before' | 'not_yet' | 'unknown'

/** Days asked about at the same time: each round leaves a quarter of them. */
const PARTS = 4

/**
 * Finds the first midnight by which a wallet had moved a token; it is cut if nobody can tell of earlier ones. Asks about
 * three days at a time: `from` is a day by whose midnight it had not, or before the market; `to` one by whose it had. A
 * movement is never undone, and who reaches a block reaches all later ones, so the answers come in three runs: unknown,
 * not yet, before.
 */
export async function findFirstDay(
  { from, to }: { readonly from: number; readonly to: number },
  movementAt: (day: number) => Promise<Movement>,
): Promise<SeriesStart> {
  let [low, high] = [from, to]
  let isCut = false
  while (high - low > 1) {
    const span = high - low
    const days = [1, 2, 3].map((part) => low + Math.floor((span * part) / PARTS)).filter((day) => day > low)
    const movements = await Promise.all([...new Set(days)].map(async (day) => ({ day, is: await movementAt(day) })))
    const first = movements.findIndex(({ is }) => is === 'before')
    const last = first < 0 ? movements.at(-1) : movements[first - 1]
    high = movements[first]?.day ?? high
    if (last === undefined) continue
    low = last.day
    isCut = last.is === 'unknown'
  }
  return { day: high, isCut }
}
