import { type Address, type Hex, hexToString, toFunctionSelector } from 'viem'
import type { ExitStep, ExitUnit } from '../chain/call/exit/step.ts'
import { encodeCall } from '../chain/call/words.ts'
import { UINT256_MAX } from '../lib/number/fixed_point.ts'

/*
 * How a wallet takes out what it holds in a family, as data: the family gives the steps of each position, account or
 * market, and says what a refusal means. It executes nothing.
 */

/** What a refusal means; `health`: what is owed in the same account holds it. */
export type Refusal = 'paused' | 'no_liquidity' | 'hook_forbids' | 'token_refuses' | 'health'

/** A step, and the rows that it pays or repays. */
export interface HoldingStep extends ExitStep {
  readonly kind: 'liquidity' | 'supplied' | 'borrowed'
  /** Parts of the position that it pays. @default all */
  readonly parts?: readonly string[]
  /** True if it pays what backs no debt of its unit. @default {false} */
  readonly isFree?: boolean
  /** Why the steps before it failed, if this one, which asks for less, does not. */
  readonly because?: Refusal
  /** Of a part that debts leave free: what takes the rest once they are repaid. Absent if the step for all does. */
  readonly rest?: ExitStep['calls']
}

/** A position, or an account with its debts: all rows of a position, `part` aside. Debts come first in it. */
export interface HoldingExit extends ExitUnit<HoldingStep> {
  readonly position: { readonly family: string; readonly [field: string]: string }
  /** What a contract's refusal means, of a step of that kind if it is told; undefined if that is not known. */
  readonly explain: (reason: Hex, kind?: HoldingStep['kind']) => Refusal | undefined
}

type ExitCall = ExitStep['calls'][number]

const APPROVE = toFunctionSelector('approve(address,uint256)')
/** Part of a debt that is lent beyond it; what is left goes back. */
const MARGIN = 1_000_000n

/** Repays a debt by a call of the contract that spends the token; `patch` names the spender in the approval instead. */
export function repayDebt(
  { token, debt, spender }: { readonly token: Address; readonly debt: bigint; readonly spender: Address | bigint },
  { call, patch }: { readonly call: ExitCall; readonly patch?: NonNullable<ExitCall['patch']> },
): HoldingStep {
  const approve = (amount: bigint): ExitCall => ({
    to: token,
    data: encodeCall(APPROVE, spender, amount),
    ...(patch && { patch }),
  })
  return {
    kind: 'borrowed',
    tokens: [token],
    loan: { token, amount: debt + debt / MARGIN + 2n },
    // Some tokens let no allowance be changed but from or to zero.
    calls: [{ ...approve(0n), mayFail: true }, approve(UINT256_MAX), call],
  }
}

/** Refusals by the text of `Error(string)`, the selector of an error, or `Panic` with its code. */
export type RefusalTable = Readonly<Record<string, Refusal>>

const ERROR = '0x08c379a0'
const PANIC = '0x4e487b71'

/** Refusals by tokens that many have in common. */
const TOKEN_REFUSALS: RefusalTable = {
  'Pausable: paused': 'token_refuses',
  'ERC20Pausable: token transfer while paused': 'token_refuses',
  'Blacklistable: account is blacklisted': 'token_refuses',
  [toFunctionSelector('EnforcedPause()')]: 'token_refuses',
}

/** Creates a function that finds a refusal in a table, else among those of tokens. */
export function explainBy(table: RefusalTable): HoldingExit['explain'] {
  // A contract may say any word, also the name of what every object has.
  const refusals = new Map(Object.entries({ ...TOKEN_REFUSALS, ...table }))
  return (reason) => refusals.get(readRefusal(reason))
}

/** The text of `Error(string)`, the selector of another error, or `Panic` with its code, in decimal digits. */
function readRefusal(reason: Hex): string {
  const word = (index: number): Hex => `0x${reason.slice(10 + 64 * index, 74 + 64 * index)}`
  if (reason.startsWith(PANIC) && reason.length >= 74) return `Panic ${BigInt(word(0))}`
  if (!reason.startsWith(ERROR) || reason.length < 138) return reason.slice(0, 10)
  const length = Number(BigInt.asUintN(16, BigInt(word(1))))
  return hexToString(`0x${reason.slice(138, 138 + 2 * length)}`)
}
