import type { GenericSchema } from 'valibot'
import type { Address } from 'viem'
import type { Block } from '../../chain/block.ts'
import type { WithExpiry } from '../../chain/block_cache.ts'
import type { SolanaClient } from '../../chain/solana/client.ts'
import type { FeeGrowth, TickRange, TokenAmounts } from '../../finance/math/liquidity.ts'
import type { Pair } from '../../finance/math/pnl/flow.ts'
import type { PricedToken } from '../../finance/token/priced_token.ts'
import type { Work } from '../../lib/async/work.ts'
import type { CodedError } from '../../lib/error.ts'
import type { FamilyServices, IndexableHistory } from '../contract.ts'
import type { AccountHoldingsReader, Holding, HoldingsRequest } from '../holding.ts'
import type { FamilyTarget, HistoricalTargets } from '../moment.ts'
import type { PositionExit } from './exit.ts'
import type { ManagedHistoryQuery } from './histories.ts'
import type { ClassifiedPositions, UnreadablePosition } from './list/classify.ts'
import type { PositionHistoryReader } from './position_history/reader.ts'
import type { TargetReads } from './targets.ts'

/*
 * What a protocol of concentrated liquidity knows and its kind does not. Its positions are tokens of a manager, each in
 * a range of ticks of a pool. The kind has the rest: routes, wire shape, portfolio rows, profit and loss.
 */

/** The deployment of an exchange on one chain. */
export interface LiquidityDeployment {
  /** A block before which its manager has no events; 0 if none is known. */
  readonly startBlock: number
}

/** A contract that holds positions for wallets, such as a farm, and keeps a book of whom each is credited to. */
export interface Custodian {
  readonly address: Address
  /** Its kind, as answers show it: `masterchef`. */
  readonly kind: string
  /** A block before which it held nothing; 0 if none is known. */
  readonly startBlock: number
  /** True if fees of what it holds are not the wallet's: what the manager stores as owed is all. @default {false} */
  readonly takesFees?: true
}

/** The part of a position that sorting and counting a list need. */
export interface BriefPosition {
  readonly chainId: number
  readonly tokenId: bigint
  readonly liquidity: bigint
}

/** A position with all inputs of its figures, at one block. */
export interface LiquidityPosition<Deployment> extends BriefPosition, TickRange {
  readonly deployment: Deployment
  /** Who can withdraw it; the zero address if no wallet can: it was sent to a custodian by a plain transfer. */
  readonly owner: Address
  readonly token0: PricedToken
  readonly token1: PricedToken
  readonly pool: { readonly sqrtPriceX96: bigint; readonly tick: number; readonly global: FeeGrowth }
}

/** A wallet's positions on one chain, at one block. `Withdrawal` is the outcome of an executed withdrawal. */
interface WalletRead<Brief, Withdrawal> extends ClassifiedPositions<Brief> {
  readonly block: Block
  /** Complete withdrawals executed in the same call, by id; absent if there were none. */
  readonly withdrawals?: ReadonlyMap<bigint, Withdrawal>
}

/** Positions of one id on one chain, at one block. */
interface SingleRead<Position> extends ClassifiedPositions<Position> {
  readonly block: Block
}

/** A position with what a complete withdrawal pays, if the formula alone does not tell that. */
export interface FullPosition<Position, Withdrawal> {
  readonly position: Position
  readonly withdrawal: Withdrawal | undefined
}

/** Reads positions, each chain at one block. */
export interface LiquidityReader<Deployment extends LiquidityDeployment, Brief, Position, Withdrawal> {
  /** Targets by chain id, for chains that have the protocol. */
  readonly targets: ReadonlyMap<number, FamilyTarget<Deployment>>
  readonly past: HistoricalTargets<Deployment>
  /**
   * Reads all positions of a wallet on the targets concurrently. A list must be proven complete: the protocol enumerates
   * the ids, and the manager's count of them is compared in the same call. `shownMax`: only so many of the first positions
   * with liquidity, or without, will be completed. Throws `UnavailableError` naming the chain if
   * a target fails, `ListTooLongError` if a list is too long.
   */
  readWallet(
    wallet: Address,
    options: ReadOptions<Deployment> & { readonly shownMax?: number },
  ): Promise<WithExpiry<WalletRead<Brief, Withdrawal>>[]>
  /** Completes positions of a wallet's list, in their order, each at the block of its list. Fails like `readWallet`. */
  complete(
    wallet: Address,
    request: CompleteRequest<Brief, Withdrawal>,
  ): Promise<CompletedPositions<Position>> | CompletedPositions<Position>
  /** Reads the positions of one id on all managers of the targets, spam included. Fails like `readWallet`. */
  readOne(tokenId: bigint, options: ReadOptions<Deployment>): Promise<WithExpiry<SingleRead<Position>>[]>
  /**
   * Adds what figures need besides the state: prices by pools for tokens without another price, and executed
   * withdrawals. Keeps the order. With `list`, the list of the wallet, a token counts up to one bound over all of its
   * positions; else each position stands alone. Fails like `readWallet`.
   */
  readFull(
    positions: readonly Position[],
    at: TargetReads<Deployment, FullContext<Withdrawal>>,
    list?: readonly WalletRead<Brief, Withdrawal>[],
  ): Promise<readonly FullPosition<Position, Withdrawal>[]>
  /** Reads a wallet's first positions from one endpoint, for its portfolio, spam included. Throws as `ReadHoldings`. */
  readHeld(query: HeldQuery<Deployment>, request: HoldingsRequest, work: Work): Promise<HeldRead<Position, Withdrawal>>
}

/** The block of positions, with withdrawals that were executed when they were read. */
type FullContext<Withdrawal> = Pick<WalletRead<unknown, Withdrawal>, 'block' | 'withdrawals'>

interface ReadOptions<Deployment> {
  readonly targets: readonly FamilyTarget<Deployment>[]
  /** False for the state alone, without prices of its tokens. @default {true} */
  readonly isFull?: boolean
  readonly work: Work
}

interface CompleteRequest<Brief, Withdrawal> {
  /** Reads of the list. */
  readonly reads: readonly WalletRead<Brief, Withdrawal>[]
  readonly positions: readonly Brief[]
  /** Same as for the list. @default {true} */
  readonly isFull?: boolean
  readonly work: Work
}

interface CompletedPositions<Position> {
  readonly positions: readonly Position[]
  /** Positions whose tokens or pools now answer differently: a hostile token can tell reads apart. */
  readonly unreadable: readonly UnreadablePosition[]
}

/** What of a position the formulas alone do not tell. */
export interface FigureContext<Withdrawal> {
  readonly withdrawal?: Withdrawal | undefined
  /** Principal withdrawn and not collected; undefined if the position's flows are not known. */
  readonly withdrawn?: Pair<bigint> | undefined
}

/** Amounts that a position holds, by the formulas. */
interface HeldAmounts {
  /** Payout of withdrawing all liquidity. */
  readonly principal: TokenAmounts
  /** Payout of collecting without withdrawing. */
  readonly owed: TokenAmounts
  /** What the manager counts as owed, if its pool may owe less; absent if it is the same. */
  readonly counted?: TokenAmounts
}

/** What is owed, by what it is, and what of a position counts. */
interface OwedParts {
  /** Undefined if fees cannot be separated from withdrawn principal. */
  readonly fees: TokenAmounts | undefined
  /** Withdrawn principal; undefined if `fees` is. Absent if the protocol pays what is withdrawn at once. */
  readonly withdrawn?: TokenAmounts | undefined
  /** Amounts that count together; undefined if that is not known. */
  readonly total: readonly TokenAmounts[] | undefined
}

/** A reward that a position earned besides fees. */
export interface Reward {
  readonly token: PricedToken
  /** What claiming it pays now, smallest units. */
  readonly amount: bigint
  /** What it would bring in a year if its pool and the rate stayed as they are, smallest units. */
  readonly perYear: bigint
  /** What claiming it now forfeits besides, until a time; undefined if nothing. */
  readonly penalty: { readonly amount: bigint; readonly untilSec: bigint } | undefined
  /** What its custodian has for this token's rewards of all positions, smallest units. @default {enough} */
  readonly funds?: bigint
}

/** Part of a position as a row of a portfolio shows it. */
export interface HeldPart extends Partial<Pick<Holding, 'refused' | 'withdrawable'>> {
  /** `principal` */
  readonly part: string
  readonly amounts: TokenAmounts
}

/** A wallet whose first positions a portfolio reads, and the deployments that stand at the block. */
interface HeldQuery<Deployment extends LiquidityDeployment> extends FamilyTarget<Deployment> {
  readonly wallet: Address
}

/** A wallet's first positions, of one endpoint. */
interface HeldRead<Position, Withdrawal> {
  readonly block: Block
  /** Number of all positions. */
  readonly count: number
  readonly positions: readonly Position[]
  readonly unreadable: readonly UnreadablePosition[]
  /** Executed withdrawals; absent if the formulas suffice. */
  readonly withdrawals?: ReadonlyMap<Position, Withdrawal>
}

/** Services that a reader uses; without history a protocol that enumerates ids by logs finds none. */
type ReaderServices = Pick<FamilyServices, 'clients' | 'clock' | 'firstBlocks' | 'testimony'> &
  Partial<Pick<FamilyServices, 'db' | 'history'>>

/** Words of a protocol in routes and errors. */
export interface ProtocolWords {
  /** In errors: `Uniswap V4`. */
  readonly exchange: string
  /** Prefix of its operations: `uniswap_v4`. */
  readonly operation: string
  /** Its name for agents: `Uniswap V3 and its forks`. */
  readonly title: string
  /** In summaries, singular: `Uniswap V4 position`. */
  readonly noun: string
  /** Sentence that the list's summary ends with. @default none */
  readonly listNote?: string
  /** The error for an id that no manager knows. */
  readonly describeMissing: (tokenId: bigint) => string
}

/**
 * One exchange and its forks. Hooks are in the order in which an answer needs them.
 */
export interface LiquidityProtocol<
  Deployment extends LiquidityDeployment,
  Brief extends BriefPosition,
  Position extends LiquidityPosition<Deployment>,
  Withdrawal,
> {
  /** Path segment and name of the family: `uniswap-v3`. */
  readonly name: string
  readonly words: ProtocolWords
  /** The contract that a position is a token of. */
  readonly getManager: (deployment: Deployment) => Address
  /** `protocol.code` of the deployment's positions: it names the exchange, of forks too. */
  readonly getCode: (deployment: Deployment) => string
  /**
   * Owners, and how to locate a pool and decode both: creates a reader of state over the chains that are configured and
   * have deployments.
   */
  readonly createReader: (
    services: ReaderServices & { readonly deployments: ReadonlyMap<number, readonly Deployment[]> },
  ) => LiquidityReader<Deployment, Brief, Position, Withdrawal>
  /**
   * The custodian that holds a position; undefined if its owner does. Absent if the protocol has no custodians: then
   * answers have no such field. Each position is of exactly one wallet, since a list takes it from its custodian's book
   * alone.
   */
  readonly getCustodian?: (position: Position) => Custodian | undefined
  /**
   * True if the state names the owner of a position that was read by its id alone; else answers have null.
   * @default always
   */
  readonly isOwnerKnown?: (position: Position) => boolean
  /** True if contracts enumerate a wallet's ids, so that a receipt of state covers its list. */
  readonly isEnumerable: boolean
  /** The fee rule: what a position holds and is owed, from its state. */
  readonly computeHeldAmounts: (position: Position) => HeldAmounts
  /** Fee growth inside the range that is the position's; undefined if it earns nothing. */
  readonly computeInside: (position: Position) => FeeGrowth | undefined
  /** Sorts what is owed into fees and withdrawn principal, and says what counts in all. */
  readonly splitOwed: (position: Position, held: HeldAmounts, context: FigureContext<Withdrawal>) => OwedParts
  /** Parts of a position as rows of a portfolio: what its owner gets, and why not if he does not. */
  readonly toHeldParts: (position: Position, context: FigureContext<Withdrawal>) => readonly HeldPart[]
  /** Rewards of a position, also those of which nothing can be claimed now. Absent if the protocol has none. */
  readonly computeRewards?: (position: Position) => readonly Reward[]
  /** How its owner takes a position out. */
  readonly exitPosition: (position: Position) => PositionExit
  /** Contracts of a deployment that hold the tokens of many pools. @default none */
  readonly listLenders?: (deployment: Deployment) => readonly Address[]
  /** Presents the pool, its fee rule among it, without its square-root price. */
  readonly presentPool: (position: Position) => object
  /** Fields of the figures that only this protocol has. @default none */
  readonly presentWithdrawal?: (full: FullPosition<Position, Withdrawal>) => object
  /** Schemas of success bodies, without `request_id`. */
  readonly outputs: { readonly list: GenericSchema; readonly position: GenericSchema }
  /** Figures besides profit and loss that state alone does not determine, so that no receipt covers them: `usd.total`. */
  readonly listUncoveredFields: (position: Position) => readonly string[]
  /**
   * Flows, how they are proven, and how a burned position is found: creates a reader of positions' histories over stored
   * flows.
   */
  readonly createHistoryReader: (
    services: Pick<FamilyServices, 'db' | 'history' | 'clock'>,
  ) => PositionHistoryReader<ManagedHistoryQuery<Deployment, Position>>
  /** Streams of a deployment's logs that can be indexed ahead, with their titles. */
  readonly listHistories: (
    target: { readonly chainId: number; readonly deployment: Deployment },
    clock: FamilyServices['clock'],
  ) => readonly Pick<IndexableHistory, 'title' | 'complete'>[]
  /** True if the error says that profit and loss of the position can never be computed. @default never */
  readonly isPnlImpossible?: (error: unknown) => boolean
  /** `pnl_status` of an answer that is recomputed from state alone. */
  readonly pnlStatusOfState: 'pending' | 'failed'
  /** How principal is known that was withdrawn and not collected; absent if the protocol pays it at once. */
  readonly withdrawn?: {
    /** True if the manager stores an amount as owed to a position: then only its flows tell what it is. */
    readonly isOwed: (position: Position) => boolean
    /** Words that name the state after the position's last flow. */
    readonly listState: (position: Position) => readonly bigint[]
  }
}

/** A position that is an account of Solana, with the slot of its read. */
export interface AccountPosition {
  readonly slot: bigint
}

/** A page of a wallet's positions on Solana, as of a slot. */
export interface AccountList<Position> {
  readonly slot: bigint
  /** True if its positions are of different slots; `slot` is the lowest. */
  readonly isMixed: boolean
  /** Positions of the page, in the order of answers. */
  readonly positions: readonly Position[]
  readonly totalActive: number
  readonly totalInactive: number
  /** Positions that are left out because a token of their pool is spam. */
  readonly spams: readonly { readonly program: string; readonly tokenId: string; readonly reason: string }[]
  readonly unreadable: number
  /** Positions beyond those that a list has. */
  readonly omitted: number
}

/** Wallet, filter and page of a list on Solana. */
export interface AccountListQuery {
  readonly wallet: string
  readonly isActive: boolean
  readonly isFull: boolean
  readonly page: number
  readonly limit: number
}

/** A requested position on Solana. The wallet is named because endpoints do not tell who holds it. */
export interface AccountQuery {
  readonly id: string
  readonly wallet: string
  readonly isFull: boolean
}

/** A position of a wallet, or why there is none. */
export type AccountRead<Position, Absence> =
  | { readonly kind: 'found'; readonly position: Position }
  | { readonly kind: 'absent'; readonly reason: Absence }

/** Reads positions on Solana. Throws `UpstreamError` if it cannot be read or the positions keep changing. */
export interface AccountReader<Position, Absence> {
  /** Reads all positions of a wallet for its portfolio. */
  readonly holdings: AccountHoldingsReader
  /** Reads a page of a wallet's positions, each at one slot; with `isFull`, with all inputs of its figures. */
  readWallet(query: AccountListQuery, work: Work): Promise<WithExpiry<AccountList<Position>>>
  readOne(query: AccountQuery, work: Work): Promise<WithExpiry<AccountRead<Position, Absence>>>
}

/**
 * One exchange of Solana: its positions are accounts that a wallet's tokens stand for. It has no hooks of the past, since
 * endpoints keep no past state of accounts; arithmetic and prices are its own.
 */
export interface AccountProtocol<Setting, Position extends AccountPosition, Absence> {
  /** Path segment and name of the family: `orca-whirlpool`. */
  readonly name: string
  readonly words: Pick<ProtocolWords, 'exchange' | 'operation' | 'title' | 'noun'> & {
    /** Describes the id of a position. */
    readonly idNote: string
  }
  /** Time for one answer of the reader, milliseconds. */
  readonly budgetMs: number
  readonly createReader: (
    services: Pick<FamilyServices, 'clock'> & { readonly solana: SolanaClient },
    setting: Setting,
  ) => AccountReader<Position, Absence>
  /** Presents a position, with its figures if they were read. */
  readonly presentPosition: (
    position: Position,
    options: { readonly hasSqrtPrice: boolean; readonly hasSlot: boolean },
  ) => object
  /** The error for a position that there is not. */
  readonly explainAbsence: (reason: Absence, query: Pick<AccountQuery, 'id' | 'wallet'>) => CodedError
  /** Schemas of success bodies, without `request_id`. */
  readonly outputs: { readonly list: GenericSchema; readonly position: GenericSchema }
}
