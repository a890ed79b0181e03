import { expect, test } from 'bun:test'
import {
  type Charge,
  computeCredits,
  getUnitCredits,
  PER_CALL,
  priceSentence,
} from '../../../../src/http/route/charge.ts'

const LIST: Charge = {
  credits: 2,
  per: 'position on the page',
  instead: [
    { parameter: 'status', value: 'inactive', credits: 1 },
    { parameter: 'full', value: true, credits: 15 },
  ],
}
const BATCH: Charge = { credits: 15, per: 'wallet', many: { from: 100, credits: 12 }, terms: 'counted before pages' }

test('a parameter changes the price of each', () => {
  expect(getUnitCredits(LIST, { status: undefined, full: false })).toBe(2)
  expect(getUnitCredits(LIST, { status: 'inactive', full: false })).toBe(1)
  expect(getUnitCredits(LIST, { status: undefined, full: true })).toBe(15)
  expect(computeCredits(LIST, { status: undefined, full: true }, 10)).toBe(150)
  expect(computeCredits(LIST, {}, 0)).toBe(0)
})

test('many cost less each, from the configured number on', () => {
  expect([99, 100, 101].map((count) => computeCredits(BATCH, {}, count))).toEqual([1485, 1200, 1212])
  expect(getUnitCredits(BATCH, {})).toBe(15)
})

test('the sentence states the whole charge', () => {
  expect(priceSentence(LIST)).toBe('2 credits per position on the page; 1 with status=inactive, 15 with full=true.')
  expect(priceSentence(BATCH)).toBe('15 credits per wallet, 12 where 100 or more match, counted before pages.')
  expect(priceSentence({ credits: 1 })).toBe('1 credit.')
  expect(priceSentence({ credits: 1, per: PER_CALL })).toBe('1 credit per successful call.')
})
