import { afterAll, beforeAll, expect, test } from 'bun:test'
import { LENS_RUNTIME } from '../../../src/chain/call/exit/lens_artifact.ts'
import { createChainClient, type EvmClient } from '../../../src/chain/evm/evm_client.ts'
import { readLatestBlock } from '../../../src/chain/evm/read_block.ts'
import { createQuorumClient } from '../../../src/chain/quorum/quorum_client.ts'
import { createWitnessedClient } from '../../../src/chain/quorum/witnessed_client.ts'
import type { FinanceChain } from '../../../src/finance/chain.ts'
import { createWork } from '../../../src/lib/async/work.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { toWalletAddress } from '../../devnet/addresses.ts'
import { createDevnetChain } from '../../devnet/chain.ts'
import { type Devnet, startDevnet } from '../../devnet/mod.ts'
import { amounts } from '../../devnet/scenario.ts'
import { rangeAround } from '../../devnet/ticks.ts'
import { type LyingRpc, startLyingRpc } from '../../support/lying_rpc.ts'
import { type FaultyRpc, type SeenRequest, startFaultyRpc } from '../../support/rpc.ts'
import { createPatientClock } from '../../support/test_clock.ts'
import { createPortfolio } from './support.ts'

const WALLET = toWalletAddress('has a past')
const DAY_SEC = 86_400

let devnet: Devnet
/** Endpoints of a chain whose states nothing proves, each behind a faulty one. */
let rpcs: readonly LyingRpc[] = []
let faulty: readonly FaultyRpc[] = []
const clients: EvmClient<FinanceChain>[] = []
let block = 0n
let nowSec = 0
/** A day later than the block, so that it is no young one. */
const clock = { ...createPatientClock(), now: () => nowSec * 1_000 }

beforeAll(async () => {
  devnet = await startDevnet({ chainId: 10 })
  const [pool] = Object.values(devnet.pools)
  if (pool === undefined) throw new Error('Cannot find a pool')
  await devnet.v3.mintMany([{ pool, ...rangeAround(pool, -600, 600), ...amounts(pool, 900), recipient: WALLET }])
  // A block without a transaction, so that no nonce tells its state from a later one.
  await devnet.rpc.call('anvil_mine', '0x3')
  const newest = await devnet.client.getBlock()
  block = newest.number - 1n
  nowSec = Number(newest.timestamp) + DAY_SEC
  rpcs = await Promise.all([0, 1, 2].map(() => startLyingRpc(devnet.rpcUrl)))
  for (const rpc of rpcs) rpc.lie(['ringless'], 0)
  faulty = await Promise.all(rpcs.map(({ url }) => startFaultyRpc(url)))
}, 60_000)

afterAll(async () => {
  for (const client of clients) client.close()
  await Promise.all([...faulty, ...rpcs].map((rpc) => rpc.stop()))
  await devnet?.stop()
})

async function ask(endpoints: number, options: { readonly at?: string; readonly quorum?: number } = {}) {
  const { at = '', quorum } = options
  const chain = createDevnetChain(devnet, {
    rpcUrls: faulty.slice(0, endpoints).map(({ url }) => url),
    maxBlockAgeSec: 10 * DAY_SEC,
    blockTimeMs: 1_000,
  })
  const plain = createChainClient({ chain, clock, log: silentLog })
  clients.push(plain)
  const witnessed = createWitnessedClient(plain)
  const client = quorum === undefined ? witnessed : createQuorumClient(witnessed, { quorum, dissent: () => {} })
  const { reply } = await createPortfolio([client], { clock }).exit(`wallet=${WALLET}&chain_id=10${at}`)
  const { rows, executed_as } = reply.data as {
    readonly executed_as: string | null
    readonly rows: readonly { readonly position: object | null; readonly arrives: { readonly raw: string } | null }[]
  }
  const arrives = rows.flatMap((row) => (row.position === null ? [] : [row.arrives?.raw ?? null]))
  return { arrives, executed_as, unwitnessed: reply.unwitnessed }
}

/** True for a call that runs steps, with the code of the executor at the wallet too. */
const isExit = ({ method, params }: SeenRequest) =>
  method === 'eth_call' &&
  JSON.stringify(params[2] ?? '').includes(LENS_RUNTIME) &&
  JSON.stringify(params[2]).includes(WALLET)

/** The first endpoint takes something from the last word of what an exit pays, which ends with steps that are skipped. */
function lieAboutExits(): void {
  faulty[0]?.rule((request) =>
    isExit(request) ? { kind: 'change', change: (answer) => lower(answer, 1n << 32n) } : undefined,
  )
}

const lower = (answer: unknown, by: bigint) => {
  const text = String(answer)
  const word = BigInt(`0x${text.slice(-64)}`)
  return text.slice(0, -64) + (word < by ? text.slice(-64) : (word - by).toString(16).padStart(64, '0'))
}

test('what an exit at a past block pays needs a second endpoint, and with one alone that is said', async () => {
  const at = `&at_block=${block}`
  const honest = await ask(2, { at })
  expect(honest).toMatchObject({ executed_as: 'own_code', unwitnessed: undefined })
  expect(honest.arrives).not.toContain(null)
  expect(await ask(1, { at })).toEqual({ ...honest, unwitnessed: [10] })
  lieAboutExits()
  const alone = await ask(1, { at })
  expect(alone.arrives).not.toEqual(honest.arrives)
  expect(alone.unwitnessed).toEqual([10])
  const failure = await ask(2, { at }).catch(String)
  expect(failure).toContain('contradict each other')
  expect(await ask(3, { at })).toEqual(honest)
  faulty[0]?.rule(() => undefined)
}, 30_000)

/** No endpoint executes exits, and the first one simulates `lie`. */
function simulateAlone(lie: (result: unknown) => unknown = (result) => result, how: 'lies' | 'refuses' = 'lies'): void {
  for (const [index, rpc] of faulty.entries())
    rpc.rule((request) => {
      if (isExit(request)) return { kind: 'no_overrides', how: 'refuse' }
      if (request.method !== 'eth_simulateV1') return undefined
      if (index === 0) return { kind: 'change', change: lie }
      const error = { code: -32_601, message: 'the method does not exist' }
      return how === 'refuses' ? { kind: 'error', error } : undefined
    })
}

/** The last call asks for the balance after the exit. */
const lowerLast = (result: unknown) => {
  const [simulated] = result as readonly { readonly calls: readonly { readonly returnData: string }[] }[]
  const calls = simulated?.calls ?? []
  return [{ ...simulated, calls: calls.map((call, index) => (index < calls.length - 1 ? call : lowerCall(call))) }]
}

const lowerCall = (call: { readonly returnData: string }) => ({ ...call, returnData: lower(call.returnData, 1n) })

test('a simulation needs a second endpoint, and with one alone that is said', async () => {
  for (const at of ['', `&at_block=${block}`]) {
    simulateAlone()
    const honest = await ask(2, { at })
    expect({ at, ...honest }).toMatchObject({ at, executed_as: 'simulated', unwitnessed: undefined })
    expect(await ask(1, { at })).toEqual({ ...honest, unwitnessed: [10] })
    simulateAlone(lowerLast)
    const alone = await ask(1, { at })
    expect(alone.arrives).not.toEqual(honest.arrives)
    expect(alone.unwitnessed).toEqual([10])
    expect(await ask(2, { at }).catch(String)).toContain('contradict each other')
    expect(await ask(3, { at })).toEqual(honest)
    simulateAlone(undefined, 'refuses')
    expect(await ask(2, { at })).toEqual({ ...honest, unwitnessed: [10] })
  }
}, 30_000)

test('with a quorum, as many endpoints simulate the same, or the chain cannot be read', async () => {
  simulateAlone()
  expect(await ask(2, { quorum: 2 })).toMatchObject({ executed_as: 'simulated', unwitnessed: undefined })
  simulateAlone(undefined, 'refuses')
  expect(await ask(2, { quorum: 2 }).catch(String)).toContain(
    '2 endpoints must run it with the same outcome, and 1 did',
  )
  simulateAlone(lowerLast)
  expect(await ask(2, { quorum: 2 }).catch(String)).toContain('contradict each other')
  expect(await ask(3, { quorum: 2 })).toMatchObject({ executed_as: 'simulated', unwitnessed: undefined })
  for (const rpc of faulty) rpc.rule(() => undefined)
}, 30_000)

/** What triggers see of the wallet at a sample over so many endpoints; null if it is missed. */
async function sample(endpoints: number) {
  const rpcUrls = faulty.slice(0, endpoints).map(({ url }) => url)
  const chain = createDevnetChain(devnet, { rpcUrls, maxBlockAgeSec: 10 * DAY_SEC, blockTimeMs: 1_000 })
  const client = createWitnessedClient(createChainClient({ chain, clock, log: silentLog }))
  clients.push(client)
  const watcher = createPortfolio([client], { clock }).watched.watcher?.()
  if (watcher === undefined || !('chainIds' in watcher)) throw new Error('Cannot find the watcher')
  const work = createWork(new AbortController().signal)
  const newest = await client.read((endpoint, own) => readLatestBlock(endpoint, 10, own), { work })
  const [figures] = await watcher.confirm([{ wallet: WALLET }], { client, block: newest }, work)
  return figures === 'gone' ? figures : figures?.text('exit_usd')
}

test('a sample of a trigger needs two endpoints that execute the same, or is missed', async () => {
  const rule = (each: Parameters<FaultyRpc['rule']>[0]) => {
    for (const rpc of faulty) rpc.rule(each)
  }
  rule(() => undefined)
  const honest = await sample(2)
  expect(Number(honest)).toBeGreaterThan(1_000)
  lieAboutExits()
  expect(await sample(2)).toBeNull()
  expect(await sample(3)).toBe(honest)
  // The only endpoint of a chain is believed, as in answers.
  expect(await sample(1)).not.toBeNull()
  faulty[0]?.rule((request) => (isExit(request) ? { kind: 'http', status: 503, body: '' } : undefined))
  expect(await sample(2)).toBeNull()
  expect(await sample(3)).toBe(honest)
  // The book of a sample is compared too.
  faulty[0]?.rule(({ method }) => (method === 'eth_call' ? { kind: 'http', status: 503, body: '' } : undefined))
  expect(await sample(2)).toBeNull()
  simulateAlone()
  expect(await sample(2)).toBe(honest)
  simulateAlone(lowerLast)
  expect(await sample(2)).toBeNull()
  simulateAlone(undefined, 'refuses')
  expect(await sample(2)).toBeNull()
  rule(() => undefined)
}, 60_000)
