import { describe, expect, test } from 'bun:test'
import { encodeAbiParameters, type Hex } from 'viem'
import { toToken } from '../../../../src/finance/token/token.ts'
import { toWalletAddress } from '../../../devnet/addresses.ts'

/** What a contract returns for a string. */
function returned(text: string): Hex {
  return encodeAbiParameters([{ type: 'string' }], [text])
}

function shown(text: string): string {
  return toToken({ address: toWalletAddress('token'), decimals: 18, symbol: returned(text), name: undefined }).symbol
}

describe('toToken()', () => {
  test('keeps no control, formatting or bidirectional characters, and at most 64 code points', () => {
    expect(shown('U\u202eS\u200bD\u0007C\r\n')).toBe('USDC')
    expect(shown('  two words  ')).toBe('two words')
    expect([...shown('🐸'.repeat(64))]).toHaveLength(64)
    expect(shown('<b>bold</b>')).toBe('<b>bold</b>')
    expect(shown('x'.repeat(100))).toBe('x'.repeat(64))
    expect(shown(`${'x'.repeat(63)} y`)).toBe('x'.repeat(63))
  })

  test('keeps the original text for the spam rules', () => {
    const raw = { address: toWalletAddress('token'), decimals: 18, symbol: returned('U\u200bSDC'), name: undefined }
    expect(toToken(raw).asWritten).toEqual({ symbol: 'U\u200bSDC', name: '' })
  })

  test('has decimals from 0 to 77 or none', () => {
    const decimals = (value: number | undefined) =>
      toToken({ address: toWalletAddress('token'), decimals: value, symbol: undefined, name: undefined }).decimals
    expect([0, 18, 77, 78, 255, undefined].map(decimals)).toEqual([0, 18, 77, undefined, undefined, undefined])
  })
})
