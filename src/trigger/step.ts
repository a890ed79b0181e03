import type { FigureValue } from '../family/watch.ts'
import { compareRational, type Rational } from '../lib/number/rational.ts'
import { parseExact, type Trigger, type TriggerState } from './trigger.ts'

/*
 * What becomes of one trigger from block to block, pure. Blocks may be replaced: the trigger then goes back to what it
 * was before them, and each change that was told is either found again on the new branch or reverted, once that branch is
 * as high as the block of the change was.
 */

/** A change that was told. */
export interface NotifiedChange {
  readonly change: number
  readonly block: bigint
  /** Finds the same change on another branch: `fired`, `cleared`, or what names a happening. */
  readonly name: string
}

/** A trigger with what may still be replaced. */
export interface TriggerReorgState {
  readonly state: TriggerState
  /** At blocks that may be replaced, oldest first. */
  readonly told: readonly NotifiedChange[]
  /** At blocks that were replaced, oldest first. */
  readonly unsure: readonly NotifiedChange[]
  /** What it was before blocks at which it changed, newest last; those of an earlier process are not known. */
  readonly trail: readonly { readonly block: bigint; readonly before: PhaseState }[]
}

type PhaseState = Pick<TriggerState, 'phase' | 'heldBlocks' | 'since'>

/** What is to be told of a block. */
export interface TriggerTransition {
  readonly kind: 'fired' | 'cleared' | 'reverted'
  readonly change: number
  /** Of the figure, or the type of what happened; null if it is not known. */
  readonly value: string | null
  /** As it was told last. */
  readonly previous: string | null
}

/** A trigger after a block. */
export interface StepResult {
  readonly life: TriggerReorgState
  readonly news: readonly TriggerTransition[]
}

/** When a trigger fires, ready for comparing. */
export interface Rule {
  readonly forBlocks: number
  holds(value: FigureValue): boolean
  /** True if the figure is so far back that the trigger is armed again. */
  clears(value: FigureValue): boolean
  /**
   * Where the figure changes nothing in this phase, even if it is a hundredth more or less; 1 is true, 0 false. It only
   * chooses whom to read, so that floats will do.
   */
  quiet(phase: TriggerState['phase']): Bounds
}

/** What is above one number and below the other, both of which may be infinite. */
export interface Bounds {
  readonly above: number
  readonly below: number
}

/** Something that happened at a block. */
export interface NamedEvent {
  /** One of the types that the trigger waits for. */
  readonly type: string
  /** The same on another branch. */
  readonly name: string
}

const NEAR = 0.01
const EVERYWHERE: Bounds = { above: Number.NEGATIVE_INFINITY, below: Number.POSITIVE_INFINITY }
const ARMED: PhaseState = { phase: 'armed', heldBlocks: 0, since: null }

/** The rule of a trigger. One that waits for events never holds. */
export function createRule({ clause, clear, forBlocks }: Pick<Trigger, 'clause' | 'clear' | 'forBlocks'>): Rule {
  if ('event' in clause) return { forBlocks, holds: never, clears: never, quiet: () => EVERYWHERE }
  if ('is' in clause) {
    const { is } = clause
    const [no, yes] = [below(0.5), above(0.5)]
    return {
      forBlocks,
      holds: (value) => value === is,
      clears: (value) => value === !is,
      quiet: (phase) => (is === (phase === 'fired') ? yes : no),
    }
  }
  const isBelow = 'below' in clause
  const firesAt = isBelow ? clause.below : clause.above
  const clearsAt = clear ?? firesAt
  const [threshold, level] = [parseExact(firesAt), parseExact(clearsAt)]
  const sideOf = (value: FigureValue, of: Rational) => (isBelow ? compare(value, of) : -compare(value, of))
  const [back, on] = isBelow ? ([above, below] as const) : ([below, above] as const)
  const armed = back(beyond(Number(firesAt), isBelow ? NEAR : -NEAR))
  const fired = on(beyond(Number(clearsAt), isBelow ? -NEAR : NEAR))
  return {
    forBlocks,
    holds: (value) => sideOf(value, threshold) < 0,
    clears: (value) => sideOf(value, level) >= 0,
    quiet: (phase) => (phase === 'fired' ? fired : armed),
  }
}

function above(bound: number): Bounds {
  return { ...EVERYWHERE, above: bound }
}

function below(bound: number): Bounds {
  return { ...EVERYWHERE, below: bound }
}

function beyond(level: number, share: number): number {
  return level + share * Math.abs(level)
}

function never(): boolean {
  return false
}

/** Negative if a number is below the other, NaN if it is none. `MAX` is above everything. */
function compare(value: FigureValue, other: Rational): number {
  if (value === undefined || typeof value === 'boolean') return Number.NaN
  return value === 'MAX' ? 1 : compareRational(value, other)
}

/**
 * A trigger as the database has it after block `at`: which of its changes may be replaced, but not what it was before
 * them. Changes of later blocks were told on a branch that was replaced.
 */
export function restoreReorgState(state: TriggerState, told: readonly NotifiedChange[], at: bigint): TriggerReorgState {
  return {
    state,
    told: told.filter(({ block }) => block <= at),
    unsure: told.filter(({ block }) => block > at),
    trail: [],
  }
}

/** The trigger after a block at which its figure was this. A figure that is not known changes nothing. */
export function step(
  rule: Rule,
  life: TriggerReorgState,
  seen: { readonly block: bigint; readonly value: FigureValue; readonly text: string | null },
): StepResult {
  const { block, value, text } = seen
  const { state } = life
  if (value === undefined) return { life: postponed(life, block), news: [] }
  const next = standingAfter(rule, state, seen)
  if (next === state) return settle({ life, news: [] }, block, text)
  const kind = next.phase === 'fired' ? 'fired' : state.phase === 'fired' ? 'cleared' : undefined
  const trail = [...life.trail, { block, before: standingOf(state) }]
  const moved = { ...life, state: { ...state, ...next }, trail }
  const stepped = kind === undefined ? { life: moved, news: [] } : tell(moved, { kind, name: kind, block, value: text })
  return settle(stepped, block, text)
}

/** The trigger after a block at which this happened to its subject. */
export function stepEvents(
  life: TriggerReorgState,
  { block, happenings }: { readonly block: bigint; readonly happenings: readonly NamedEvent[] },
): StepResult {
  let stepped: StepResult = { life, news: [] }
  for (const { type, name } of happenings) {
    const { life, news } = tell(stepped.life, { kind: 'fired', name, block, value: type })
    stepped = { life, news: [...stepped.news, ...news] }
  }
  return settle(stepped, block, null)
}

/** The trigger as it was before block `fork`, from which on other blocks took the place of those that it saw. */
export function rewind(rule: Rule, life: TriggerReorgState, fork: bigint): TriggerReorgState {
  const { state } = life
  const first = life.trail.findIndex(({ block }) => block >= fork)
  const told = life.told.filter(({ block }) => block < fork)
  const replaced = life.told.slice(told.length)
  const [earliest] = replaced
  const known = life.trail[first]
  let standing = standingOf(state)
  if (known !== undefined && known.block <= (earliest?.block ?? known.block)) standing = known.before
  else if (earliest?.name === 'fired') standing = beforeFiring(rule, earliest.block)
  else if (earliest?.name === 'cleared') standing = { phase: 'fired', heldBlocks: 0, since: null }
  return {
    state: { ...state, ...cut(standing, fork) },
    told,
    // Those that an earlier fork left unsure were not found since.
    unsure: [...replaced, ...life.unsure].sort((a, b) => a.change - b.change),
    trail: first < 0 ? life.trail : life.trail.slice(0, first),
  }
}

/** The trigger without what is needed for blocks that are final now. */
export function pruneFinalized(life: TriggerReorgState, final: bigint): TriggerReorgState {
  if ((life.told[0]?.block ?? final) >= final && (life.trail[0]?.block ?? final) >= final) return life
  return {
    ...life,
    told: life.told.filter(({ block }) => block >= final),
    trail: life.trail.filter(({ block }) => block >= final),
  }
}

function standingAfter(
  rule: Rule,
  state: TriggerState,
  { block, value }: { readonly block: bigint; readonly value: FigureValue },
): PhaseState {
  if (state.phase === 'fired') return rule.clears(value) ? { ...ARMED, since: block } : state
  if (!rule.holds(value)) return state.phase === 'armed' ? state : ARMED
  const heldBlocks = state.heldBlocks + 1
  if (heldBlocks >= rule.forBlocks) return { phase: 'fired', heldBlocks: 0, since: block }
  return { phase: 'pending', heldBlocks, since: state.phase === 'pending' ? state.since : block }
}

/** Numbers a change, or finds it among those that were told at blocks that were replaced. */
function tell(
  life: TriggerReorgState,
  { kind, name, block, value }: { kind: 'fired' | 'cleared'; name: string; block: bigint; value: string | null },
): StepResult {
  const { state } = life
  const found = life.unsure.find((each) => each.name === name)
  const change = found?.change ?? state.changes + 1
  const told = [...life.told, { change, block, name }]
  if (found !== undefined)
    return { life: { ...life, told, unsure: life.unsure.filter((each) => each !== found) }, news: [] }
  const next = { ...state, changes: change, value }
  return { life: { ...life, state: next, told }, news: [{ kind, change, value, previous: state.value }] }
}

/** Reverts what the new branch would have shown by now; the latest first, so that each undoes what stands last. */
function settle({ life, news }: StepResult, block: bigint, text: string | null): StepResult {
  const [oldest] = life.unsure.filter((each) => each.block <= block)
  if (oldest === undefined) return { life, news }
  const goes = (each: NotifiedChange) => each.block <= block || isOfFigure(oldest)
  const reverted = life.unsure
    .filter(goes)
    .toReversed()
    .map(({ change }): TriggerTransition => ({ kind: 'reverted', change, value: text, previous: life.state.value }))
  // Taken back before anything new is told.
  return { life: { ...life, unsure: life.unsure.filter((each) => !goes(each)) }, news: [...reverted, ...news] }
}

/** What would be reverted at a block, but for its figure: it waits for the next one. */
function postponed(life: TriggerReorgState, block: bigint): TriggerReorgState {
  if (life.unsure.every((each) => each.block > block)) return life
  return { ...life, unsure: life.unsure.map((each) => (each.block > block ? each : { ...each, block: block + 1n })) }
}

/** Changes of a figure follow from each other: without the first there is none of the others. */
function isOfFigure({ name }: NotifiedChange): boolean {
  return name === 'fired' || name === 'cleared'
}

function standingOf({ phase, heldBlocks, since }: TriggerState): PhaseState {
  return { phase, heldBlocks, since }
}

/** Without the blocks from `fork` on in which it held. */
function cut(standing: PhaseState, fork: bigint): PhaseState {
  const { phase, heldBlocks, since } = standing
  if (phase !== 'pending' || since === null) return standing
  const held = Math.min(heldBlocks, Math.max(0, Number(fork - since)))
  return held === 0 ? ARMED : { phase, heldBlocks: held, since }
}

/** What a trigger was before it fired at a block, if no block before was left out. */
function beforeFiring({ forBlocks }: Rule, block: bigint): PhaseState {
  if (forBlocks === 1) return ARMED
  return { phase: 'pending', heldBlocks: forBlocks - 1, since: block - BigInt(forBlocks - 1) }
}
