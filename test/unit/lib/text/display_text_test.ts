import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { hasInvisible, toDisplayText } from '../../../../src/lib/text/display_text.ts'
import { caseCount, IS_FULL } from '../../../support/cases.ts'

const LAST = 0x10ffff
/** From here on Unicode names none but the tags and private ones, so that one of sixteen stands for its neighbours. */
const UNNAMED = 0x32000
const TAGS = 0xe0000
const TAGS_END = 0xe1000
const MAX = 64

/** What Unicode 16 lists as Default_Ignorable_Code_Point, first and last of each range. */
const IGNORABLE = [
  ...[0xad, 0xad, 0x34f, 0x34f, 0x61c, 0x61c, 0x115f, 0x1160, 0x17b4, 0x17b5, 0x180b, 0x180f, 0x200b, 0x200f],
  ...[0x202a, 0x202e, 0x2060, 0x206f, 0x3164, 0x3164, 0xfe00, 0xfe0f, 0xfeff, 0xfeff, 0xffa0, 0xffa0],
  ...[0xfff0, 0xfff8, 0x1bca0, 0x1bca3, 0x1d173, 0x1d17a, 0xe0000, 0xe0fff],
]
/** Letters and symbols without any ink: braille, an object's place, hieroglyphs, Khitan, a note without a head. */
const BLANK = [0x2800, 0xfffc, 0x13441, 0x13442, 0x16fe4, 0x1d159]

function isUnseen(code: number): boolean {
  const inRange = IGNORABLE.some((first, at) => at % 2 === 0 && code >= first && code <= (IGNORABLE[at + 1] ?? 0))
  return inRange || BLANK.includes(code) || /[\p{C}\p{Zl}\p{Zp}]/u.test(String.fromCodePoint(code))
}

describe('toDisplayText()', () => {
  test('keeps no invisible code point of Unicode, and no space but the plain one', () => {
    let left = 0
    let tried = 0
    for (let code = 0; code <= LAST; code++) {
      if (!IS_FULL && code >= UNNAMED && code % 16 !== 0 && !(code >= TAGS && code < TAGS_END)) continue
      tried++
      const shown = toDisplayText(`A${String.fromCodePoint(code)}B`, MAX)
      if (isUnseen(code) && shown !== 'AB') throw new Error(`U+${code.toString(16)} shows as "${shown}"`)
      for (const each of shown) {
        const isSpace = /[\p{Z}\s]/u.test(each) && each !== ' '
        if (isUnseen(each.codePointAt(0) ?? 0) || isSpace) throw new Error(`U+${code.toString(16)} leaves "${shown}"`)
      }
      if (shown === 'AB') left++
    }
    expect(left).toBeGreaterThan(tried * (IS_FULL ? 0.8 : 0.3))
    expect(toDisplayText(String.fromCodePoint(...BLANK), MAX)).toBe('')
  }, 60_000)

  test('respects its limit, is idempotent and stacks no accents', () => {
    const parts = fc.array(
      fc.oneof(
        fc.string({ unit: 'binary', maxLength: 12 }),
        fc.constantFrom(
          '\ufdfa',
          '\u0301',
          '\u0308\u0323',
          '\u3164',
          '\u{e0100}',
          ' ',
          '\u3000',
          'ﾞ',
          'é',
          '각',
          '\u1100',
        ),
      ),
      { maxLength: 40 },
    )
    fc.assert(
      fc.property(parts, fc.integer({ min: 1, max: MAX }), (texts, max) => {
        const shown = toDisplayText(texts.join(''), max)
        expect([...shown].length).toBeLessThanOrEqual(max)
        expect(toDisplayText(shown, max)).toBe(shown)
        expect(shown).not.toMatch(/(?:(?=\p{M})\p{Script=Inherited}){3}|\p{M}{5}|(?:^| )\p{M}|^ | $| {2}/u)
      }),
      { numRuns: caseCount(5_000, 250) },
    )
  }, 60_000)

  test.each([
    ['ＵＳＤＣ', 'USDC'],
    ['𝐔𝐒𝐃𝐂', 'USDC'],
    ['US\u3164DC', 'USDC'],
    ['U\ufe00S\u{e0100}DC', 'USDC'],
    ['\u115f\u1160\uffa0\u2800', ''],
    [`U${'\u0301'.repeat(50)}SDC`, 'Ú\u0301\u0301SDC'],
    ['\u0301\u0301USDC', 'USDC'],
    ['e\u034f\u0301', 'é'],
    ['  two \u3000\u00a0 words ', 'two words'],
  ])('takes from %j what hides it', (text, shown) => {
    expect(toDisplayText(text, MAX)).toBe(shown)
  })

  test.each([
    ...[
      'USD₮0',
      'ΞTH',
      'αETH',
      '比特币',
      '日本円コイン',
      'ビットコイン',
      '비트코인',
      'Биткоин',
      'Tiếng Việt',
      'हिन्दी क्षेत्र',
      'বাংলা',
    ],
    ...[
      'བརྒྱད',
      'שָׁלוֹם',
      'عَرَبِيّ',
      'ქართული',
      'አማርኛ',
      'မြန်မာ',
      'ភាសាខ្មែរ',
      '🐸',
      '🇨🇭',
      '👍🏽',
      'Curve.fi yDAI/yUSDC',
      '€URO',
    ],
  ])('leaves %s as it is', (text) => {
    expect(toDisplayText(text, MAX)).toBe(text.normalize('NFKC'))
    expect(toDisplayText(text, MAX).normalize('NFC')).toBe(text.normalize('NFC'))
  })

  test('keeps each emoji of a joined sequence, and the letters of words with joiners', () => {
    expect(toDisplayText('👨‍👩‍👧 ❤️', MAX)).toBe('👨👩👧 ❤')
    expect(toDisplayText('می‌خواهم', MAX)).toBe('میخواهم')
  })
})

test('hasInvisible() finds invisible characters, and accepts emoji', () => {
  for (const text of ['\u3164', 'A\u2800B', 'A\ufe00', 'A\u{e0101}', 'A\u200bB', '\u202e', 'a\nb'])
    expect(hasInvisible(text)).toBe(true)
  for (const text of ['', 'Acme', 'Grüße & Söhne', '比特币', '❤️ Love']) expect(hasInvisible(text)).toBe(false)
})
