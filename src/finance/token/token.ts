import type { Address, Hex } from 'viem'
import { type LensCursor, readOptional } from '../../chain/call/cursor.ts'
import { decodeTokenText, toTokenDisplayText } from './text.ts'

/** Decimals beyond this exceed what 256 bits can count: such a token is unreadable, like one without decimals. */
export const DECIMALS_MAX = 77

/** One token as its contract describes itself, unchecked. */
export interface RawToken {
  readonly address: Address
  /** Undefined if `decimals` fails or does not answer a uint8. */
  readonly decimals: number | undefined
  /** First bytes of what `symbol` returned; undefined if it failed or answered far too much. */
  readonly symbol: Hex | undefined
  readonly name: Hex | undefined
}

/** What `tokens.sol` wrote about a token. */
export function readToken(from: LensCursor): RawToken {
  return {
    address: from.address(),
    decimals: readOptional(from, () => from.number(1)),
    symbol: from.text(),
    name: from.text(),
  }
}

/** One token, fit to be shown. */
export interface Token {
  readonly address: Address
  /** Text of which everything is seen, at most 64 code points; empty if there is none. */
  readonly symbol: string
  readonly name: string
  /** 0 to 77; undefined if the contract gives no such number. */
  readonly decimals: number | undefined
  /** The contract's text before any characters are removed, for the spam rules. */
  readonly asWritten: { readonly symbol: string; readonly name: string }
}

/** Makes a token from what its contract says about itself. */
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
