import { beforeAll, describe, expect, test } from 'bun:test'
import { UNISWAP_V3 } from '../../../../src/family/uniswap_v3/mod.ts'
import { CodedError } from '../../../../src/lib/error.ts'
import { toWalletAddress } from '../../../devnet/addresses.ts'
import { createDevnetChain } from '../../../devnet/chain.ts'
import { type Devnet, sharedDevnet } from '../../../devnet/mod.ts'
import { countedClient, DEPLOYMENT } from '../../../support/family/uniswap_v3/support.ts'
import { createFamilyRoutes } from '../../../support/family.ts'
import { type Answer, ask, createRoutes, getIds as ids, type Routes } from './ask.ts'
import { placeSecondManager, SECOND } from './second_manager.ts'

let devnet: Devnet
let routes: Routes
/** Endpoints with a second manager and a second chain without this family. */
let crowded: Routes

beforeAll(async () => {
  devnet = await sharedDevnet()
  await placeSecondManager(devnet)
  const { client } = countedClient(createDevnetChain(devnet))
  routes = createRoutes([client], [DEPLOYMENT])
  const other = countedClient(createDevnetChain(devnet, { id: 5, rpcUrls: ['http://127.0.0.1:9'] })).client
  crowded = createRoutes([client, other], [DEPLOYMENT, SECOND])
}, 60_000)

test('both routes say how to leave a dead chain out, if other chains are read too', async () => {
  const dead = [1, 5].map(
    (id) => countedClient(createDevnetChain(devnet, { id, rpcUrls: ['http://127.0.0.1:9'] })).client,
  )
  const rows = [1, 5].map((id) => [id, { uniswapV3: [DEPLOYMENT] }] as const)
  const [list, one] = createFamilyRoutes(UNISWAP_V3, { clients: dead, rows })
  if (list === undefined || one === undefined) throw new Error('Cannot find the routes')
  const { provider } = devnet.wallets
  const advice = /^Cannot read chain [15] .*: leave it out with the "chain_id" parameter or try again$/
  await expect(ask(list, `wallet=${provider}`)).rejects.toThrow(advice)
  await expect(ask(one, '', { id: '1' })).rejects.toThrow(advice)
  await expect(ask(list, `wallet=${provider}&chain_id=5`)).rejects.toThrow(/^Cannot read chain 5 [^:]*$/)
  await expect(ask(one, 'chain_id=5', { id: '1' })).rejects.toThrow(/^Cannot read chain 5 [^:]*$/)
})

async function refused(answer: Promise<Answer>): Promise<{ code: string; message: string }> {
  const error = await answer.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  expect(error).toBeInstanceOf(CodedError)
  const { code, message } = error as CodedError
  return { code, message }
}

describe('GET /v1/positions/uniswap-v3', () => {
  test('lists active positions in order of their ids, ten to a page, two credits each', async () => {
    const { provider } = devnet.wallets
    const answer = await ask(routes.list, `wallet=${provider}&limit=5`)
    expect(answer.reply.pagination).toMatchObject({ page: 1, limit: 5, total: 8, prev_page: null })
    expect(answer.reply.pagination?.next_page).toContain('page=2')
    expect(answer.credits).toBe(10)
    expect(answer.creditsMin).toBe(2)
    const second = await ask(routes.list, `wallet=${provider}&limit=5&page=2`)
    const found = [...ids(answer), ...ids(second)].map(Number)
    expect(found).toEqual([...found].sort((a, b) => a - b))
    expect(second.credits).toBe(6)
    expect(answer.reply.counts).toEqual({
      totalActive: 8,
      totalInactive: 2,
      total: 10,
      filtered: 8,
      errors: 0,
      spams: [],
    })
    expect(answer.reply.asOf).toMatchObject([{ chainId: 1, blockNumber: await devnet.client.getBlockNumber() }])
  })

  test('lists closed positions with status=inactive, one credit each', async () => {
    const answer = await ask(routes.list, `wallet=${devnet.wallets.provider}&status=inactive`)
    expect(ids(answer).map(BigInt)).toEqual([devnet.positions.closed, devnet.positions.closedOwed])
    expect(answer.credits).toBe(2)
    expect(answer.reply.counts).toMatchObject({ filtered: 2, total: 10 })
  })

  test('adds figures with full=true, fifteen credits each, to active positions only', async () => {
    const answer = await ask(routes.list, `wallet=${devnet.wallets.single}&full=true`)
    expect(answer.reply.data as unknown).toMatchObject([
      { is_active: true, in_range: true, usd: { token0_price: '1.000000' } },
    ])
    expect(answer.credits).toBe(15)
    expect((await ask(routes.list, `wallet=${devnet.wallets.retired}&full=true`)).credits).toBe(0)
  })

  test('is empty and free for a wallet without positions, and past the end', async () => {
    for (const query of [`wallet=${devnet.wallets.empty}`, `wallet=${devnet.wallets.single}&page=7`]) {
      const answer = await ask(routes.list, query)
      expect({ data: answer.reply.data as unknown, credits: answer.credits }).toEqual({ data: [], credits: 0 })
    }
  })

  test('leaves spam out and says why', async () => {
    const { spammed } = devnet.wallets
    const answer = await ask(routes.list, `wallet=${spammed}`)
    expect(ids(answer)).toEqual([devnet.positions.good.toString()])
    expect(answer.reply.counts).toMatchObject({ totalActive: 1, total: 1 })
    const [spam, ...others] = answer.reply.counts['spams'] as { reason: string }[]
    expect(others).toEqual([])
    expect(spam).toMatchObject({
      token_id: devnet.positions.spam.toString(),
      chain_id: 1,
      manager_address: DEPLOYMENT.manager,
    })
    expect(spam?.reason).toMatch(/^Token 0x[0-9a-fA-F]{40}: its name /)
  })

  test('counts what cannot be decoded in errors, and lists the rest', async () => {
    const { wallet } = await devnet.hostile()
    const answer = await ask(routes.list, `wallet=${wallet}&full=true`)
    expect(answer.reply.counts).toMatchObject({ total: 7, errors: 6, filtered: 7 })
    expect(answer.reply.counts['spams']).toHaveLength(5)
    expect(ids(answer)).toHaveLength(7)
  })

  test('lists several managers, by address, each with its code', async () => {
    const answer = await ask(crowded.list, `wallet=${devnet.wallets.receiver}&chain_id=1`)
    const managers = (answer.reply.data as { manager_address: string }[]).map(({ manager_address }) => manager_address)
    expect(managers).toEqual(
      [DEPLOYMENT.manager, SECOND.manager].sort((a, b) => (a.toLowerCase() < b.toLowerCase() ? -1 : 1)),
    )
  })

  test('does not read chains without a manager', async () => {
    expect((await ask(crowded.list, `wallet=${devnet.wallets.single}`)).reply.asOf).toMatchObject([{ chainId: 1 }])
    const other = await ask(crowded.list, `wallet=${devnet.wallets.single}&chain_id=5`)
    expect({ data: other.reply.data as unknown, asOf: other.reply.asOf }).toEqual({ data: [], asOf: [] })
  })

  test('refuses invalid parameters', async () => {
    const wallet = `wallet=${devnet.wallets.single}`
    const cases: readonly (readonly [string, string, string])[] = [
      ['', 'MISSING_PARAMETER', 'wallet'],
      ['wallet=', 'MISSING_PARAMETER', 'wallet'],
      ['wallet=0x12', 'INVALID_PARAMETER', 'wallet'],
      [`${wallet}&status=active`, 'INVALID_PARAMETER', 'status'],
      [`${wallet}&full=yes`, 'INVALID_PARAMETER', 'full'],
      [`${wallet}&full=true&status=inactive`, 'INVALID_PARAMETER', 'full'],
      [`${wallet}&chain_id=10`, 'INVALID_PARAMETER', 'chain_id'],
      [`${wallet}&page=0`, 'INVALID_PARAMETER', 'page'],
      [`${wallet}&limit=26`, 'INVALID_PARAMETER', 'limit'],
    ]
    for (const [query, code, name] of cases) {
      const error = await refused(Promise.resolve().then(() => ask(routes.list, query)))
      expect({ query, code: error.code, named: error.message.includes(`"${name}"`) }).toEqual({
        query,
        code,
        named: true,
      })
    }
  })

  test('says so if no chain with this family is configured', async () => {
    const { list, one } = createRoutes([countedClient(createDevnetChain(devnet)).client], [])
    expect((await refused(ask(list, `wallet=${devnet.wallets.single}`))).code).toBe('API_ENDPOINT_NOT_CONFIGURED')
    expect((await refused(ask(one, '', { id: '1' }))).code).toBe('API_ENDPOINT_NOT_CONFIGURED')
  })
})

describe('GET /v1/positions/uniswap-v3/:id', () => {
  test('is the position with its pool’s square-root price, two credits', async () => {
    const { usdcWeth500 } = devnet.pools
    const { sqrtPriceX96 } = await devnet.v3.readSlot0(usdcWeth500.address)
    const id = devnet.positions.single.toString()
    const answer = await ask(routes.one, '', { id })
    expect(answer.reply.data as unknown).toMatchObject({
      token_id: id,
      wallet: devnet.wallets.single,
      is_active: true,
      position_state: { pool: { id: usdcWeth500.address, sqrtPrice: sqrtPriceX96.toString() } },
    })
    expect(answer.reply.data as unknown).not.toHaveProperty('amounts')
    expect({ credits: answer.credits, creditsMin: answer.creditsMin }).toEqual({ credits: 2, creditsMin: 2 })
  })

  test('answers about spam that is asked for by its id', async () => {
    const answer = await ask(routes.one, '', { id: devnet.positions.spam.toString() })
    expect(answer.reply.data as unknown).toMatchObject({ wallet: devnet.wallets.spammed })
  })

  test('is NOT_FOUND for burned and unknown ids', async () => {
    for (const id of [devnet.positions.burned.toString(), '0', (2n ** 256n - 1n).toString()]) {
      expect((await refused(ask(routes.one, '', { id }))).code).toBe('NOT_FOUND')
    }
    expect((await refused(ask(crowded.one, 'chain_id=5', { id: '1' }))).code).toBe('NOT_FOUND')
  })

  test('names the parameter that selects a manager if several know an id', async () => {
    const error = await refused(ask(crowded.one, '', { id: '1' }))
    expect(error.code).toBe('MISSING_PARAMETER')
    for (const part of ['"manager_address"', DEPLOYMENT.manager, SECOND.manager, 'chain 1']) {
      expect(error.message).toContain(part)
    }
    const answer = await ask(crowded.one, `manager_address=${SECOND.manager}`, { id: '1' })
    expect(answer.reply.data as unknown).toMatchObject({ position_state: { protocol: { code: 'second_exchange' } } })
  })

  test('refuses invalid ids and managers that are not configured', async () => {
    for (const id of ['abc', '-1', '01', '1.5', (2n ** 256n).toString()]) {
      expect((await refused(Promise.resolve().then(() => ask(routes.one, '', { id })))).code).toBe('INVALID_PARAMETER')
    }
    const error = await refused(ask(routes.one, `manager_address=${toWalletAddress('unknown')}`, { id: '1' }))
    expect(error).toMatchObject({ code: 'INVALID_PARAMETER' })
    expect(error.message).toContain(DEPLOYMENT.manager)
  })

  test('names some of a hundred managers, not all of them', async () => {
    const many = Array.from({ length: 100 }, (_, index) => ({
      ...SECOND,
      manager: toWalletAddress(`manager ${index}`),
    }))
    const hundred = createRoutes([countedClient(createDevnetChain(devnet)).client], many)
    const { message } = await refused(ask(hundred.one, `manager_address=${toWalletAddress('unknown')}`, { id: '1' }))
    expect(message).toContain(toWalletAddress('manager 0'))
    expect(message).toContain('and 76 more')
    expect(message.length).toBeLessThan(2_000)
  })

  test('is unavailable, not wrong, if the position cannot be decoded', async () => {
    const { positions } = await devnet.hostile()
    const { tokenId, token } = positions.reverting
    await expect(ask(routes.one, '', { id: tokenId.toString() })).rejects.toThrow(
      `token ${token} has no usable decimals`,
    )
  })
})
