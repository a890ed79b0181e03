import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import type { Database } from '../../../src/db/database.ts'
import { readLendingEvents } from '../../../src/family/lending/lending_event.ts'
import { createHistory, type HistoryService } from '../../../src/history/mod.ts'
import { createWork } from '../../../src/lib/async/work.ts'
import { UnavailableError } from '../../../src/lib/error.ts'
import { createLog, silentLog } from '../../../src/lib/log.ts'
import { type Anvil, startAnvil } from '../../devnet/anvil.ts'
import { createRpc, type Rpc } from '../../devnet/rpc.ts'
import { testDatabase } from '../../support/database.ts'
import {
  act,
  actInBlocks,
  createTestClient,
  deployEmitter,
  describeRows,
  EMITTED,
  readTruth,
  TOKEN_TOPIC,
  toTarget,
  toWallet,
} from '../../support/history/scene.ts'
import { capped } from '../../support/history/simulation/capped.ts'
import { CAP_DIALECTS } from '../../support/history/simulation/endpoint.ts'
import type { Fault, SeenRequest } from '../../support/rpc.ts'
import type { RpcLog } from '../../support/rpc_log.ts'
import { createFixedClock, slowClock } from '../../support/test_clock.ts'
import { CHAIN_ID, setStage } from './stage.ts'

const never = createWork(new AbortController().signal)
const BLOCKS = 80

const stage = setStage({
  endpoints: 2,
  async prepare(rpc) {
    await deployEmitter(rpc)
    await actInBlocks(rpc, BLOCKS)
  },
})

function open(endpoints = 1, log = silentLog): HistoryService {
  return openAt(
    stage.proxies.slice(0, endpoints).map(({ url }) => url),
    log,
  )
}

function openAt(urls: readonly string[], log = silentLog): HistoryService {
  const client = createTestClient(urls, { chainId: CHAIN_ID, log })
  const history = createHistory({
    clients: new Map([[CHAIN_ID, client]]),
    db: stage.database.db,
    clock: slowClock,
    log,
    holder: `test ${stage.closers.length}`,
  })
  stage.closers.push(async () => {
    await history.close()
    client.close()
  })
  return history
}

/** A wallet's whole history as a route would read it. */
async function read(history: HistoryService, wallet = toWallet(1)): Promise<readonly string[]> {
  const target = toTarget(CHAIN_ID)
  const { storedTo, tail } = await history.ensure({ stream: EMITTED, target, subject: wallet }, never)
  const options = {
    target,
    stream: EMITTED.name,
    wallet,
    toBlock: storedTo,
    kinds: ['supply'] as const,
    skip: 0,
    max: 1_000,
  }
  const stored = await readLendingEvents(stage.database.db, options)
  if (stored === undefined) throw new Error('The history has a gap')
  return describeRows([...stored.events, ...tail])
}

async function truth(wallet = toWallet(1)): Promise<readonly string[]> {
  return await readTruth(stage.rpc, wallet, Number(await stage.rpc.call<string>('eth_blockNumber')))
}

function logRequests(): number {
  return stage.proxies.flatMap(({ seen }) => seen).filter(({ method }) => method === 'eth_getLogs').length
}

test('stored rows and the end equal the receipts, for every wallet, and nothing is fetched twice', async () => {
  const history = open()
  for (const number of [0, 1, 2, 3, 4])
    expect(await read(history, toWallet(number))).toEqual(await truth(toWallet(number)))
  const before = logRequests()
  await read(history)
  // The end only: the last blocks by their hash, the others twice.
  expect(logRequests() - before).toBeLessThanOrEqual(8)
})

/** Answers requests for logs with the right ones that `keep` keeps. */
function keepLogs(keep: (log: RpcLog, request: SeenRequest) => boolean): (request: SeenRequest) => Fault | undefined {
  return (request) =>
    request.method === 'eth_getLogs'
      ? { kind: 'change', change: (logs) => (logs as RpcLog[]).filter((log) => keep(log, request)) }
      : undefined
}

const isWithin = ({ blockNumber }: RpcLog, from: number, to: number) =>
  Number(blockNumber) >= from && Number(blockNumber) <= to

test.each(CAP_DIALECTS.map((dialect, index) => [index, dialect] as const))(
  'a capped endpoint is learned from its refusal, which is no sickness (dialect %i)',
  async (_, dialect) => {
    stage.proxies[0]?.rule(capped(dialect, 20))
    const lines: string[] = []
    const history = open(1, createLog({ level: 'info', write: (line) => lines.push(line), clock: createFixedClock() }))
    expect(await read(history)).toEqual(await truth())
    expect(lines.filter((line) => line.includes('endpoint'))).toEqual([])
  },
)

test('a hole in the index of one endpoint is filled by another', async () => {
  stage.proxies[0]?.rule(keepLogs((log) => !isWithin(log, 20, 50)))
  expect(await read(open(2))).toEqual(await truth())
})

test('logs that an endpoint leaves out now and then are found by dividing the range elsewhere', async () => {
  let asked = 0
  stage.proxies[0]?.rule((request) =>
    request.method === 'eth_getLogs' && asked++ % 2 === 0
      ? keepLogs((log) => !isWithin(log, 20, 50))(request)
      : undefined,
  )
  expect(await read(open())).toEqual(await truth())
})

test('a log that every endpoint leaves out is missed by its pair: 503 names the check', async () => {
  for (const proxy of stage.proxies)
    proxy.rule(keepLogs(({ topics }, { params }) => topics[0] !== TOKEN_TOPIC || params.length === 0))
  const reading = read(open(2))
  await expect(reading).rejects.toThrow('"pairing"')
  await expect(reading).rejects.toBeInstanceOf(UnavailableError)
})

test('an invented log is never trusted', async () => {
  stage.proxies[0]?.rule(({ method }) =>
    method === 'eth_getLogs'
      ? {
          kind: 'change',
          change: (logs) =>
            (logs as RpcLog[]).map((log) => ({ ...log, transactionHash: `0x${'66'.repeat(32)}` })).slice(0, 2),
        }
      : undefined,
  )
  expect(await read(open(2))).toEqual(await truth())
})

test('a node that is behind on every other request loses nothing', async () => {
  const head = Number(await stage.rpc.call<string>('eth_blockNumber'))
  let asked = 0
  stage.proxies[0]?.rule(({ method, params }) => {
    if (method !== 'eth_getLogs' || asked++ % 2 === 1) return undefined
    const late = head - 1 - (asked % 5)
    if ('blockHash' in (params[0] as object))
      return { kind: 'error', error: { code: -32000, message: 'unknown block' } }
    return { kind: 'change', change: (logs) => (logs as RpcLog[]).filter((log) => Number(log.blockNumber) <= late) }
  })
  const history = open(2)
  expect(await read(history)).toEqual(await truth())
})

test('failures and cut answers are tried again', async () => {
  let asked = 0
  stage.proxies[0]?.rule(({ method }) => {
    if (method !== 'eth_getLogs' || asked++ > 2) return undefined
    return asked === 1 ? { kind: 'cut' } : { kind: 'http', status: 502, body: '<html>bad gateway</html>' }
  })
  expect(await read(open())).toEqual(await truth())
})

test('a process that dies at any statement loses nothing and repeats nothing', async () => {
  const expected = await truth()
  const whole = stage.database.db
  for (let survived = 0, isDone = false; !isDone; survived++) {
    const fresh = await testDatabase()
    for (const when of ['before', 'after'] as const) {
      let statements = 0
      const dying: Database = {
        ...fresh.db,
        async run(text, params, options) {
          if (statements >= survived && when === 'before') throw new Error('Died')
          const rows = await fresh.db.run<never>(text, params, options)
          if (statements++ >= survived) throw new Error('Died')
          return rows
        },
      }
      stage.database = { ...fresh, db: dying }
      isDone = await read(open()).then(
        () => true,
        () => false,
      )
      stage.database = fresh
      // What the dead process held is free after a while.
      await fresh.db.run("update lease set until = now() - interval '1 second'", [])
      expect(await read(open())).toEqual(expected)
    }
    for (const close of stage.closers.splice(0)) await close()
    await fresh.close()
  }
  stage.database = await testDatabase()
  await whole.close()
})

test('two processes share the work, and both have all of it', async () => {
  const [one, other] = [open(), open()]
  const wallets = [0, 1, 2, 3].map((number) => toWallet(number))
  const histories = await Promise.all(wallets.flatMap((wallet) => [read(one, wallet), read(other, wallet)]))
  for (const [index, wallet] of wallets.entries()) {
    expect(histories[2 * index]).toEqual(await truth(wallet))
    expect(histories[2 * index + 1]).toEqual(await truth(wallet))
  }
})

describe('on a chain of its own', () => {
  let own: Anvil
  let ownRpc: Rpc
  let url = ''

  beforeEach(async () => {
    own = await startAnvil({ chainId: CHAIN_ID })
    ownRpc = createRpc(own.rpcUrl)
    url = own.rpcUrl
    await deployEmitter(ownRpc)
    for (let block = 1; block <= 40; block++) await act(ownRpc, [{ wallet: toWallet(1), amount: BigInt(block) }])
  })
  afterEach(() => own.stop())

  test('a reorganization of the end changes no stored row, and the end follows', async () => {
    const history = openAt([url])
    const before = await read(history)
    expect(before).toEqual(await readTruth(ownRpc, toWallet(1), 40))
    await ownRpc.call('anvil_reorg', 5, [])
    await act(ownRpc, [{ wallet: toWallet(1), amount: 777n }])
    const after = await read(history)
    expect(after).toEqual(await readTruth(ownRpc, toWallet(1), Number(await ownRpc.call<string>('eth_blockNumber'))))
    expect(after.slice(0, 30)).toEqual(before.slice(0, 30))
    expect(after).not.toEqual(before)
  })

  test('a replaced final block stops the history of its chain, loudly, and no row is lost', async () => {
    const lines: string[] = []
    const history = openAt(
      [url],
      createLog({ level: 'error', write: (line) => lines.push(line), clock: createFixedClock() }),
    )
    await read(history)
    const stored = await stage.database.db.run('select block from lending_event order by block', [])
    await ownRpc.call('anvil_reorg', 25, [])
    await act(ownRpc, [{ wallet: toWallet(1), amount: 777n }])
    await expect(read(history)).rejects.toThrow('block 30 was final and is not part of the chain any more')
    await expect(read(openAt([url]))).rejects.toThrow('is stopped')
    expect(lines.filter((line) => line.includes('a final block was replaced')).length).toBe(1)
    expect(await stage.database.db.run('select block from lending_event order by block', [])).toEqual(stored)
    expect((await history.listProgress()).map(({ isStopped }) => isStopped)).toEqual([true])
  })
})
