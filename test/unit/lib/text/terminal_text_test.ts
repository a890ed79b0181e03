import { expect, test } from 'bun:test'
import { escapeLine, escapeLines } from '../../../../src/lib/text/display_text.ts'

test('escapeLine() escapes what a terminal obeys or does not show, and nothing else', () => {
  const unseen: readonly (readonly [text: string, escaped: string])[] = [
    ['\u001b[8m', '\\u001b[8m'],
    ['\u009b2J', '\\u009b2J'],
    ['a\r\nb', 'a\\u000d\\u000ab'],
    ['\u007f', '\\u007f'],
    ['\u202egnp', '\\u202egnp'],
    ['\u2066\u200b', '\\u2066\\u200b'],
    ['\u2028', '\\u2028'],
    ['\u{e0041}', '\\udb40\\udc41'],
    ['\ud800', '\\ud800'],
  ]
  for (const [text, escaped] of unseen) expect(escapeLine(text)).toBe(escaped)
  const seen = 'Ünïcode 漢字 😀 ½ — "…" \\n'
  expect(escapeLine(seen)).toBe(seen)
})

test('escapeLines() keeps lines, and JSON the same value', () => {
  expect(escapeLines('a\u001b\nb\u0085')).toBe('a\\u001b\nb\\u0085')
  const value = { name: '\u001b\u009b\u202e\n\u{e0041}', list: [1] }
  const text = escapeLines(JSON.stringify(value, undefined, 2))
  expect(JSON.parse(text)).toEqual(value)
  expect(text.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}]/u)
})
