import type { AccountGroup } from '../../../chain/solana/groups.ts'
import type { TransferFee } from '../../../finance/math/transfer.ts'
import type { NoPrice } from '../../../finance/price/price.ts'
import type { ScopePrice } from '../../../finance/price/scope.ts'
import type { SolanaToken } from '../../../finance/token/solana_tokens.ts'
import type { FigureInput } from './figures.ts'
import type { Whirlpool, WhirlpoolPosition } from './state.ts'

/** A token at the slot of a read. */
export interface OrcaToken extends Pick<SolanaToken, 'address' | 'symbol' | 'name' | 'decimals'> {
  /** Fee on each transfer in the slot's epoch; undefined if there is none. */
  readonly transferFee: TransferFee | undefined
  /** Why the token is spam, as a sentence; absent if it is not. */
  readonly spam?: string
  /** Undefined if there is none, or if none was requested. */
  readonly price: ScopePrice | undefined
  /** Why there is no price, if one was requested. */
  readonly noPrice?: NoPrice
}

/** A position and its pool at one slot. */
export interface OrcaPosition extends Pick<AccountGroup, 'slot' | 'timestampSec'> {
  readonly program: string
  readonly tokenId: string
  readonly address: string
  readonly wallet: string
  readonly bundle: { readonly mint: string; readonly index: number } | undefined
  /** True if the liquidity can never be withdrawn, because the position's token is frozen. */
  readonly isLocked: boolean
  readonly state: WhirlpoolPosition
  readonly pool: Whirlpool
  readonly tokenA: OrcaToken
  readonly tokenB: OrcaToken
  /** Further inputs of the figures; undefined if figures were not requested. */
  readonly figureState: FigureState | undefined
}

/** Inputs of a position's figures besides its state, pool and tokens. */
export type FigureState = Pick<FigureInput<OrcaToken>, 'ticks' | 'rewards'>

/** A position that is left out because a token of its pool is spam. */
export interface OrcaSpam {
  readonly program: string
  readonly tokenId: string
  readonly reason: string
}
