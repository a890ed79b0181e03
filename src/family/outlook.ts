import type { FeeGrowth } from '../finance/math/liquidity.ts'
import { type Decimal, formatExact, rescale } from '../lib/number/decimal.ts'
import type { Rational } from '../lib/number/rational.ts'

/*
 * What a family says of a position besides what it holds: what its owner has to see to, and what it earns. It follows
 * from the state that the position's rows come from, so that nothing else is read.
 */

/** What an owner may have to see to, the most urgent first. */
export const TO_DO_KINDS = [
  'liquidatable',
  'near_liquidation',
  'due',
  'out_of_range',
  'uncollected',
  'blocked',
  'unreadable',
] as const
export type ToDoKind = (typeof TO_DO_KINDS)[number]

/** Something that the owner of a position may have to see to. */
export interface ToDo {
  readonly kind: ToDoKind
  /** A whole sentence for a person. */
  readonly text: string
  /** True for the rows of the position whose worth is at stake. */
  readonly concerns: (row: ConcernedRow) => boolean
}

/** What a row of a position is. */
interface ConcernedRow {
  readonly kind: string
  /** Undefined if its family has no parts. */
  readonly part: string | undefined
}

/** What a position earns that its family cannot tell. */
interface UntoldEarning {
  /** `interest of aave-v3 market main`. */
  readonly what: string
  /** A sentence without a full stop. */
  readonly why: string
}

/**
 * Fees that a unit of liquidity has earned in a position's range up to a block: two blocks tell what the position earned
 * between them.
 */
export interface FeeMeter extends FeeGrowth {
  readonly liquidity: bigint
  /** Time of the block, Unix seconds. */
  readonly timestampSec: bigint
  readonly tokens: readonly [MeteredToken, MeteredToken]
}

/** A token that fees are paid in. */
interface MeteredToken {
  readonly address: string
  readonly symbol: string
  readonly decimals: number
  /** US dollars a whole token; undefined if only its pools tell one. */
  readonly price: Decimal | undefined
}

/** What a family says of a position. */
export interface PositionOutlook {
  /** The fields that name it in its rows, without a part. */
  readonly position: { readonly family: string; readonly [field: string]: string }
  /** The exchange or the lender, forks apart: `pancakeswap_v3`. */
  readonly code: string
  readonly toDo: readonly ToDo[]
  /** Interest of one day at the rates of the block, less what debts cost, US dollars. */
  readonly interestUsd?: Rational | undefined
  /** Absent of a position that earns no fees, and where no past block can be read. */
  readonly fees?: FeeMeter | undefined
  readonly untold?: readonly UntoldEarning[]
}

/** Parts of liquidity positions that their owner can collect without withdrawing anything. */
export const COLLECTABLE_PARTS: readonly string[] = ['fees', 'owed', 'withdrawn', 'rewards']

/** Digits after the point of an amount in a sentence. */
const SENTENCE_DIGITS = 6

/** Formats an amount of a token for a sentence: rounded to six digits, unless nothing would be left. */
export function sayAmount(
  amount: bigint,
  { symbol, decimals }: { symbol: string; decimals: number | undefined },
): string {
  if (decimals === undefined) return `${amount} units of ${symbol}`
  const rounded = rescale(amount, { from: decimals, to: SENTENCE_DIGITS, rounding: 'half_away_from_zero' })
  return `${rounded === 0n ? formatExact(amount, decimals) : formatExact(rounded, SENTENCE_DIGITS)} ${symbol}`
}

/** Returns the name of an exchange for people: `Pancakeswap V3` of `pancakeswap_v3`. */
export function nameExchange(code: string): string {
  return code
    .split('_')
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join(' ')
}
