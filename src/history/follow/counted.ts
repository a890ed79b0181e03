import type { Covered } from '../coverage.ts'
import type { LearnedSource } from '../logs/reader.ts'
import { rankedSources } from '../proof/proof.ts'
import { missingOf, type Range } from '../range.ts'
import type { FollowEntry } from './entry.ts'

/** What counts as stored: one endpoint's word does only as long as there is no second that could be asked. */
export function countedOf(covered: Covered | undefined, sources: readonly LearnedSource[]): readonly Range[] {
  const { ranges = [], agreed = [] } = covered ?? {}
  const doubted = ranges.flatMap((range) => missingOf(range, agreed))
  return [...agreed, ...doubted.filter((range) => rankedSources(sources, range, 'mayServe').length < 2)]
}

/** True if two endpoints agreed on all blocks of a range. */
export function isAgreed(range: Range, covered: readonly (Covered | undefined)[]): boolean {
  return (
    missingOf(
      range,
      covered.flatMap((each) => each?.agreed ?? []),
    ).length === 0
  )
}

/** True if a subject's rows agreed with the chain's state at the last of the blocks; everybody's are not checked. */
export function isChecked(
  { subject, range }: Pick<FollowEntry, 'subject' | 'range'>,
  own: Covered | undefined,
): boolean {
  return subject === null || (own?.checkedTo ?? -1) >= range.toBlock
}
