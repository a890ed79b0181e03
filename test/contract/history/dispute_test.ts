import { expect, test } from 'bun:test'
import { type Hex, numberToHex } from 'viem'
import { readLendingEvents } from '../../../src/family/lending/lending_event.ts'
import { createHistory, type HistoryService } from '../../../src/history/mod.ts'
import { createWork } from '../../../src/lib/async/work.ts'
import { silentLog } from '../../../src/lib/log.ts'
import {
  actInBlocks,
  createTestClient,
  deployEmitter,
  describeRows,
  EMITTED,
  EMITTER,
  POOL_TOPIC,
  readTruth,
  TOKEN_TOPIC,
  toTarget,
  toTopic,
  toWallet,
} from '../../support/history/scene.ts'
import type { Fault, SeenRequest } from '../../support/rpc.ts'
import type { RpcLog } from '../../support/rpc_log.ts'
import { slowClock } from '../../support/test_clock.ts'
import { CHAIN_ID, setStage } from './stage.ts'

const never = createWork(new AbortController().signal)
const BLOCKS = 40
const WALLET = toWallet(1)

let truth: readonly string[]
const stage = setStage({
  endpoints: 2,
  async prepare(rpc) {
    await deployEmitter(rpc)
    await actInBlocks(rpc, BLOCKS)
    truth = await readTruth(rpc, WALLET, BLOCKS)
  },
})

/** A new process over both endpoints. */
function startHistory(): HistoryService {
  const client = createTestClient(
    stage.proxies.map(({ url }) => url),
    { chainId: CHAIN_ID },
  )
  const clients = new Map([[CHAIN_ID, client]])
  const history = createHistory({ clients, db: stage.database.db, clock: slowClock, log: silentLog, holder: 'test' })
  stage.closers.push(async () => {
    await history.close()
    client.close()
  })
  return history
}

/** The wallet's whole history as a process reads it. */
async function read(history = startHistory()): Promise<readonly string[]> {
  const { storedTo, tail } = await history.ensure(
    { stream: EMITTED, target: toTarget(CHAIN_ID), subject: WALLET },
    never,
  )
  const asked = { target: toTarget(CHAIN_ID), stream: EMITTED.name, wallet: WALLET, kinds: ['supply'] as const }
  const stored = await readLendingEvents(stage.database.db, { ...asked, toBlock: storedTo, skip: 0, max: 1_000 })
  return describeRows([...(stored?.events ?? []), ...tail])
}

interface HeaderJson {
  readonly hash: Hex
  readonly timestamp: Hex
}

/** A pair of logs in a block of its own transaction, and what a liar says about it when it is asked. */
async function forge(block: number) {
  const header = await stage.rpc.call<HeaderJson>('eth_getBlockByNumber', numberToHex(block), false)
  const { hash, timestamp } = header
  const transactionHash = numberToHex(666, { size: 32 })
  const place = { blockNumber: numberToHex(block), blockHash: hash, transactionHash, transactionIndex: '0x9' as const }
  const logs = [POOL_TOPIC, TOKEN_TOPIC].map((topic, index) => ({
    ...place,
    address: EMITTER,
    topics: [topic, toTopic(WALLET)],
    data: numberToHex(3_021_482_808, { size: 32 }),
    logIndex: numberToHex(40 + index),
    removed: false,
    blockTimestamp: timestamp,
  }))
  const receipt = { ...place, status: '0x1', cumulativeGasUsed: '0x0', logsBloom: '0x00', type: '0x2', logs }
  return { logs, receipt, transactionHash }
}

function isAsked({ method, params }: SeenRequest, block: number): boolean {
  const { fromBlock, toBlock } = (params[0] ?? {}) as { readonly fromBlock?: string; readonly toBlock?: string }
  return method === 'eth_getLogs' && Number(fromBlock) <= block && Number(toBlock) >= block
}

const inOrder = (a: RpcLog, b: RpcLog) =>
  Number(a.blockNumber) - Number(b.blockNumber) || Number(a.logIndex) - Number(b.logIndex)

/** An endpoint that adds a pair of logs, and has a receipt of it. */
async function inventor(block: number): Promise<(request: SeenRequest) => Fault | undefined> {
  const { logs, receipt, transactionHash } = await forge(block)
  return (request) => {
    const { method, params } = request
    if (isAsked(request, block))
      return { kind: 'change', change: (given) => [...(given as RpcLog[]), ...logs].sort(inOrder) }
    const isReceipt = method === 'eth_getTransactionReceipt' && params[0] === transactionHash
    return isReceipt ? { kind: 'result', result: receipt } : undefined
  }
}

/** An endpoint that leaves out the logs of blocks, and knows no receipt of them. */
async function denier(...blocks: readonly number[]): Promise<(request: SeenRequest) => Fault | undefined> {
  const headers = blocks.map((block) =>
    stage.rpc.call<{ readonly transactions: readonly Hex[] }>('eth_getBlockByNumber', numberToHex(block), false),
  )
  const transactions = (await Promise.all(headers)).flatMap((header) => header.transactions)
  const keep = (logs: unknown) => (logs as RpcLog[]).filter((log) => !blocks.includes(Number(log.blockNumber)))
  return ({ method, params }) => {
    if (method === 'eth_getLogs') return { kind: 'change', change: keep }
    const isReceipt = method === 'eth_getTransactionReceipt' && transactions.includes(params[0] as Hex)
    return isReceipt || method === 'eth_getBlockReceipts' ? { kind: 'result', result: null } : undefined
  }
}

test.each([0, 1] as const)('a log that endpoint %i alone gives and has a receipt of is not believed', async (liar) => {
  stage.proxies[liar]?.rule(await inventor(15))
  expect(await read()).toEqual(truth)
})

test.each([0, 1] as const)('nor is one of the unfinalized end', async (liar) => {
  stage.proxies[liar]?.rule(await inventor(34))
  expect(await read()).toEqual(truth)
})

test.each([0, 1] as const)('a log that endpoint %i leaves out and has no receipt of is proven', async (liar) => {
  for (const block of [16, 34]) {
    stage.proxies[liar]?.rule(await denier(block))
    expect(await read()).toEqual(truth)
  }
})

test.each([
  [7, true],
  [8, false],
])('one that lacks the logs of %d unfinalized blocks is asked for others: %p', async (lacking, isAskedAgain) => {
  const [, proxy] = stage.proxies
  proxy?.rule(await denier(...Array.from({ length: lacking }, (_, index) => BLOCKS - index)))
  const history = startHistory()
  expect(await read(history)).toEqual(truth)
  const asked = () => proxy?.seen.filter(({ method }) => method === 'eth_getLogs').length ?? 0
  const before = asked()
  await history.ensure({ stream: EMITTED, target: toTarget(CHAIN_ID), subject: toWallet(2) }, never)
  expect(asked() > before).toBe(isAskedAgain)
})

test('an undecided log is a 503 that names the check, and no endpoint is distrusted for it', async () => {
  const lie = await inventor(15)
  stage.proxies[1]?.rule(lie)
  // Without receipts of blocks, and with a header whose hash cannot be recomputed, there is no proof.
  stage.proxies[0]?.rule(({ method }) =>
    method === 'eth_getBlockReceipts'
      ? { kind: 'error', error: { code: -32601, message: 'method not found' } }
      : undefined,
  )
  const otherRoot = { receiptsRoot: numberToHex(5, { size: 32 }), extraData: '0x01' }
  stage.proxies[1]?.rule((request) =>
    request.method === 'eth_getBlockByNumber'
      ? { kind: 'change', change: (block) => ({ ...(block as object), ...otherRoot }) }
      : lie(request),
  )
  stage.proxies[0]?.rule(({ method }) =>
    method === 'eth_getBlockByNumber'
      ? { kind: 'change', change: (block) => ({ ...(block as object), extraData: '0x01' }) }
      : undefined,
  )
  await expect(read()).rejects.toThrow('"second witness"')
  for (const proxy of stage.proxies) proxy.rule(() => undefined)
  expect(await read()).toEqual(truth)
})
