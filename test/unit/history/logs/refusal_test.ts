import { expect, test } from 'bun:test'
import { parseRefusal } from '../../../../src/chain/rpc/refusal.ts'
import { shrinkWindow, startWindow } from '../../../../src/history/logs/limits.ts'
import { classifyRefusal, LogsRefusedError, type RefusalReaction } from '../../../../src/history/logs/refusal.ts'
import { type Dialect, OTHER_DIALECTS, RANGE_DIALECTS, RESULT_DIALECTS } from './dialects.ts'
import { REFUSALS } from './refusals.ts'

const ASKED = { fromBlock: 1_000_000, toBlock: 1_999_999, divisible: true }

function react({ status, code, words }: Dialect, retryAfterMs?: number) {
  return classifyRefusal({ status, code, words, retryAfterMs }, ASKED)
}

test.each(RANGE_DIALECTS.map((each) => [each.provider, each] as const))('%s caps the range', (_, dialect) => {
  const reaction = react(dialect)
  expect(reaction?.kind).toBe('range')
  if (reaction === undefined) return
  const stated = dialect.reaction.kind === 'range' ? dialect.reaction.blocks : undefined
  expect(shrinkWindow(startWindow(1_000_000, undefined), reaction, 1_000_000).cap).toBe(stated)
})

test.each(RESULT_DIALECTS.map((each) => [each.provider, each] as const))('%s caps the answer', (_, dialect) => {
  const reaction = classifyRefusal({ ...dialect, retryAfterMs: undefined }, { ...ASKED, divisible: false })
  expect(reaction).toEqual(dialect.reaction)
})

test.each(OTHER_DIALECTS.map((each) => [each.provider, each.words, each] as const))('%s: %s', (_, __, dialect) => {
  expect(react(dialect)).toEqual(dialect.reaction)
})

test('a rate limit says how long to wait', () => {
  const said = { status: 429, code: 0, words: '', retryAfterMs: 7_000 }
  expect(classifyRefusal(said, ASKED)).toEqual({ kind: 'rate', pauseMs: 7_000 })
})

test('only who gives no logs at all refuses the kind of request; all others refuse its size', () => {
  expect(new LogsRefusedError(0, { kind: 'unable' }).reason).toBe('kind')
  expect(new LogsRefusedError(0, { kind: 'range', blocks: 10 }).reason).toBe('size')
  expect(new LogsRefusedError(0, { kind: 'behind' }).reason).toBe('size')
})

test('what is not about the request stays a failure', () => {
  for (const words of ['', 'internal error', 'all upstream attempts failed', 'execution reverted']) {
    expect(classifyRefusal({ status: 500, code: -32603, words, retryAfterMs: undefined }, ASKED)).toBeUndefined()
  }
})

test.each([-32602, -32600, -32004, -32000, 3, 0])('unknown words with code %i are a refusal, not a failure', (code) => {
  for (const words of ['Invalid params', 'not today', '']) {
    expect(classifyRefusal({ status: 200, code, words, retryAfterMs: undefined }, ASKED)).toEqual({ kind: 'unknown' })
    expect(classifyRefusal({ status: 400, code, words, retryAfterMs: undefined }, ASKED)).toEqual({ kind: 'unknown' })
  }
})

/** A reaction in the table's words. */
function formatReaction(reaction: RefusalReaction | undefined): string {
  if (reaction === undefined) return 'failure'
  const blocks = 'blocks' in reaction ? reaction.blocks : undefined
  return `${reaction.kind}${blocks === undefined ? '' : ` ${blocks}`}`
}

test.each(REFUSALS.map((each) => [each[0], each[3], each] as const))('%s: %s', (_, __, refused) => {
  const [, status, code, words, meaning, data] = refused
  const error = { code, message: words, ...(data !== undefined && { data }) }
  const body = code === 0 ? words : JSON.stringify({ jsonrpc: '2.0', id: 1, error })
  const refusal = parseRefusal(new Response(body, { status }), body)
  if (refusal === undefined) throw new Error('Expected a refusal')
  const range = { fromBlock: 20_000_000, toBlock: 20_099_999, divisible: true }
  expect(formatReaction(classifyRefusal(refusal, range))).toBe(meaning)
})

test('a proposed range counts only if it lies in what was asked', () => {
  const propose = (words: string) =>
    classifyRefusal(
      { status: 200, code: -32005, words: `query returned more than 10000 results. ${words}`, retryAfterMs: undefined },
      ASKED,
    )
  expect(propose('Try with this block range [0xf4240, 0xf4240].')).toEqual({ kind: 'results', blocks: 1 })
  for (const nonsense of ['[0x0, 0xf4250]', '[0xf4240, 0xfffffff]', '[0xf4240, 0xf4230]', '[0xf4240, 0x1e847f]']) {
    expect(propose(`Try with this block range ${nonsense}.`)).toEqual({ kind: 'results', blocks: undefined })
  }
})

test.each([
  ['exceed', 'topics', 20, 'filter'],
  ['max', 'addresses', 20, 'filter'],
  ['addresses', 'limit', 30, 'filter'],
  ['payload', 'too large', 20, 'filter'],
  ['logs', 'exceed', 30, 'results'],
  ['response', 'too big', 30, 'results'],
  ['fromBlock', 'toBlock', 40, 'range'],
  ['block', 'not found', 60, 'behind'],
  ['newer than', 'head', 20, 'behind'],
  ['beyond', 'latest', 30, 'behind'],
  ['state', 'not available', 40, 'pruned'],
  ['history', 'missing', 40, 'pruned'],
  ['method', 'does not exist', 40, 'unable'],
] as const)('"%s" and "%s" are about each other up to %i characters apart', (first, second, apart, kind) => {
  const kindAt = (characters: number) => {
    const words = `${first}${'-'.repeat(characters)}${second}`
    return classifyRefusal({ status: 200, code: -32_000, words, retryAfterMs: undefined }, ASKED)?.kind
  }
  expect([kindAt(0), kindAt(1), kindAt(apart)]).toEqual([kind, kind, kind])
  expect(kindAt(apart + 1)).not.toBe(kind)
})

test('the words of an endpoint cost no time, whatever they are', () => {
  const words = `${'max 0 - '.repeat(60)}${'9'.repeat(200)}`
  classifyRefusal({ status: 400, code: 0, words: words.slice(0, 500), retryAfterMs: undefined }, ASKED)
  expect(
    classifyRefusal({ status: 400, code: 0, words: `limit ${' '.repeat(480)}`, retryAfterMs: undefined }, ASKED),
  ).toEqual({ kind: 'unknown' })
})
