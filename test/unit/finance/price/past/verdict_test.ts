import { expect, test } from 'bun:test'
import type { Hex } from 'viem'
import { classifyRound } from '../../../../../src/finance/price/past/round_check.ts'

const PHASE = 1n << 64n
const TIME_SEC = 1_000n

const words = (...values: readonly bigint[]): Hex =>
  `0x${values.map((value) => value.toString(16).padStart(64, '0')).join('')}`
const round = (id: bigint, answer: bigint, updatedAtSec: bigint) => words(id, answer, updatedAtSec, updatedAtSec, id)
const claim = (id: bigint, updatedAtSec: bigint) => ({
  timeSec: TIME_SEC,
  round: { id: PHASE | id, answer: 7n, updatedAtSec, decimals: 8 },
})
const newest = round(PHASE | 9n, 70n, 5_000n)
const digits = words(8n)

test('a claim of the previous round contradicts; a next round in the same second or unfinished does not', () => {
  const same = round(PHASE | 3n, 7n, 900n)
  const verdictWith = (next: Hex | undefined) => classifyRound(claim(3n, 900n), [newest, digits, same, next])
  expect(verdictWith(round(PHASE | 4n, 8n, 999n))).toBe('contradicts')
  expect(verdictWith(round(PHASE | 4n, 8n, 1_000n))).toBe('agrees')
  expect(verdictWith(round(PHASE | 4n, 8n, 1_001n))).toBe('agrees')
  expect(verdictWith(round(PHASE | 4n, 0n, 0n))).toBe('agrees')
  expect(verdictWith(undefined)).toBe('agrees')
})

test('the newest round of a feed needs no next round', () => {
  const now = [round(PHASE | 3n, 7n, 900n), digits, undefined, round(PHASE | 4n, 8n, 950n)]
  expect(classifyRound(claim(3n, 900n), now)).toBe('agrees')
  expect(classifyRound(claim(3n, 901n), now)).toBe('contradicts')
})

test('a feed that does not answer now is silent', () => {
  expect(classifyRound(claim(3n, 900n), [undefined, digits, undefined, undefined])).toBe('silent')
})
