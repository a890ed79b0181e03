/**
 * An endpoint some milliseconds away: before a node (`BENCH_TARGET`), or, for a chain that is longer than a node makes in
 * reasonable time (`BENCH_BLOCKS`), with as many events of the market as blocks, `BENCH_EVERY` in each so-many-th. One
 * command a line on stdin, one line of JSON back.
 */
import { type Hex, numberToHex } from 'viem'
import { listLogs } from '../market.ts'

/** Reply to every command: HTTP requests and the calls in them since the previous command. */
export interface EndpointCounts {
  readonly requests: number
  readonly calls: number
}

interface RpcCall {
  readonly id: unknown
  readonly method: string
  readonly params: readonly unknown[]
}

interface Filter {
  readonly fromBlock: string
  readonly toBlock: string
  readonly address?: string | readonly string[]
  readonly topics?: readonly (string | readonly string[] | null)[]
}

const { BENCH_TARGET, BENCH_CHAIN_ID, BENCH_BLOCKS, BENCH_EVERY, BENCH_FINAL_AFTER, BENCH_DELAY_MS, BENCH_CAP } =
  process.env
const [BLOCKS, EVERY] = [Number(BENCH_BLOCKS ?? 0), Number(BENCH_EVERY ?? 1)]
const [DELAY_MS, CAP] = [Number(BENCH_DELAY_MS), Number(BENCH_CAP)]
const LAST = BLOCKS + Number(BENCH_FINAL_AFTER)
const GENESIS_SEC = 1_700_000_000
const [EMPTY_BLOOM, FULL_BLOOM] = ['00', 'ff'].map((byte) => `0x${byte.repeat(256)}`)
const ZERO = `0x${'00'.repeat(32)}`
const SENDER = `0x5e${'00'.repeat(18)}03`

/** Logs of each block, as text, by what filters ask for. */
const LOGS = Array.from({ length: BLOCKS }, (_, index) => {
  const block = index + 1
  if (!hasEvents(block)) return []
  const at = {
    blockNumber: numberToHex(block),
    blockHash: toHash(block),
    blockTimestamp: toTime(block),
    transactionHash: toTransaction(block),
    transactionIndex: '0x0',
    removed: false,
  }
  const events = Array.from({ length: EVERY }, (_, number) => block - EVERY + number)
  return events.flatMap(listLogs).map(({ address, topics, data }, logIndex) => ({
    address: address as string,
    topic: topics[0] as string,
    text: JSON.stringify({ address, topics, data, logIndex: numberToHex(logIndex), ...at }),
  }))
})

let [requests, calls] = [0, 0]
const server = Bun.serve({ port: 0, hostname: '127.0.0.1', idleTimeout: 0, fetch: answer })
console.log(JSON.stringify({ url: `http://127.0.0.1:${server.port}` }))

for await (const line of console) {
  if (line === '') continue
  console.log(JSON.stringify({ requests, calls } satisfies EndpointCounts))
  requests = 0
  calls = 0
}

async function answer(request: Request): Promise<Response> {
  const text = await request.text()
  requests++
  calls += text.split('"method"').length - 1
  const [reply] = await Promise.all([BENCH_TARGET === undefined ? replyTo(text) : forward(text), Bun.sleep(DELAY_MS)])
  return new Response(reply, { headers: { 'content-type': 'application/json' } })
}

async function forward(body: string): Promise<string> {
  const headers = { 'content-type': 'application/json' }
  const response = await fetch(BENCH_TARGET ?? '', { method: 'POST', headers, body })
  return await response.text()
}

function replyTo(text: string): string {
  const body = JSON.parse(text) as RpcCall | readonly RpcCall[]
  return Array.isArray(body) ? `[${body.map(replyToCall).join()}]` : replyToCall(body as RpcCall)
}

function replyToCall({ id, method, params }: RpcCall): string {
  const envelope = `"jsonrpc":"2.0","id":${JSON.stringify(id)}`
  switch (method) {
    case 'eth_chainId':
      return `{${envelope},"result":"${numberToHex(Number(BENCH_CHAIN_ID))}"}`
    case 'eth_blockNumber':
      return `{${envelope},"result":"${numberToHex(LAST)}"}`
    case 'eth_getBlockByNumber':
      return `{${envelope},"result":${createBlock(toNumber(params[0]), params[1] === true)}}`
    case 'eth_getBlockByHash':
      return `{${envelope},"result":${createBlock(Number(BigInt(String(params[0])) & 0xffffffffn), params[1] === true)}}`
    case 'eth_getLogs': {
      const filter = params[0] as Filter
      const [from, to] = [toNumber(filter.fromBlock), toNumber(filter.toBlock)]
      if (to - from + 1 > CAP) return `{${envelope},"error":{"code":-32602,"message":"block range exceeds ${CAP}"}}`
      return `{${envelope},"result":[${findLogs(filter, from, to).join()}]}`
    }
    default:
      return `{${envelope},"error":{"code":-32601,"message":"the method does not exist"}}`
  }
}

function findLogs({ address, topics = [] }: Filter, from: number, to: number): readonly string[] {
  const addresses = address === undefined ? undefined : new Set([address].flat().map((each) => each.toLowerCase()))
  const wanted = topics[0] === undefined || topics[0] === null ? undefined : new Set([topics[0]].flat())
  if (topics.slice(1).some((each) => each !== null)) throw new Error('Cannot filter by more than the first topic')
  return LOGS.slice(Math.max(0, from - 1), to)
    .flat()
    .filter((log) => addresses?.has(log.address) !== false && wanted?.has(log.topic) !== false)
    .map(({ text }) => text)
}

function toNumber(block: unknown): number {
  if (block === 'latest' || block === 'finalized' || block === 'safe') return LAST
  return block === 'earliest' ? 0 : Number(block)
}

function createBlock(number: number, isWhole: boolean): string {
  if (!(number >= 0 && number <= LAST)) return 'null'
  const transaction = isWhole ? createTransaction(number) : toTransaction(number)
  return JSON.stringify({
    number: numberToHex(number),
    hash: toHash(number),
    parentHash: number === 0 ? ZERO : toHash(number - 1),
    timestamp: toTime(number),
    logsBloom: hasEvents(number) ? FULL_BLOOM : EMPTY_BLOOM,
    transactions: hasEvents(number) ? [transaction] : [],
    miner: SENDER,
    difficulty: '0x0',
    totalDifficulty: '0x0',
    extraData: '0x',
    gasLimit: '0x1c9c380',
    gasUsed: '0x0',
    baseFeePerGas: '0x0',
    size: '0x200',
    nonce: '0x0000000000000000',
    ...Object.fromEntries(
      ['mixHash', 'receiptsRoot', 'sha3Uncles', 'stateRoot', 'transactionsRoot'].map((name) => [name, ZERO]),
    ),
  })
}

function createTransaction(block: number): object {
  return {
    hash: toTransaction(block),
    blockHash: toHash(block),
    blockNumber: numberToHex(block),
    transactionIndex: '0x0',
    from: SENDER,
    to: SENDER,
    input: '0x',
    gas: '0x0',
    gasPrice: '0x0',
    nonce: '0x0',
    value: '0x0',
    type: '0x0',
    ...Object.fromEntries(['r', 's', 'v'].map((name) => [name, '0x1'])),
  }
}

function hasEvents(block: number): boolean {
  return block >= 1 && block <= BLOCKS && block % EVERY === 0
}

function toTime(block: number): Hex {
  return numberToHex(GENESIS_SEC + 12 * block)
}

function toHash(block: number): Hex {
  return numberToHex((0xb10cn << 64n) | BigInt(block), { size: 32 })
}

function toTransaction(block: number): Hex {
  return numberToHex((0x7an << 64n) | BigInt(block), { size: 32 })
}
