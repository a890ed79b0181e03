import { type Address, type Hex, toFunctionSelector } from 'viem'
import { UpstreamError } from '../../../lib/error.ts'
import type { LensCursor } from '../cursor.ts'
import { encodeBytes, encodeCall, packAddress } from '../words.ts'

/*
 * What a wallet would do to take its money out, as data: the encoding of `lens.sol`.
 */

/** A call of a contract, as the wallet. */
interface ExitCall {
  readonly to: Address
  readonly data: Hex
  /** Lowers the word at byte `at` of the data to what a contract answers in the same call, if that is less. */
  readonly patch?: { readonly at: number; readonly from: Address; readonly question: Hex }
  /** Selector by which `to` names the contract to call in its place. */
  readonly getter?: Hex
  /** What goes along of the native token, smallest units. */
  readonly value?: bigint
  /** A sale to `to`, a pool of Uniswap V3, in place of other data. */
  readonly swap?: ExitSwap
  /** @default {false} */
  readonly mayFail?: boolean
}

/** A sale of tokens to a pool: of all of them, or it reverts, with what the pool answers if the limit is the reason. */
interface ExitSwap {
  readonly token: Address
  /** True if that is `token0` of the pool. */
  readonly isToken0: boolean
  /** Smallest units; undefined: as much as the sale before it brought. */
  readonly amount: bigint | undefined
  /** Square root of the price up to which the pool is moved, Q96. */
  readonly limitX96: bigint
}

/** Money that is lent for a step. */
export interface ExitLoan {
  readonly token: Address
  /** Smallest units. */
  readonly amount: bigint
  /** Contracts that are asked for it, in their order. @default {those of the execution} */
  readonly lenders?: readonly Address[]
}

/** Calls that succeed all together, or are undone. */
export interface ExitStep {
  readonly calls: readonly ExitCall[]
  /** Money that the wallet has from elsewhere before the calls. */
  readonly loan?: ExitLoan
  /** Tokens whose balances are watched, the zero address for the native one; at most 16. */
  readonly tokens: readonly Address[]
  /** True if it is only tried after the step before it failed. @default {false} */
  readonly isFallback?: boolean
  /** The most that it may take. @default {1,500,000} */
  readonly gas?: number
  /**
   * Contracts of a step that may be hostile: of steps in one call with the same ones, none is tried after two that used up
   * their gas, and none with any after ten. @default {[]}
   */
  readonly suspects?: readonly Address[]
}

/** A call of the wallet that runs all steps of a unit but fallbacks, by the protocol's own means. */
interface OwnCall {
  readonly to: Address
  /** Encodes the call: few exits need it. */
  encode(): Hex
  /** What became of the steps, by what the contract answers. Throws `UpstreamError` for an answer that is too short. */
  readonly decode: (answer: Hex) => readonly StepOutcome[]
}

/** Steps that share what they draw on: all of them run in one call, in their order. */
export interface ExitUnit<Step extends ExitStep = ExitStep> {
  readonly steps: readonly Step[]
  /** Contracts that take part, besides those called: they lend nothing to it. */
  readonly parties?: readonly Address[]
  /** Contracts that may be hostile, such as hooks and tokens without a price: each gets few chances to use up gas. */
  readonly suspects?: readonly Address[]
  /** Absent if the protocol's contracts do not run all steps in one call, or do not answer what they pay. */
  readonly ownCall?: OwnCall
}

/** What came of a loan. */
interface LentMoney {
  readonly lender: Address
  /** What arrived from the lender, smallest units, perhaps more than was asked for. */
  readonly amount: bigint
}

/** What became of a step. */
export type StepOutcome =
  | {
      readonly kind: 'done'
      /** How much the wallet's balance of each token grew, smallest units; what was lent is part of it. */
      readonly deltas: readonly bigint[]
      /** Undefined without a loan. */
      readonly lent: LentMoney | undefined
    }
  /** `reason`: the first 255 bytes of what the contract said, or the token to the last lender that has the money. */
  | { readonly kind: 'reverted' | 'unfunded'; readonly reason: Hex }
  /** `suspected`: not tried, or with little gas, because what it depends on used up the gas of others. */
  | { readonly kind: 'too_costly' | 'suspected' | 'skipped' | 'unreadable' }

/** Gas of one step: positions take up to 191,000, an odd hook or token a multiple. */
export const STEP_GAS = 1_500_000
const FLAGS = { fallback: 1, mayFail: 1, patch: 2, getter: 4, loan: 8, swap: 16, chained: 32, value: 64 } as const

const MODES = { together: 0, alone: 2 } as const

const SWAP = toFunctionSelector('swap(address,bool,int256,uint160,bytes)')

/** Groups of suspects that a call tells apart. */
const GROUPS_MAX = 127

/** Bytes that are kept of what a contract said, as in `lens.sol`. */
const REASON_BYTES = 255

/** Cuts what a contract said, which may be a mebibyte. */
export function toReason(data: Hex): Hex {
  return `0x${data.slice(2, 2 + 2 * REASON_BYTES)}`
}

/**
 * Encodes units as the lens reads them, which runs one after the other, or each alone, from the state of the block. A loan
 * without lenders is `unfunded`.
 */
export function encodeUnits(wallet: Address, units: readonly ExitUnit[], run: 'together' | 'alone' = 'together'): Hex {
  const tokens = [...new Set(units.flatMap(({ steps }) => steps.flatMap((step) => step.tokens)))]
  const head = packAddress(wallet) + pack(MODES[run], 1) + pack(tokens.length, 1) + tokens.map(packAddress).join('')
  const context = { wallet, tokens, groups: new Map() }
  const body = units.map(({ steps }) => {
    return pack(steps.length, 1) + steps.map((step) => encodeStep(step, context)).join('')
  })
  return `0x${head}${body.join('')}`
}

interface EncodingContext {
  readonly wallet: Address
  readonly tokens: readonly Address[]
  /** Numbers of groups of suspects, from 1. */
  readonly groups: Map<string, number>
}

/** Finds the number of a group of suspects, 0 for none; those beyond the last share its number. */
function findGroup(suspects: readonly Address[], groups: EncodingContext['groups']): number {
  if (suspects.length === 0) return 0
  const key = [...suspects].sort().join()
  const group = groups.get(key) ?? Math.min(groups.size + 1, GROUPS_MAX)
  groups.set(key, group)
  return group
}

function encodeStep(
  { calls, loan, tokens: watched, isFallback = false, gas = STEP_GAS, suspects = [] }: ExitStep,
  { wallet, tokens, groups }: EncodingContext,
): string {
  const indexes = watched.map((token) => pack(tokens.indexOf(token), 1)).join('')
  const lent = loan === undefined ? '' : encodeLoan(loan)
  const body = pack(watched.length, 1) + indexes + lent + calls.map((call) => encodeExitCall(call, wallet)).join('')
  const flags = (isFallback ? FLAGS.fallback : 0) + 2 * findGroup(suspects, groups)
  return pack(flags, 1) + pack(gas, 3) + pack(body.length / 2, 2) + body
}

function encodeLoan({ token, amount, lenders = [] }: ExitLoan): string {
  const data = pack(amount, 32) + lenders.map(packAddress).join('')
  return pack(FLAGS.loan, 1) + packAddress(token) + pack(data.length / 2, 2) + data
}

function encodeExitCall({ to, data, patch, getter, value, swap, mayFail = false }: ExitCall, wallet: Address): string {
  const flags =
    (mayFail ? FLAGS.mayFail : 0) |
    (patch === undefined ? 0 : FLAGS.patch) |
    (getter === undefined ? 0 : FLAGS.getter) |
    (value === undefined ? 0 : FLAGS.value) |
    (swap === undefined ? 0 : FLAGS.swap | (swap.amount === undefined ? FLAGS.chained : 0))
  const sent = swap === undefined ? data : encodeSwap(swap, wallet)
  return [
    pack(flags, 1) + packAddress(to) + pack(sent.length / 2 - 1, 2) + sent.slice(2),
    patch === undefined
      ? ''
      : pack(patch.at, 2) + packAddress(patch.from) + pack(patch.question.length / 2 - 1, 2) + patch.question.slice(2),
    getter?.slice(2) ?? '',
    value === undefined ? '' : pack(value, 32),
  ].join('')
}

function encodeSwap({ token, isToken0, amount = 0n, limitX96 }: ExitSwap, wallet: Address): Hex {
  const data = encodeBytes(packAddress(token).padStart(64, '0'))
  return encodeCall(SWAP, wallet, isToken0 ? 1n : 0n, amount, limitX96, data)
}

/** Throws for a number that does not fit: all that follows would be read wrong. */
function pack(value: number | bigint, bytes: number): string {
  const digits = value.toString(16).padStart(2 * bytes, '0')
  if (digits.length > 2 * bytes) throw new Error(`Cannot encode an exit: ${value} takes more than ${bytes} bytes`)
  return digits
}

/** Decodes the outcome of a step. Throws `UpstreamError` for an unknown one. */
export function decodeOutcome(from: LensCursor, { tokens, loan }: Pick<ExitStep, 'tokens' | 'loan'>): StepOutcome {
  const outcome = from.number(1)
  switch (outcome) {
    case 1: {
      const number = from.number(1)
      const amount = number === 0 ? 0n : from.uint(32)
      const lender = loan?.lenders?.[number - 1]
      const lent = lender === undefined ? undefined : { lender, amount }
      return { kind: 'done', deltas: tokens.map(() => BigInt.asIntN(256, from.uint(32))), lent }
    }
    case 2:
      return { kind: 'reverted', reason: from.hex(from.number(1)) }
    case 3:
      return { kind: 'too_costly' }
    case 4:
      return { kind: 'skipped' }
    case 5:
      return { kind: 'unreadable' }
    case 6:
      return { kind: 'unfunded', reason: from.hex(from.number(1)) }
    case 7:
      return { kind: 'suspected' }
    default:
      throw new UpstreamError(`Cannot decode the lens: unknown outcome ${outcome}`)
  }
}
