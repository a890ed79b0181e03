/** What is known of a midnight: the wallet had moved a token by then, or not yet, or no endpoint reaches back to it. */
export type Movement = 'before' | 'not_yet' | 'unknown'

/** The first midnight by which a wallet had moved a token. */
export interface FirstDay {
  readonly day: number
  /** True if an earlier one may be so too, because nobody can tell. */
  readonly isCut: boolean
}

/**
 * Finds it by halving: `from` is a day by whose midnight it had not, or before the market; `to` one by whose it had. A
 * movement is never undone, and who reaches a block reaches all later ones, so the answers come in three runs: unknown,
 * not yet, before.
 */
export async function findFirstDay(
  { from, to }: { readonly from: number; readonly to: number },
  movementAt: (day: number) => Promise<Movement>,
): Promise<FirstDay> {
  let [low, high] = [from, to]
  let isCut = false
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2)
    const movement = await movementAt(middle)
    if (movement === 'before') high = middle
    else {
      low = middle
      isCut = movement === 'unknown'
    }
  }
  return { day: high, isCut }
}
