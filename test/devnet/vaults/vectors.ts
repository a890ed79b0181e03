import type { Address, Hex } from 'viem'
import vectors from './vectors.json'

type Texts<Names extends string> = Readonly<Record<Names, string>>

/** Vaults over three markets of Morpho Blue, real contracts, and what they answered and paid. */
export interface World {
  readonly seed: number
  readonly block: { readonly number: number; readonly timestamp: number }
  readonly asset: Address
  readonly morpho: Address
  readonly markets: readonly VectorMarket[]
  readonly vaults: readonly { readonly kind: string; readonly vault: Address; readonly adapter?: Address }[]
  readonly holders: readonly Holder[]
}

interface VectorMarket {
  readonly id: Hex
  readonly params: Readonly<Record<'loanToken' | 'collateralToken' | 'oracle' | 'irm', Address>> & Texts<'lltv'>
  /** The market's six words a second after the block, interest included. */
  readonly accruedAtTPlus1: readonly string[]
}

/** What a wallet had in a vault, and what was paid when it withdrew; each withdrawal was undone. */
export interface Holder
  extends Texts<
    | ('kind' | 'shares' | 'convertToAssets' | 'previewRedeem' | 'maxWithdraw' | 'maxRedeem')
    | ('totalAssets' | 'totalSupply' | 'idle' | 'withdrawableNow')
  > {
  readonly vault: Address
  readonly wallet: Address
  readonly limitedBy: 'liquidity' | 'gate' | null
  readonly executed: {
    readonly at: string
    readonly redeemAll: Outcome
    readonly withdrawThat?: Outcome
    readonly withdrawOneMore: Outcome
  }
}

interface Outcome {
  readonly paid?: string
  readonly reverted?: string
}

export const WORLDS = vectors.worlds as unknown as readonly World[]
