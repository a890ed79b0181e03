import type { SubjectCoverage } from '../coverage.ts'
import type { AdaptiveLogSource } from '../logs/reader.ts'
import { rankSources } from '../proof/proof.ts'
import { type Range, subtractRanges } from '../range.ts'
import type { FollowEntry } from './entry.ts'

/** What counts as stored: one endpoint's word does only as long as there is no second that could be asked. */
export function getUsableRanges(
  covered: SubjectCoverage | undefined,
  sources: readonly AdaptiveLogSource[],
): readonly Range[] {
  const { ranges = [], agreed = [] } = covered ?? {}
  const doubted = ranges.flatMap((range) => subtractRanges(range, agreed))
  return [...agreed, ...doubted.filter((range) => rankSources(sources, range, 'mayServe').length < 2)]
}

/** True if two endpoints agreed on all blocks of a range. */
export function isAgreed(range: Range, covered: readonly (SubjectCoverage | undefined)[]): boolean {
  return (
    subtractRanges(
      range,
      covered.flatMap((each) => each?.agreed ?? []),
    ).length === 0
  )
}

/** True if a subject's rows agreed with the chain's state at the last of the blocks; everybody's are not checked. */
export function isVerified(
  { subject, range }: Pick<FollowEntry, 'subject' | 'range'>,
  own: SubjectCoverage | undefined,
): boolean {
  return subject === null || (own?.checkedTo ?? -1) >= range.toBlock
}
