import { afterAll, beforeAll, expect, test } from 'bun:test'
import { SLIPSTREAM } from '../../../../src/family/slipstream/mod.ts'
import type { Route } from '../../../../src/http/route/route.ts'
import { type Anvil, startAnvil } from '../../../devnet/anvil.ts'
import { replayCalls } from '../../../devnet/replay.ts'
import { createRpc } from '../../../devnet/rpc.ts'
import { callRoute } from '../../../support/call_route.ts'
import {
  recordWorld,
  toManager,
  type VectorPosition,
  WORLDS,
  type World,
} from '../../../support/family/slipstream/world.ts'
import { createFamilyRoutes, createTestServices } from '../../../support/family.ts'
import { createTestClient } from '../../../support/history/scene.ts'
import { readHoldings } from '../../../support/holdings.ts'

const [world] = WORLDS
if (world === undefined) throw new Error('Cannot find the vectors')
const WORLD: World = world
const staked = (each: VectorPosition) => each.staked && each.earned?.net !== '0'
const STAKED = WORLD.positions.find(staked) as VectorPosition
const SENT = WORLD.positions.find(({ staked: is, ownerOf, wallet }) => !is && ownerOf !== wallet) as VectorPosition
const ROW = { slipstream: [toManager(WORLD)] }

let anvil: Anvil
let list: Route
let one: Route

const connect = () => createTestServices({ clients: [createTestClient([anvil.rpcUrl], { chainId: 1 })] })

beforeAll(async () => {
  anvil = await startAnvil({ timestampSec: Number(WORLD.block.timestamp) - 10 })
  const rpc = createRpc(anvil.rpcUrl)
  await replayCalls(rpc, recordWorld(WORLD))
  await rpc.call('evm_setNextBlockTimestamp', Number(WORLD.block.timestamp))
  await rpc.call('evm_mine')
  const clients = [createTestClient([anvil.rpcUrl], { chainId: 1 })]
  const [first, second] = createFamilyRoutes(SLIPSTREAM, { clients, rows: [[1, ROW]] })
  if (first === undefined || second === undefined) throw new Error('Cannot find the routes')
  ;[list, one] = [first, second]
}, 60_000)
afterAll(() => anvil.stop())

test('a staked position stands in the list of who staked it, with its gauge and the pool in its own words', async () => {
  const { reply } = await callRoute(list, { query: `wallet=${STAKED.wallet}&limit=25` })
  const positions = reply.data as readonly { readonly token_id: string }[]
  const pool = WORLD.pools[STAKED.pool]
  expect(positions.find(({ token_id }) => token_id === STAKED.id)).toMatchObject({
    wallet: STAKED.wallet,
    manager_address: WORLD.contracts.manager,
    position_state: {
      owner: STAKED.wallet,
      custodian: { address: STAKED.ownerOf, kind: 'gauge' },
      protocol: { code: 'slipstream_v3' },
      pool: {
        id: STAKED.pool,
        tickSpacing: String(pool?.tickSpacing),
        feeTier: String(pool?.fee),
        isDynamicFee: true,
        unstakedFee: String(pool?.unstakedFee),
      },
    },
  })
})

test('by its id alone, a gauge does not tell who staked a position; one that was sent there is of no wallet', async () => {
  const read = async ({ id }: VectorPosition) => (await callRoute(one, { params: { id } })).reply.data
  expect(await read(STAKED)).toMatchObject({
    wallet: null,
    position_state: { owner: null, custodian: { kind: 'gauge' } },
  })
  expect(await read(SENT)).toMatchObject({
    wallet: `0x${'0'.repeat(40)}`,
    position_state: { custodian: { kind: 'gauge' } },
  })
})

test('a portfolio has its principal and its reward, and takes it out of the gauge first', async () => {
  const configured = SLIPSTREAM.configure(new Map([[1, ROW]]))
  const holdings = configured.holdings({ chainIds: [1], servesSolana: false, connect })
  const [client] = [...connect().clients.values()]
  if (holdings === undefined || client === undefined) throw new Error('Cannot read holdings')
  const held = await readHoldings(holdings, client, { wallet: STAKED.wallet })
  const own = (held?.rows ?? []).filter(({ position }) => position['token_id'] === STAKED.id)
  expect(own.filter(({ position }) => position['part'] === 'rewards').map(({ amount }) => String(amount))).toEqual([
    String(STAKED.earned?.net),
  ])
  expect(own.filter(({ position }) => position['part'] === 'fees' && position['token_id'] === STAKED.id)).toEqual([])
  const exit = held?.listExits?.().find(({ position }) => position['token_id'] === STAKED.id)
  expect(exit?.steps[0]).toMatchObject({
    parts: ['rewards'],
    tokens: [WORLD.contracts.reward],
    calls: [{ to: STAKED.ownerOf }],
  })
  expect(exit?.steps[1]?.calls[0]?.to).toBe(WORLD.contracts.manager)
})
