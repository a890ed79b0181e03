import type { FigureForesight, FigureValue } from '../../family/watch.ts'
import type { WatchedSubject } from './watchlist.ts'

/** Blocks after which a subject is confirmed whatever a screen says, spread between the two. */
const SWEEP_MIN = 200
const SWEEP_MAX = 300

/** True if a subject must be confirmed at a block. Without a foresight everybody must. */
export function isDue(
  subject: WatchedSubject,
  { foresight, block }: { readonly foresight: FigureForesight | undefined; readonly block: bigint },
): boolean {
  const { confirmed, confirmedAt, phase } = subject
  if (!waitsForFigures(subject)) return false
  if (subject.isDue || confirmed === undefined || foresight === undefined) return true
  if (block - confirmedAt >= BigInt(SWEEP_MIN + (phase % (SWEEP_MAX - SWEEP_MIN)))) return true
  // What does not exist can only begin to by an event.
  if (confirmed === 'gone') return false
  return mayChange(subject, foresight, confirmed.memo)
}

function waitsForFigures({ entries }: WatchedSubject): boolean {
  for (const { trigger } of entries) if ('figure' in trigger.clause) return true
  return false
}

/** True if a foreseen figure, which may be a little off, is where something changes or near it. */
function mayChange({ entries }: WatchedSubject, foresight: FigureForesight, memo: unknown): boolean {
  // Many triggers of a subject watch the same figure.
  let figure: string | undefined
  let about: number | undefined
  for (const { trigger, rule, life } of entries) {
    const { clause } = trigger
    if (!('figure' in clause)) continue
    const { state, unsure } = life
    if (state.phase === 'pending' || unsure.length > 0) return true
    if (clause.figure !== figure) {
      figure = clause.figure
      about = aboutOf(foresight.estimate(memo, figure))
    }
    if (about === undefined || rule.mayChange(state.phase, about)) return true
  }
  return false
}

/** About what a figure is; 1 for true, 0 for false. */
function aboutOf(value: FigureValue): number | undefined {
  if (value === 'MAX') return Number.POSITIVE_INFINITY
  if (typeof value === 'object') return Number(value.numerator) / Number(value.denominator)
  return value === undefined ? undefined : Number(value)
}
