import { describe, expect, test } from 'bun:test'
import { IS_FULL } from '../../../../support/cases.ts'
import type { Asked } from './asked.ts'
import { SCENES as LATER_SCENES } from './later_scenes.ts'
import { type Expected, SCENES } from './scenes.ts'
import { type Side, startStage } from './stage.ts'

/** Ticks are whole, and single swaps of the scenes move means by less than this. */
const FACTOR_TOLERANCE = 0.015
const DOLLARS_TOLERANCE = 0.02

function matches(value: number | undefined, expected: Expected['asset'], tolerance: number): boolean {
  if (expected === 'none' || value === undefined) return expected === 'none' && value === undefined
  const [low, high] = typeof expected === 'number' ? [expected, expected] : expected
  return value >= low * (1 - tolerance) && value <= high * (1 + tolerance)
}

function findFaults({ asset, debt, holder, bound, marks }: Asked, expected: Expected): string[] {
  return [
    ...(matches(asset, expected.asset, FACTOR_TOLERANCE) ? [] : [`asset ×${asset}, expected ${expected.asset}`]),
    ...(expected.debt === undefined || matches(debt, expected.debt, FACTOR_TOLERANCE)
      ? []
      : [`debt ×${debt}, expected ${expected.debt}`]),
    ...(expected.holder === undefined || matches(holder, expected.holder, DOLLARS_TOLERANCE)
      ? []
      : [`holder ${holder}, expected ${expected.holder}`]),
    ...(expected.bound === undefined || matches(bound, expected.bound, DOLLARS_TOLERANCE)
      ? []
      : [`bound ${bound}, expected ${expected.bound}`]),
    ...(expected.marks === undefined || expected.marks.join() === marks.join()
      ? []
      : [`marks "${marks}", expected "${expected.marks}"`]),
  ]
}

const isTold = process.env['TELL'] !== undefined
const SIDES: readonly Side[] = ['token0', 'token1']

describe.each(SIDES)('a token that is %s of its pools', (side) => {
  // One scene of four, on one side, in turn; each on both sides with `SEEDS=full`.
  const scenes = [...SCENES, ...LATER_SCENES].filter(
    (_, no) => IS_FULL || (no % 4 === 0 && SIDES[(no / 4) % 2] === side),
  )
  test.each(scenes.map((scene) => [scene.name, scene] as const))(
    '%s',
    async (_, { play }) => {
      // Blocks of a chain with thousands of them take seconds: each scene has its own.
      const stage = await startStage()
      const observations = await play(stage, side).finally(() => stage.anvil.stop())
      for (const { label, asked, cost } of isTold ? observations : []) {
        const { asset, debt, holder, bound, marks } = asked
        process.stdout.write(
          `  ${label}: asset ${asset?.toFixed(4)} debt ${debt?.toFixed(4)} holder ${holder.toFixed(0)} bound ${bound.toFixed(0)} [${marks}] cost ${cost?.toFixed(2)}\n`,
        )
      }
      const faults = observations.flatMap(({ label, asked, expected }) =>
        findFaults(asked, expected).map((fault) => `${label}: ${fault}`),
      )
      expect(faults).toEqual([])
    },
    120_000,
  )
})
