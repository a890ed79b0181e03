import type { Hex } from 'viem'
import type { StreamTarget } from '../../../history/stream.ts'

/** What a token of a reserve stands for. */
export type TokenSide = 'supply' | 'variable_debt' | 'stable_debt'

/** A token of a reserve; addresses in lower case. */
export interface ReserveToken {
  /** The reserve. */
  readonly asset: Hex
  readonly side: TokenSide
}

/** A market whose events are followed: its `contract` is the Pool. */
export interface LendingTarget extends StreamTarget {
  /** Tokens of its reserves, by address in lower case. */
  readonly tokens: ReadonlyMap<Hex, ReserveToken>
}
