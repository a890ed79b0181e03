import { expect, test } from 'bun:test'
import { type CacheableRequest, createResponseCache, createTag } from '../../../../src/http/exchange/response_cache.ts'
import type { Answer, PresentContext } from '../../../../src/http/route/route.ts'
import { createFixedClock } from '../../../support/test_clock.ts'

const SENT: CacheableRequest = {
  address: 'https://api.example.org/v1/things?page=1',
  body: undefined,
  isCacheable: true,
}
const BODY = Buffer.from('{"wallets":["a"]}')

/** Openings under a clock that stands still until it is moved. */
function openings() {
  const time = { ms: 1_000 }
  return { time, ...createResponseCache(createFixedClock(0, () => time.ms)) }
}

/** An answer that counts how often it is presented. */
function createAnswer(data: unknown, untilMs = 2_000) {
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

test('an answer is built once for equal requests, until its blocks end', () => {
  const { find, store: make, time } = openings()
  expect(find(SENT)).toBeUndefined()
  const first = createAnswer([1])
  const made = make(SENT, first.answered)
  expect(JSON.parse(`${made.text}}`)).toEqual({ data: [1], counts: { url: SENT.address } })
  expect(made).toMatchObject({ headers: { 'x-own': 'yes', 'x-as-of': '1:7' }, credits: 3, creditsMin: 2 })
  const second = createAnswer([2])
  expect(make(SENT, second.answered)).toBe(made)
  expect(find({ ...SENT })).toBe(made)
  expect([first.presented(), second.presented()]).toEqual([1, 0])
  time.ms = 1_999
  expect(find(SENT)).toBe(made)
  time.ms = 2_000
  expect(find(SENT)).toBeUndefined()
  expect(JSON.parse(`${make(SENT, createAnswer([3], 3_000).answered).text}}`).data).toEqual([3])
})

test('chains of which the word of one endpoint counts are named', () => {
  const { store } = createResponseCache(createFixedClock())
  const present = (reply: object) => {
    const answer: Answer = { credits: 1, untilMs: 0, present: () => ({ data: [], ...reply }) }
    return store(SENT, { answer, creditsMin: 1 }).headers
  }
  const at = (chainId: number, blockNumber: bigint) => ({ chainId, blockNumber })
  expect(present({ asOf: [at(1, 8n), at(10, 9n)] })).toEqual({ 'x-as-of': '1:8,10:9' })
  expect(present({ asOf: [at(1, 8n), at(10, 8n)], unwitnessed: [137, 10] })).toEqual({
    'x-as-of': '1:8,10:8',
    'x-unwitnessed': '10,137',
  })
  expect(present({ asOf: [], unwitnessed: [1] })).toEqual({ 'x-unwitnessed': '1' })
})

test.each<[string, CacheableRequest]>([
  ['another query', { ...SENT, address: SENT.address.replace('page=1', 'page=2') }],
  ['another host', { ...SENT, address: SENT.address.replace('api', 'other') }],
  ['a body', { ...SENT, body: BODY }],
])('an answer is not given for %s', (_, sent) => {
  const { find, store: make } = openings()
  make(SENT, createAnswer(1).answered)
  expect(find(sent)).toBeUndefined()
})

test('bodies are distinguished by every byte, also with equal length and ending', () => {
  const { find, store: make } = openings()
  const bodies = ['a', 'b'].map((first) => Buffer.from(`${first}${'x'.repeat(100)}`))
  for (const body of [...bodies, ...bodies]) {
    const sent = { ...SENT, body }
    expect(find(sent)).toBeUndefined()
    const made = make(sent, createAnswer(body.toString()).answered)
    expect(find({ ...SENT, body: Buffer.from(body) })).toBe(made)
  }
})

test('an answer without blocks, or of blocks that have ended, is built each time', () => {
  const { find, store: make } = openings()
  for (const untilMs of [0, 1_000]) {
    const { answered, presented } = createAnswer(1, untilMs)
    make(SENT, answered)
    make(SENT, answered)
    expect([find(SENT), presented()]).toEqual([undefined, 2])
  }
})

test('answers take 32 million characters at most, and 10,000 entries', () => {
  const { find, store: make } = openings()
  const createRequest = (turn: number): CacheableRequest => ({ ...SENT, address: `https://api.example.org/${turn}` })
  const long = 'x'.repeat(10_000_000)
  for (const turn of [0, 1, 2, 3]) make(createRequest(turn), createAnswer(long).answered)
  expect([0, 1, 2, 3].map((turn) => find(createRequest(turn)) !== undefined)).toEqual([false, true, true, true])
  for (let turn = 10; turn < 10_011; turn++) make(createRequest(turn), createAnswer(1).answered)
  expect([10, 11, 10_010].map((turn) => find(createRequest(turn)) !== undefined)).toEqual([false, true, true])
})

test('an answer that depends on more than address and body is not cached', () => {
  const { find, store: make } = openings()
  const tool = { ...SENT, isCacheable: false }
  make(tool, createAnswer('of a tool').answered)
  expect([find(tool), find(SENT)]).toEqual([undefined, undefined])
  make(SENT, createAnswer(1).answered)
  expect(find(tool)).toBeUndefined()
})

test('an answer without data is an internal error', () => {
  expect(() => openings().store(SENT, createAnswer(undefined).answered)).toThrow('Cannot answer without data')
})

test('a tag names the text and the blocks of a response', () => {
  const { store } = createResponseCache(createFixedClock())
  const tag = (data: unknown, blockNumber: bigint) => {
    const present = () => ({ data, asOf: [{ chainId: 1, blockNumber }] })
    const response = store(SENT, { answer: { credits: 1, untilMs: 0, present }, creditsMin: 1 })
    return createTag(response, { organizationId: 'org', address: SENT.address })
  }
  expect(tag([1], 7n)).toMatch(/^"[0-9a-f]{16}"$/)
  expect(tag([1], 7n)).toBe(tag([1], 7n))
  expect(new Set([tag([1], 7n), tag([1], 8n), tag([2], 7n)]).size).toBe(3)
})
