import type { Hex } from 'viem'
import type { StreamTarget } from '../../../history/stream.ts'

/** The side of a reserve that a token represents. */
export type TokenSide = 'supply' | 'variable_debt' | 'stable_debt'

/** A token of a reserve; addresses in lower case. */
export interface ReserveToken {
  /** The reserve's asset. */
  readonly asset: Hex
  readonly side: TokenSide
}

/** A market whose events are indexed; `contract` is the Pool. */
export interface LendingTarget extends StreamTarget {
  /** Tokens of its reserves, by address in lower case. */
  readonly tokens: ReadonlyMap<Hex, ReserveToken>
}
