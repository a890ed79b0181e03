import type { SolanaAccounts } from '../chain/solana/accounts.ts'
import type { SolanaSession } from '../chain/solana/client.ts'
import type { AccountGroup } from '../chain/solana/groups.ts'
import type { WalletTokens } from '../chain/solana/token/wallet_tokens.ts'
import type { Holding } from './holding.ts'

/*
 * What wallets hold in a family of Solana. All that an answer needs is read together, at one slot: a family says which
 * accounts it needs, and afterwards what they mean.
 */

/** Some of one token in a position, as of a slot; its token's address is a mint. */
export interface AccountHolding extends Omit<Holding, 'token'> {
  readonly token: AccountToken
  readonly slot: bigint
}

/** A token of Solana as a row shows it. */
export interface AccountToken {
  /** The mint. */
  readonly address: string
  readonly symbol: string
  readonly name: string
  /** Undefined makes it unpriced. */
  readonly decimals: number | undefined
}

/** All that a family holds for a wallet. */
export interface AccountHoldings {
  /** In any order; none is of amount zero. */
  readonly rows: readonly AccountHolding[]
  /** Mints of tokens that stand for what is in `rows`: they are no assets of the wallet. */
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
  readonly markets?: number
}

/** Which accounts a wallet's holdings need. */
export interface HoldingsPlan {
  /** How many positions the wallet has, by the family's own count. If they are more than `positionsMax`, `items` is empty. */
  readonly positions: number
  /** The oldest and the newest slot at which it was found out what the wallet has. */
  readonly oldest: bigint
  readonly newest: bigint
  /** Lists of addresses, each of which is to be read at one slot. */
  readonly items: readonly (readonly string[])[]
  /** Throws `UpstreamError` if an answer contradicts itself: it then counts as the endpoint's failure. */
  readonly check?: (answer: SolanaAccounts) => void
  /** What the accounts of each item mean; `changed` if other accounts must be read. Throws `UpstreamError`. */
  read(groups: readonly AccountGroup[]): AccountHoldings | 'changed'
}

/** Whose holdings are asked for. */
export interface HoldingsQuestion {
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
  plan(session: SolanaSession, question: HoldingsQuestion): Promise<HoldingsPlan>
}
