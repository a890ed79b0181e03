import type { HistoryLog } from '../../../../../src/history/stream.ts'
import type { RpcLog } from '../../../rpc_log.ts'
import { historyLog } from './support.ts'

/** A real endpoint that leaves out some logs. */
export interface LogProxy {
  readonly url: string
  /** Which logs `eth_getLogs` leaves out from now on; receipts stay whole. */
  drop(lost: (log: HistoryLog) => boolean): void
  stop(): Promise<void>
}

/** Starts a proxy before `upstream` that at first leaves out nothing. */
export function startLogProxy(upstream: string): LogProxy {
  let lost: (log: HistoryLog) => boolean = () => false
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      const body = await request.text()
      const headers = { 'content-type': 'application/json' }
      const answer = await fetch(upstream, { method: 'POST', headers, body })
      const { method } = JSON.parse(body) as { readonly method: string }
      if (method !== 'eth_getLogs') return new Response(await answer.arrayBuffer(), { headers })
      const envelope = (await answer.json()) as { readonly result?: readonly RpcLog[] }
      const result = envelope.result?.filter((log) => !lost(historyLog(log)))
      return Response.json({ ...envelope, ...(result === undefined ? {} : { result }) })
    },
  })
  return {
    url: `http://127.0.0.1:${server.port}/`,
    drop(next) {
      lost = next
    },
    async stop() {
      await server.stop(true)
    },
  }
}
