import { expect, test } from 'bun:test'
import { openingAtHand, openingOf } from '../../../src/http/exchange/opening.ts'
import type { Answer, Call, PresentContext } from '../../../src/http/route/route.ts'

const PLACE = { base: 'https://api.example.org', path: '/v1/things', query: 'page=1' }
const INPUT = {}

/** An answer that counts how often it is presented. */
function answerOf(madeOf: readonly object[] | undefined, data: unknown) {
  let presented = 0
  const answer: Answer = {
    credits: 3,
    madeOf,
    present({ url }: PresentContext) {
      presented++
      return { data, counts: { url: url.href }, asOf: [{ chainId: 1, blockNumber: 7n }], headers: { 'x-own': 'yes' } }
    },
  }
  return { answer, presented: () => presented }
}

/** A call whose readings are kept. */
function callOf(kept?: readonly object[], input: object = INPUT): Call {
  return {
    input,
    creditsMin: 0,
    kept: () => kept,
    read() {
      throw new Error('Nobody should read')
    },
  }
}

test('an answer is made once for the same readings, input and address, and needs no further reading', () => {
  const reading = {}
  const call = callOf([reading])
  const first = answerOf([reading], [1])
  const made = openingOf(call, first.answer, PLACE)
  expect(JSON.parse(`${made.opening}}`)).toEqual({
    data: [1],
    counts: { url: 'https://api.example.org/v1/things?page=1' },
  })
  expect(made.headers).toEqual({ 'x-own': 'yes', 'x-as-of': '1:7' })
  expect(made.credits).toBe(3)
  const second = answerOf([reading], [1])
  expect(openingOf(call, second.answer, PLACE)).toBe(made)
  expect(openingAtHand(call, PLACE)).toBe(made)
  expect([first.presented(), second.presented()]).toEqual([1, 0])
})

const [READING, BESIDE] = [{}, {}]

test.each([
  ['another query', { ...PLACE, query: 'page=2' }, [READING, BESIDE], INPUT],
  ['another host', { ...PLACE, base: 'https://other.example.org' }, [READING, BESIDE], INPUT],
  ['another path', { ...PLACE, path: '/v1/others' }, [READING, BESIDE], INPUT],
  ['another input', PLACE, [READING, BESIDE], {}],
  ['another reading beside the first', PLACE, [READING, {}], INPUT],
  ['fewer readings', PLACE, [READING], INPUT],
  ['more readings', PLACE, [READING, BESIDE, {}], INPUT],
] as const)('an answer is made again for %s', (_, place, madeOf, input) => {
  openingOf(callOf(), answerOf([READING, BESIDE], 'before').answer, PLACE)
  const call = callOf(madeOf, input)
  expect(openingAtHand(call, place)).toBeUndefined()
  const { opening } = openingOf(call, answerOf(madeOf, 'after').answer, place)
  expect(JSON.parse(`${opening}}`).data).toBe('after')
})

test('an answer is read again if a reading is not kept', () => {
  const reading = {}
  openingOf(callOf(), answerOf([reading], 1).answer, PLACE)
  expect(openingAtHand(callOf(undefined), PLACE)).toBeUndefined()
  expect(openingAtHand(callOf([reading]), PLACE)).toBeDefined()
})

test.each([[undefined], [[]]])('an answer is made each time if nothing decides it: %p', (madeOf) => {
  const { answer, presented } = answerOf(madeOf, 1)
  openingOf(callOf(madeOf), answer, PLACE)
  openingOf(callOf(madeOf), answer, PLACE)
  expect(openingAtHand(callOf(madeOf), PLACE)).toBeUndefined()
  expect(presented()).toBe(2)
})

test('an answer without data is an error of ours', () => {
  expect(() => openingOf(callOf(), answerOf(undefined, undefined).answer, PLACE)).toThrow('Cannot answer without data')
})
