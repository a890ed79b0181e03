/**
 * An endpoint of a chain as long as wanted, of which no block is kept: what happens in a block follows from its number.
 * Each act is two logs, as the emitter of the tests makes them. One command a line on stdin, one line of JSON back.
 */
import { numberToHex } from 'viem'
import { EMITTER, POOL_TOPIC, TOKEN_TOPIC, toTopic, toWallet } from '../../support/history/scene.ts'

/** What the chain is like, in `BENCH_CHAIN`. */
export interface LongChain {
  readonly chainId: number
  readonly blocks: number
  readonly actsPerBlock: number
  readonly wallets: number
  /** The longest range of `eth_getLogs`; 0: any. */
  readonly cap: number
  /** The most logs of an answer. */
  readonly logsMax: number
}

/** Reply to every command: requests for logs since the start, refused ones, and the returned logs. */
export interface LongChainCounts {
  readonly requests: number
  readonly refused: number
  readonly logs: number
}

interface RpcCall {
  readonly id: unknown
  readonly method: string
  readonly params: readonly unknown[]
}

interface Filter {
  readonly fromBlock: string
  readonly toBlock: string
  readonly topics: readonly (string | readonly string[] | null)[]
}

const CHAIN: LongChain = JSON.parse(process.env['BENCH_CHAIN'] ?? '{}')
const COUNTS = { requests: 0, refused: 0, logs: 0 }
const GENESIS_SEC = 1_700_000_000
const BLOOM = `0x${'00'.repeat(256)}`

const server = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  idleTimeout: 0,
  async fetch(request) {
    const call = (await request.json()) as RpcCall
    const answer = answerTo(call)
    const member = 'error' in answer ? `"error":${JSON.stringify(answer.error)}` : `"result":${answer.result}`
    return new Response(`{"jsonrpc":"2.0","id":${JSON.stringify(call.id)},${member}}`, {
      headers: { 'content-type': 'application/json' },
    })
  },
})
console.log(JSON.stringify({ url: `http://127.0.0.1:${server.port}` }))

for await (const line of console) if (line !== '') console.log(JSON.stringify(COUNTS satisfies LongChainCounts))

type Answer = { readonly result: string } | { readonly error: { readonly code: number; readonly message: string } }

function answerTo({ method, params }: RpcCall): Answer {
  switch (method) {
    case 'eth_chainId':
      return { result: JSON.stringify(numberToHex(CHAIN.chainId)) }
    case 'eth_getBlockByNumber':
      return { result: createHeader(params[0] === 'latest' ? CHAIN.blocks : Number(params[0])) }
    case 'eth_getBlockByHash':
      return { result: createHeader(Number(BigInt(String(params[0])) & 0xffffffffn)) }
    case 'eth_getLogs':
      return createLogs(params[0] as Filter)
    default:
      return { error: { code: -32601, message: 'the method does not exist' } }
  }
}

function createLogs({ fromBlock, toBlock, topics }: Filter): Answer {
  COUNTS.requests++
  const [from, to] = [Number(fromBlock), Number(toBlock)]
  if (CHAIN.cap > 0 && to - from + 1 > CHAIN.cap) return refusal(-32602, `block range exceeds limit of ${CHAIN.cap}`)
  const wanted = topics[1] === undefined || topics[1] === null ? undefined : new Set([topics[1]].flat())
  const parts: string[] = []
  let logs = 0
  for (const wallet of wanted === undefined ? [undefined] : listWallets(wanted)) {
    const step = wallet === undefined ? 1 : CHAIN.wallets
    let act = computeFirstAct(from)
    if (wallet !== undefined) act += (wallet - (act % CHAIN.wallets) + CHAIN.wallets) % CHAIN.wallets
    for (; computeBlock(act) <= to; act += step) {
      logs += 2
      if (logs > CHAIN.logsMax) return refusal(-32005, `query returned more than ${CHAIN.logsMax} results`)
      parts.push(getPair(act))
    }
  }
  COUNTS.logs += logs
  return { result: `[${parts.join(',')}]` }
}

function refusal(code: number, message: string): Answer {
  COUNTS.refused++
  return { error: { code, message } }
}

function listWallets(topics: ReadonlySet<string>): readonly number[] {
  const first = BigInt(toWallet(0))
  return [...topics].map((topic) => Number(BigInt(topic) - first)).filter((wallet) => wallet < CHAIN.wallets)
}

/** Acts are numbered along the chain. */
function computeFirstAct(block: number): number {
  let act = Math.max(0, Math.floor((block - 1) * CHAIN.actsPerBlock) - 1)
  while (computeBlock(act) < block) act++
  return act
}

function computeBlock(act: number): number {
  return 1 + Math.floor(act / CHAIN.actsPerBlock)
}

function getPair(act: number): string {
  const block = computeBlock(act)
  const index = 2 * (act - computeFirstAct(block))
  const wallet = toTopic(toWallet(act % CHAIN.wallets))
  const data = numberToHex(1_000_000 + act, { size: 32 })
  const at = `"address":"${EMITTER}","data":"${data}","blockNumber":"${numberToHex(block)}","blockHash":"${toHash(block)}","blockTimestamp":"${numberToHex(GENESIS_SEC + 12 * block)}","transactionHash":"${numberToHex(act + 1, { size: 32 })}","transactionIndex":"${numberToHex(index / 2)}","removed":false`
  const log = (topic: string, logIndex: number) =>
    `{"topics":["${topic}","${wallet}"],"logIndex":"${numberToHex(logIndex)}",${at}}`
  return `${log(POOL_TOPIC, index)},${log(TOKEN_TOPIC, index + 1)}`
}

function toHash(block: number): string {
  return numberToHex((0xb10cn << 64n) | BigInt(block), { size: 32 })
}

function createHeader(block: number): string {
  if (!(block >= 0 && block <= CHAIN.blocks)) return 'null'
  const timestamp = numberToHex(GENESIS_SEC + 12 * block)
  return JSON.stringify({
    number: numberToHex(block),
    hash: toHash(block),
    parentHash: toHash(Math.max(0, block - 1)),
    timestamp,
    logsBloom: BLOOM,
  })
}
