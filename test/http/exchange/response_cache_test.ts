import { expect, test } from 'bun:test'
import { type CacheableRequest, createResponseCache } from '../../../src/http/exchange/response_cache.ts'
import type { Answer, PresentContext } from '../../../src/http/route/route.ts'

const SENT: CacheableRequest = { address: 'https://api.example.org/v1/things?page=1', body: undefined, isAll: true }
const BODY = Buffer.from('{"wallets":["a"]}')

/** Openings under a clock that stands still until it is moved. */
function openings() {
  const time = { ms: 1_000 }
  return { time, ...createResponseCache({ now: () => 0, monotonicMs: () => time.ms }) }
}

/** An answer that counts how often it is presented. */
function answerOf(data: unknown, untilMs = 2_000) {
  let presented = 0
  const answer: Answer = {
    credits: 3,
    untilMs,
    present({ url }: PresentContext) {
      presented++
      return { data, counts: { url: url.href }, asOf: [{ chainId: 1, blockNumber: 7n }], headers: { 'x-own': 'yes' } }
    },
  }
  return { answered: { answer, creditsMin: 2 }, presented: () => presented }
}

test('an answer is made once for all who send the same, until its blocks end', () => {
  const { find, make, time } = openings()
  expect(find(SENT)).toBeUndefined()
  const first = answerOf([1])
  const made = make(SENT, first.answered)
  expect(JSON.parse(`${made.text}}`)).toEqual({ data: [1], counts: { url: SENT.address } })
  expect(made).toMatchObject({ headers: { 'x-own': 'yes', 'x-as-of': '1:7' }, credits: 3, creditsMin: 2 })
  const second = answerOf([2])
  expect(make(SENT, second.answered)).toBe(made)
  expect(find({ ...SENT })).toBe(made)
  expect([first.presented(), second.presented()]).toEqual([1, 0])
  time.ms = 1_999
  expect(find(SENT)).toBe(made)
  time.ms = 2_000
  expect(find(SENT)).toBeUndefined()
  expect(JSON.parse(`${make(SENT, answerOf([3], 3_000).answered).text}}`).data).toEqual([3])
})

test.each<[string, CacheableRequest]>([
  ['another query', { ...SENT, address: SENT.address.replace('page=1', 'page=2') }],
  ['another host', { ...SENT, address: SENT.address.replace('api', 'other') }],
  ['a body', { ...SENT, body: BODY }],
])('an answer is not given for %s', (_, sent) => {
  const { find, make } = openings()
  make(SENT, answerOf(1).answered)
  expect(find(sent)).toBeUndefined()
})

test('bodies are told apart by every byte, also those of one length and ending', () => {
  const { find, make } = openings()
  const bodies = ['a', 'b'].map((first) => Buffer.from(`${first}${'x'.repeat(100)}`))
  for (const body of [...bodies, ...bodies]) {
    const sent = { ...SENT, body }
    expect(find(sent)).toBeUndefined()
    const made = make(sent, answerOf(body.toString()).answered)
    expect(find({ ...SENT, body: Buffer.from(body) })).toBe(made)
  }
})

test('an answer without blocks, or of blocks that have ended, is made each time', () => {
  const { find, make } = openings()
  for (const untilMs of [0, 1_000]) {
    const { answered, presented } = answerOf(1, untilMs)
    make(SENT, answered)
    make(SENT, answered)
    expect([find(SENT), presented()]).toEqual([undefined, 2])
  }
})

test('answers take 32 million characters at most, and 10,000 entries', () => {
  const { find, make } = openings()
  const sentOf = (turn: number): CacheableRequest => ({ ...SENT, address: `https://api.example.org/${turn}` })
  const long = 'x'.repeat(10_000_000)
  for (const turn of [0, 1, 2, 3]) make(sentOf(turn), answerOf(long).answered)
  expect([0, 1, 2, 3].map((turn) => find(sentOf(turn)) !== undefined)).toEqual([false, true, true, true])
  for (let turn = 10; turn < 10_011; turn++) make(sentOf(turn), answerOf(1).answered)
  expect([10, 11, 10_010].map((turn) => find(sentOf(turn)) !== undefined)).toEqual([false, true, true])
})

test('an answer that more than address and body decides is not kept', () => {
  const { find, make } = openings()
  const tool = { ...SENT, isAll: false }
  make(tool, answerOf('of a tool').answered)
  expect([find(tool), find(SENT)]).toEqual([undefined, undefined])
  make(SENT, answerOf(1).answered)
  expect(find(tool)).toBeUndefined()
})

test('an answer without data is an error of ours', () => {
  expect(() => openings().make(SENT, answerOf(undefined).answered)).toThrow('Cannot answer without data')
})
