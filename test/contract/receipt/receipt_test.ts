import { beforeAll, describe, expect, test } from 'bun:test'
import { type Hex, keccak256 } from 'viem'
import type { AaveDevnet } from '../../devnet/aave_v3/mod.ts'
import { sharedAave } from '../../devnet/aave_v3/shared.ts'
import { type Devnet, startDevnet } from '../../devnet/mod.ts'
import type { MorphoDevnet } from '../../devnet/morpho_blue/mod.ts'
import { createRandom } from '../../devnet/random.ts'
import { caseCount } from '../../support/cases.ts'
import { startFaultyRpc } from '../../support/rpc.ts'
import { checked, decodePayload, encodeReceipt, isExistenceCall, rowOver, type Stage, stageOver } from './stage.ts'

const V3 = { protocol: 'uniswap-v3' }

let devnet: Devnet
let aave: AaveDevnet
let morpho: MorphoDevnet
let stage: Stage

beforeAll(async () => {
  const shared = await sharedAave()
  devnet = shared.devnet
  aave = shared.aave
  morpho = await devnet.morpho()
  stage = stageOver([rowOver([devnet.rpcUrl])])
}, 240_000)

/** Mines a block that is no older than now: since a test file went back to a snapshot, the chain's time may lag behind. */
async function mineNow(): Promise<void> {
  const { timestamp } = await devnet.client.getBlock()
  const nowSec = Math.floor(Date.now() / 1_000)
  await devnet.rpc.call('evm_setNextBlockTimestamp', Math.max(Number(timestamp) + 1, nowSec))
  await devnet.rpc.call('evm_mine')
}

const BATCH = '/v1/lending/aave-v3/batch'

function formatYieldPath(wallet: string, market: { readonly id: Hex }): string {
  return `/v1/lending/morpho-blue/position/1/yield?wallet=${wallet}&market_id=${market.id}`
}

describe('receipt=true', () => {
  test('adds a receipt that verifies to every route that reads state, and changes nothing else', async () => {
    const { good } = devnet.positions
    // Blocks of one second would make a time mean the newest of them, which no later block confirms.
    for (let block = 0; block < 4; block++) {
      await devnet.rpc.call('evm_increaseTime', 1)
      await devnet.rpc.call('evm_mine')
    }
    const height = await devnet.client.getBlockNumber()
    const { timestamp } = await devnet.client.getBlock({ blockNumber: height - 3n })
    const paths: readonly (readonly [path: string, price: number])[] = [
      [`/v1/positions/uniswap-v3/${good}?chain_id=1`, 2],
      [`/v1/positions/amm_a/${good}?manager_address=${stageManager()}`, 2],
      [`/v1/positions/uniswap-v3/${good}?chain_id=1&at_block=${height - 3n}`, 2],
      [`/v1/positions/uniswap-v3/${good}?at_time=${timestamp}`, 2],
      [`/v1/positions/uniswap-v3?wallet=${devnet.wallets.provider}&limit=3&page=2`, 6],
      [`/v1/positions/uniswap-v3?wallet=${devnet.wallets.provider}&status=inactive`, 2],
      [`/v1/positions/uniswap-v3?wallet=${devnet.wallets.empty}`, 0],
      [`/v1/lending/aave-v3?wallet=${aave.wallets.emode}&target_health_factor=2`, 15],
      [`/v1/lending/aave-v3?wallet=${aave.wallets.borrower}&market_id=main`, 15],
      [`/v1/lending/aave-v3?wallet=${aave.wallets.borrower}&full=true`, 15],
      [formatYieldPath(morpho.wallets.both, morpho.markets.wethUsdc), 8],
    ]
    for (const [path, price] of paths) {
      stage.requests.length = 0
      const plain = await stage.get(path)
      const few = stage.requests.length
      stage.requests.length = 0
      const answer = await stage.get(`${path}&receipt=true`)
      expect([path, answer.status]).toEqual([path, 200])
      const { receipt, request_id, pagination, ...rest } = answer.body
      const { request_id: _, pagination: __, ...before } = plain.body
      expect(JSON.stringify(rest)).toBe(JSON.stringify(before))
      expect(answer.headers.get('x-as-of')).toBe(plain.headers.get('x-as-of'))
      expect([plain, answer].map(({ headers }) => Number(headers.get('x-credits-charged')))).toEqual([price, price + 2])
      // One look at the head, and each call twice at the same time.
      expect(stage.requests.length).toBeLessThanOrEqual(2 * few + 1)
      const { is, verdicts } = await checked(stage, encodeReceipt(receipt), [devnet.rpcUrl])
      expect([path, is, verdicts.signature.is, verdicts.block.is]).toEqual([path, 'true', 'true', 'true'])
      const payload = decodePayload(receipt)
      expect(payload.level).toBe('replayable')
      expect(payload.request.path).toBe(new URL(path.replace('amm_a', 'uniswap-v3'), 'http://x').pathname)
      expect(JSON.stringify(payload.answer.data)).toBe(JSON.stringify(rest.data))
      expect(`1:${payload.reads[0]?.block.number}`).toBe(answer.headers.get('x-as-of') ?? '')
    }
  }, 120_000)

  test('is dated by the clock of the database, which admitted the request', async () => {
    const databaseMs = Date.UTC(2031, 0, 1)
    const dated = stageOver([rowOver([devnet.rpcUrl])], undefined, { databaseNow: () => databaseMs })
    const answer = await dated.get(`/v1/positions/uniswap-v3/${devnet.positions.good}?receipt=true`)
    const lateMs = Date.parse(decodePayload(answer.body.receipt).issued_at) - databaseMs
    expect(lateMs).toBeGreaterThanOrEqual(0)
    expect(lateMs).toBeLessThan(3_600_000)
    await dated.close()
  })

  test('is reproduced by a verifier where the block of a time is searched for', async () => {
    const searching = stageOver([rowOver([devnet.rpcUrl], { blockTimeMs: 12_000 })])
    for (let block = 0; block < 5; block++) {
      await devnet.rpc.call('evm_increaseTime', 12)
      await devnet.rpc.call('evm_mine')
    }
    const { timestamp } = await devnet.client.getBlock({ blockNumber: (await devnet.client.getBlockNumber()) - 3n })
    const answer = await searching.get(
      `/v1/positions/uniswap-v3/${devnet.positions.good}?at_time=${timestamp}&receipt=true`,
    )
    expect(answer.status).toBe(200)
    expect((await checked(searching, encodeReceipt(answer.body.receipt))).is).toBe('true')
  })

  test('covers a batch, whose body the receipt states', async () => {
    const wallets = [aave.wallets.emode, aave.wallets.supplier, aave.wallets.isolated, devnet.wallets.empty]
    const plain = await stage.post(BATCH, { wallets, chain_id: 1 })
    const answer = await stage.post(`${BATCH}?receipt=true&limit=2`, { wallets, chain_id: 1 })
    expect(answer.body.data).toEqual(plain.body.data.slice(0, 2))
    expect(decodePayload(answer.body.receipt).request).toEqual({
      method: 'POST',
      path: BATCH,
      query: 'receipt=true&limit=2',
      body: { wallets, chain_id: 1 },
    })
    expect((await checked(stage, encodeReceipt(answer.body.receipt))).is).toBe('true')
    expect(Number(answer.headers.get('x-credits-charged'))).toBe(3 * 15 + 2)
  })

  test('pins the head: a block that comes between header and call is not seen', async () => {
    const rpc = await startFaultyRpc(devnet.rpcUrl)
    try {
      const behind = stageOver([rowOver([rpc.url])])
      let mined = false
      rpc.rule(({ method }) => {
        if (method !== 'eth_call' || mined) return undefined
        mined = true
        return { kind: 'meanwhile', done: () => devnet.rpc.call('evm_mine') }
      })
      const height = await devnet.client.getBlockNumber()
      const answer = await behind.get(`/v1/positions/uniswap-v3/${devnet.positions.good}?chain_id=1&receipt=true`)
      expect(answer.headers.get('x-as-of')).toBe(`1:${height}`)
      expect(await devnet.client.getBlockNumber()).toBe(height + 1n)
    } finally {
      await rpc.stop()
    }
  })

  test('bypasses caches: answers of the same block are read again', async () => {
    const kept = stageOver([rowOver([devnet.rpcUrl], { reuseMs: 600_000, blockTimeMs: 600_000 })])
    const path = `/v1/positions/uniswap-v3/${devnet.positions.good}?chain_id=1`
    await mineNow()
    for (let time = 0; time < 3; time++) await kept.get(path)
    const before = kept.requests.length
    for (let time = 0; time < 2; time++) await kept.get(`${path}&receipt=true`)
    expect(kept.requests.length).toBe(before + 2 * 3)
  })

  test('works where lenses can only be deployed by the call that asks them', async () => {
    const rpc = await startFaultyRpc(devnet.rpcUrl)
    try {
      rpc.rule(({ params }) => (params.length > 2 ? { kind: 'no_overrides', how: 'refuse' } : undefined))
      const plain = stageOver([rowOver([rpc.url])])
      const answer = await plain.get(`/v1/positions/uniswap-v3?wallet=${devnet.wallets.provider}&receipt=true`)
      expect(answer.status).toBe(200)
      expect((await checked(plain, encodeReceipt(answer.body.receipt), [rpc.url])).is).toBe('true')
    } finally {
      await rpc.stop()
    }
  }, 30_000)

  test('is refused where flows decide, in any other value, and with too small a balance', async () => {
    const wallet = aave.wallets.borrower
    const { good } = devnet.positions
    const refused = [
      `/v1/positions/uniswap-v3/${good}/pnl?chain_id=1&receipt=true`,
      `/v1/lending/aave-v3/position/1/events?wallet=${wallet}&receipt=true`,
      `/v1/lending/aave-v3/position/1/snapshots?wallet=${wallet}&receipt=true`,
      `/v1/positions/uniswap-v3/${good}/pnl?chain_id=1&receipt=proof`,
      `/v1/positions/uniswap-v3/${good}?chain_id=1&receipt=false`,
    ]
    for (const path of refused) {
      const { status, body } = await stage.get(path)
      expect([path, status, body.error.code]).toEqual([path, 400, 'INVALID_PARAMETER'])
      expect(body.error.message).toContain('receipt')
    }
    // Three credits are enough for the position, and not for its receipt.
    const path = `/v1/positions/uniswap-v3/${good}?chain_id=1`
    expect((await stage.get(`${path}&receipt=true`, 'poor')).status).toBe(402)
    expect((await stage.get(path, 'poor')).status).toBe(200)
  })

  test('names no URL, key, organization or caller', async () => {
    const keyed = await startFaultyRpc(devnet.rpcUrl)
    try {
      const secret = stageOver([rowOver([`${keyed.url}v2/s3cretKey`])])
      const answer = await secret.get(`/v1/positions/uniswap-v3?wallet=${devnet.wallets.provider}&limit=2&receipt=true`)
      const { receipt, pagination } = answer.body
      const text = `${encodeReceipt(receipt)} ${Buffer.from(receipt.payload, 'base64')}`
      expect(pagination.next_page).toStartWith('http://test.local/v1/')
      expect(decodePayload(receipt).answer.pagination).toMatchObject({ next_page: expect.stringMatching(/^\/v1\//) })
      for (const hidden of [
        'http:',
        'https:',
        '127.0.0.1',
        's3cretKey',
        'test.local',
        'rich',
        'org_',
        'rpcUrls',
        'req_',
      ]) {
        expect([hidden, text.includes(hidden)]).toEqual([hidden, false])
      }
    } finally {
      await keyed.stop()
    }
  })
})

describe('a result of a tool', () => {
  test('cites what it was read from, which a later receipt confirms, for nothing', async () => {
    const { good } = devnet.positions
    const height = Number(await devnet.client.getBlockNumber())
    const given: readonly (readonly [tool: string, given: object, path: string])[] = [
      [
        'read_liquidity_position',
        { ...V3, id: String(good), chain_id: 1 },
        `/v1/positions/uniswap-v3/${good}?chain_id=1`,
      ],
      [
        'list_liquidity_positions',
        { ...V3, wallet: devnet.wallets.provider },
        `/v1/positions/uniswap-v3?wallet=${devnet.wallets.provider}`,
      ],
      [
        'list_lending_positions',
        { protocol: 'aave-v3', wallet: aave.wallets.borrower },
        `/v1/lending/aave-v3?wallet=${aave.wallets.borrower}`,
      ],
    ]
    for (const [tool, asked, path] of given) {
      const { data, citation } = await stage.tool(tool, asked)
      const { body } = await stage.get(
        `${path}${path.includes('chain_id') ? '' : '&chain_id=1'}&at_block=${height}&receipt=true`,
      )
      expect(data).toEqual(body.data)
      const [read] = decodePayload(body.receipt).reads
      // Which contracts stand at a named block is one more call.
      const call = read?.calls.find((each) => !isExistenceCall(each))
      if (read === undefined || call === undefined) throw new Error('Expected a call')
      expect(read.calls.length).toBe(2)
      expect(citation).toEqual([
        {
          chain_id: 1,
          block_number: height,
          parent_hash: read.block.parent_hash,
          lens: call.lens,
          call: keccak256(call.data),
          answer: keccak256(call.answer),
        },
      ])
    }
    // Two for the first, and a tool's price is that of the route.
    expect(
      stage.gate.rows
        .filter(({ path }) => path === '/mcp/v1/positions/uniswap-v3/{id}')
        .map((row) => row.creditsCharged),
    ).toEqual([2])
    const batch = await stage.tool('list_lending_health', {
      protocol: 'aave-v3',
      wallets: [aave.wallets.emode],
      chain_id: 1,
    })
    expect(batch.citation).toHaveLength(1)
  })

  test('is kept until the next block, and HTTP cites nothing', async () => {
    const kept = stageOver([rowOver([devnet.rpcUrl], { reuseMs: 600_000, blockTimeMs: 600_000 })])
    await mineNow()
    const asked = { ...V3, id: String(devnet.positions.good), chain_id: 1 }
    const first = await kept.tool('read_liquidity_position', asked)
    expect(await kept.tool('read_liquidity_position', asked)).toMatchObject({ citation: first.citation })
    expect(kept.requests).toEqual(['eth_call'])
    const path = `/v1/positions/uniswap-v3/${devnet.positions.good}?chain_id=1`
    expect(Object.keys((await kept.get(path)).body)).toEqual(['data', 'request_id'])
  })
})

/** Runtime code that answers one word to whatever is asked. */
const ANSWERING = (word: string): Hex => `0x${word}60005260206000f3`

describe('a token whose answer depends on values that differ between calls', () => {
  const odd: readonly (readonly [what: string, code: Hex])[] = [
    ['the base fee', ANSWERING('48')],
    ['the hash of the block before', ANSWERING('6001430340')],
  ]
  let own: Devnet
  let token: Hex
  let path: string

  beforeAll(async () => {
    own = await startDevnet()
    const { positions, wallet } = await own.hostile()
    token = positions.bytes32.token
    path = `/v1/positions/uniswap-v3?wallet=${wallet}`
  }, 120_000)

  for (const [what, code] of odd) {
    test(`${what}: no receipt, and nothing is charged`, async () => {
      await own.rpc.call('anvil_setCode', token, code)
      const here = stageOver([rowOver([own.rpcUrl])])
      const answer = await here.get(`${path}&receipt=true`)
      expect(answer.status).toBe(503)
      expect(answer.body.error.code).toBe('SERVICE_UNAVAILABLE')
      expect(answer.body.error.message).toContain('Cannot give a receipt for chain 1 (Ethereum) because a contract')
      expect(answer.headers.get('x-credits-charged')).toBe('0')
      expect((await here.get(path)).status).toBe(200)
    })
  }

  test('a token that answers by its height or its gas is reproducible: lenses grant every token the same gas', async () => {
    const here = stageOver([rowOver([own.rpcUrl])])
    for (const opcode of ['43', '5a']) {
      await own.rpc.call('anvil_setCode', token, ANSWERING(opcode))
      const { status, body } = await here.get(`${path}&receipt=true`)
      expect([opcode, status]).toEqual([opcode, 200])
      expect((await checked(here, encodeReceipt(body.receipt), [own.rpcUrl])).is).toBe('true')
    }
    await own.stop()
  })
})

test('random answers are the same with a receipt and without, at the same block', async () => {
  const { pick, below } = createRandom(23)
  const { wallets } = await aave.randomWallets(2_323, 40)
  const scenario = await devnet.randomScenario(77, 30)
  const owners = [...Object.values(devnet.wallets), ...scenario.wallets]
  const height = Number(await devnet.client.getBlockNumber())
  const moments = () => (below(4) === 0 ? `&chain_id=1&at_block=${height - below(6)}` : '')
  const page = () => `&limit=${1 + below(25)}&page=${1 + below(3)}`
  const kinds = [
    () => `/v1/positions/uniswap-v3?wallet=${pick(owners)}${page()}${moments()}`,
    () => `/v1/positions/uniswap-v3?wallet=${pick(owners)}&status=inactive${page()}`,
    () => `/v1/positions/uniswap-v3/${1 + below(60)}?manager_address=${stageManager()}${moments()}`,
    () => `/v1/lending/aave-v3?wallet=${pick([...wallets, ...Object.values(aave.wallets)])}${page()}${moments()}`,
    () => formatYieldPath(pick(Object.values(morpho.wallets)), pick(Object.values(morpho.markets))),
  ]
  const count = caseCount(1_000, 40)
  const statuses = new Map<number, number>()
  for (let index = 0; index < count; index++) {
    const path = pick<() => string>(kinds)()
    const [plain, answer] = await Promise.all([stage.get(path), stage.get(`${path}&receipt=true`)])
    statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1)
    expect([path, answer.status]).toEqual([path, plain.status])
    if (answer.status !== 200) continue
    expect(JSON.stringify(answer.body.data)).toBe(JSON.stringify(plain.body.data))
    expect(answer.headers.get('x-as-of')).toBe(plain.headers.get('x-as-of'))
    expect((await checked(stage, encodeReceipt(answer.body.receipt))).is).toBe('true')
  }
  expect(statuses.get(200) ?? 0).toBeGreaterThan(count / 2)
}, 300_000)

function stageManager(): string {
  return devnet.addresses.uniswapV3.manager
}
