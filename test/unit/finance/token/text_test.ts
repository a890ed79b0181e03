import { describe, expect, test } from 'bun:test'
import { concatHex, encodeAbiParameters, type Hex, padHex, stringToHex, toHex } from 'viem'
import { decodeTokenText, TEXT_BYTES_MAX, toTokenDisplayText } from '../../../../src/finance/token/text.ts'
import { cpuSeconds } from '../../../support/cpu.ts'

/** What a contract returns for a string, cut to the length that the lens copies. */
function returned(text: string): Hex {
  return encodeAbiParameters([{ type: 'string' }], [text]).slice(0, 2 + TEXT_BYTES_MAX * 2) as Hex
}

describe('decodeTokenText()', () => {
  test('reads strings, and 32 bytes up to the first NUL', () => {
    expect(decodeTokenText(returned('USDC'))).toBe('USDC')
    expect(decodeTokenText(returned('Ξther 🐸'))).toBe('Ξther 🐸')
    expect(decodeTokenText(stringToHex('MKR', { size: 32 }))).toBe('MKR')
    expect(decodeTokenText(stringToHex('a name of exactly 32 characters.', { size: 32 }))).toBe(
      'a name of exactly 32 characters.',
    )
    expect(decodeTokenText(returned(''))).toBe('')
    expect(decodeTokenText(returned('padded\0\0'))).toBe('padded')
  })

  test('keeps the first 256 bytes of a long string, whole characters only', () => {
    expect(decodeTokenText(returned('x'.repeat(2_000)))).toBe('x'.repeat(256))
    expect(decodeTokenText(returned(`${'x'.repeat(255)}é`))).toBe('x'.repeat(255))
    expect(decodeTokenText(returned('é'.repeat(128)))).toBe('é'.repeat(128))
  })

  test('takes at most a few times longer for a text of NULs than for others', async () => {
    const secondsFor = (answer: Hex) =>
      cpuSeconds(() => {
        for (let count = 0; count < 500; count++) decodeTokenText(answer)
      }, 9)
    const padded = `${'\0'.repeat(255)}x`
    expect(decodeTokenText(returned(padded))).toBe(padded)
    expect((await secondsFor(returned(padded))) / (await secondsFor(returned('x'.repeat(256))))).toBeLessThan(5)
  })

  test('returns an empty text for empty and short answers and false lengths', () => {
    const lie = concatHex([
      toHex(32, { size: 32 }),
      toHex(2n ** 256n - 1n, { size: 32 }),
      stringToHex('LIE', { size: 32 }),
    ])
    const tooLong = concatHex([toHex(32, { size: 32 }), toHex(40, { size: 32 }), stringToHex('LIE', { size: 32 })])
    const elsewhere = concatHex([toHex(64, { size: 32 }), toHex(3, { size: 32 }), stringToHex('LIE', { size: 32 })])
    const cutLie = concatHex([toHex(32, { size: 32 }), toHex(2n ** 255n, { size: 32 }), padHex('0x41', { size: 256 })])
    for (const answer of [
      undefined,
      '0x',
      '0x41',
      padHex('0x41', { size: 63 }),
      lie,
      tooLong,
      elsewhere,
      cutLie,
    ] as const) {
      expect(decodeTokenText(answer)).toBe('')
    }
  })

  test('replaces bytes that are not UTF-8', () => {
    const bytes = concatHex([
      toHex(32, { size: 32 }),
      toHex(2, { size: 32 }),
      padHex('0xc328', { size: 32, dir: 'right' }),
    ])
    expect(decodeTokenText(bytes)).toBe('\ufffd(')
  })
})

test('toTokenDisplayText() keeps at most 64 letters, all of them visible and in one form', () => {
  expect(toTokenDisplayText(decodeTokenText(returned('ＵＳ\u3164Ｄ\u{e0100}Ｃ\u2800')))).toBe('USDC')
  expect(toTokenDisplayText('x'.repeat(100))).toBe('x'.repeat(64))
  expect([...toTokenDisplayText('\ufdfa'.repeat(20))].length).toBe(64)
})
