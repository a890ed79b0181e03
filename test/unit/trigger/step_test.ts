import { expect, test } from 'bun:test'
import type { FigureValue } from '../../../src/family/watch.ts'
import { rational } from '../../../src/lib/number/rational.ts'
import {
  createRule,
  pruneFinalized,
  restoreReorgState,
  rewind,
  step,
  stepEvents,
  type TriggerReorgState,
  type TriggerTransition,
} from '../../../src/trigger/step.ts'
import type { Clause } from '../../../src/trigger/trigger.ts'
import { caseCount } from '../../support/cases.ts'
import { mulberry } from '../../support/random.ts'
import { ARMED } from '../../support/trigger/scene.ts'

const CLAUSES: readonly { readonly clause: Clause; readonly clear: string | null }[] = [
  { clause: { figure: 'f', below: '1.05' }, clear: '1.071' },
  { clause: { figure: 'f', above: '1.05' }, clear: '1.029' },
  { clause: { figure: 'f', is: true }, clear: null },
]
const REORG_MAX = 8

/** What a figure was at a block, in hundredths; null: it was not known. */
type Seen = number | 'MAX' | boolean | null

interface Told {
  readonly kind: string
  readonly block: number
}

/** What a reader of all blocks finds, who writes each condition out. */
function naive(blocks: readonly { number: number; seen: Seen }[], clause: Clause, forBlocks: number): Told[] {
  const told: Told[] = []
  let isFired = false
  let held = 0
  for (const { number, seen } of blocks) {
    if (seen === null) continue
    const holds = 'is' in clause ? seen === true : 'below' in clause ? below(seen, 105) : above(seen, 105)
    const isBack = 'is' in clause ? seen === false : 'below' in clause ? !below(seen, 107.1) : !above(seen, 102.9)
    if (isFired && isBack) {
      isFired = false
      told.push({ kind: 'cleared', block: number })
    } else if (!isFired) {
      held = holds ? held + 1 : 0
      if (held < forBlocks) continue
      isFired = true
      held = 0
      told.push({ kind: 'fired', block: number })
    }
  }
  return told
}

const below = (seen: Seen, level: number) => typeof seen === 'number' && seen < level
const above = (seen: Seen, level: number) => seen === 'MAX' || (typeof seen === 'number' && seen > level)

function figureOf(seen: Seen): FigureValue {
  return seen === null ? undefined : typeof seen === 'number' ? rational(BigInt(seen), 100n) : seen
}

/** The changes that stand according to the messages alone. */
function fold(messages: readonly TriggerTransition[]): readonly { readonly change: number; readonly kind: string }[] {
  const stands: { change: number; kind: string }[] = []
  let last = 0
  for (const { kind, change } of messages) {
    if (kind !== 'reverted') {
      if (change !== ++last) throw new Error(`Change ${change} comes after ${last - 1}`)
      stands.push({ change, kind })
      continue
    }
    const at = stands.findIndex((each) => each.change === change)
    if (at < 0) throw new Error(`Change ${change} does not stand, but is reverted`)
    stands.splice(at, 1)
  }
  return stands
}

/** One life with gaps, missing figures, edits, pauses, restarts and reorganizations. Gives what was met. */
function live(seed: number): { readonly reorgs: number; readonly changes: number; readonly reverted: number } {
  const random = mulberry(seed)
  const whole = (most: number) => Math.floor(random() * most)
  const { clause, clear } = CLAUSES[whole(CLAUSES.length)] ?? { clause: { figure: 'f', is: true }, clear: null }
  const forBlocks = 1 + whole(4)
  const rule = createRule({ clause, clear, forBlocks })
  let life: TriggerReorgState = restoreReorgState(ARMED, [], 0n)
  let chain: { number: number; seen: Seen }[] = []
  let messages: TriggerTransition[] = []
  let figure = 105
  let number = 100
  let highest = number
  let reorgs = 0
  let total = 0
  let reverted = 0

  function evaluate(): void {
    figure += whole(7) - 3
    const dice = random()
    const seen: Seen = dice < 0.05 ? null : 'is' in clause ? figure < 105 : dice < 0.08 ? 'MAX' : figure
    chain.push({ number, seen })
    const stepped = step(rule, life, { block: BigInt(number), value: figureOf(seen), text: String(seen) })
    life = pruneFinalized(stepped.reorgState, BigInt(number - 2 * REORG_MAX))
    messages.push(...stepped.transitions)
    // Without a figure nothing is decided before the next block.
    highest = Math.max(highest, seen === null ? number + 1 : number)
  }

  function compare(): void {
    expect(fold(messages).map(({ kind }) => kind)).toEqual(naive(chain, clause, forBlocks).map(({ kind }) => kind))
    expect(life.state.phase === 'fired').toBe(naive(chain, clause, forBlocks).at(-1)?.kind === 'fired')
    expect(life.undecided).toEqual([])
  }

  for (let round = 0; round < 120; round++) {
    number++
    const dice = random()
    // Blind, or paused for want of credits: blocks that are not evaluated.
    if (dice < 0.03) number += whole(30)
    else if (dice < 0.05 && forBlocks === 1) {
      // Another process goes on with what the database has.
      life = restoreReorgState(life.state, [...life.notified, ...life.undecided], BigInt(number - 1))
    } else if (dice < 0.06 && number >= highest) {
      // An edit arms it anew; changes go on counting, and what was told before stays told.
      total += fold(messages).length
      const { changes } = life.state
      life = restoreReorgState({ ...ARMED, changes }, [], BigInt(number - 1))
      messages = Array.from({ length: changes }, (_, at): TriggerTransition[] => {
        const news: TriggerTransition = { kind: 'fired', change: at + 1, value: null, previous: null }
        return [news, { ...news, kind: 'reverted' }]
      }).flat()
      chain = []
    } else if (dice < 0.16) {
      const fork = number - 1 - whole(REORG_MAX)
      if (fork > Math.max(chain[0]?.number ?? highest, highest - 2 * REORG_MAX)) {
        reorgs++
        chain = chain.filter((each) => each.number < fork)
        life = rewind(rule, life, BigInt(fork))
        number = fork
      }
    }
    evaluate()
    if (number >= highest) compare()
  }
  reverted = messages.filter(({ kind }) => kind === 'reverted').length
  return { reorgs, changes: total + fold(messages).length, reverted }
}

test('step and rewind tell what a naive reader of every block finds, in every life', () => {
  const met = { reorgs: 0, changes: 0, reverted: 0 }
  for (let seed = 1; seed <= caseCount(10_000, 500); seed++) {
    try {
      const { reorgs, changes, reverted } = live(seed)
      met.reorgs += reorgs
      met.changes += changes
      met.reverted += reverted
    } catch (cause) {
      throw new Error(`TriggerLife ${seed} goes another way: ${cause}`, { cause })
    }
  }
  expect(met.reorgs).toBeGreaterThan(500)
  expect(met.changes).toBeGreaterThan(1_000)
  expect(met.reverted).toBeGreaterThan(100)
}, 300_000)

test('step compares before rounding, and at the very threshold', () => {
  const rule = createRule({ clause: { figure: 'f', below: '1.05' }, clear: '1.071', forBlocks: 1 })
  expect(rule.holds(rational(105n, 100n))).toBe(false)
  expect(rule.holds(rational(105n * 10n ** 30n - 1n, 10n ** 32n))).toBe(true)
  expect(rule.clears(rational(1071n, 1000n))).toBe(true)
  expect(rule.clears(rational(1071n * 10n ** 30n - 1n, 10n ** 33n))).toBe(false)
  expect([rule.holds('MAX'), rule.clears('MAX'), rule.holds(undefined), rule.clears(undefined)]).toEqual([
    false,
    true,
    false,
    false,
  ])
  const above = createRule({ clause: { figure: 'f', above: '3' }, clear: '2.94', forBlocks: 1 })
  expect([above.holds('MAX'), above.holds(rational(3n, 1n)), above.clears(rational(294n, 100n))]).toEqual([
    true,
    false,
    true,
  ])
})

test('quiet() leaves out where a hundredth more or less changes something in this phase', () => {
  const isLoud = (clause: Clause, clear: string | null) => {
    const rule = createRule({ clause, clear, forBlocks: 1 })
    return (phase: 'armed' | 'fired', abouts: readonly number[]) => {
      const { above, below } = rule.quiet(phase)
      return abouts.map((about) => !(about > above && about < below))
    }
  }
  const below = isLoud({ figure: 'f', below: '1.05' }, '1.071')
  expect(below('armed', [-1, 0, 1.06, 1.0606, Number.MAX_VALUE, Number.NaN])).toEqual([
    true,
    true,
    true,
    false,
    false,
    true,
  ])
  expect(below('fired', [-1, 1.06, 1.0603, 2, Number.MAX_VALUE, Number.NaN])).toEqual([
    false,
    false,
    true,
    true,
    true,
    true,
  ])
  const above = isLoud({ figure: 'f', above: '3' }, '2.94')
  expect(above('armed', [0, 2.96, 2.971, 9, Number.MAX_VALUE, Number.NaN])).toEqual([
    false,
    false,
    true,
    true,
    true,
    true,
  ])
  expect(above('fired', [-1, 2.96, 2.97, 9, Number.MAX_VALUE, Number.NaN])).toEqual([
    true,
    true,
    false,
    false,
    false,
    true,
  ])
  const owing = isLoud({ figure: 'f', below: '-100' }, '-98')
  expect(owing('armed', [-101, -99.5, -98.9])).toEqual([true, true, false])
  expect(owing('fired', [-101, -99.5, -98.9])).toEqual([false, false, true])
  const out = isLoud({ figure: 'f', is: false }, null)
  expect([out('armed', [0, 1]), out('fired', [0, 1])]).toEqual([
    [true, false],
    [false, true],
  ])
})

test('stepEvents tells each happening, finds it again on another branch, and reverts it alone if it is not there', () => {
  const a = { type: 'Borrow', name: '0xaa Borrow 0' }
  const b = { type: 'Repay', name: '0xbb Repay 0' }
  const rule = createRule({ clause: { event: ['Borrow', 'Repay'] }, clear: null, forBlocks: 1 })
  const first = stepEvents(restoreReorgState(ARMED, [], 9n), { block: 10n, events: [a, b] })
  expect(first.transitions.map(({ kind, change, value }) => [kind, change, value])).toEqual([
    ['fired', 1, 'Borrow'],
    ['fired', 2, 'Repay'],
  ])
  const back = rewind(rule, first.reorgState, 10n)
  const second = stepEvents(back, { block: 10n, events: [b] })
  expect(second.transitions.map(({ kind, change }) => [kind, change])).toEqual([['reverted', 1]])
  const third = stepEvents(second.reorgState, { block: 11n, events: [a] })
  expect(third.transitions.map(({ kind, change }) => [kind, change])).toEqual([['fired', 3]])
})

test('where only some blocks are read, what holds at two near readings holds between them', () => {
  const rule = createRule({ clause: { figure: 'f', below: '1.05' }, clear: '1.071', forBlocks: 10 })
  const readings = (seen: readonly (readonly [bigint, number])[]) => {
    let reorgState: TriggerReorgState = restoreReorgState(ARMED, [], 0n)
    const fired: bigint[] = []
    for (const [block, hundredths] of seen) {
      const value = rational(BigInt(hundredths), 100n)
      const result = step(rule, reorgState, { block, value, text: String(hundredths), isSampled: true })
      reorgState = result.reorgState
      if (result.transitions.length > 0) fired.push(block)
    }
    return fired
  }
  const lows = (...blocks: bigint[]) => blocks.map((block) => [block, 100] as const)
  expect(readings(lows(100n, 105n, 108n, 109n, 110n))).toEqual([109n])
  expect(readings(lows(100n, 250n))).toEqual([250n])
  expect(readings(lows(100n, 251n, 259n, 260n))).toEqual([260n])
  expect(readings([...lows(100n, 105n), [108n, 106], ...lows(111n, 116n, 120n)])).toEqual([120n])
})
