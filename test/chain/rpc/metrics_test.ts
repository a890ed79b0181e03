import { expect, test } from 'bun:test'
import { RevertError, RpcRefusedError } from '../../../src/chain/rpc/client.ts'
import { BusyError } from '../../../src/chain/rpc/error.ts'
import { createRpcMetrics, recorded } from '../../../src/chain/rpc/metrics.ts'
import type { Transport } from '../../../src/chain/rpc/transport.ts'
import { AbortedError, UpstreamError } from '../../../src/lib/error.ts'
import { createMetrics } from '../../../src/lib/metrics.ts'

const REQUEST = { method: 'eth_chainId', params: [], parse: String }

/** A transport that gives its `steps` in order, and a clock that moves 250 ms each time it is read. */
function scripted(...steps: readonly (string | Error)[]): {
  readonly transport: Transport
  readonly metrics: string[]
} {
  let step = 0
  let nowMs = 0
  const metrics = createMetrics()
  const transport: Transport = {
    async send() {
      const next = steps[step++]
      if (next instanceof Error) throw next
      return next as never
    },
  }
  const clock = {
    now: () => nowMs,
    monotonicMs() {
      nowMs += 250
      return nowMs
    },
  }
  return {
    transport: recorded(transport, { record: createRpcMetrics(metrics)(10), clock }),
    get metrics() {
      return metrics.render().split('\n')
    },
  }
}

test('recorded() passes answers and errors on, and counts each by its outcome', async () => {
  const errors = {
    reverted: new RevertError('0x'),
    refused: new RpcRefusedError(-32_602, 'no'),
    busy: new BusyError('slow down', undefined),
    failed: new UpstreamError('gone'),
    left: new AbortedError('left'),
  }
  const made = scripted('0x1', ...Object.values(errors))
  const { signal } = new AbortController()
  expect(await made.transport.send(REQUEST, signal)).toBe('0x1')
  for (const error of Object.values(errors)) await expect(made.transport.send(REQUEST, signal)).rejects.toBe(error)
  for (const outcome of ['ok', ...Object.keys(errors)]) {
    expect(made.metrics).toContain(`walletscope_rpc_requests_total{chain_id="10",outcome="${outcome}"} 1`)
  }
})

test('createRpcMetrics() times each request and never names an endpoint', async () => {
  const made = scripted('0x1', new UpstreamError('https://rpc-secret'), new BusyError('slow down', undefined))
  const { signal } = new AbortController()
  for (let count = 0; count < 3; count++) await made.transport.send(REQUEST, signal).catch(() => {})
  const lines = made.metrics
  expect(lines).toContain('walletscope_rpc_request_duration_seconds_bucket{chain_id="10",le="0.1"} 0')
  expect(lines).toContain('walletscope_rpc_request_duration_seconds_bucket{chain_id="10",le="0.25"} 3')
  expect(lines.join()).not.toContain('rpc-secret')
})
