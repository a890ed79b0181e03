import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'bun:test'
import { type Address, type Hex, toEventSelector } from 'viem'
import type { PositionFlow } from '../../../../../src/family/liquidity/position_history/position_flow.ts'
import { CHANGE_TOPIC } from '../../../../../src/family/uniswap_v4/event.ts'
import { forgetHistory } from '../../../../../src/history/coverage.ts'
import type { Route } from '../../../../../src/http/route/route.ts'
import { toWalletAddress } from '../../../../devnet/addresses.ts'
import { type Devnet, startDevnet } from '../../../../devnet/mod.ts'
import { rangeAround } from '../../../../devnet/ticks.ts'
import type { Transaction } from '../../../../devnet/transaction.ts'
import {
  burnCall,
  collectCall,
  decreaseCall,
  increaseCall,
  mintCall,
  swapCall,
} from '../../../../devnet/uniswap_v4/calls.ts'
import { mintedId, type UniswapV4 } from '../../../../devnet/uniswap_v4/mod.ts'
import { liquidityWorth, usdToRaw, type V4PoolName } from '../../../../devnet/uniswap_v4/pools.ts'
import { callRoute } from '../../../../support/call_route.ts'
import { IS_FULL } from '../../../../support/cases.ts'
import { type FaultyRpc, startFaultyRpc } from '../../../../support/rpc.ts'
import { withoutPast } from '../../uniswap_v3/pnl/endpoints.ts'
import { type AskedLife, askAbout, createLifeProcesses } from './scene.ts'

const LIMIT_MS = 60_000
const OWNER = toWalletAddress('v4 edges')
const USD = 5_000

let devnet: Devnet
let v4: UniswapV4
let faulty: FaultyRpc
let processes: ReturnType<typeof createLifeProcesses>

beforeAll(async () => {
  devnet = await startDevnet()
  v4 = await devnet.uniswapV4()
  await v4.fund([OWNER])
  faulty = await startFaultyRpc(devnet.rpcUrl)
  processes = createLifeProcesses(devnet)
}, LIMIT_MS)
beforeEach(() => {
  faulty.rule(() => undefined)
  faulty.reset()
})
afterEach(() => processes.close())
afterAll(async () => {
  await faulty.stop()
  await devnet.stop()
})

/** A position of the owner. */
async function mint(
  name: V4PoolName = 'plain',
): Promise<AskedLife & { readonly owner: Address; readonly liquidity: bigint }> {
  const pool = v4.pools[name]
  const range = rangeAround(pool, -1_200, 1_200)
  const liquidity = liquidityWorth(pool, { ...range, usd: USD })
  const tokenId = await v4.mint({ pool, ...range, liquidity, recipient: OWNER })
  return { tokenId, pool, ...range, owner: OWNER, liquidity, isBurned: false }
}

const swap = (name: V4PoolName = 'plain', zeroForOne = true): Transaction => {
  const pool = v4.pools[name]
  return swapCall({ pool, zeroForOne, amountIn: usdToRaw(pool.currencies[zeroForOne ? 0 : 1], 20_000) })
}

/** Enough blocks that all before is final. */
const pass = () => devnet.rpc.call('anvil_mine', '0x8')

const fault = (error: Promise<unknown>) =>
  error.then(
    () => 'none',
    ({ message }: Error) => message,
  )

const brief = ({ kind, liquidity, block }: PositionFlow) => `${kind} ${liquidity} ${block}`

test('two changes in one block pay their fees with the first, if nothing moved fees between them', async () => {
  const life = await mint()
  await devnet.send([swap()])
  const [, , receipt] = await devnet.send([
    swap('plain', false),
    increaseCall({ ...life, liquidity: 1_000n }),
    decreaseCall({ ...life, liquidity: life.liquidity / 2n }),
    // After both it moves nothing that they paid.
    swap(),
  ])
  await pass()
  const told = await (await processes.start()).read(life)
  const block = Number(receipt?.blockNumber)
  const here = told?.flows.map(({ row }) => row).filter((row) => row.block === block) ?? []
  expect(here.map(({ kind }) => kind)).toEqual(['increase', 'collect', 'decrease', 'collect'])
  const [, fees, decrease, collect] = here
  expect((fees?.amount0 ?? 0n) + (fees?.amount1 ?? 0n)).toBeGreaterThan(0n)
  expect([collect?.amount0, collect?.amount1]).toEqual([decrease?.amount0, decrease?.amount1])
}, 60_000)

test('the amounts of a mint follow from the price before it, wherever in its block swaps are', async () => {
  const pool = v4.pools.plain
  const range = rangeAround(pool, -1_200, 1_200)
  const delta = liquidityWorth(pool, { ...range, usd: USD })
  const mint = mintCall({ pool, ...range, liquidity: delta, recipient: OWNER })
  for (const isAlone of IS_FULL ? [true, false] : [false]) {
    for (const transactions of [
      [mint],
      [swap(), mint],
      [mint, swap('plain', false)],
      [swap(), mint, swap()],
    ] as const) {
      const receipts = await devnet.send(transactions)
      const receipt = receipts[transactions.indexOf(mint)]
      if (receipt === undefined) throw new Error('Cannot find the mint')
      const life = { tokenId: mintedId(receipt), pool, ...range, owner: OWNER, isBurned: false }
      if (!isAlone) await devnet.send([collectCall(life)])
      await pass()
      const [first] = (await (await processes.start()).read(life))?.flows ?? []
      // What the pool manager was paid.
      const paid = receipt.logs.flatMap(({ topics, data }) =>
        topics[0] === TRANSFER && data !== '0x' ? BigInt(data) : [],
      )
      expect([first?.row.amount0, first?.row.amount1]).toEqual(paid)
    }
  }
}, 60_000)

const TRANSFER = toEventSelector('Transfer(address,address,uint256)')

test('a swap or a donation between two changes in one block fails with an error that names the block', async () => {
  const life = await mint()
  const [receipt] = await devnet.send([
    increaseCall({ ...life, liquidity: 1_000n }),
    swap(),
    decreaseCall({ ...life, liquidity: life.liquidity / 2n }),
  ])
  await pass()
  const { read } = await processes.start()
  // No later answer can tell: not 503, which asks to try again.
  expect(await read(life).catch((reason: unknown) => reason)).toMatchObject({
    code: 'NOT_FOUND',
    message:
      `Cannot compute what position ${life.tokenId} on chain 1 (Devnet) was paid in block ${Number(receipt?.blockNumber)}: it ` +
      'changed more than once there, with a swap or a donation in between',
  })
  const before = await read(life, BigInt(receipt?.blockNumber ?? 0) - 1n)
  expect(before?.flows.map(({ row }) => row.kind)).toEqual(['increase'])
}, 60_000)

test('a position whose hook may change the paid amounts has no profit and loss', async () => {
  const life = await mint('feeTaking')
  const { read } = await processes.start()
  const error = await read(life).catch((reason: unknown) => reason)
  expect(error).toMatchObject({
    code: 'NOT_FOUND',
    message: expect.stringContaining('hook of its pool may change what is paid'),
  })
  await devnet.send([burnCall(life)])
  expect(await read({ ...life, isBurned: true }).catch((reason: unknown) => reason)).toMatchObject({
    code: 'NOT_FOUND',
  })
}, 60_000)

test('full=true marks a position without possible profit and loss as failed, beside others', async () => {
  const [told, hooked, mixed] = [await mint(), await mint('feeTaking'), await mint()]
  await devnet.send([increaseCall({ ...mixed, liquidity: 1_000n }), swap(), collectCall(mixed)])
  await pass()
  const { pnl, list, one } = await processes.start()
  // From here on its history is complete.
  const { reply } = await askAbout(pnl, told.tokenId)
  const failed = { pnl: null, pnl_status: 'failed' }
  const expected = new Map<bigint, object>([
    [told.tokenId, { pnl: { pnl_usd_value: (reply.data as Profit).pnl_usd_value }, pnl_status: 'ready' }],
    [hooked.tokenId, failed],
    [mixed.tokenId, failed],
  ])
  const listed = await callRoute(list, { query: `wallet=${OWNER}&chain_id=1&full=true&limit=25` })
  for (const [tokenId, shown] of expected) {
    const inList = (listed.reply.data as Listed[]).find(({ token_id }) => token_id === String(tokenId))
    expect(inList).toMatchObject(shown)
    expect((await askAbout(one, tokenId, 'full=true')).reply.data).toMatchObject(shown)
  }
}, 60_000)

interface Profit {
  readonly pnl_usd_value: string
}

interface Listed {
  readonly token_id: string
}

test('a position with only its mint needs no archive: the last log with a price suffices', async () => {
  await devnet.send([swap()])
  const life = await mint()
  await pass()
  await devnet.send([swap('plain', false)])
  await devnet.rpc.call('anvil_mine', '0x100')
  const young = withoutPast(devnet.rpcUrl)
  try {
    const { read } = await processes.start({ chain: { rpcUrls: [young.rpcUrl], prices: STABLE } })
    const whole = await processes.start()
    const [told, expected] = [await read(life), await whole.read(life)]
    expect(told?.flows.map(({ row }) => row)).toEqual(expected?.flows.map(({ row }) => row) ?? [])
    expect(told?.flows.length).toBe(1)
    await devnet.send([collectCall(life)])
    await pass()
    await devnet.rpc.call('anvil_mine', '0x100')
    expect(await fault(read(life))).toMatch(/set RPC_URL_1 to an archive endpoint/)
  } finally {
    young.server.stop(true)
  }
}, 60_000)

/** No price needs a past. */
const STABLE = { usdFeeds: {}, stablecoins: [] }

test('an endpoint that omits a change, even one of fees alone, is detected by the state', async () => {
  const life = await mint()
  const acts = [() => collectCall(life), () => increaseCall({ ...life, liquidity: 77n }), () => collectCall(life)]
  const blocks: number[] = []
  for (const act of acts) {
    await devnet.send([swap(), swap('plain', false)])
    const [receipt] = await devnet.send([act()])
    blocks.push(Number(receipt?.blockNumber))
    await devnet.rpc.call('anvil_mine', '0x2')
  }
  await pass()
  for (const block of blocks) {
    faulty.rule(({ method, params }) => {
      if (method !== 'eth_getLogs' || !JSON.stringify(params).includes(CHANGE_TOPIC)) return undefined
      const change = (logs: unknown) =>
        (logs as { blockNumber: Hex }[]).filter((log) => Number(log.blockNumber) !== block)
      return { kind: 'change', change }
    })
    const alone = await processes.start({ chain: { rpcUrls: [faulty.url] } })
    expect([block, await fault(alone.read(life))]).toEqual([block, expect.stringMatching(/is not complete/)])
    const healed = await processes.start({ chain: { rpcUrls: [faulty.url, devnet.rpcUrl] } })
    const told = await healed.read(life)
    expect(told?.flows.map(({ row }) => row.block)).toContain(block)
  }
}, 120_000)

test('profit and loss and events refuse invalid ids, and answer 404 for ids that do not exist', async () => {
  const life = await mint()
  const { pnl, events } = await processes.start()
  const readCode = (route: Route, id: string, query: string) =>
    callRoute(route, { params: { id }, query }).then(
      () => 'none',
      ({ code }: { readonly code: string }) => code,
    )
  for (const route of [pnl, events]) {
    for (const id of ['-1', '0x1f', String(2n ** 256n), '1.5', 'abc', '']) {
      expect([id, await readCode(route, id, 'chain_id=1')]).toEqual([id, 'INVALID_PARAMETER'])
    }
    for (const id of ['0', '99999999', String(2n ** 256n - 1n)]) {
      for (const query of ['', 'chain_id=1']) expect([id, await readCode(route, id, query)]).toEqual([id, 'NOT_FOUND'])
    }
    const id = String(life.tokenId)
    expect(await readCode(route, id, 'chain_id=7')).toBe('INVALID_PARAMETER')
    expect(await readCode(route, id, `manager_address=${toWalletAddress('v4 other manager')}`)).toBe(
      'INVALID_PARAMETER',
    )
    expect(await readCode(route, id, 'chain_id=1')).toBe('none')
  }
}, 60_000)

test('a history is read anew after it was dropped, and its stored amounts are dropped with it', async () => {
  const life = await mint('native')
  await devnet.send([swap('native')])
  await devnet.send([decreaseCall({ ...life, liquidity: life.liquidity / 3n })])
  await pass()
  const { read, database } = await processes.start()
  const before = await read(life)
  const rows = () =>
    database.db.run('select count(*)::int as n, count(amount0)::int as found from liquidity_change', [])
  expect((await rows())[0]).toMatchObject({ found: 2 })
  await forgetHistory(database.db, 1)
  expect((await rows())[0]).toMatchObject({ n: 0 })
  const again = await (await processes.start({ database })).read(life)
  expect(again?.flows.map(({ row }) => brief(row))).toEqual(before?.flows.map(({ row }) => brief(row)) ?? [])
}, 60_000)

test('the pool of a burned position that one endpoint alone gave is told', async () => {
  const life = await mint()
  await pass()
  await devnet.send([burnCall(life)])
  await pass()
  const chain = { rpcUrls: [devnet.rpcUrl, faulty.url] }
  const first = await processes.start({ chain, isPatient: true })
  await askAbout(first.events, life.tokenId)
  const { database } = first
  const ask = async () => {
    const { events } = await processes.start({ chain, database, isPatient: true })
    // The second answer rests on what is remembered.
    const replies = [await askAbout(events, life.tokenId), await askAbout(events, life.tokenId)]
    return replies.map(({ reply }) => reply.unwitnessed)
  }
  expect(await ask()).toEqual([undefined, undefined])
  // Only the pool is read from the logs of a single block.
  faulty.rule(({ method, params: [filter] }) => {
    const { fromBlock, toBlock } = (filter ?? {}) as { readonly fromBlock?: Hex; readonly toBlock?: Hex }
    const isOne = method === 'eth_getLogs' && fromBlock !== undefined && fromBlock === toBlock
    return isOne ? { kind: 'http', status: 500, body: '' } : undefined
  })
  expect(await ask()).toEqual([[1], [1]])
}, 60_000)

test('the unfinalized end is read with each answer, and follows a reorganization', async () => {
  const life = await mint()
  await pass()
  const { read, database } = await processes.start()
  const snapshot = await devnet.rpc.call<Hex>('evm_snapshot')
  await devnet.send([swap(), swap('plain', false)])
  await devnet.send([collectCall(life)])
  expect((await read(life))?.flows.map(({ row }) => row.kind)).toEqual(['increase', 'collect'])
  await devnet.rpc.call('evm_revert', snapshot)
  await devnet.send([swap()])
  await devnet.send([decreaseCall({ ...life, liquidity: 5n })])
  await devnet.rpc.call('evm_mine')
  expect((await read(life))?.flows.map(({ row }) => row.kind)).toEqual(['increase', 'decrease', 'collect'])
  const stored = await database.db.run(
    'select kind from (select liquidity as kind from liquidity_change where token_id = $1) s',
    [String(life.tokenId)],
  )
  expect(stored.length).toBe(1)
}, 60_000)

test('ten flows take few requests the first time, and none for their past afterwards', async () => {
  const life = await mint()
  for (let round = 0; round < 3; round++) {
    await devnet.send([swap(), swap('plain', false)])
    for (const act of [
      increaseCall({ ...life, liquidity: 9n }),
      decreaseCall({ ...life, liquidity: 3n }),
      collectCall(life),
    ]) {
      await devnet.send([act])
      await devnet.rpc.call('anvil_mine', '0x28')
    }
  }
  await pass()
  const { read, requests, database } = await processes.start({ chain: { rpcUrls: [faulty.url] } })
  const told = await read(life)
  expect(new Set(told?.flows.map(({ row }) => row.block)).size).toBe(10)
  const first = requests.length
  const later = await processes.start({ database })
  await later.read(life)
  // The newest blocks are read with each answer; of the past nothing is.
  expect(later.requests.filter((method) => method === 'eth_call').length).toBeLessThanOrEqual(1)
  // With the check of the chain's id and the reading of the position they are 35.
  expect(first).toBeLessThanOrEqual(33)
}, 60_000)
