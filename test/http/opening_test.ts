import { expect, test } from 'bun:test'
import { openingOf } from '../../src/http/opening.ts'
import type { Answer, PresentContext } from '../../src/http/route.ts'

const ADDRESS = { base: 'https://api.example.org', path: '/v1/things', query: 'page=1' }

/** An answer that counts how often it is presented. */
function answerOf(madeOf: readonly object[] | undefined, data: unknown) {
  let presented = 0
  const answer: Answer = {
    ...{ credits: 1, madeOf },
    present({ url }: PresentContext) {
      presented++
      return { data, counts: { url: url.href }, asOf: [{ chainId: 1, blockNumber: 7n }], headers: { 'x-own': 'yes' } }
    },
  }
  return { answer, presented: () => presented }
}

test('text is made once for the same readings and address', () => {
  const reading = {}
  const first = answerOf([reading], [1])
  const { opening, headers } = openingOf(first.answer, ADDRESS)
  expect(JSON.parse(`${opening}}`)).toEqual({ data: [1], counts: { url: 'https://api.example.org/v1/things?page=1' } })
  expect(headers).toEqual({ 'x-own': 'yes', 'x-as-of': '1:7' })
  const second = answerOf([reading], [1])
  expect(openingOf(second.answer, ADDRESS)).toMatchObject({ opening, headers })
  expect([first.presented(), second.presented()]).toEqual([1, 0])
})

test.each([
  ['another query', { ...ADDRESS, query: 'page=2' }, 'both'],
  ['another host', { ...ADDRESS, base: 'https://other.example.org' }, 'both'],
  ['another path', { ...ADDRESS, path: '/v1/others' }, 'both'],
  ['another reading beside the first', ADDRESS, 'another'],
  ['fewer readings', ADDRESS, 'fewer'],
] as const)('text is made again for %s', (_, address, change) => {
  const [reading, beside] = [{}, {}]
  openingOf(answerOf([reading, beside], 'before').answer, ADDRESS)
  const madeOf = { both: [reading, beside], another: [reading, {}], fewer: [reading] }[change]
  const { opening } = openingOf(answerOf(madeOf, 'after').answer, address)
  expect(JSON.parse(`${opening}}`).data).toBe('after')
})

test.each([[undefined], [[]]])('text is made each time if nothing decides it: %p', (madeOf) => {
  const { answer, presented } = answerOf(madeOf, 1)
  openingOf(answer, ADDRESS)
  openingOf(answer, ADDRESS)
  expect(presented()).toBe(2)
})

test('an answer without data is an error of ours', () => {
  expect(() => openingOf(answerOf(undefined, undefined).answer, ADDRESS)).toThrow('Cannot answer without data')
})
