import type { Address } from 'viem'
import type { Block, PinnedBlock } from '../chain/block.ts'
import type { Endpoint } from '../chain/rpc/client.ts'
import type { SolanaAccounts } from '../chain/solana/accounts.ts'
import type { SolanaSession } from '../chain/solana/client.ts'
import type { AccountGroup } from '../chain/solana/groups.ts'
import type { WalletTokens } from '../chain/solana/wallet_tokens.ts'
import type { LiquidationReason } from '../finance/liquidation_reason.ts'
import type { TokenAmounts } from '../finance/math/liquidity.ts'
import type { UsdPrice, UsdPriceOutcome } from '../finance/price/price.ts'
import { type PricedToken, toPriceOutcome } from '../finance/token/priced_token.ts'
import type { Token } from '../finance/token/token.ts'
import type { Withdrawable } from '../finance/withdrawable.ts'
import type { Work } from '../lib/async/work.ts'
import type { Rational } from '../lib/number/rational.ts'
import type { HoldingExit } from './exit.ts'
import type { FamilyTarget } from './moment.ts'
import type { PositionOutlook } from './outlook.ts'

/** An amount of one token that a wallet holds or owes in a position of a family. */
export interface Holding {
  readonly kind: 'liquidity' | 'supplied' | 'borrowed'
  readonly token: HeldToken
  /** Smallest units, above zero; of a debt too. */
  readonly amount: bigint
  /** Where it is, as answers show it: `{ family: 'aave-v3', market_id: 'main' }`. */
  readonly position: { readonly family: string; readonly [field: string]: string }
  /** From the family's own oracle if that is trusted, else from the chain's price sources; or why there is none. */
  readonly price: UsdPriceOutcome
  /** The price of a debt by its market's own oracle, which counts where pools say less or nothing. */
  readonly marketPrice?: UsdPrice | undefined
  /** Why it must not be counted, as far as the family alone can tell. */
  readonly refused?: HoldingExclusion | undefined
  /** What counts of it, if that is less than all: what can be paid out of it at the block. */
  readonly payable?: Payable | undefined
  /** Where a withdrawal of it takes tokens from, in its order: of a supply whose market may lack tokens. */
  readonly sources?: readonly Source[] | undefined
  /** What a withdrawal of it alone pays at the block, if that is less than all; never of a debt. */
  readonly withdrawable?: Withdrawable | undefined
  /** Of a debt with a term: when it falls due, and whether it is safe. */
  readonly term?: DebtTerm | undefined
  /** Of a supply beside such a debt: whether it backs debts. */
  readonly isCollateral?: boolean | undefined
}

/** When a debt falls due, and whether it is safe until then. */
export interface DebtTerm {
  /** Unix seconds. */
  readonly dueAtSec: bigint
  readonly isOverdue: boolean
  /** Undefined if an oracle does not tell. */
  readonly healthFactor: Rational | undefined
  readonly liquidatableBecause: readonly LiquidationReason[]
}

/**
 * A place that a withdrawal takes tokens from. What it takes leaves all of these pots, as what a vault takes from a market
 * leaves both the market and what the vault has there.
 */
export type Source = readonly Pot[]

/** What can be paid out at the block to all rows together that take from it, of whichever wallets. */
export interface Pot {
  /** Names it on its chain. */
  readonly key: string
  /** Smallest units. */
  readonly amount: bigint
  /** Why the rest of a row is not counted. */
  readonly reason: NonNullable<Payable['reason']>
}

/** Names the tokens that a market of Morpho Blue can pay out, to its lenders and to the vaults that lend to it. */
export function nameMarketPot(marketId: string): string {
  return `morpho-blue:${marketId}`
}

/** The part of an amount that its market can pay out. */
export interface Payable {
  /** Smallest units, less than the amount. */
  readonly amount: bigint
  /** Why not all of it: a sentence without a full stop. */
  readonly detail: string
  /** `at_maturity`: the rest is owed at par later, and is worth less now or nothing. @default {'exceeds_liquidity'} */
  readonly reason?: 'exceeds_liquidity' | 'at_maturity'
}

/** Adds a row of a liquidity position for an amount of one token, if it is above zero. Spam refuses its row. */
export function addLiquidityRow(
  rows: Holding[],
  { token, amount }: { readonly token: PricedToken; readonly amount: bigint },
  { position, refused, withdrawable }: Pick<Holding, 'position' | 'refused' | 'withdrawable'>,
): void {
  if (amount === 0n) return
  const { spam } = token
  const exclusion = spam === undefined ? refused : ({ reason: 'spam', detail: spam } as const)
  rows.push({
    kind: 'liquidity',
    token,
    amount,
    price: toPriceOutcome(token),
    position,
    refused: exclusion,
    withdrawable,
  })
}

/** Adds a row for each token of a liquidity position whose amount is above zero. Spam refuses its own row only. */
export function addLiquidityRows(
  rows: Holding[],
  { token0, token1 }: { readonly token0: PricedToken; readonly token1: PricedToken },
  { amounts, ...row }: { readonly amounts: TokenAmounts } & Pick<Holding, 'position' | 'refused' | 'withdrawable'>,
): void {
  addLiquidityRow(rows, { token: token0, amount: amounts.amount0 }, row)
  addLiquidityRow(rows, { token: token1, amount: amounts.amount1 }, row)
}

/** A token as a row shows it; it has no price if its decimals are undefined. */
export type HeldToken = Pick<Token, 'address' | 'symbol' | 'name' | 'decimals'>

/** The same on Solana; its address is the mint. */
export interface AccountToken extends Omit<HeldToken, 'address'> {
  readonly address: string
}

/** Why a holding is not counted; `detail` is a sentence without a full stop. */
export interface HoldingExclusion {
  readonly reason: 'dust' | 'spam' | 'withdrawal_reverts' | 'exceeds_liquidity'
  readonly detail: string
}

/** A wallet's holdings in a family on one chain, at one block. */
export interface Holdings {
  readonly block: Block
  /** In any order; none is of amount zero. */
  readonly rows: readonly Holding[]
  /**
   * Reads histories to tell parts of positions apart that state shows as one, and returns the rows with them; as far as
   * that is quick. Absent if nothing is to be told. Throws `AbortedError`.
   */
  readonly itemize?: (work: Work) => Promise<readonly Holding[]>
  /** Positions beyond the first `positionsMax`. */
  readonly omitted?: OmittedPositions
  /** The family's own tokens that represent `rows`: they are not assets of the wallet. Checksummed. */
  readonly ownTokens: readonly Address[]
  /** Tokens of positions that are empty now: the wallet may hold what it withdrew. Checksummed. */
  readonly emptied?: readonly Address[]
  /** Holdings missing from `rows`, in words for a list: `2 positions of uniswap-v3 that cannot be decoded`. */
  readonly notRead: readonly string[]
  /** What is to be seen to at the positions, and what they earn, from the same state; absent if the family does not say. */
  readonly listOutlooks?: () => readonly PositionOutlook[]
  /** How the rows are taken out; absent if the family does not say. */
  readonly listExits?: () => readonly HoldingExit[]
  /** Contracts of the family that hold what many own: they lend it to the execution of exits of other families. */
  readonly lenders?: readonly Address[]
}

/** Chain and block of a query for a wallet's holdings. */
export interface HoldingsTarget extends Pick<FamilyTarget<unknown>, 'client' | 'block'> {
  /** Tokens that the caller names, checksummed: a family may know them as its own. @default none */
  readonly named?: readonly Address[]
}

/** A request to one endpoint. */
export interface HoldingsRequest {
  readonly endpoint: Endpoint
  /** The block to read at; absent: the newest. It may be present although the target has none. */
  readonly block?: PinnedBlock | undefined
  /** Maximum number of positions to read: of more, the first ones. */
  readonly positionsMax: number
}

/** Positions of a family that are beyond the maximum. */
export interface OmittedPositions extends Pick<Holding, 'kind'> {
  readonly family: string
  /** Above zero. */
  readonly count: number
}

/** Says how many positions of a family are beyond the maximum; nothing if none is. */
export function countOmitted(
  { family, kind, count }: OmittedPositions,
  positionsMax: number,
): Pick<Holdings, 'omitted'> {
  return count > positionsMax ? { omitted: { family, kind, count: count - positionsMax } } : {}
}

/**
 * Reads the wallet's holdings from one endpoint. It sends the first lens call before it awaits anything that takes a
 * turn of the event loop, so that the call shares its `eth_call` with those of the other families. Throws as
 * `Endpoint.call`.
 */
export type ReadHoldings = (request: HoldingsRequest, work: Work) => Promise<Holdings>

/** Reads wallets' holdings in a family. */
export interface HoldingsReader {
  /** Chains that have the family. */
  readonly chainIds: ReadonlySet<number>
  /**
   * Loads what the single call depends on: deployments live at the block, entries from history. Undefined if nothing
   * was deployed. Throws `UnavailableError` until that is available.
   */
  open(wallet: Address, target: HoldingsTarget, work: Work): Promise<ReadHoldings | undefined>
}

/*
 * Wallets' holdings in a family on Solana. All accounts of an answer are read together, at one slot: a family first
 * lists the accounts it needs, and then interprets them.
 */

/** An amount of one token in a position, as of a slot; its token's address is a mint. */
export interface AccountHolding extends Omit<Holding, 'token'> {
  readonly token: AccountToken
  readonly slot: bigint
}

/** A wallet's holdings in a family on Solana. */
export interface AccountHoldings {
  /** In any order; none is of amount zero. */
  readonly rows: readonly AccountHolding[]
  /** Mints of tokens that represent `rows`: they are not assets of the wallet. */
  readonly ownTokens: readonly string[]
  /** Holdings missing from `rows`, in words for a list. */
  readonly notRead: readonly string[]
  /** As of `Holdings`. */
  readonly listOutlooks?: () => readonly PositionOutlook[]
  /** How the positions were found; absent if no other method could find more. */
  readonly search?: HoldingsSearch
}

/** How positions were found. */
export interface HoldingsSearch {
  /** False if there may be others. */
  readonly complete: boolean
  readonly by: string
  /** Number of markets searched, if not all. */
  readonly markets?: number | undefined
}

/** The accounts that a wallet's holdings need. */
export interface HoldingsPlan extends Pick<Holdings, 'omitted'> {
  /** The oldest and the newest slot at which the wallet's positions were listed. */
  readonly oldest: bigint
  readonly newest: bigint
  /** Lists of addresses, each to be read at one slot, of the first `positionsMax` positions. */
  readonly items: readonly (readonly string[])[]
  /** Throws `UpstreamError` if an answer contradicts itself: it then counts as the endpoint's failure. */
  readonly check?: (answer: SolanaAccounts) => void
  /** Interprets the accounts of each item; `changed` if other accounts must be read. Throws `UpstreamError`. */
  read(groups: readonly AccountGroup[]): Promise<AccountHoldings | 'changed'>
}

/** A query for a wallet's holdings on Solana. */
interface HoldingsQuery {
  readonly wallet: string
  /** The earliest slot that may answer. */
  readonly minSlot: bigint
  /** Promise of the wallet's token list, so planning can start before it resolves. */
  readonly listed: Promise<WalletTokens>
  /** Maximum number of positions to read. */
  readonly positionsMax: number
}

/** Reads wallets' holdings in a family on Solana. */
export interface AccountHoldingsReader {
  /** What the last read needed, from memory; undefined if never read or partly evicted. */
  recall(wallet: string): Pick<HoldingsPlan, 'items' | 'check'> | undefined
  /** Finds the accounts that the wallet's holdings need now. Throws as `SolanaSession`. */
  plan(session: SolanaSession, query: HoldingsQuery): Promise<HoldingsPlan>
}
