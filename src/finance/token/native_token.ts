import { zeroAddress } from 'viem'
import type { FinanceChain } from '../chain.ts'
import type { Token } from './token.ts'

/** Returns a chain's native token as the token of the zero address. */
export function toNativeToken({ nativeCurrency }: FinanceChain): Token & { readonly decimals: number } {
  const { symbol = '', name = symbol, decimals = 18 } = nativeCurrency ?? {}
  return { address: zeroAddress, symbol, name, decimals, asWritten: { symbol, name } }
}
