import { CodedError } from './error.ts'

/** A block of a chain at which a list began that is read in pieces. */
export interface PinnedRead {
  readonly chainId: number
  readonly number: number
  /** Seconds since the epoch; absent where reads do not tell. */
  readonly timestampSec?: number
}

/** The error for a list that is not the one that began. */
export function changedListError(): CodedError {
  return new CodedError(
    'INVALID_PARAMETER',
    'Cannot read parameter "cursor": the list has changed since it began, expected to begin again without it',
  )
}
