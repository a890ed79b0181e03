import type { Address, Hex } from 'viem'
import type { Send, Transaction } from '../transaction.ts'
import type { AssetName, MarketAddresses } from './addresses.ts'
import type { EmodeSetup, MarketSetup, ReserveSetup } from './reserves.ts'

/** A market that is being built. */
export interface MarketPlan {
  readonly name: string
  readonly addresses: MarketAddresses
  readonly setup: MarketSetup
}

/** A version of Aave V3: its creation codes, linked and without arguments, and what its markets do differently. */
export interface Release {
  readonly provider: Hex
  readonly oracle: Hex
  readonly dataProvider: Hex
  readonly proxy: Hex
  readonly aclManager: Hex
  readonly configurator: Hex
  /** Deploys the implementation of a market's Pool, whose provider is in place. */
  deployPool(send: Send, market: MarketPlan): Promise<Address>
  /** Deploys the parts of reserves and returns how to list them; the Pool exists already. */
  listReserves(send: Send, market: MarketPlan): Promise<Transaction[]>
  /** What only this version knows of an asset. */
  reserveCalls(market: MarketPlan, asset: AssetName, reserve: ReserveSetup): Transaction[]
  emodeCalls(market: MarketPlan, emode: EmodeSetup): Transaction[]
}
