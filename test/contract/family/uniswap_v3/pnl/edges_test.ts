import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Address } from 'viem'
import { readBlock } from '../../../../../src/chain/evm/read_block.ts'
import { createFlowCheck } from '../../../../../src/family/liquidity/enumerable/position_history/stream.ts'
import { positionSubject } from '../../../../../src/family/liquidity/position_history/position_flow.ts'
import type { CompleteHistory, EnsureRequest, History, StreamTarget } from '../../../../../src/history/stream.ts'
import { createWork, type Work } from '../../../../../src/lib/async/work.ts'
import { createDevnetChain } from '../../../../devnet/chain.ts'
import { addPancakeswapV3 } from '../../../../devnet/pancakeswap_v3/mod.ts'
import {
  burnCall,
  collectCall,
  decreaseLiquidityCall,
  MANAGER_ABI,
  mintCall,
} from '../../../../devnet/uniswap_v3_calls.ts'
import type { RandomPool } from '../../../../devnet/uniswap_v3_random/pools.ts'
import { callRoute } from '../../../../support/call_route.ts'
import { caseCount } from '../../../../support/cases.ts'
import { type TestDatabase, testDatabase } from '../../../../support/database.ts'
import { countedClient, DEPLOYMENT } from '../../../../support/family/uniswap_v3/support.ts'
import { startFaultyRpc } from '../../../../support/rpc.ts'
import { slowClock } from '../../../../support/test_clock.ts'
import { placeSecondManager, SECOND } from '../second_manager.ts'
import { withoutPast, withShortRanges } from './endpoints.ts'
import { flowsFromReceipts } from './receipts.ts'
import { askAbout, type PnlScene, startPnlScene, toFeeds } from './scene.ts'
import { computeTruth, computeTruths, type ExpectedPnl } from './truth.ts'

let scene: PnlScene
const databases: TestDatabase[] = []

beforeAll(async () => {
  scene = await startPnlScene({ seed: 5, count: caseCount(48, 30) })
}, 60_000)
afterAll(async () => {
  await Promise.all(databases.map((database) => database.close()))
  await scene.close()
})

async function freshDatabase(): Promise<TestDatabase> {
  const database = await testDatabase()
  databases.push(database)
  return database
}

async function positionThat(
  fits: (each: { readonly liquidity: bigint; readonly pool: RandomPool }) => boolean,
): Promise<ExpectedPnl> {
  const held = scene.lives.positions.filter(({ isBurned }) => !isBurned)
  const stored = await scene.devnet.v3.readPositions(held.map(({ tokenId }) => tokenId))
  const found = held.find(({ pool }, index) => fits({ pool, liquidity: stored[index]?.liquidity ?? 0n }))
  if (found === undefined) throw new Error('Cannot find such a position')
  return found
}

const isActive = ({ liquidity }: { readonly liquidity: bigint }) => liquidity > 0n

describe('a missing position', () => {
  test('is NOT_FOUND: an active position among the closed ones, a burned one without its chain, an unknown id', async () => {
    const { pnl, events } = scene.routes()
    const { tokenId } = await positionThat(isActive)
    await expect(askAbout(pnl, tokenId, 'status=inactive')).rejects.toMatchObject({
      code: 'NOT_FOUND',
      message: `Position ${tokenId} on chain 1 is active: ask without "status"`,
    })
    const burned = scene.lives.positions.find(({ isBurned }) => isBurned)
    const params = { id: String(burned?.tokenId) }
    for (const route of [pnl, events]) {
      await expect(callRoute(route, { params })).rejects.toMatchObject({
        code: 'NOT_FOUND',
        message: expect.stringContaining('a burned one needs "chain_id"'),
      })
      for (const id of [0n, 123_456n, 2n ** 256n - 1n]) {
        await expect(askAbout(route, id)).rejects.toMatchObject({ code: 'NOT_FOUND' })
      }
    }
  })

  test('costs no request for logs if its id was never assigned, and is searched for if that is unknown', async () => {
    const database = await freshDatabase()
    const { pnl, events, requests } = scene.routes({ database })
    const next = BigInt(Math.max(...scene.lives.positions.map(({ tokenId }) => Number(tokenId)))) + 1n
    const logs = (asked: readonly string[]) => asked.filter((method) => method === 'eth_getLogs').length
    const message = `Position ${next} never existed on the queried position managers`
    for (const route of [pnl, events]) {
      for (const id of [0n, next, 2n ** 256n - 1n]) {
        await expect(askAbout(route, id)).rejects.toMatchObject({ code: 'NOT_FOUND' })
      }
    }
    expect(logs(requests)).toBe(0)
    const rpc = await startFaultyRpc(scene.devnet.rpcUrl)
    try {
      const error = { code: -32_601, message: 'the method eth_getStorageAt does not exist' }
      const counters = [
        { kind: 'error', error },
        // No counters: an address, as another layout could have there.
        { kind: 'result', result: `0x${'00'.repeat(12)}${'ab'.repeat(20)}` },
        // Fewer ids than existing positions.
        { kind: 'result', result: `0x${'00'.repeat(9)}01${'00'.repeat(21)}01` },
      ] as const
      for (const fault of counters) {
        rpc.rule(({ method }) => (method === 'eth_getStorageAt' ? fault : undefined))
        const searched = scene.routes({ database, chain: { rpcUrls: [rpc.url] } })
        await expect(askAbout(searched.pnl, next)).rejects.toMatchObject({ code: 'NOT_FOUND', message })
        expect(logs(searched.requests)).toBeGreaterThan(0)
      }
    } finally {
      await rpc.stop()
    }
  })

  test('says which manager to name if several had a burned id', async () => {
    const { devnet, lives } = scene
    await placeSecondManager(devnet)
    const burned = lives.positions.find(({ isBurned }) => isBurned)
    if (burned === undefined) throw new Error('Cannot test without a burned position')
    const { tokenId } = burned
    const owner = devnet.wallets.receiver
    const pool = devnet.pools.usdcWeth500
    const mint = mintCall({
      pool,
      tickLower: -887_270,
      tickUpper: 887_270,
      amount0: 10n ** 9n,
      amount1: 10n ** 18n,
      recipient: owner,
    })
    const again = Array.from({ length: Number(tokenId) - 1 }, () => ({ ...mint, to: SECOND.manager }))
    await devnet.send(again)
    const stored = await devnet.client.readContract({
      address: SECOND.manager,
      abi: MANAGER_ABI,
      functionName: 'positions',
      args: [tokenId],
    })
    const away = [
      decreaseLiquidityCall({ tokenId, owner, liquidity: stored[7] }),
      collectCall({ tokenId, owner }),
      burnCall({ tokenId, owner }),
    ]
    await devnet.send(away.map((call) => ({ ...call, to: SECOND.manager })))
    const { pnl } = scene.routes({ deployments: [DEPLOYMENT, SECOND] })
    const says = expect.stringMatching(/needs parameter "manager_address".*0xC36442b4/)
    await expect(askAbout(pnl, tokenId)).rejects.toMatchObject({ code: 'MISSING_PARAMETER', message: says })
    for (const { manager } of [DEPLOYMENT, SECOND]) {
      const { reply } = await askAbout(pnl, tokenId, `manager_address=${manager}`)
      expect(reply.data as unknown).toMatchObject({
        token_id: String(tokenId),
        is_closed: true,
        unrealized_usd_value: '0.000000',
      })
    }
  })
})

describe('an incomplete history', () => {
  test.each(['increase', 'decrease'])('is 503 if a stored %s is missing, and never a figure', async (kind) => {
    const database = await freshDatabase()
    const { pnl, one, events } = scene.routes({ database })
    const { tokenId } = await storedPosition(database.db, kind)
    await database.db.run('delete from position_flow where token_id = $1 and kind = $2', [String(tokenId), kind])
    const asks = [
      () => askAbout(pnl, tokenId),
      () => askAbout(events, tokenId),
      () => askAbout(one, tokenId, 'full=true'),
    ]
    for (const ask of asks) {
      await expect(ask()).rejects.toMatchObject({
        code: 'SERVICE_UNAVAILABLE',
        message: expect.stringMatching(/is not complete: the liquidity of its flows/),
      })
    }
  })

  test('is 404 if no token ever had a price, naming one, and null in the detailed payload', async () => {
    const { pnl, one, events } = scene.routes({ chain: { prices: { usdFeeds: {}, stablecoins: [] } } })
    const { tokenId, pool } = await positionThat(isActive)
    await expect(askAbout(pnl, tokenId)).rejects.toMatchObject({
      code: 'NOT_FOUND',
      message: expect.stringContaining(`${pool.token0} because no source of its price is configured`),
    })
    expect((await askAbout(one, tokenId, 'full=true')).reply.data as unknown).toMatchObject({
      pnl: null,
      pnl_status: 'unpriced',
    })
    const listed = (await askAbout(events, tokenId)).reply.data as unknown as { prices: unknown; usd_value: unknown }[]
    for (const { prices, usd_value } of listed) expect([prices, usd_value]).toEqual([null, null])
  })

  test('is 503 naming the token if no endpoint keeps the state and its feed keeps no rounds', async () => {
    const { rpcUrl, server } = withoutPast(scene.devnet.rpcUrl)
    try {
      const { pnl } = scene.routes({ chain: { rpcUrls: [rpcUrl] }, database: await freshDatabase() })
      const { tokenId } = await positionThat(
        (each) => isActive(each) && each.pool.tokens.every(({ feed }) => feed !== undefined),
      )
      await expect(askAbout(pnl, tokenId)).rejects.toMatchObject({
        code: 'SERVICE_UNAVAILABLE',
        message: expect.stringMatching(/Cannot price token 0x.*no endpoint keeps the state/),
      })
    } finally {
      await server.stop(true)
    }
  })
})

describe('the check of stored flows against the manager', () => {
  test.each(['decrease', 'collect', 'increase'])('finds that a %s is not stored', async (kind) => {
    const { db } = await freshDatabase()
    const { tokenId, client } = await storedPosition(db, kind)
    const { verify } = createFlowCheck({ stream: 'uniswap_v3_flow', clock: slowClock })
    const fromBlock = scene.flows.get(tokenId)?.[0]?.blockNumber ?? 0
    const toBlock = Number(scene.lives.blockNumber) - 15
    const part = { subject: positionSubject(tokenId), client, db, fromBlock, toBlock }
    const place = { chainId: 1, contract: DEPLOYMENT.manager.toLowerCase() as Address, startBlock: 0 }
    const work = createWork(new AbortController().signal)
    await verify(place, part, work)
    await db.run(
      `delete from position_flow where token_id = $1 and kind = $2 and (amount0 > 0 or amount1 > 0) and block = (
        select min(block) from position_flow where token_id = $1 and kind = $2 and (amount0 > 0 or amount1 > 0))`,
      [String(tokenId), kind],
    )
    const fresh = createFlowCheck({ stream: 'uniswap_v3_flow', clock: slowClock })
    await expect(fresh.verify(place, part, work)).rejects.toThrow(/found that logs are missing in blocks/)
    const { rpcUrl, server } = withoutPast(scene.devnet.rpcUrl)
    try {
      const { client: forgetful } = countedClient(createDevnetChain(scene.devnet, { rpcUrls: [rpcUrl] }))
      const unable = createFlowCheck({ stream: 'uniswap_v3_flow', clock: slowClock })
      await unable.verify(place, { ...part, client: forgetful }, work)
    } finally {
      await server.stop(true)
    }
  })
})

/** Finds a position that was stored whole, with flows of a kind in blocks of their own. */
async function storedPosition(db: TestDatabase['db'], kind: string) {
  const { pnl } = scene.routes({ database: { db, url: '', close: async () => {} } })
  const found = scene.lives.positions.find(({ tokenId, isBurned }) => {
    const flows = (scene.flows.get(tokenId) ?? []).filter(
      ({ blockNumber }) => blockNumber < Number(scene.lives.blockNumber) - 15,
    )
    const alone = flows.filter((flow) =>
      flows.every((other) => other === flow || other.blockNumber !== flow.blockNumber),
    )
    const [first] = alone.filter((flow) => flow.kind === kind && flow.amount0 + flow.amount1 > 0n)
    return (
      !isBurned &&
      first !== undefined &&
      flows.find((flow) => flow.kind === kind && flow.amount0 + flow.amount1 > 0n) === first
    )
  })
  if (found === undefined) throw new Error(`Cannot find a position with a ${kind}`)
  await askAbout(pnl, found.tokenId)
  return { tokenId: found.tokenId, client: countedClient(createDevnetChain(scene.devnet)).client }
}

test('an endpoint that accepts only short ranges gives the same figures', async () => {
  const { server, rpcUrl, longest } = withShortRanges(scene.devnet.rpcUrl, 7)
  try {
    const { pnl } = scene.routes({ chain: { rpcUrls: [rpcUrl] }, database: await freshDatabase() })
    const wanted = scene.lives.positions.slice(0, 6)
    const block = BigInt(await scene.devnet.rpc.call<string>('eth_blockNumber'))
    const truths = await computeTruths(scene.devnet, wanted, { flows: scene.flows, block })
    for (const [index, { tokenId }] of wanted.entries()) {
      expect((await askAbout(pnl, tokenId)).reply.data as unknown).toEqual({ ...truths[index]?.pnl })
    }
    expect(longest()).toBe(7)
  } finally {
    await server.stop(true)
  }
})

test('an answer ends at the final block if the tail is too long', async () => {
  const { devnet, lives, flows } = scene
  const last = lives.blockNumber - 20n
  const { client } = countedClient(createDevnetChain(devnet))
  const pinned = await client.read((endpoint, work) => readBlock(endpoint, { chainId: 1, number: last }, work), {
    work: createWork(new AbortController().signal),
  })
  const around = (history: History): History => ({
    async ensure<Row, Place extends StreamTarget>(
      request: EnsureRequest<Row, Place>,
      work: Work,
    ): Promise<CompleteHistory<Row>> {
      const { storedTo, version } = await history.ensure(request, work)
      expect(storedTo).toBeGreaterThanOrEqual(Number(last))
      return { storedTo: Number(last), tail: [], isUntouched: false, isAgreed: true, block: pinned, version }
    },
  })
  const { pnl } = scene.routes({ around, database: await freshDatabase() })
  const born = [...flows].filter(([, [first]]) => BigInt(first?.blockNumber ?? 0) < last).map(([tokenId]) => tokenId)
  const wanted = lives.positions.filter(({ tokenId, isBurned }) => !isBurned && born.includes(tokenId)).slice(0, 8)
  const truths = await computeTruths(devnet, wanted, { flows, block: last })
  for (const [index, { tokenId }] of wanted.entries()) {
    const { reply } = await askAbout(pnl, tokenId)
    expect(reply.data as unknown).toEqual({ ...truths[index]?.pnl })
    expect(reply.asOf).toMatchObject([{ chainId: 1, blockNumber: last }])
  }
})

test('PancakeSwap’s manager has the same flows', async () => {
  const { devnet, lives } = scene
  const pancakeswap = await addPancakeswapV3(devnet)
  const { manager, factory, tokenIds } = pancakeswap
  const [dai, usdt] = [devnet.addresses.tokens.dai, devnet.addresses.tokens.usdt]
  const { pnl } = scene.routes({
    deployments: [{ manager, factory, startBlock: 0, code: 'pancakeswap_v3' }],
    chain: { prices: { usdFeeds: toFeeds([dai, usdt]), stablecoins: [] } },
  })
  const block = BigInt(await devnet.rpc.call<string>('eth_blockNumber'))
  const flows = await flowsFromReceipts(devnet.rpc, { toBlock: block, manager })
  const pool: RandomPool = { ...pancakeswap.pool, tokens: [dai, usdt] }
  expect(lives.pools.every(({ address }) => address !== pool.address)).toBe(true)
  for (const tokenId of tokenIds) {
    const [principal, owed] = [await pancakeswap.staticDecrease(tokenId), await pancakeswap.staticCollect(tokenId)]
    const truth = await computeTruth(
      devnet,
      { tokenId, pool },
      {
        block,
        manager,
        flows: flows.get(tokenId) ?? [],
        payable: { principal: [principal.amount0, principal.amount1], collectable: [owed.amount0, owed.amount1] },
      },
    )
    expect((await askAbout(pnl, tokenId)).reply.data as unknown).toEqual({ ...truth.pnl })
  }
})
