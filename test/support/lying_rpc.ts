import { RING_ADDRESS } from '../../src/chain/past/state_canary.ts'
import { createRpc } from '../devnet/rpc.ts'

/**
 * What an endpoint does with states of blocks below a height, without any error: `empty`, as nodes do that have pruned
 * them; `later`, the newest state in the context of the block; `codeless`, it only says of every contract that it has
 * no code; `hidden`, it says so in calls alone. `ringless` tells the truth of a chain without a ring of block hashes, at every height.
 */
export type StateLie = 'empty' | 'later' | 'codeless' | 'hidden' | 'ringless'

interface Request {
  readonly id: unknown
  readonly method: string
  readonly params: readonly unknown[]
}

/** A real endpoint that lies about old states. */
export interface LyingRpc {
  readonly url: string
  /** Requests by method. */
  readonly counts: Map<string, number>
  /** Replaces the lies before; several hold at once. */
  lie(lies: readonly StateLie[], below: number): void
  stop(): Promise<void>
}

/** Position of the block among the parameters of a method that reads state. */
const BLOCK_AT: Readonly<Record<string, number>> = {
  eth_call: 1,
  eth_getCode: 1,
  eth_getBalance: 1,
  eth_getTransactionCount: 1,
  eth_getStorageAt: 2,
}
const NOTHING: Readonly<Record<string, string>> = {
  eth_getCode: '0x',
  eth_getBalance: '0x0',
  eth_getTransactionCount: '0x0',
  eth_getStorageAt: `0x${'0'.repeat(64)}`,
}

/** Starts a proxy before `upstream`, honest at first. `accounts` are all that its chain has: an empty state lacks them. */
export async function startLyingRpc(upstream: string, accounts: readonly string[] = []): Promise<LyingRpc> {
  const rpc = createRpc(upstream)
  const counts = new Map<string, number>()
  let lies: readonly StateLie[] = []
  let below = 0

  const send = async (request: Request) => {
    const body = JSON.stringify({ jsonrpc: '2.0', ...request })
    const response = await fetch(upstream, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    })
    return (await response.json()) as object
  }

  async function answer(request: Request): Promise<object> {
    const { id, method, params } = request
    counts.set(method, (counts.get(method) ?? 0) + 1)
    const place = BLOCK_AT[method]
    if (place === undefined || lies.length === 0) return await send(request)
    const block = await findBlock(params[place])
    const isOld = Number(block.number) < below
    if (isOld && lies.includes('codeless') && method === 'eth_getCode') return { jsonrpc: '2.0', id, result: '0x' }
    if (lies.includes('ringless') && method === 'eth_getStorageAt' && params[0] === RING_ADDRESS)
      return { jsonrpc: '2.0', id, result: NOTHING[method] }
    if (isOld && lies.includes('empty') && method !== 'eth_call') return { jsonrpc: '2.0', id, result: NOTHING[method] }
    const changed = [...params]
    if (isOld && lies.includes('later')) changed[place] = 'latest'
    if (method === 'eth_call') {
      const given = (params[2] ?? {}) as Readonly<Record<string, object>>
      const isEmptied = lies.includes('empty') || lies.includes('hidden')
      const emptied = isOld && isEmptied ? accounts.map((each) => [each.toLowerCase(), GONE] as const) : []
      const hasRing = !lies.includes('ringless') && !(isOld && lies.includes('empty'))
      const ring = hasRing ? {} : { [RING_ADDRESS]: { ...GONE, ...given[RING_ADDRESS] } }
      changed[2] = { ...Object.fromEntries(emptied), ...given, ...ring }
      if (isOld && lies.includes('later')) changed[3] = { number: block.number, time: block.timestamp }
    }
    return await send({ ...request, params: changed })
  }

  function findBlock(tag: unknown): Promise<{ readonly number: string; readonly timestamp: string }> {
    const hash = (tag as { readonly blockHash?: string }).blockHash
    return hash === undefined
      ? rpc.call('eth_getBlockByNumber', tag, false)
      : rpc.call('eth_getBlockByHash', hash, false)
  }

  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: async (incoming) => Response.json(await answer((await incoming.json()) as Request)),
  })
  return {
    url: `http://127.0.0.1:${server.port}/`,
    counts,
    lie(next, height) {
      lies = next
      below = height
    },
    stop: () => server.stop(true),
  }
}

/** An account without code, balance and storage. */
const GONE = { code: '0x', balance: '0x0', nonce: '0x0', state: {} } as const
