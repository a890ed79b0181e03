import type { FigureForecast, FigureValue } from '../../family/watch.ts'
import type { Bounds } from '../step.ts'
import { type Pace, SAMPLE_BLOCKS } from '../trigger.ts'
import { SWEEP_BLOCKS, type WakeConditions, type WatchedSubject, type WatchedTrigger } from './watchlist.ts'

/** The conditions that the triggers of a subject wait for; cached until a trigger changes. */
export function computeWakeConditions(subject: WatchedSubject): WakeConditions {
  subject.wakeConditions ??= collectWakeConditions(subject.entries)
  return subject.wakeConditions
}

function collectWakeConditions(entries: Iterable<WatchedTrigger>): WakeConditions {
  const figures = new Map<string, Bounds>()
  let hasEvents = false
  let isOpen = false
  for (const { trigger, rule, reorgState } of entries) {
    const { clause } = trigger
    if ('event' in clause) {
      hasEvents = true
      continue
    }
    isOpen ||= isUnsettled(reorgState)
    const bounds = rule.quiet(reorgState.state.phase)
    const otherBounds = figures.get(clause.figure)
    figures.set(clause.figure, otherBounds === undefined ? bounds : intersectBounds(otherBounds, bounds))
  }
  return { figures: [...figures].map(([figure, bounds]) => ({ figure, ...bounds })), hasEvents, isOpen }
}

function isUnsettled({ state, undecided: unsure }: WatchedTrigger['reorgState']): boolean {
  return state.phase === 'pending' || unsure.length > 0
}

function intersectBounds(one: Bounds, other: Bounds): Bounds {
  return { above: Math.max(one.above, other.above), below: Math.min(one.below, other.below) }
}

/** True if a subject must be confirmed at a block, whatever the forecast. */
export function mustConfirm(subject: WatchedSubject, block: bigint, pace: Pace): boolean {
  const { confirmed, confirmedAt, phase } = subject
  const { figures, isOpen } = computeWakeConditions(subject)
  if (figures.length === 0) return false
  const isSampled = pace === 'sampled'
  if ((isOpen && !isSampled) || subject.isDue || confirmed === undefined) return true
  const sweepBlocks = isSampled ? SAMPLE_BLOCKS : SWEEP_BLOCKS
  const getSweep = (number: bigint) => Math.floor((Number(number) + phase) / sweepBlocks)
  return getSweep(block) > getSweep(confirmedAt)
}

/** True if a subject must be confirmed according to the forecast. */
export function mustConfirmByForecast(subject: WatchedSubject, forecast: FigureForecast): boolean {
  const { confirmed } = subject
  const { figures } = computeWakeConditions(subject)
  if (figures.length === 0) return false
  if (subject.isDue || confirmed === undefined) return true
  // A subject that does not exist can only appear through an event.
  if (confirmed === 'gone') return false
  const isQuiet = (each: (typeof figures)[number]) =>
    isWithin(toApproximate(forecast.estimate(confirmed.memo, each.figure)), each)
  return !figures.every(isQuiet)
}

/** True if a confirmed figure may change a trigger; other triggers need no exact comparison. */
export function mayChange({ rule, reorgState }: WatchedTrigger, approximate: number): boolean {
  return isUnsettled(reorgState) || !isWithin(approximate, rule.quiet(reorgState.state.phase))
}

/** Approximates a figure: 1 for true, 0 for false, NaN if unknown. `MAX` is above every value but below infinity. */
export function toApproximate(value: FigureValue): number {
  if (value === 'MAX') return Number.MAX_VALUE
  if (typeof value === 'object') return Number(value.numerator) / Number(value.denominator)
  return value === undefined ? Number.NaN : Number(value)
}

function isWithin(approximate: number, { above, below }: Bounds): boolean {
  return approximate > above && approximate < below
}
