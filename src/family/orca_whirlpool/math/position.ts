import type { AccountGroup } from '../../../chain/solana/groups.ts'
import type { TransferFee } from '../../../finance/math/transfer.ts'
import type { NoPrice } from '../../../finance/price/price.ts'
import type { ScopePrice } from '../../../finance/price/scope/prices.ts'
import type { SolanaToken } from '../../../finance/token/solana_token.ts'
import type { FigureInput } from './figures.ts'
import type { Whirlpool, WhirlpoolPosition } from './state.ts'

/** A token at the slot of a reading. */
export interface OrcaToken extends Pick<SolanaToken, 'address' | 'symbol' | 'name' | 'decimals'> {
  /** What it takes of each transfer in the slot's epoch; undefined if nothing. */
  readonly transferFee: TransferFee | undefined
  /** Undefined if there is none, or if none was asked for. */
  readonly price: ScopePrice | undefined
  /** Why there is none, if one was asked for. */
  readonly noPrice?: NoPrice
}

/** A position and its pool at one slot. */
export interface OrcaPosition extends Pick<AccountGroup, 'slot' | 'timestampSec'> {
  readonly program: string
  readonly tokenId: string
  readonly address: string
  readonly wallet: string
  readonly bundle: { readonly mint: string; readonly place: number } | undefined
  /** Its liquidity can never be withdrawn: its token is frozen. */
  readonly isLocked: boolean
  readonly state: WhirlpoolPosition
  readonly pool: Whirlpool
  readonly tokenA: OrcaToken
  readonly tokenB: OrcaToken
  /** What its figures need besides; undefined if they were not asked for. */
  readonly figured: FigureState | undefined
}

/** What the figures of a position need. */
export type FigureState = Pick<FigureInput<OrcaToken>, 'ticks' | 'rewards'>

/** A position that is left out because of what its pool's tokens are. */
export interface OrcaSpam {
  readonly program: string
  readonly tokenId: string
  readonly reason: string
}
