import type { FigureForesight } from '../../family/watch.ts'
import type { Entry, WatchedSubject } from './watchlist.ts'

/** Blocks after which a subject is confirmed whatever a screen says, spread between the two. */
const SWEEP_MIN = 200
const SWEEP_MAX = 300

/** True if a subject must be confirmed at a block. Without a foresight everybody must. */
export function isDue(
  subject: WatchedSubject,
  { foresight, block }: { readonly foresight: FigureForesight | undefined; readonly block: bigint },
): boolean {
  const { confirmed, confirmedAt, entries, phase } = subject
  let watches = false
  for (const { trigger } of entries) watches ||= 'figure' in trigger.clause
  if (!watches) return false
  if (subject.isDue || confirmed === undefined || foresight === undefined) return true
  if (block - confirmedAt >= BigInt(SWEEP_MIN + (phase % (SWEEP_MAX - SWEEP_MIN)))) return true
  // What does not exist can only begin to by an event.
  if (confirmed === 'gone') return false
  for (const entry of entries) if (mayChange(entry, foresight, confirmed.memo)) return true
  return false
}

/** True if the foreseen figure, which may be a little off, is where something changes or near it. */
function mayChange({ trigger: { clause }, rule, life }: Entry, foresight: FigureForesight, memo: unknown): boolean {
  if (!('figure' in clause)) return false
  const { state, unsure } = life
  if (state.phase === 'pending' || unsure.length > 0) return true
  const foreseen = foresight.estimate(memo, clause.figure)
  if (foreseen === undefined || rule.isNear(foreseen)) return true
  return state.phase === 'fired' ? rule.clears(foreseen) : rule.holds(foreseen)
}
