import type { FigureValue } from '../family/watch.ts'
import { compareRational, type Rational } from '../lib/number/rational.ts'
import { parseExact, type Trigger, type TriggerState } from './trigger.ts'

/*
 * The state machine of one trigger from block to block, pure. If blocks are replaced, the trigger rewinds to its state
 * before them, and each notified change is either matched on the new branch or reverted, once that branch reaches the
 * block of the change.
 */

/** A change that its owner was notified of. */
export interface NotifiedChange {
  readonly change: number
  readonly block: bigint
  /** Identifies the same change on another branch: `fired`, `cleared`, or the name of an event. */
  readonly name: string
}

/** The state of a trigger, with its changes at blocks that may be replaced. */
export interface TriggerReorgState {
  readonly state: TriggerState
  /** Changes at blocks that may be replaced, oldest first. */
  readonly notified: readonly NotifiedChange[]
  /** Changes at replaced blocks, neither matched nor reverted yet, oldest first. */
  readonly undecided: readonly NotifiedChange[]
  /** States before the blocks of changes, newest last; states of an earlier process are missing. */
  readonly trail: readonly { readonly block: bigint; readonly before: PhaseState }[]
}

type PhaseState = Pick<TriggerState, 'phase' | 'heldBlocks' | 'since'>

/** A transition of a trigger at a block, to be notified. */
export interface TriggerTransition {
  readonly kind: 'fired' | 'cleared' | 'reverted'
  readonly change: number
  /** Value of the figure, or the type of the event; null if unknown. */
  readonly value: string | null
  /** The last notified value. */
  readonly previous: string | null
}

/** The state of a trigger after a block, and its transitions. */
export interface StepResult {
  readonly reorgState: TriggerReorgState
  readonly transitions: readonly TriggerTransition[]
}

/** The firing condition of a trigger, parsed for comparison. */
export interface Rule {
  readonly forBlocks: number
  holds(value: FigureValue): boolean
  /** True if the figure has returned far enough to re-arm the trigger. */
  clears(value: FigureValue): boolean
  /**
   * The bounds within which the figure changes nothing in this phase, with a margin of one percent; 1 is true, 0 false.
   * They only select the subjects to read, so floats suffice.
   */
  quiet(phase: TriggerState['phase']): Bounds
}

/** An open interval; both bounds may be infinite. */
export interface Bounds {
  readonly above: number
  readonly below: number
}

/** An event at a block. */
export interface NamedEvent {
  /** One of the types that the trigger waits for. */
  readonly type: string
  /** Identifies the same event on another branch. */
  readonly name: string
}

const NEAR = 0.01
/** Blocks, about a minute of Solana's, beyond which two readings say nothing about those between. */
const READING_GAP_MAX = 150n
const EVERYWHERE: Bounds = { above: Number.NEGATIVE_INFINITY, below: Number.POSITIVE_INFINITY }
const ARMED: PhaseState = { phase: 'armed', heldBlocks: 0, since: null }

/** Creates the rule of a trigger. The rule of a trigger on events never holds. */
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
  const compareSide = (value: FigureValue, bound: Rational) =>
    isBelow ? compare(value, bound) : -compare(value, bound)
  const [back, on] = isBelow ? ([above, below] as const) : ([below, above] as const)
  const armed = back(beyond(Number(firesAt), isBelow ? NEAR : -NEAR))
  const fired = on(beyond(Number(clearsAt), isBelow ? -NEAR : NEAR))
  return {
    forBlocks,
    holds: (value) => compareSide(value, threshold) < 0,
    clears: (value) => compareSide(value, level) >= 0,
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

/** Negative if `value` is below `other`, NaN if it is no number. `MAX` is above everything. */
function compare(value: FigureValue, other: Rational): number {
  if (value === undefined || typeof value === 'boolean') return Number.NaN
  return value === 'MAX' ? 1 : compareRational(value, other)
}

/**
 * Restores a trigger from the database after block `at`, with its replaceable changes but without the states before
 * them. Changes at later blocks were notified on a replaced branch.
 */
export function restoreReorgState(
  state: TriggerState,
  notified: readonly NotifiedChange[],
  at: bigint,
): TriggerReorgState {
  return {
    state,
    notified: notified.filter(({ block }) => block <= at),
    undecided: notified.filter(({ block }) => block > at),
    trail: [],
  }
}

/** A figure at a block. */
interface Observation {
  readonly block: bigint
  readonly value: FigureValue
  readonly text: string | null
  /**
   * True where only some blocks are read: what holds at two near readings counts as holding at the blocks between.
   * @default {false}
   */
  readonly isSampled?: boolean
}

/** Steps a trigger by its figure at a block. An unknown figure changes nothing. */
export function step(rule: Rule, reorgState: TriggerReorgState, observation: Observation): StepResult {
  const { block, value, text } = observation
  const { state } = reorgState
  if (value === undefined) return { reorgState: postponeUndecided(reorgState, block), transitions: [] }
  const next = computePhase(rule, state, observation)
  if (next === state) return revertUndecided({ reorgState, transitions: [] }, block, text)
  const kind = next.phase === 'fired' ? 'fired' : state.phase === 'fired' ? 'cleared' : undefined
  const trail = [...reorgState.trail, { block, before: toPhaseState(state) }]
  const moved = { ...reorgState, state: { ...state, ...next }, trail }
  const result =
    kind === undefined
      ? { reorgState: moved, transitions: [] }
      : recordChange(moved, { kind, name: kind, block, value: text })
  return revertUndecided(result, block, text)
}

/** Steps a trigger by the events of its subject at a block. */
export function stepEvents(
  reorgState: TriggerReorgState,
  { block, events }: { readonly block: bigint; readonly events: readonly NamedEvent[] },
): StepResult {
  let result: StepResult = { reorgState, transitions: [] }
  for (const { type, name } of events) {
    const { reorgState, transitions } = recordChange(result.reorgState, { kind: 'fired', name, block, value: type })
    result = { reorgState, transitions: [...result.transitions, ...transitions] }
  }
  return revertUndecided(result, block, null)
}

/** Rewinds a trigger to its state before block `fork`, the first replaced block. */
export function rewind(rule: Rule, reorgState: TriggerReorgState, fork: bigint): TriggerReorgState {
  const { state } = reorgState
  const first = reorgState.trail.findIndex(({ block }) => block >= fork)
  const notified = reorgState.notified.filter(({ block }) => block < fork)
  const replaced = reorgState.notified.slice(notified.length)
  const [earliest] = replaced
  const trailEntry = reorgState.trail[first]
  let phaseState = toPhaseState(state)
  if (trailEntry !== undefined && trailEntry.block <= (earliest?.block ?? trailEntry.block))
    phaseState = trailEntry.before
  else if (earliest?.name === 'fired') phaseState = toPhaseBeforeFiring(rule, earliest.block)
  else if (earliest?.name === 'cleared') phaseState = { phase: 'fired', heldBlocks: 0, since: null }
  return {
    state: { ...state, ...cutHeldBlocks(phaseState, fork) },
    notified,
    // Keep changes left undecided by an earlier reorg.
    undecided: [...replaced, ...reorgState.undecided].sort((a, b) => a.change - b.change),
    trail: first < 0 ? reorgState.trail : reorgState.trail.slice(0, first),
  }
}

/** Drops the changes and states of blocks before `final`, which can no longer be replaced. */
export function pruneFinalized(reorgState: TriggerReorgState, final: bigint): TriggerReorgState {
  if ((reorgState.notified[0]?.block ?? final) >= final && (reorgState.trail[0]?.block ?? final) >= final)
    return reorgState
  return {
    ...reorgState,
    notified: reorgState.notified.filter(({ block }) => block >= final),
    trail: reorgState.trail.filter(({ block }) => block >= final),
  }
}

function computePhase(rule: Rule, state: TriggerState, { block, value, isSampled = false }: Observation): PhaseState {
  if (state.phase === 'fired') return rule.clears(value) ? { ...ARMED, since: block } : state
  if (!rule.holds(value)) return state.phase === 'armed' ? state : ARMED
  const heldBlocks = isSampled ? countHeldBlocks(state, block) : state.heldBlocks + 1
  if (heldBlocks >= rule.forBlocks) return { phase: 'fired', heldBlocks: 0, since: block }
  return { phase: 'pending', heldBlocks, since: heldBlocks > 1 ? state.since : block }
}

/** Blocks in a row through which the clause held, by readings at some of them; the last one is `since + heldBlocks - 1`. */
function countHeldBlocks({ phase, heldBlocks, since }: PhaseState, block: bigint): number {
  if (phase !== 'pending' || since === null) return 1
  const isNear = block - (since + BigInt(heldBlocks) - 1n) <= READING_GAP_MAX
  return isNear ? Number(block - since) + 1 : 1
}

/** Numbers a change, or matches it with a change notified at a replaced block. */
function recordChange(
  reorgState: TriggerReorgState,
  { kind, name, block, value }: { kind: 'fired' | 'cleared'; name: string; block: bigint; value: string | null },
): StepResult {
  const { state } = reorgState
  const undecidedMatch = reorgState.undecided.find((each) => each.name === name)
  const change = undecidedMatch?.change ?? state.changes + 1
  const notified = [...reorgState.notified, { change, block, name }]
  if (undecidedMatch !== undefined)
    return {
      reorgState: {
        ...reorgState,
        notified,
        undecided: reorgState.undecided.filter((each) => each !== undecidedMatch),
      },
      transitions: [],
    }
  const next = { ...state, changes: change, value }
  return {
    reorgState: { ...reorgState, state: next, notified },
    transitions: [{ kind, change, value, previous: state.value }],
  }
}

/** Reverts changes that the new branch should have shown by now, latest first, so that each undoes the last one. */
function revertUndecided({ reorgState, transitions }: StepResult, block: bigint, text: string | null): StepResult {
  const [oldest] = reorgState.undecided.filter((each) => each.block <= block)
  if (oldest === undefined) return { reorgState, transitions }
  const isReverted = (each: NotifiedChange) => each.block <= block || isFigureChange(oldest)
  const reverted = reorgState.undecided
    .filter(isReverted)
    .toReversed()
    .map(
      ({ change }): TriggerTransition => ({ kind: 'reverted', change, value: text, previous: reorgState.state.value }),
    )
  // Reverts come before new transitions.
  return {
    reorgState: { ...reorgState, undecided: reorgState.undecided.filter((each) => !isReverted(each)) },
    transitions: [...reverted, ...transitions],
  }
}

/** Postpones pending reverts to the next block, because the figure is unknown at this one. */
function postponeUndecided(reorgState: TriggerReorgState, block: bigint): TriggerReorgState {
  if (reorgState.undecided.every((each) => each.block > block)) return reorgState
  return {
    ...reorgState,
    undecided: reorgState.undecided.map((each) => (each.block > block ? each : { ...each, block: block + 1n })),
  }
}

/** True for a change of a figure. Such changes depend on each other: without the first, no later one exists. */
function isFigureChange({ name }: NotifiedChange): boolean {
  return name === 'fired' || name === 'cleared'
}

function toPhaseState({ phase, heldBlocks, since }: TriggerState): PhaseState {
  return { phase, heldBlocks, since }
}

/** Removes the held blocks from `fork` on. */
function cutHeldBlocks(phaseState: PhaseState, fork: bigint): PhaseState {
  const { phase, heldBlocks, since } = phaseState
  if (phase !== 'pending' || since === null) return phaseState
  const held = Math.min(heldBlocks, Math.max(0, Number(fork - since)))
  return held === 0 ? ARMED : { phase, heldBlocks: held, since }
}

/** The state of a trigger before it fired at a block, if no earlier block was skipped. */
function toPhaseBeforeFiring({ forBlocks }: Rule, block: bigint): PhaseState {
  if (forBlocks === 1) return ARMED
  return { phase: 'pending', heldBlocks: forBlocks - 1, since: block - BigInt(forBlocks - 1) }
}
