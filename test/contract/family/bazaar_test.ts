import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import {
  type Address,
  checksumAddress,
  encodeAbiParameters,
  encodeFunctionData,
  getAddress,
  type Hex,
  parseAbi,
  toHex,
  zeroAddress,
} from 'viem'
import { createPositionReader } from '../../../src/family/liquidity/enumerable/read/read.ts'
import { UNISWAP_V3 } from '../../../src/family/uniswap_v3/mod.ts'
import { createHistory } from '../../../src/history/mod.ts'
import type { Route } from '../../../src/http/route/route.ts'
import { createWork } from '../../../src/lib/async/work.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { toWalletAddress } from '../../devnet/addresses.ts'
import { ownCreationCode } from '../../devnet/artifacts.ts'
import type { RandomPoolToken } from '../../devnet/uniswap_v3_random/pools.ts'
import { callRoute, type RouteTestAnswer, type RouteTestRequest } from '../../support/call_route.ts'
import { DEPLOYMENT } from '../../support/family/uniswap_v3/support.ts'
import { createFamilyRoutes, createTestServices } from '../../support/family.ts'
import { readHoldings } from '../../support/holdings.ts'
import { slowClock } from '../../support/test_clock.ts'
import { BAZAAR } from './bazaar/mod.ts'
import { EXCHANGE } from './bazaar/protocol.ts'
import { type PnlScene, startPnlScene } from './uniswap_v3/pnl/scene.ts'

const { manager, factory } = DEPLOYMENT
/** Where a `CHAINS_FILE` would put the bazaar. */
const ROWS = [[1, { bazaar: { manager, factory, startBlock: 0 } }]] as const
/** What a stall pays for a position, smallest units a second. */
const RATE = 1_000_000n
const closers: (() => Promise<void>)[] = []

/** A position in answers. */
interface Stated {
  readonly token_id: string
  readonly wallet: string
  readonly position_state: { readonly owner: string; readonly custodian?: object | null }
}

/** A reward in answers. */
interface Paid {
  readonly usd: string
  readonly penalty: { readonly raw: string } | null
}

/** A pool of the bazaar in answers. */
interface Kept {
  readonly id: Address
  readonly fee: { readonly percent: string; readonly kept: readonly string[] }
}

let scene: PnlScene
/** The endpoints of Uniswap V3 and those of the bazaar, over the same contracts. */
let real: readonly Route[]
let bazaar: readonly Route[]
let services: Parameters<typeof createTestServices>[0]
/** Wallets with positions that are not burned. */
let owners: ReadonlySet<Address>

beforeAll(async () => {
  scene = await startPnlScene({ seed: 48, count: 24 })
  const { list, one, pnl, events, services: given } = scene.routes()
  real = [list, one, pnl, events]
  const { clients, db, clock } = given
  const history = createHistory({ clients, db, clock, log: silentLog, holder: 'bazaar' })
  closers.push(history.close)
  services = { clients: [...clients.values()], db, history, clock }
  bazaar = createFamilyRoutes(BAZAAR, { ...services, rows: ROWS })
  const open = scene.lives.positions.filter(({ isBurned }) => !isBurned)
  const read = open.map(({ tokenId }) => callRoute(one, { params: { id: String(tokenId) }, query: 'chain_id=1' }))
  const states = (await Promise.all(read)).map(({ reply }) => reply.data as { readonly wallet: Address })
  owners = new Set(states.map(({ wallet }) => wallet))
}, 120_000)
afterAll(async () => {
  for (const close of closers) await close()
  await scene?.close()
})

async function askBoth(index: number, request: RouteTestRequest) {
  const [theirs, ours] = [real[index], bazaar[index]]
  if (theirs === undefined || ours === undefined) throw new Error(`Cannot find route ${index}`)
  return await Promise.all([callRoute(theirs, request), callRoute(ours, request)])
}

/** The data of Uniswap V3 as the bazaar has it: its code, and its fee in percent. */
function toBazaar(data: unknown): unknown {
  const text = JSON.stringify(data)
    .replaceAll('"protocol":{"code":"uniswap_v3"}', '"protocol":{"code":"bazaar_v1"}')
    .replaceAll(
      /"feeTier":"(\d+)"/g,
      (_, fee: string) => `"fee":{"percent":"${Number(fee) / 10_000}","kept":["0","0"]}`,
    )
  return JSON.parse(text)
}

test('its routes are those of its kind, under its own name', () => {
  expect(bazaar.map(({ path, operation }) => [path, operation])).toEqual([
    ['/v1/positions/bazaar', 'bazaar_positions'],
    ['/v1/positions/bazaar/:id', 'bazaar_position'],
    ['/v1/positions/bazaar/:id/pnl', 'bazaar_pnl'],
    ['/v1/positions/bazaar/:id/events', 'bazaar_events'],
  ])
})

test('lists, states, profits and flows are those of the contracts, with its odd fee field', async () => {
  const { positions } = scene.lives
  let listed = 0
  for (const owner of owners) {
    const [theirs, ours] = await askBoth(0, { query: `wallet=${owner}` })
    expect(ours.reply.data).toEqual(toBazaar(theirs.reply.data))
    expect(ours.reply.counts).toEqual(theirs.reply.counts)
    listed += (ours.reply.data as readonly unknown[]).length
  }
  expect(listed).toBeGreaterThan(0)
  for (const { tokenId, isBurned } of positions) {
    const params = { id: String(tokenId) }
    if (!isBurned) {
      const [theirs, ours] = await askBoth(1, { params, query: 'chain_id=1&full=true' })
      expect(ours.reply.data).toEqual(toBazaar(theirs.reply.data))
      expect(ours.reply.data).toMatchObject({
        pnl_status: 'ready',
        position_state: { pool: { fee: expect.anything() } },
      })
    }
    for (const index of [2, 3]) {
      const [theirs, ours] = await askBoth(index, { params, query: 'chain_id=1' })
      expect(ours.reply.data).toEqual(theirs.reply.data)
    }
  }
}, 120_000)

/** The rows of a wallet's portfolio in a family. */
async function readRows(family: typeof BAZAAR, row: object, wallet: Address) {
  const [client] = services.clients ?? []
  const setup = { chainIds: [1], servesSolana: false, connect: () => createTestServices(services) }
  const holdings = family.configure(new Map([[1, row]])).holdings(setup)
  if (client === undefined || holdings === undefined) throw new Error('Cannot read holdings')
  return (await readHoldings(holdings, client, { wallet }))?.rows ?? []
}

test('a portfolio has its rows, under its name', async () => {
  const [owner] = owners
  if (owner === undefined) throw new Error('Cannot test without an open position')
  const theirs = await readRows(UNISWAP_V3, { uniswapV3: [DEPLOYMENT] }, owner)
  const ours = await readRows(BAZAAR, ROWS[0][1], owner)
  expect(ours.length).toBeGreaterThan(0)
  expect(ours).toEqual(theirs.map((row) => ({ ...row, position: { ...row.position, family: 'bazaar' } })))
  expect(ours[0]?.position['manager_address']).toBe(checksumAddress(manager))
})

test('an id that it does not know is told in its words', async () => {
  const [, one] = bazaar
  if (one === undefined) throw new Error('Cannot find the route')
  await expect(callRoute(one, { params: { id: '999999' } })).rejects.toThrow(
    'No stall of the bazaar has position 999999',
  )
})

describe('a stall that keeps positions', () => {
  const abi = parseAbi([
    'function keep(uint256 id)',
    'function approve(address, uint256)',
    'function transferFrom(address, address, uint256)',
    'function claim(uint256 id)',
    'function mint(address, uint256)',
    'function latestAnswer()',
    'function owner()',
    'function setFeeProtocol(uint8, uint8)',
  ])
  /** Lets time pass, up to a block. */
  const wait = async (seconds: number) => {
    await scene.devnet.rpc.call('evm_increaseTime', toHex(seconds))
    await scene.devnet.rpc.call('evm_mine')
  }
  const act = (from: Address, to: Address, data: Hex) => ({ from, to, data })
  const stranger = toWalletAddress('stranger to the stall')
  /** Open positions with liquidity of one wallet: kept, sent by a plain transfer, kept and lost again, and not moved. */
  let keeper: Address
  let [kept, sent, lost, own] = ['', '', '', '']
  let stall: Address
  let reward: RandomPoolToken
  /** The block before anything was moved. */
  let before: number
  let stalls: readonly Route[]
  let row: object

  const list = async (route: Route | undefined, wallet: Address) =>
    await callRoute(route as Route, { query: `wallet=${wallet}&limit=25` })
  const ids = (answer: RouteTestAnswer) => (answer.reply.data as readonly Stated[]).map(({ token_id }) => token_id)
  const read = async (route: Route | undefined, id: string, query = '') =>
    await callRoute(route as Route, { params: { id }, query: `chain_id=1${query}` })

  beforeAll(async () => {
    const { devnet, lives } = scene
    const fed = lives.tokens.find(({ feed, decimals }) => feed !== undefined && decimals === 6)
    const open = await Promise.all(
      [...owners].map(async (owner) => [owner, ids(await list(bazaar[0], owner))] as const),
    )
    const [wallet, found] = open.toSorted(([, a], [, b]) => b.length - a.length)[0] ?? []
    if (wallet === undefined || found === undefined || found.length < 4 || fed === undefined)
      throw new Error('Cannot find a wallet with four open positions')
    ;[keeper, reward, [kept = '', sent = '', lost = '', own = '']] = [wallet, fed, found]
    before = Number(await devnet.rpc.call('eth_blockNumber'))
    const args = encodeAbiParameters(
      [{ type: 'address' }, { type: 'address' }, { type: 'uint256' }],
      [manager, reward.address, RATE],
    )
    const [deployed] = await devnet.send([{ from: keeper, data: ownCreationCode('Stall', args) }])
    stall = getAddress(deployed?.contractAddress ?? '0x')
    const toManager = (
      from: Address,
      functionName: 'approve' | 'transferFrom',
      values: readonly [Address, bigint] | readonly [Address, Address, bigint],
    ) =>
      act(
        from,
        manager,
        encodeFunctionData({ abi, functionName, args: values } as Parameters<typeof encodeFunctionData>[0]),
      )
    const keep = (id: string) => [
      toManager(keeper, 'approve', [stall, BigInt(id)]),
      act(keeper, stall, encodeFunctionData({ abi, functionName: 'keep', args: [BigInt(id)] })),
    ]
    await devnet.send([
      act(keeper, reward.address, encodeFunctionData({ abi, functionName: 'mint', args: [stall, RATE * 1_000_000n] })),
      ...keep(kept),
      ...keep(lost),
      toManager(keeper, 'transferFrom', [keeper, stall, BigInt(sent)]),
      // The stall's book still has it.
      toManager(stall, 'transferFrom', [stall, stranger, BigInt(lost)]),
    ])
    row = { bazaar: { manager, factory, startBlock: 0, stalls: [{ address: stall, startBlock: before + 1 }] } }
    stalls = createFamilyRoutes(BAZAAR, { ...services, rows: [[1, row]] })
  }, 60_000)

  test('credits each position to exactly one wallet, or to none', async () => {
    const mine = await list(stalls[0], keeper)
    const left = ids(await list(bazaar[0], keeper))
    expect(ids(mine).toSorted()).toEqual([...left, kept].toSorted())
    expect(left).toContain(own)
    // One of its book is another wallet's now: it is counted, and not listed.
    expect(mine.reply.counts).toMatchObject({ errors: 1 })
    expect(ids(await list(stalls[0], stranger))).toEqual([lost])
    // Without a word about stalls all of them are the stall's.
    expect(ids(await list(bazaar[0], stall)).toSorted()).toEqual([kept, sent].toSorted())
    expect(ids(await list(stalls[0], stall))).toEqual([])
  })

  test('stands beside the owner, who can withdraw', async () => {
    const custodian = { address: stall, kind: 'stall' }
    const states = (await list(stalls[0], keeper)).reply.data as readonly Stated[]
    for (const { token_id, wallet, position_state } of states) {
      expect({ wallet, owner: position_state.owner }).toEqual({ wallet: keeper, owner: keeper })
      expect([token_id, position_state.custodian]).toEqual([token_id, token_id === kept ? custodian : null])
    }
    expect((await read(stalls[1], kept)).reply.data).toMatchObject({
      wallet: keeper,
      position_state: { owner: keeper, custodian },
    })
    expect((await read(stalls[1], sent)).reply.data).toMatchObject({
      wallet: zeroAddress,
      position_state: { owner: zeroAddress, custodian },
    })
    expect((await read(stalls[1], lost)).reply.data).toMatchObject({
      wallet: stranger,
      position_state: { custodian: null },
    })
    // Before the stall began, the manager alone says who owns a position.
    expect((await read(stalls[1], kept, `&at_block=${before}`)).reply.data).toMatchObject({
      wallet: keeper,
      position_state: { custodian: null },
    })
  })

  test('changes no figure, nor profit and loss', async () => {
    const [theirs, ours] = await Promise.all([read(real[1], kept, '&full=true'), read(stalls[1], kept, '&full=true')])
    const {
      wallet: _,
      position_state: __,
      rewards: ___,
      pnl,
      ...figures
    } = theirs.reply.data as Stated & { rewards: unknown; pnl: object }
    // The exchange does not say what its stalls log, so what they paid is not known.
    const unknown = { pnl_with_rewards: null, pnl_with_rewards_missing: expect.stringContaining('is not read') }
    expect(ours.reply.data).toMatchObject({ ...figures, pnl: { ...pnl, ...unknown } })
    for (const [index, changed] of [
      [2, unknown],
      [3, {}],
    ] as const) {
      const [told, same] = await Promise.all([read(real[index], kept), read(stalls[index], kept)])
      const data: unknown = told.reply.data
      expect<unknown>(same.reply.data).toEqual(Array.isArray(data) ? data : { ...(data as object), ...changed })
    }
    const readHeldRows = async (wallet: Address, setting: object) =>
      (await readRows(BAZAAR, setting, wallet)).filter(({ position }) => position['token_id'] === kept)
    const held = await readHeldRows(stall, ROWS[0][1])
    expect(held.length).toBeGreaterThan(0)
    const rows = await readHeldRows(keeper, row)
    expect(rows.filter(({ position }) => position['part'] !== 'rewards')).toEqual(held)
    expect(await readRows(BAZAAR, row, stall)).toEqual([])
  })

  test('pays rewards, to the unit of what claiming pays, less a penalty within the first day', async () => {
    const { devnet } = scene
    const claim = encodeFunctionData({ abi, functionName: 'claim', args: [BigInt(kept)] })
    const feed = encodeFunctionData({ abi, functionName: 'latestAnswer' })
    const check = async () => {
      const block = await devnet.rpc.call<string>('eth_blockNumber')
      const paid = BigInt(await devnet.rpc.call<Hex>('eth_call', { from: keeper, to: stall, data: claim }, block))
      const price = BigInt(await devnet.rpc.call<Hex>('eth_call', { to: reward.feed, data: feed }, block))
      const [listed, one] = await Promise.all([
        callRoute(stalls[0] as Route, { query: `wallet=${keeper}&limit=25&full=true` }),
        read(stalls[1], kept, '&full=true'),
      ])
      const positions = listed.reply.data as readonly (Stated & { readonly rewards: readonly Paid[] })[]
      for (const { token_id, rewards } of positions) {
        if (token_id !== kept) expect([token_id, rewards]).toEqual([token_id, []])
      }
      const [told, ...more] = positions.find(({ token_id }) => token_id === kept)?.rewards ?? []
      if (told === undefined) throw new Error('Cannot find the reward')
      expect(more).toEqual([])
      expect((one.reply.data as { readonly rewards: readonly Paid[] }).rewards).toEqual([told])
      expect(told).toMatchObject({ token: { id: reward.address, decimals: reward.decimals }, raw: String(paid) })
      const usd = (Number(paid) / 10 ** reward.decimals) * (Number(price) / 1e8)
      expect(Number(told.usd)).toBeCloseTo(usd, 5)
      const rows = (await readRows(BAZAAR, row, keeper)).filter(({ position }) => position['part'] === 'rewards')
      expect(rows.map(({ amount, token, position }) => [amount, token.address, position['token_id']])).toEqual([
        [paid, reward.address, kept],
      ])
      return { paid, told }
    }
    await wait(3_600)
    const early = await check()
    expect(early.paid).toBeGreaterThan(0n)
    // A quarter of all is forfeited.
    expect(early.told.penalty?.raw).toBe(String(early.paid / 3n))
    await wait(86_400)
    const late = await check()
    expect(late.told.penalty).toBeNull()
    expect(late.paid).toBeGreaterThan(early.paid)
  })

  test('has the same in a list that is read in brief, and completed', async () => {
    const { clients = [], clock = slowClock } = services
    const custodians = [{ address: stall, kind: 'stall', startBlock: before + 1 }]
    const deployment = { manager, factory, startBlock: 0, code: 'bazaar_v1', custodians }
    const reader = createPositionReader(EXCHANGE, {
      clients: new Map(clients.map((client) => [client.chain.id, client])),
      deployments: new Map([[1, [deployment]]]),
      clock,
      wholeMax: 0,
    })
    const work = createWork(new AbortController().signal)
    const reads = await reader.readWallet(keeper, { targets: [...reader.targets.values()], work })
    const brief = reads.flatMap(({ positions }) => positions)
    const { positions, unreadable } = await reader.complete(keeper, { reads, positions: brief, work })
    expect({ count: positions.length, unreadable }).toEqual({ count: brief.length, unreadable: [] })
    const held = positions.filter(({ custodian }) => custodian !== undefined)
    expect(held.map(({ tokenId, owner, custodian }) => [String(tokenId), owner, custodian?.address])).toEqual([
      [kept, keeper, stall],
    ])
    expect(held.map(({ rewards = [] }) => rewards.map(({ token }) => token.address))).toEqual([[reward.address]])
  })

  test('what its pools keep of the fee is told as it is at the block', async () => {
    const { devnet } = scene
    const state = (await read(stalls[1], kept)).reply.data as { readonly position_state: { readonly pool: Kept } }
    const { pool } = state.position_state
    expect(pool.fee.kept).toEqual(['0', '0'])
    const owner = await devnet.rpc.call<Hex>(
      'eth_call',
      { to: factory, data: encodeFunctionData({ abi, functionName: 'owner' }) },
      'latest',
    )
    const data = encodeFunctionData({ abi, functionName: 'setFeeProtocol', args: [4, 10] })
    await devnet.send([act(getAddress(`0x${owner.slice(-40)}`), pool.id, data)])
    expect((await read(stalls[1], kept)).reply.data).toMatchObject({
      position_state: { pool: { fee: { ...pool.fee, kept: ['1/4', '1/10'] } } },
    })
  })
})
