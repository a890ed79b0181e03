import { expect, test } from 'bun:test'
import { hasLure } from '../../../../../src/finance/token/spam.ts'

test('an amount of money is its sign or its coin right beside a number', () => {
  for (const lure of ['$5 reward', '$ 5 reward', '5 usdc reward', '5usdc reward', 'won $1,000', 'bonus 20 eth']) {
    expect({ lure, is: hasLure(lure) }).toEqual({ lure, is: true })
  }
  // A sign without a number, and a number that stands further off or behind something else.
  for (const word of ['$ reward', '$reward', '$ - 5 reward', '$-5 reward', '5 - usdc reward', '5-usdc reward']) {
    expect({ word, is: hasLure(word) }).toEqual({ word, is: false })
  }
})

test('letters right after a digit are not a word', () => {
  expect(hasLure('claim your')).toBe(true)
  expect(hasLure('1claim your')).toBe(false)
  expect(hasLure('claim 1your')).toBe(false)
})

test('two words are a lure if they are close enough for one sentence', () => {
  for (const [first, second, gap] of [
    ['claim', 'reward', 24],
    ['claim', 'now', 12],
    ['reward', 'claimable', 24],
    ['visit', 'website', 40],
    ['free', 'mint', 12],
    ['$5', 'free', 16],
    ['5 usdc', 'bonus', 16],
    ['won', '$5', 16],
  ] as const) {
    const apart = (characters: number) => hasLure(`${first} ${'-'.repeat(characters - 2)} ${second}`)
    expect({ first, second, within: apart(gap), beyond: apart(gap + 1) }).toEqual({
      first,
      second,
      within: true,
      beyond: false,
    })
  }
})
