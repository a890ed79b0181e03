import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'bun:test'
import { type Hex, toHex } from 'viem'
import { createChainClient, type EvmClient } from '../../../../src/chain/evm/evm_client.ts'
import { AAVE_V3 } from '../../../../src/family/aave_v3/mod.ts'
import type { FinanceChain } from '../../../../src/finance/chain.ts'
import type { Clock } from '../../../../src/lib/clock.ts'
import { PendingError } from '../../../../src/lib/error.ts'
import { type Log, silentLog } from '../../../../src/lib/log.ts'
import { MARKETS, AAVE_WALLETS as W } from '../../../devnet/aave_v3/addresses.ts'
import type { AaveDevnet } from '../../../devnet/aave_v3/mod.ts'
import { SCENARIO_SEC } from '../../../devnet/aave_v3/scenario.ts'
import { type Devnet, startDevnet } from '../../../devnet/mod.ts'
import { callRoute } from '../../../support/call_route.ts'
import { IS_FULL } from '../../../support/cases.ts'
import { type TestDatabase, testDatabase } from '../../../support/database.ts'
import { createFamilyRoutes } from '../../../support/family.ts'
import { type FaultyRpc, type SeenRequest, startFaultyRpc } from '../../../support/rpc.ts'
import { createHurriedClock, slowClock } from '../../../support/test_clock.ts'
import { createChain } from './support.ts'

const DAY_SEC = 86_400
const SNAPSHOTS = '/v1/lending/aave-v3/position/:chain_id/snapshots'
const WALLET = W.borrower

interface Header {
  readonly number: Hex
  readonly hash: Hex
  readonly parentHash: Hex
  readonly timestamp: Hex
}

let devnet: Devnet
let aave: AaveDevnet
let liar: FaultyRpc
let honest: FaultyRpc
let headers: readonly Header[]
let database: TestDatabase
let truth: readonly unknown[]
/** The midnight that is lied about, its block and the one after it, and what the pool said there of the collateral. */
let lie: { readonly day: number; readonly block: Header; readonly next: Header; readonly word: string }
const clients: EvmClient<FinanceChain>[] = []

beforeAll(async () => {
  devnet = await startDevnet({ ageSec: SCENARIO_SEC + 60 * DAY_SEC })
  aave = await devnet.aave()
  await aave.warp(DAY_SEC / 2)
  await aave.warp(DAY_SEC)
  ;[liar, honest] = await Promise.all([startFaultyRpc(devnet.rpcUrl), startFaultyRpc(devnet.rpcUrl)])
  headers = await allHeaders()
  database = await testDatabase()
  truth = await over(honest).ask()
  await database.close()
  const at = (truth.length / 2) | 0
  const day = (truth[at] as { readonly timestamp: number }).timestamp / DAY_SEC
  const index = headers.findLastIndex(({ timestamp }) => Number(timestamp) <= day * DAY_SEC)
  const [block, next] = headers.slice(index, index + 2) as [Header, Header]
  const account = await aave.getUserAccountData('main', WALLET, BigInt(block.number))
  lie = { day, block, next, word: account.totalCollateralBase.toString(16).padStart(64, '0') }
}, 180_000)

beforeEach(async () => {
  database = await testDatabase()
  for (const rpc of [liar, honest]) rpc.rule(() => undefined)
})

afterEach(async () => {
  for (const client of clients.splice(0)) client.close()
  await database.close()
})

afterAll(async () => {
  await Promise.all([liar, honest].map((rpc) => rpc?.stop()))
  await devnet?.stop()
}, 60_000)

async function allHeaders(): Promise<readonly Header[]> {
  const newest = Number(await devnet.client.getBlockNumber({ cacheTime: 0 }))
  const calls = Array.from({ length: newest + 1 }, (_, number) => ({
    method: 'eth_getBlockByNumber',
    params: [toHex(number), false],
  }))
  return await devnet.rpc.batch<Header>(calls)
}

/** A clock that stands a week after the chain's newest block, so that all of it is final. */
function lateClock(): Clock {
  const nowMs = (Number(headers.at(-1)?.timestamp) + 3 * DAY_SEC) * 1_000
  return { ...slowClock, now: () => nowMs }
}

/** The route over these endpoints, and what its client told its log. */
function over(...rpcs: readonly FaultyRpc[]) {
  const warned: Record<string, unknown>[] = []
  const log: Log = { ...silentLog, warn: (fields) => void warned.push(fields) }
  const chain = createChain(devnet, { rpcUrls: rpcs.map(({ url }) => url) })
  const client = createChainClient({ chain, clock: createHurriedClock(), log })
  clients.push(client)
  const aaveV3 = [{ market: 'main', poolAddressesProvider: MARKETS.main.provider, startBlock: 0 }]
  const routes = createFamilyRoutes(AAVE_V3, {
    clients: [client],
    rows: [[1, { aaveV3 }]],
    db: database.db,
    clock: lateClock(),
    log,
  })
  const route = routes.find(({ path }) => path === SNAPSHOTS)
  if (route === undefined) throw new Error('There is no such route')
  const query = `wallet=${WALLET}&market_id=main`
  /** Asks again while days are still being read. */
  const ask = async (): Promise<readonly unknown[]> => {
    for (;;) {
      try {
        return (await callRoute(route, { params: { chain_id: '1' }, query })).reply.data as readonly unknown[]
      } catch (error) {
        if (!(error instanceof PendingError)) throw error
      }
    }
  }
  return { ask, warned }
}

const count = async (what: string): Promise<number> => {
  const [row] = await database.db.run<{ n: string }>(`select count(*)::text as n from ${what}`, [])
  return Number(row?.n)
}

/** Says that the wallet had twice the collateral at the one midnight. */
function doubled({ method, params }: SeenRequest) {
  const at = params[1] as { readonly blockHash?: string } | undefined
  if (method !== 'eth_call' || at?.blockHash !== lie.block.hash) return undefined
  const said = (2n * BigInt(`0x${lie.word}`)).toString(16).padStart(64, '0')
  return { kind: 'change', change: (result: unknown) => String(result).replaceAll(lie.word, said) } as const
}

/** Says that the midnight's last block was made after it. */
function late({ method, params }: SeenRequest) {
  if (method !== 'eth_getBlockByNumber' || params[0] !== lie.block.number) return undefined
  const change = (result: unknown) => ({ ...(result as object), timestamp: lie.next.timestamp })
  return { kind: 'change', change } as const
}

/** Says that the wallet never moved anything: a whole answer to the question, with its last byte cleared. */
function unmoved({ method, params: [call] }: SeenRequest) {
  const asked = JSON.stringify(call ?? {})
  const isTouched = method === 'eth_call' && asked.includes(WALLET.slice(2).toLowerCase()) && !asked.includes('f4240')
  return isTouched ? ({ kind: 'change', change: (result: unknown) => cleared(String(result)) } as const) : undefined
}

const cleared = (result: string) => result.replace(/01((?:00)*)$/, '00$1')

/** The other order with `SEEDS=full`. */
const ORDERS = IS_FULL ? (['liar first', 'honest first'] as const) : (['liar first'] as const)

for (const order of ORDERS) {
  const both = () => (order === 'liar first' ? over(liar, honest) : over(honest, liar))

  test(`a lie about a past account is refused by name, and nothing of it is kept: ${order}`, async () => {
    liar.rule(doubled)
    await expect(both().ask()).rejects.toMatchObject({
      code: 'SERVICE_UNAVAILABLE',
      message: expect.stringMatching(/^Cannot believe .* \(second witness\)$/),
    })
    expect(await count(`lending_snapshot where day = ${lie.day}`)).toBe(0)
    liar.rule(() => undefined)
    expect(await both().ask()).toEqual([...truth])
    expect(await count('lending_snapshot where witnesses = 2')).toBe(truth.length)
    expect(await count('midnight where witnesses = 2')).toBe(await count('midnight'))
    expect(await count('snapshot_series where witnesses = 2')).toBe(1)
  }, 60_000)

  test(`a lie about the time of a midnight's block is refused by name, and nothing of it is kept: ${order}`, async () => {
    liar.rule(late)
    await expect(both().ask()).rejects.toMatchObject({
      code: 'SERVICE_UNAVAILABLE',
      message: expect.stringMatching(/^Cannot believe .* \(second witness\)$/),
    })
    expect(await count(`midnight where day = ${lie.day}`)).toBe(0)
    liar.rule(() => undefined)
    expect(await both().ask()).toEqual([...truth])
  }, 60_000)

  test(`a lie that a wallet never moved anything is refused by name: ${order}`, async () => {
    liar.rule(unmoved)
    await expect(both().ask()).rejects.toMatchObject({ message: expect.stringContaining('(second witness)') })
    expect(await count('snapshot_series where first_day is not null')).toBe(0)
    liar.rule(() => undefined)
    expect(await both().ask()).toEqual([...truth])
  }, 60_000)
}

test('a single endpoint whose account contradicts its own sums is refused', async () => {
  liar.rule(doubled)
  const says = /^Cannot trust the position of wallet 0x\w+ at the midnight of day \d+ on chain 1 .*: .*\(own sums\)$/
  await expect(over(liar).ask()).rejects.toMatchObject({ message: expect.stringMatching(says) })
  expect(await count(`lending_snapshot where day = ${lie.day}`)).toBe(0)
}, 60_000)

test("a single endpoint's answer is marked, and replaced once a second endpoint confirms another", async () => {
  liar.rule(late)
  const alone = await over(liar).ask()
  expect(alone).not.toEqual([...truth])
  expect(await count('lending_snapshot where witnesses = 1')).toBe(alone.length)
  expect(await count(`midnight where day = ${lie.day} and block = ${BigInt(lie.block.number)}`)).toBe(0)
  await database.db.run('update lending_snapshot set collateral = collateral + 1 where day = $1', [lie.day + 2])
  liar.rule(() => undefined)
  const { ask, warned } = over(liar, honest)
  // Some days are read again with each request.
  for (let turn = 0; turn < 10 && (await count('lending_snapshot where witnesses = 1')) > 0; turn++) await ask()
  expect(await ask()).toEqual([...truth])
  expect(await count('lending_snapshot where witnesses = 2')).toBe(truth.length)
  expect(warned).toContainEqual({
    msg: 'Corrected a midnight block that came from a single RPC endpoint',
    chainId: 1,
    day: lie.day,
  })
  expect(warned).toContainEqual({
    msg: 'Corrected a snapshot that came from a single RPC endpoint',
    chainId: 1,
    wallet: WALLET,
    day: lie.day + 2,
  })
}, 30_000)
