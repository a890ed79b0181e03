import type { Address } from 'viem'
import type { Block, PinnedBlock } from '../chain/block.ts'
import type { Endpoint } from '../chain/rpc/client.ts'
import type { SolanaAccounts } from '../chain/solana/accounts.ts'
import type { SolanaSession } from '../chain/solana/client.ts'
import type { AccountGroup } from '../chain/solana/groups.ts'
import type { WalletTokens } from '../chain/solana/token/wallet_tokens.ts'
import { type PricedToken, toPriceOutcome } from '../finance/liquidity/priced_token.ts'
import type { TokenAmounts } from '../finance/math/liquidity.ts'
import type { UsdPriceOutcome } from '../finance/price/price.ts'
import type { Token } from '../finance/token/token.ts'
import type { FamilyTarget } from './target.ts'

/** Some of one token that a wallet has, or owes, in a position of a family. */
export interface Holding {
  readonly kind: 'liquidity' | 'supplied' | 'borrowed'
  readonly token: HeldToken
  /** Smallest units, above zero; of a debt too. */
  readonly amount: bigint
  /** Where it is, as answers show it: `{ family: 'aave-v3', market_id: 'main' }`. */
  readonly position: { readonly family: string; readonly [field: string]: string }
  /** By the family's own oracle if it has one to be trusted, else by the chain's sources of prices; or why there is none. */
  readonly price: UsdPriceOutcome
  /** Why it must not be counted, as far as the family alone can say. */
  readonly refused?: HoldingExclusion | undefined
}

/** Adds what a liquidity position has of both tokens, if it has any. */
export function addLiquidityRows(
  rows: Holding[],
  { token0, token1 }: { readonly token0: PricedToken; readonly token1: PricedToken },
  { amounts, ...of }: { readonly amounts: TokenAmounts } & Pick<Holding, 'position' | 'refused'>,
): void {
  const add = (token: PricedToken, amount: bigint) => {
    if (amount > 0n) rows.push({ kind: 'liquidity', token, amount, price: toPriceOutcome(token), ...of })
  }
  add(token0, amounts.amount0)
  add(token1, amounts.amount1)
}

/** A token as a row shows it; undefined decimals make it unpriced. */
export type HeldToken = Pick<Token, 'address' | 'symbol' | 'name' | 'decimals'>

/** The same on Solana; its address is the mint. */
export interface AccountToken extends Omit<HeldToken, 'address'> {
  readonly address: string
}

/** Why a holding is not counted, and the same in a sentence without a full stop. */
export interface HoldingExclusion {
  readonly reason: 'spam' | 'withdrawal_reverts' | 'exceeds_liquidity'
  readonly detail: string
}

/** All that a family holds for a wallet on one chain, at one block. */
export interface Holdings {
  readonly block: Block
  /** In any order; none is of amount zero. */
  readonly rows: readonly Holding[]
  /**
   * How many positions the wallet has, by the family's own count. If they are more than `positionsMax`, there are no
   * rows.
   */
  readonly positions: number
  /** The family's own tokens that stand for what is in `rows`: they are not assets of the wallet. Checksummed. */
  readonly ownTokens: readonly Address[]
  /** What is missing from `rows`, in words for a list: `2 positions of uniswap-v3 that cannot be decoded`. */
  readonly notRead: readonly string[]
}

/** Where and when a wallet's holdings are asked for. */
export type HoldingsTarget = Pick<FamilyTarget<unknown>, 'client' | 'block'>

/** What one endpoint is asked. */
export interface HoldingsRequest {
  readonly endpoint: Endpoint
  /** The block to read at; absent: the newest. It may be given though the place has none. */
  readonly block?: PinnedBlock | undefined
  /** Most positions that are read. */
  readonly positionsMax: number
}

/**
 * Asks one endpoint for the wallet's holdings. The first call of a lens leaves before anything is awaited that takes a
 * turn of the event loop, so that it shares its `eth_call` with those of the other families. Throws as
 * `Endpoint.call`.
 */
export type ReadHoldings = (request: HoldingsRequest, signal: AbortSignal) => Promise<Holdings>

/** Reads what wallets hold in a family. */
export interface HoldingsReader {
  /** Chains that have the family. */
  readonly chainIds: ReadonlySet<number>
  /**
   * Learns whatever must be known before the chain is asked in one call: which contracts stood at the block, what a
   * history says. Undefined if nothing of the family stood there. Throws `UnavailableError` until that is known.
   */
  open(wallet: Address, place: HoldingsTarget, signal: AbortSignal): Promise<ReadHoldings | undefined>
}

/*
 * What wallets hold in a family of Solana. All that an answer needs is read together, at one slot: a family says which
 * accounts it needs, and afterwards what they mean.
 */

/** Some of one token in a position, as of a slot; its token's address is a mint. */
export interface AccountHolding extends Omit<Holding, 'token'> {
  readonly token: AccountToken
  readonly slot: bigint
}

/** All that a family holds for a wallet. */
export interface AccountHoldings {
  /** In any order; none is of amount zero. */
  readonly rows: readonly AccountHolding[]
  /** Mints of tokens that stand for what is in `rows`: they are not assets of the wallet. */
  readonly ownTokens: readonly string[]
  /** What is missing from `rows`, in words for a list. */
  readonly notRead: readonly string[]
  /** How the positions were found; absent if no other way could find more. */
  readonly search?: HoldingsSearch
}

/** How positions were found. */
export interface HoldingsSearch {
  /** False if there may be others. */
  readonly complete: boolean
  readonly by: string
  /** In how many markets was looked, if not in all. */
  readonly markets?: number | undefined
}

/** Which accounts a wallet's holdings need. */
export interface HoldingsPlan {
  /**
   * How many positions the wallet has, by the family's own count. If they are more than `positionsMax`, `items` is
   * empty.
   */
  readonly positions: number
  /** The oldest and the newest slot at which it was found out what the wallet has. */
  readonly oldest: bigint
  readonly newest: bigint
  /** Lists of addresses, each of which is to be read at one slot. */
  readonly items: readonly (readonly string[])[]
  /** Throws `UpstreamError` if an answer contradicts itself: it then counts as the endpoint's failure. */
  readonly check?: (answer: SolanaAccounts) => void
  /** What the accounts of each item mean; `changed` if other accounts must be read. Throws `UpstreamError`. */
  read(groups: readonly AccountGroup[]): Promise<AccountHoldings | 'changed'>
}

/** Whose holdings are asked for. */
export interface HoldingsQuery {
  readonly wallet: string
  /** The earliest slot that may answer. */
  readonly minSlot: bigint
  /** The wallet's tokens. Whoever waits for them may do something else before. */
  readonly listed: Promise<WalletTokens>
  /** Most positions that are read. */
  readonly positionsMax: number
}

/** Reads what wallets hold in a family. */
export interface AccountHoldingsReader {
  /**
   * What the wallet's holdings needed when they were last read, without asking anybody; undefined if they never were, or
   * if not all of it is known any more.
   */
  recall(wallet: string): Pick<HoldingsPlan, 'items' | 'check'> | undefined
  /** Finds out what the wallet has now. Throws as `SolanaSession`. */
  plan(session: SolanaSession, question: HoldingsQuery): Promise<HoldingsPlan>
}
