import { expect, test } from 'bun:test'
import { caseCount } from '../../../../support/cases.ts'
import { simulate } from './simulation.ts'

const SEEDS = caseCount(10_000, 300)
/** To run one again. */
const ONLY = process.env['SIMULATION_SEED']

test('whatever fails and whenever, books equal the log, and every request is answered in time and charged once', async () => {
  const seeds = ONLY === undefined ? Array.from({ length: SEEDS }, (_, index) => index + 1) : [Number(ONLY)]
  const totals: Record<string, number> = {}
  const wrong: string[] = []
  for (const seed of seeds) {
    const result = await simulate(seed)
    for (const [name, count] of Object.entries(result.counts)) totals[name] = (totals[name] ?? 0) + count
    wrong.push(...result.wrong.map((each) => `seed ${seed}: ${each}`))
    if (wrong.length > 20) break
  }
  expect(wrong).toEqual([])
  if (ONLY !== undefined) return
  // Otherwise the test would prove nothing.
  for (const [name, count] of Object.entries(totals)) expect([name, count >= seeds.length / 100]).toEqual([name, true])
}, 600_000)

test('a seed repeats to the byte', async () => {
  expect(await simulate(7)).toEqual(await simulate(7))
})
