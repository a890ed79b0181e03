const { SEEDS = 'few' } = process.env
if (SEEDS !== 'few' && SEEDS !== 'full') throw new Error(`Cannot run tests with SEEDS "${SEEDS}": expected few or full`)

/** How many random cases a test takes: `full` of them with `SEEDS=full`, as `.ci/run` does, else an eighth or `few`. */
export function cases(full: number, few: number = Math.ceil(full / 8)): number {
  return SEEDS === 'full' ? full : few
}
