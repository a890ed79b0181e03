import type { Address, Hex } from 'viem'
import type { TickRange } from '../../../finance/math/liquidity.ts'
import type { DecodedRows, HistoryLog, LogFilter } from '../../../history/stream.ts'
import { memoize } from '../../../lib/memoize.ts'
import type { CustodyEvent, WalletEvent } from '../position_history/custody_event.ts'
import type { Custodian, ProtocolWords, Reward } from '../protocol.ts'
import type { ExitCustody } from './exit.ts'

/*
 * Exchanges whose manager enumerates the positions of a wallet, keeps one sum of fees and withdrawn principal, and logs
 * every flow, as Uniswap V3's `NonfungiblePositionManager` does. Its forks differ from it in what follows alone.
 */

/** One position manager of an exchange. */
export interface EnumerableDeployment {
  readonly manager: Address
  readonly factory: Address
  /** The manager has no events before this block. */
  readonly startBlock: number
  /** `protocol.code` of its positions. */
  readonly code: string
  /** What holds positions of the manager for wallets. */
  readonly custodians?: readonly Custodian[] | undefined
  /** Lists more such custodians, more than a table could, and new ones come; it stands for each of them. */
  readonly registry?: Custodian
}

/** Custodians that registries list, by deployment. */
export type RegisteredCustodians = ReadonlyMap<EnumerableDeployment, readonly Custodian[]>

/** A contract that enumerates positions of wallets: a manager, or a custodian of its positions. */
export interface PositionHolder {
  readonly deployment: EnumerableDeployment
  readonly custodian: Custodian | undefined
}

const listAllHolders = memoize((deployments: readonly EnumerableDeployment[]) =>
  memoize((registered: RegisteredCustodians): readonly PositionHolder[] => [
    ...deployments.map((deployment) => ({ deployment, custodian: undefined })),
    ...deployments.flatMap((deployment) => {
      const { custodians = [], registry } = deployment
      const others = registered.get(deployment) ?? (registry === undefined ? [] : [registry])
      return [...custodians, ...others].map((custodian) => ({ deployment, custodian }))
    }),
  ]),
)

const NONE_REGISTERED: RegisteredCustodians = new Map()

/**
 * Lists what holds positions at a block, the newest unless it is given: a row of the lens each. All managers come first,
 * in the order of the deployments. A registry is a row itself unless `registered` has what it lists.
 */
export function listHolders({
  deployments,
  block,
  registered = NONE_REGISTERED,
}: {
  readonly deployments: readonly EnumerableDeployment[]
  readonly block?: { readonly number: bigint } | undefined
  readonly registered?: RegisteredCustodians | undefined
}): readonly PositionHolder[] {
  const holders = listAllHolders(deployments)(registered)
  if (block === undefined) return holders
  const stood = ({ custodian }: PositionHolder) => custodian === undefined || custodian.startBlock <= block.number
  return holders.every(stood) ? holders : holders.filter(stood)
}

/** What claiming a reward pays now, and what it forfeits until a time. Smallest units. */
type RewardAmounts = Omit<Reward, 'token'>

/** What a reward may follow from besides the lens' words. */
interface RewardedPosition extends TickRange {
  readonly liquidity: bigint
  readonly custodian?: Custodian | undefined
  readonly pool: { readonly tick: number }
}

/** What a custodian's hooks may know of a position. */
interface KeptPosition {
  readonly owner: Address
  readonly custodian?: Custodian | undefined
  readonly rewards?: readonly { readonly words: readonly bigint[] }[]
}

/** What custodians of an exchange log of the positions that they hold. */
export interface CustodyLog {
  /** Name of the stream of its events: `uniswap_v3_custody`. */
  readonly streamName: string
  /** Lists filters whose union finds every event of these positions at a custodian. */
  readonly listFilters: (custodian: Hex, subjects: readonly Hex[]) => readonly LogFilter[]
  /**
   * Decodes events, in order; `receipts` are those of transactions that an earlier call left unsettled. Throws
   * `IncompleteError` if logs must be missing.
   */
  readonly decode: (
    custodian: Hex,
    logs: readonly HistoryLog[],
    receipts: ReadonlyMap<Hex, readonly HistoryLog[]>,
  ) => DecodedRows<CustodyEvent>
  /** The words of a custodian's state of a position that stand still between its events. */
  readonly state: {
    readonly selector: Hex
    readonly words: readonly number[]
    /** True if all words say that the custodian does not know the position. */
    readonly isAbsent: (words: readonly bigint[]) => boolean
  }
  /** What it pays without naming the position. Absent: `decode` finds all payments. */
  readonly payments?: WalletPayments
}

/** What a custodian pays to a wallet without naming the position. Its getters take a token id, unless stated otherwise. */
export interface WalletPayments {
  /** Name of the stream of a wallet's events: `slipstream_wallet`. */
  readonly streamName: string
  /** Lists filters whose union finds every event of these wallets at a custodian. */
  readonly listFilters: (custodian: Hex, wallets: readonly Hex[]) => readonly LogFilter[]
  /**
   * Decodes events, in order. Payments have no token id; the amount of an update is what the payment of its position
   * forfeited. Throws `IncompleteError` if logs must be missing.
   */
  readonly decode: (logs: readonly HistoryLog[]) => readonly WalletEvent[]
  readonly getters: {
    /** Growth inside up to which the reward of a position is counted. */
    readonly growth: Hex
    /** What is counted and not paid. */
    readonly owed: Hex
    /** The token of all payments; it takes nothing. */
    readonly token: Hex
    /** The manager of its positions; it takes nothing. */
    readonly manager: Hex
    /** How many positions of a wallet there are, and one of them; they take the wallet, and a place. */
    readonly count: Hex
    readonly item: Hex
  }
  /** What a growth brings to a position, which wraps. */
  readonly computeGrown: (growth: { readonly before: bigint; readonly after: bigint }, liquidity: bigint) => bigint
}

/** An exchange and its forks. */
export interface EnumerableExchange {
  /** Path segment and name of the family: `uniswap-v3`. */
  readonly name: string
  readonly words: ProtocolWords
  /** True if deployments may have custodians: its lens is then a `CustodiedPositions`. @default {false} */
  readonly hasCustodians?: true
  /** `EnumerablePositions` with the exchange's function of pools, and the name of its calls. */
  readonly lens: { readonly topic: string; readonly runtime: Hex }
  /** Finds the custodian of a position among those that a registry stands for, by its pool's words. */
  readonly locateCustodian?: (registry: Custodian, words: readonly bigint[]) => Custodian
  /** Selector of the pool's getter of that custodian, for positions that are burned. */
  readonly custodianGetter?: Hex
  /** True if the state names the owner of a position that was read by its id alone. @default always */
  readonly isOwnerKnown?: (position: KeptPosition) => boolean
  /** Computes a reward of a position from the words that the lens wrote of it. Absent: it has no rewards. */
  readonly computeReward?: (words: readonly bigint[], position: RewardedPosition) => RewardAmounts
  /** What custodians log. Absent: what they paid is not known. */
  readonly custodyLog?: CustodyLog
  /** Tells how a position leaves its custodian. Absent: it is taken out as if its owner held it. */
  readonly exitCustody?: ExitCustody
  /** Name of the stream of its positions' flows: `uniswap_v3_flow`. */
  readonly streamName: string
  /** What names a pool beside its tokens, such as its fee, for positions that are burned. */
  readonly poolKey: {
    /** Selector of the pool's getter; it answers a number. */
    readonly getter: Hex
    /** Selector of the factory's function that returns the pool of two tokens and that number. */
    readonly getPool: Hex
    /** The largest number. */
    readonly max: bigint
  }
}
