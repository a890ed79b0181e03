import { expect, test } from 'bun:test'
import { createConnection } from '../../../../src/chain/rpc/connection.ts'
import { createRpcMetrics } from '../../../../src/chain/rpc/metrics.ts'
import { createWork } from '../../../../src/lib/async/work.ts'
import { createMetrics } from '../../../../src/lib/metrics.ts'
import { createFixedClock } from '../../../support/test_clock.ts'

const REQUEST = { method: 'eth_call', params: [], parse: String }
const never = createWork(new AbortController().signal)

/** A connection whose endpoint gives these answers in order, and a clock that moves 250 ms each time it is read. */
function scripted(...answers: readonly (() => Response)[]) {
  let id = 0
  let nowMs = 0
  const metrics = createMetrics()
  const clock = createFixedClock(
    () => nowMs,
    () => {
      nowMs += 250
      return nowMs
    },
  )
  const fetch = async () => answers[id++]?.() ?? Response.error()
  const connection = createConnection('https://rpc-secret', {
    clock,
    fetch,
    record: createRpcMetrics(metrics)(10),
    index: 1,
    random: () => 0,
    timeoutMs: 60_000,
  })
  return {
    send: (work = never) => connection.send(REQUEST, work).catch((error: Error) => error),
    lines: () => metrics.render().split('\n'),
  }
}

/** An answer to the request of this number, from 1. */
function answer(id: number, outcome: object): () => Response {
  return () => Response.json({ jsonrpc: '2.0', id, ...outcome })
}

test('a connection counts each request by its outcome', async () => {
  const made = scripted(
    answer(1, { result: '0x1' }),
    answer(2, { error: { code: 3, message: 'execution reverted', data: '0x' } }),
    answer(3, { error: { code: -32_602, message: 'invalid params' } }),
    () => new Response('slow down', { status: 429 }),
    () => new Response('gone', { status: 500 }),
  )
  expect(await made.send()).toBe('0x1')
  for (let count = 0; count < 4; count++) expect(await made.send()).toBeInstanceOf(Error)
  const leaving = new AbortController()
  const left = made.send(createWork(leaving.signal))
  leaving.abort()
  expect(await left).toBeInstanceOf(Error)
  for (const outcome of ['ok', 'reverted', 'refused', 'busy', 'failed', 'left']) {
    expect(made.lines()).toContain(`walletscope_rpc_requests_total{chain_id="10",endpoint="2",outcome="${outcome}"} 1`)
  }
})

test('a connection times each request and never names its endpoint', async () => {
  const made = scripted(answer(1, { result: '0x1' }), () => new Response('gone', { status: 500 }))
  for (let count = 0; count < 3; count++) await made.send()
  const lines = made.lines()
  expect(lines).toContain('walletscope_rpc_request_duration_seconds_count{chain_id="10",endpoint="2"} 3')
  expect(lines).toContain('walletscope_rpc_request_duration_seconds_bucket{chain_id="10",endpoint="2",le="0.1"} 0')
  expect(lines.join()).not.toContain('rpc-secret')
})
