import type { SubjectCoverage } from '../coverage.ts'
import type { AdaptiveLogSource } from '../logs/reader.ts'
import { rankSources } from '../proof/proof.ts'
import { type Range, subtractRanges } from '../range.ts'
import type { FollowEntry } from './entry.ts'

/** Ranges that count as stored: unconfirmed ones only while no second endpoint could confirm them. */
export function getUsableRanges(
  coverage: SubjectCoverage | undefined,
  sources: readonly AdaptiveLogSource[],
): readonly Range[] {
  const { ranges = [], agreed = [] } = coverage ?? {}
  const unconfirmed = ranges.flatMap((range) => subtractRanges(range, agreed))
  return [...agreed, ...unconfirmed.filter((range) => rankSources(sources, range, 'mayServe').length < 2)]
}

/** True if two endpoints agreed on all blocks of a range. */
export function isAgreed(range: Range, coverages: readonly (SubjectCoverage | undefined)[]): boolean {
  return (
    subtractRanges(
      range,
      coverages.flatMap((each) => each?.agreed ?? []),
    ).length === 0
  )
}

/** True if the subject's rows matched on-chain state at the range's last block. Global scans are not checked. */
export function isVerified(
  { subject, range }: Pick<FollowEntry, 'subject' | 'range'>,
  coverage: SubjectCoverage | undefined,
): boolean {
  return subject === null || (coverage?.checkedTo ?? -1) >= range.toBlock
}
