import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { encodeAbiParameters, type Hex, keccak256, toHex, zeroAddress } from 'viem'
import type { Database } from '../../../../src/db/database.ts'
import { listRoute } from '../../../../src/family/liquidity/routes/list.ts'
import { positionRoute } from '../../../../src/family/liquidity/routes/position.ts'
import { createProtocolHistories } from '../../../../src/family/liquidity/routes/position_history.ts'
import { PROTOCOL } from '../../../../src/family/uniswap_v4/protocol.ts'
import type { FindOwnedIds } from '../../../../src/family/uniswap_v4/read/ownership.ts'
import { createHistory } from '../../../../src/history/mod.ts'
import type { History } from '../../../../src/history/stream.ts'
import { CodedError } from '../../../../src/lib/error.ts'
import { silentLog } from '../../../../src/lib/log.ts'
import { once } from '../../../../src/lib/memoize.ts'
import { toWalletAddress } from '../../../devnet/addresses.ts'
import { createDevnetChain } from '../../../devnet/chain.ts'
import { type Devnet, sharedDevnet } from '../../../devnet/mod.ts'
import { rangeAround } from '../../../devnet/ticks.ts'
import { UNISWAP_V4 } from '../../../devnet/uniswap_v4/addresses.ts'
import { burnCall, decreaseCall } from '../../../devnet/uniswap_v4/calls.ts'
import type { UniswapV4 } from '../../../devnet/uniswap_v4/mod.ts'
import { HOOKS } from '../../../devnet/uniswap_v4/place.ts'
import { liquidityWorth, type V4PoolName } from '../../../devnet/uniswap_v4/pools.ts'
import { callRoute } from '../../../support/call_route.ts'
import { testDatabase } from '../../../support/database.ts'
import { countedClient, patient } from '../../../support/family/uniswap_v3/support.ts'
import { startFaultyRpc } from '../../../support/rpc.ts'
import { slowClock } from '../../../support/test_clock.ts'
import { createFindEveryId, createTestReader } from './support.ts'

const NAMES = ['plain', 'native', 'dynamicFee', 'feeTaking', 'customCurve', 'forbidding', 'protocolFee'] as const
const OWNER = toWalletAddress('v4 routes owner')
const CROWDED = toWalletAddress('v4 routes vault')

let devnet: Devnet
let v4: UniswapV4
/** The manager was placed later. */
const before = 1n
let closed: bigint
let burned: bigint
const ids = new Map<V4PoolName, bigint>()

const past = {} as { db: Database; history: History }
const closers: (() => unknown)[] = []

afterAll(async () => {
  for (const close of closers) await close()
})

beforeAll(async () => {
  devnet = await sharedDevnet()
  const { db, close } = await testDatabase()
  const { client } = countedClient(createDevnetChain(devnet))
  const clients = new Map([[client.chain.id, client]])
  const history = createHistory({ clients, db, clock: slowClock, log: silentLog, holder: 'test' })
  Object.assign(past, { db, history })
  closers.push(history.close, close)
  v4 = await devnet.uniswapV4()
  await v4.fund([OWNER])
  const request = (name: V4PoolName) => {
    const pool = v4.pools[name]
    const range = rangeAround(pool, -900, 900)
    return { pool, ...range, liquidity: liquidityWorth(pool, { ...range, usd: 1_000 }), recipient: OWNER }
  }
  const minted = await v4.mintMany([...NAMES, 'plain', 'native'].map((name) => request(name as V4PoolName)))
  for (const [index, name] of NAMES.entries()) ids.set(name, minted[index] ?? 0n)
  ;[closed = 0n, burned = 0n] = minted.slice(NAMES.length)
  const [liquidity = 0n] = await v4.readLiquidity([closed])
  await devnet.send([
    decreaseCall({ pool: v4.pools.plain, tokenId: closed, owner: OWNER, liquidity }),
    burnCall({ pool: v4.pools.native, tokenId: burned, owner: OWNER }),
  ])
}, 120_000)

interface Set {
  readonly find?: FindOwnedIds
  readonly url?: string
  readonly id?: number
}

function setUp({ find = createFindEveryId(devnet), url = devnet.rpcUrl, id = 1 }: Set = {}) {
  const { client, requests } = countedClient(createDevnetChain(devnet, { id, rpcUrls: [url] }))
  const { reader } = createTestReader(client, { find })
  const histories = once(() => createProtocolHistories(PROTOCOL, { ...past, clock: slowClock, reader }))
  const options = { chainIds: [1, 5], reader: () => reader, histories }
  return { list: listRoute(PROTOCOL, options), one: positionRoute(PROTOCOL, options), reader, requests }
}

async function refused(answer: Promise<unknown>): Promise<{ code: string; message: string }> {
  const error = await answer.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  expect(error).toBeInstanceOf(CodedError)
  const { code, message } = error as CodedError
  return { code, message }
}

const idsIn = (answer: Awaited<ReturnType<typeof callRoute>>) =>
  (answer.reply.data as { token_id: string }[]).map(({ token_id }) => BigInt(token_id))

describe('GET /v1/positions/uniswap-v4', () => {
  test('lists active positions by id, two credits each, in pages, and counts all', async () => {
    const { list } = setUp()
    const first = await callRoute(list, { query: `wallet=${OWNER}&limit=4` })
    const second = await callRoute(list, { query: `wallet=${OWNER}&limit=4&page=2` })
    expect([...idsIn(first), ...idsIn(second)]).toEqual([...ids.values()])
    expect([first.credits, second.credits]).toEqual([8, 6])
    const counts = { totalActive: 7, totalInactive: 1, total: 8, filtered: 7, errors: 0, spams: [] }
    expect(first.reply['counts']).toEqual(counts)
    expect(first.reply['pagination']).toMatchObject({ page: 1, limit: 4, total: 7 })
    expect(first.reply.asOf).toMatchObject([{ chainId: 1, blockNumber: await devnet.client.getBlockNumber() }])
  })

  test('lists closed positions with status=inactive, one credit each, and no burned ones', async () => {
    const answer = await callRoute(setUp().list, { query: `wallet=${OWNER}&status=inactive` })
    expect([idsIn(answer), answer.credits]).toEqual([[closed], 1])
  })

  test('shows for each pool its hook with permissions, the fee in force and the protocol fee', async () => {
    const { reply } = await callRoute(setUp().list, { query: `wallet=${OWNER}` })
    const pools = Object.fromEntries(
      (
        reply.data as { token_id: string; position_state: { pool: object; token0: { id: string; symbol: string } } }[]
      ).map(({ token_id, position_state: { pool, token0 } }) => [token_id, { ...pool, token0 }]),
    )
    const getPool = (name: V4PoolName) => pools[String(ids.get(name))]
    expect(getPool('plain')).toMatchObject({ id: v4.pools.plain.id, feeTier: '3000', hooks: null, protocolFee: '0' })
    expect(getPool('native')).toMatchObject({ token0: { id: zeroAddress, symbol: 'ETH' }, tickSpacing: '10' })
    expect(getPool('dynamicFee')).toMatchObject({
      feeTier: '3000',
      isDynamicFee: true,
      hooks: { permissions: ['afterInitialize', 'beforeSwap'] },
    })
    expect(getPool('feeTaking')).toMatchObject({
      isDynamicFee: false,
      hooks: {
        permissions: ['afterRemoveLiquidity', 'afterSwap', 'afterSwapReturnsDelta', 'afterRemoveLiquidityReturnsDelta'],
      },
    })
    expect(getPool('forbidding')).toMatchObject({ hooks: { permissions: ['beforeRemoveLiquidity'] } })
    expect(getPool('protocolFee')).toMatchObject({ protocolFee: String((1_000 << 12) | 500) })
    expect(JSON.stringify(pools).toLowerCase()).toContain(HOOKS.feeTaking.toLowerCase())
  })

  test('adds figures with full=true, fifteen credits each, and withdrawable amounts behind hooks', async () => {
    const { list } = setUp()
    const seen = (['feeTaking', 'forbidding'] as const).map((name) => ({
      pool: v4.pools[name],
      tokenId: ids.get(name) ?? 0n,
      owner: OWNER,
    }))
    const [paid, none] = await v4.realBurns(seen)
    expect(none).toBeNull()
    const { reply, credits } = await callRoute(list, { query: `wallet=${OWNER}&full=true` })
    expect(credits).toBe(7 * 15)
    const found = new Map((reply.data as { token_id: string }[]).map((each) => [BigInt(each.token_id), each]))
    const of = (name: V4PoolName) => found.get(ids.get(name) ?? 0n) as unknown as Record<string, never>
    expect(of('plain')['usd']).toMatchObject({ total: expect.stringMatching(/^1\d{3}\.|^9\d\d\./) })
    for (const name of ['plain', 'native', 'dynamicFee', 'customCurve', 'protocolFee'] as const) {
      expect([name, 'withdrawable' in of(name)]).toEqual([name, false])
    }
    expect(of('feeTaking')).toMatchObject({
      withdrawable: { token0: { raw: String(paid?.amount0) }, token1: { raw: String(paid?.amount1) } },
      withdrawable_error: null,
    })
    expect(of('forbidding')).toMatchObject({
      withdrawable: null,
      withdrawable_error: 'reverts',
      usd: { total: null, amounts: expect.any(String) },
    })
  })

  test('executes withdrawals known to be needed in the call that reads the list', async () => {
    const { reader, requests } = setUp()
    const places = [...reader.targets.values()]
    const full = async () => {
      const reads = await reader.readWallet(OWNER, { targets: places, isFull: true, work: patient })
      const positions = reads.flatMap((read) => read.positions).map((each) => each.whole())
      return (await reader.readFull(positions, { targets: places, reads, work: patient })).map(
        ({ withdrawal }) => withdrawal,
      )
    }
    const first = await full()
    expect(first.filter((each) => each !== undefined)).toHaveLength(2)
    requests.length = 0
    expect(await full()).toEqual(first)
    expect(requests).toEqual(['eth_call'])
  })

  test('takes one request for a wallet with cached ids, and for one without positions', async () => {
    const { list, requests } = setUp()
    await callRoute(list, { query: `wallet=${OWNER}` })
    requests.length = 0
    await callRoute(list, { query: `wallet=${OWNER}` })
    expect(requests).toEqual(['eth_call'])
    requests.length = 0
    const none = await callRoute(list, { query: `wallet=${toWalletAddress('v4 nobody')}` })
    expect([idsIn(none), none.credits, requests]).toEqual([[], 0, ['eth_call']])
    for (const wallet of [zeroAddress, UNISWAP_V4.poolManager, UNISWAP_V4.positionManager]) {
      const holder = await callRoute(list, { query: `wallet=${wallet}` })
      expect([wallet, idsIn(holder), holder.credits]).toEqual([wallet, [], 0])
    }
  })

  test('never omits a position: a missing id answers 503 and names the check', async () => {
    const all = createFindEveryId(devnet)
    const missing = ids.get('native')
    const find: FindOwnedIds = async (...asked) => (await all(...asked)).filter((id) => id !== missing)
    const { code, message } = await refused(callRoute(setUp({ find }).list, { query: `wallet=${OWNER}` }))
    expect(code).toBe('SERVICE_UNAVAILABLE')
    expect(message).toContain('check "ownership" failed')
    expect(message).toContain('owns 8, and 7 were found')
  })

  test('recovers when the wallet receives and sends positions between two answers', async () => {
    const { list } = setUp()
    const wallet = toWalletAddress('v4 routes changing')
    const pool = v4.pools.plain
    const mint = () => v4.mint({ pool, ...rangeAround(pool, -60, 60), liquidity: 10n ** 9n, recipient: wallet })
    const first = await mint()
    expect(idsIn(await callRoute(list, { query: `wallet=${wallet}` }))).toEqual([first])
    const second = await mint()
    expect(idsIn(await callRoute(list, { query: `wallet=${wallet}` }))).toEqual([first, second])
    await devnet.send([burnCall({ pool, tokenId: first, owner: wallet })])
    expect(idsIn(await callRoute(list, { query: `wallet=${wallet}` }))).toEqual([second])
  })

  test('answers past blocks, with no positions before the manager was deployed', async () => {
    const { list, one } = setUp()
    const early = await callRoute(list, { query: `wallet=${OWNER}&chain_id=1&at_block=${before}` })
    expect([idsIn(early), early.credits]).toEqual([[], 0])
    expect(early.reply.asOf).toMatchObject([{ chainId: 1, blockNumber: before }])
    const at = `chain_id=1&at_block=${before}`
    const single = await refused(callRoute(one, { query: at, params: { id: String(ids.get('plain')) } }))
    expect(single.code).toBe('NOT_FOUND')
    const wallet = toWalletAddress('v4 routes past')
    const pool = v4.pools.plain
    const tokenId = await v4.mint({ pool, ...rangeAround(pool, -60, 60), liquidity: 10n ** 9n, recipient: wallet })
    const then = await devnet.client.getBlockNumber()
    await devnet.send([burnCall({ pool, tokenId, owner: wallet })])
    expect(idsIn(await callRoute(list, { query: `wallet=${wallet}` }))).toEqual([])
    const past = await callRoute(list, { query: `wallet=${wallet}&chain_id=1&at_block=${then}` })
    expect(idsIn(past)).toEqual([tokenId])
  })

  test('refuses a wallet with too many positions, with their number', async () => {
    // `_balanceOf` of solmate's ERC721 is slot 3.
    const { rpc } = devnet
    const slot = mappingSlot(CROWDED, 3n)
    await rpc.call('anvil_setStorageAt', UNISWAP_V4.positionManager, slot, toHex(123_456n, { size: 32 }))
    const { code, message } = await refused(callRoute(setUp().list, { query: `wallet=${CROWDED}` }))
    expect(code).toBe('INVALID_PARAMETER')
    expect(message).toContain('Cannot list 123456 positions on chain 1')
  })

  test('refuses invalid parameters', async () => {
    const { list, one } = setUp()
    for (const [query, code, words] of [
      ['', 'MISSING_PARAMETER', 'wallet'],
      ['wallet=0x12', 'INVALID_PARAMETER', 'wallet'],
      [`wallet=${OWNER}&status=inactive&full=true`, 'INVALID_PARAMETER', '"full"'],
      [`wallet=${OWNER}&status=active`, 'INVALID_PARAMETER', '"status"'],
      [`wallet=${OWNER}&chain_id=7`, 'INVALID_PARAMETER', '"chain_id"'],
      [`wallet=${OWNER}&at_block=9999999&chain_id=1`, 'INVALID_PARAMETER', 'at_block'],
      [`wallet=${OWNER}&at_block=5`, 'MISSING_PARAMETER', 'chain_id'],
    ] as const) {
      const error = await refused(callRoute(list, { query }))
      expect([query, error.code]).toEqual([query, code])
      expect(error.message).toContain(words)
    }
    // Served, without this family.
    const elsewhere = await callRoute(list, { query: `wallet=${OWNER}&chain_id=5` })
    expect([idsIn(elsewhere), elsewhere.credits]).toEqual([[], 0])
    const single = await refused(callRoute(one, { query: 'chain_id=5', params: { id: String(ids.get('plain')) } }))
    expect(single.code).toBe('NOT_FOUND')
  })

  test('answers the same with an endpoint that ignores state overrides, and with one that refuses them', async () => {
    const { list } = setUp()
    const expected = (await callRoute(list, { query: `wallet=${OWNER}` })).reply
    for (const how of ['ignore', 'refuse'] as const) {
      const proxy = await startFaultyRpc(devnet.rpcUrl)
      proxy.rule(() => ({ kind: 'no_overrides', how }))
      const { reply } = await callRoute(setUp({ url: proxy.url }).list, { query: `wallet=${OWNER}` })
      expect(reply).toEqual(expected)
      await proxy.stop()
    }
  })
})

function mappingSlot(owner: Hex, slot: bigint): Hex {
  return keccak256(encodeAbiParameters([{ type: 'address' }, { type: 'uint256' }], [owner, slot]))
}

describe('GET /v1/positions/uniswap-v4/{id}', () => {
  test('reads one position, with the square root of the price, two credits; fifteen with full=true', async () => {
    const { one } = setUp()
    const id = String(ids.get('native'))
    const { reply, credits } = await callRoute(one, { params: { id } })
    expect(credits).toBe(2)
    expect(reply.data).toMatchObject({
      token_id: id,
      wallet: OWNER,
      is_active: true,
      manager_address: UNISWAP_V4.positionManager,
      position_state: { pool: { id: v4.pools.native.id, sqrtPrice: expect.stringMatching(/^\d+$/) } },
    })
    const full = await callRoute(one, {
      params: { id },
      query: `full=true&manager_address=${UNISWAP_V4.positionManager}`,
    })
    expect(full.credits).toBe(15)
    expect(full.reply.data).toMatchObject({ in_range: true, usd: { token0_price_source: 'wrapper' } })
  })

  test('shows a withdrawal of zero for a closed position, with any hook', async () => {
    const pool = v4.pools.feeTaking
    const range = rangeAround(pool, -60, 60)
    const liquidity = liquidityWorth(pool, { ...range, usd: 100 })
    const tokenId = await v4.mint({ pool, ...range, liquidity, recipient: OWNER })
    await devnet.send([decreaseCall({ pool, tokenId, owner: OWNER, liquidity })])
    const { reply } = await callRoute(setUp().one, { params: { id: String(tokenId) }, query: 'full=true' })
    expect(reply.data).toMatchObject({
      is_active: false,
      withdrawable: { token0: { raw: '0' }, token1: { raw: '0' } },
      withdrawable_error: null,
    })
    await devnet.send([burnCall({ pool, tokenId, owner: OWNER })])
  })

  test('answers 404 for ids without an owner, and refuses invalid ids', async () => {
    const { one } = setUp()
    for (const id of ['0', String(burned), '99999999', String(2n ** 256n - 1n)]) {
      expect([id, (await refused(callRoute(one, { params: { id } }))).code]).toEqual([id, 'NOT_FOUND'])
    }
    for (const id of ['-1', '0x1f', String(2n ** 256n), '1.5', 'abc', '']) {
      expect([id, (await refused(callRoute(one, { params: { id } }))).code]).toEqual([id, 'INVALID_PARAMETER'])
    }
    const query = `manager_address=${toWalletAddress('v4 other manager')}`
    const unknown = await refused(callRoute(one, { params: { id: '1' }, query }))
    expect(unknown).toEqual({
      code: 'INVALID_PARAMETER',
      message: expect.stringContaining(`expected a configured one (${UNISWAP_V4.positionManager} on chain 1)`),
    })
  })
})
