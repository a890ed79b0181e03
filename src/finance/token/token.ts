import { type Address, type Hex, zeroAddress } from 'viem'
import { type LensCursor, readOptional } from '../../chain/call/cursor.ts'
import type { FinanceChain } from '../chain.ts'
import { decodeTokenText, toTokenDisplayText } from './text.ts'

/** Decimals beyond this exceed what 256 bits can count: such a token is unreadable, like one without decimals. */
export const DECIMALS_MAX = 77

/** One token as its contract describes itself, unchecked. */
export interface RawToken {
  readonly address: Address
  /** Undefined if `decimals` fails or does not return a uint8. */
  readonly decimals: number | undefined
  /** First bytes of the result of `symbol`; undefined if it failed or the result is far too long. */
  readonly symbol: Hex | undefined
  readonly name: Hex | undefined
}

/** Reads a token as written by `tokens.sol`. */
export function readToken(from: LensCursor): RawToken {
  return {
    address: from.address(),
    decimals: readOptional(from, () => from.number(1)),
    symbol: from.text(),
    name: from.text(),
  }
}

/** One token, fit for display. */
export interface Token {
  readonly address: Address
  /** Visible text of at most 64 code points; empty if there is none. */
  readonly symbol: string
  readonly name: string
  /** 0 to 77; undefined if the contract returns no such number. */
  readonly decimals: number | undefined
  /** The contract's text before any characters are removed, for the spam rules. */
  readonly asWritten: { readonly symbol: string; readonly name: string }
}

/** Converts a contract's raw description to a token. */
export function toToken(raw: RawToken): Token {
  const symbol = decodeTokenText(raw.symbol)
  const name = decodeTokenText(raw.name)
  return {
    address: raw.address,
    symbol: toTokenDisplayText(symbol),
    name: toTokenDisplayText(name),
    decimals: raw.decimals === undefined || raw.decimals > DECIMALS_MAX ? undefined : raw.decimals,
    asWritten: { symbol, name },
  }
}

/** Returns a chain's native token as the token of the zero address. */
export function toNativeToken({ nativeCurrency }: FinanceChain): Token & { readonly decimals: number } {
  const { symbol = '', name = symbol, decimals = 18 } = nativeCurrency ?? {}
  return { address: zeroAddress, symbol, name, decimals, asWritten: { symbol, name } }
}
