import type { Address } from 'viem'
import type { Block, PinnedBlock } from '../../chain/block.ts'
import type { HoldingExit } from '../../family/exit.ts'
import type {
  AccountToken,
  DebtTerm,
  HeldToken,
  Holding,
  HoldingExclusion,
  HoldingsSearch,
  Payable,
  Source,
} from '../../family/holding.ts'
import type { PositionOutlook } from '../../family/outlook.ts'
import type { NoPrice, PriceMark, UsdPrice } from '../../finance/price/price.ts'
import type { Withdrawable, WithdrawalLimit } from '../../finance/withdrawable.ts'
import type { Work } from '../../lib/async/work.ts'
import type { Decimal } from '../../lib/number/decimal.ts'

/** Kinds of rows, in the order in which rows of equal value are sorted. */
export const ROW_KINDS = ['wallet', 'liquidity', 'supplied', 'borrowed'] as const
export type RowKind = (typeof ROW_KINDS)[number]

/** Reasons for not counting a row, in order of precedence. */
export const UNCOUNTED_REASONS = [
  'dust',
  'spam',
  'withdrawal_reverts',
  'unlisted',
  'stale',
  'unpriced',
  'thin',
  'exceeds_liquidity',
  'at_maturity',
] as const
export type UncountedReason = (typeof UNCOUNTED_REASONS)[number]

/** Those reasons that say that a price is missing. */
export const PRICE_REASONS: readonly UncountedReason[] = ['stale', 'unpriced', 'thin'] satisfies NoPrice['reason'][]

/** An amount of one token that a wallet has or owes, at the block or slot of its chain's read. */
export interface HeldAsset {
  readonly chainId: number
  readonly kind: RowKind
  readonly token: HeldToken | AccountToken
  /** Smallest units, above zero, also for a debt; 0 for dust, whose amounts are not read. */
  readonly amount: bigint
  readonly price: Pricing
  /** What can be paid out of it at the block; absent: all of it. The rest is not counted, for the reason. */
  readonly payable?: Payable | undefined
  /** Where a withdrawal of it takes tokens from, in its order; other rows may share them. */
  readonly sources?: readonly Source[] | undefined
  /** What a withdrawal of it alone pays at the block; absent: all of it. */
  readonly withdrawable?: Withdrawable | undefined
  /** True if the token is on no list. */
  readonly isUnlisted: boolean
  /** Any other reason against counting it. */
  readonly refused: HoldingExclusion | undefined
  /** Null for tokens in the wallet itself. */
  readonly position: Holding['position'] | null
  /** Of a debt with a term. */
  readonly term?: DebtTerm | undefined
  /** Of a supply where debts have a term: whether it backs them. */
  readonly isCollateral?: boolean | undefined
  /** Solana: what of it is in frozen accounts, above zero. */
  readonly frozenAmount?: bigint
  /** The asset's own slot, if assets of one answer were read at several Solana slots. */
  readonly slot?: bigint
}

/** Assets and debts of a wallet on one chain, at one block or slot. */
export interface AssetsRead {
  readonly block: Pick<Block, 'chainId' | 'number'>
  readonly assets: readonly HeldAsset[]
  /** Reads the assets with all parts of positions told apart; absent if they are. Throws `AbortedError`. */
  readonly itemize?: (work: Work) => Promise<readonly HeldAsset[]>
  /** Number of tokens whose balance was read, without the native one. */
  readonly tokensAsked: number
  /** True if no source of prices is configured for the chain. */
  readonly isUnsourced: boolean
  /** Positions beyond those that are summed, as items of a list; absent if there are none. */
  readonly omitted?: readonly string[]
  /** Holdings that were not read, as items of a list. */
  readonly notRead: readonly string[]
  /** Number of single-unit tokens without decimals, which are not assets; absent if they were not read. */
  readonly nfts?: number
  /** What its families say of the positions besides. */
  readonly outlooks?: () => readonly PositionOutlook[]
  /** How its families' rows are taken out, and which contracts may lend to that; absent where nothing executes it. */
  readonly exits?: {
    /** As calls see it. */
    readonly block: Block
    /** The same by its header; absent for the newest one. */
    readonly past?: PinnedBlock
    readonly list: () => readonly HoldingExit[]
    readonly lenders: readonly Address[]
  }
  /** How families found positions, if there may be more. */
  readonly searches?: readonly (HoldingsSearch & { readonly family: string })[]
}

/** A price, or why there is none. */
export type Pricing = Priced | NoPrice

/** A price. */
export interface Priced {
  readonly kind: 'price'
  readonly price: UsdPrice
  /** The price of a debt, if it is another. */
  readonly debtPrice?: UsdPrice
  /** US dollars that the token's pools pay: the upper bound for the value of all its assets. */
  readonly boundUsd?: Decimal
  /** Marks of a price by pools. */
  readonly marks?: readonly PriceMark[]
}

/** An asset and whether it is counted. */
export interface Row extends Pick<HeldAsset, 'chainId' | 'kind' | 'token' | 'amount' | 'position'> {
  readonly term: DebtTerm | undefined
  readonly isCollateral: boolean | undefined
  readonly frozenAmount: HeldAsset['frozenAmount'] | undefined
  readonly slot: HeldAsset['slot'] | undefined
  /** Of a debt, the price of what is owed. */
  readonly price: UsdPrice | undefined
  readonly marks: readonly PriceMark[]
  readonly verdict: Verdict
  /** What of its amount is not counted. */
  readonly rest: UncountedRest | undefined
  /** What a withdrawal of it alone pays; undefined if there is nothing to withdraw: of the wallet itself, and of a debt. */
  readonly withdrawal: RowWithdrawal | undefined
}

/** What a withdrawal of a row alone pays. */
export interface RowWithdrawal {
  /** Smallest units; undefined if no endpoint tells. */
  readonly raw: bigint | undefined
  /** US dollars at the row's price; undefined without one. */
  readonly value: Decimal | undefined
  /** The first reason why it is less than the amount. */
  readonly limitedBy: WithdrawalLimit | undefined
}

/** Whether anything of a row is counted. */
export type Verdict =
  | { readonly counted: true; readonly value: Decimal }
  | { readonly counted: false; readonly reason: UncountedReason; readonly detail: string }

/** The part of an amount that is not counted. */
interface UncountedRest {
  /** Smallest units. */
  readonly raw: bigint
  /** US dollars; undefined without a price. */
  readonly value: Decimal | undefined
  readonly reason: UncountedReason
}
