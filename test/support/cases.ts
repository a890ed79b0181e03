const { SEEDS = 'few' } = process.env
if (SEEDS !== 'few' && SEEDS !== 'full') throw new Error(`Cannot run tests with SEEDS "${SEEDS}": expected few or full`)

/** With `SEEDS=full`, as `.ci/run` has it, tests also repeat in other forms what one form of the program or page shows. */
export const IS_FULL = SEEDS === 'full'

/** What the executable shows is repeated on Node with `SEEDS=full`; `scenario_test.ts` shows the bundle itself. */
export const RUNTIMES = IS_FULL ? (['Bun', 'Node'] as const) : (['Bun'] as const)

/** How many random cases a test takes: `full` of them with `SEEDS=full`, else an eighth or `few`. */
export function caseCount(full: number, few: number = Math.ceil(full / 8)): number {
  return IS_FULL ? full : few
}
