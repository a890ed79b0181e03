import type { FigureForecast, FigureValue } from '../../family/watch.ts'
import type { Bounds } from '../step.ts'
import { SWEEP_BLOCKS, type WakeConditions, type WatchedSubject, type WatchedTrigger } from './watchlist.ts'

/** What the triggers of a subject wait for. */
export function computeWakeConditions(subject: WatchedSubject): WakeConditions {
  subject.waits ??= findWaits(subject.entries)
  return subject.waits
}

function findWaits(entries: Iterable<WatchedTrigger>): WakeConditions {
  const figures = new Map<string, Bounds>()
  let hasEvents = false
  let isOpen = false
  for (const { trigger, rule, life } of entries) {
    const { clause } = trigger
    if ('event' in clause) {
      hasEvents = true
      continue
    }
    isOpen ||= isUnsettled(life)
    const own = rule.quiet(life.state.phase)
    const known = figures.get(clause.figure)
    figures.set(clause.figure, known === undefined ? own : both(known, own))
  }
  return { figures: [...figures].map(([figure, bounds]) => ({ figure, ...bounds })), hasEvents, isOpen }
}

function isUnsettled({ state, unsure }: WatchedTrigger['life']): boolean {
  return state.phase === 'pending' || unsure.length > 0
}

function both(one: Bounds, other: Bounds): Bounds {
  return { above: Math.max(one.above, other.above), below: Math.min(one.below, other.below) }
}

/** True if a subject must be confirmed at a block, whatever can be foreseen. */
export function mustConfirm(subject: WatchedSubject, block: bigint): boolean {
  const { confirmed, confirmedAt, phase } = subject
  const { figures, isOpen } = computeWakeConditions(subject)
  if (figures.length === 0) return false
  if (isOpen || subject.isDue || confirmed === undefined) return true
  const turnAt = (number: bigint) => Math.floor((Number(number) + phase) / SWEEP_BLOCKS)
  return turnAt(block) > turnAt(confirmedAt)
}

/** True if a subject must be confirmed, by what is foreseen of it. */
export function mustConfirmByForecast(subject: WatchedSubject, foresight: FigureForecast): boolean {
  const { confirmed } = subject
  const { figures } = computeWakeConditions(subject)
  if (figures.length === 0) return false
  if (subject.isDue || confirmed === undefined) return true
  // What does not exist can only begin to by an event.
  if (confirmed === 'gone') return false
  const isQuiet = (each: (typeof figures)[number]) =>
    isWithin(toApproximate(foresight.estimate(confirmed.memo, each.figure)), each)
  return !figures.every(isQuiet)
}

/** True if a figure that was confirmed may change a trigger: all others need no exact look. */
export function mayChange({ rule, life }: WatchedTrigger, about: number): boolean {
  return isUnsettled(life) || !isWithin(about, rule.quiet(life.state.phase))
}

/** About what a figure is; 1 for true, 0 for false, NaN if nobody knows. `MAX` is above everything but no bound. */
export function toApproximate(value: FigureValue): number {
  if (value === 'MAX') return Number.MAX_VALUE
  if (typeof value === 'object') return Number(value.numerator) / Number(value.denominator)
  return value === undefined ? Number.NaN : Number(value)
}

function isWithin(about: number, { above, below }: Bounds): boolean {
  return about > above && about < below
}
