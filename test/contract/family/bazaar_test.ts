import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type Address, checksumAddress } from 'viem'
import { UNISWAP_V3 } from '../../../src/family/uniswap_v3/mod.ts'
import { createHistory } from '../../../src/history/mod.ts'
import type { Route } from '../../../src/http/route/route.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { callRoute, type RouteTestRequest } from '../../support/call_route.ts'
import { DEPLOYMENT } from '../../support/family/uniswap_v3/support.ts'
import { createFamilyRoutes, createTestServices } from '../../support/family.ts'
import { readHoldings } from '../../support/holdings.ts'
import { BAZAAR } from './bazaar/mod.ts'
import { type PnlScene, startPnlScene } from './uniswap_v3/pnl/scene.ts'

const { manager, factory } = DEPLOYMENT
/** Where a `CHAINS_FILE` would put the bazaar. */
const ROWS = [[1, { bazaar: { manager, factory, startBlock: 0 } }]] as const
const closers: (() => Promise<void>)[] = []

let scene: PnlScene
/** The endpoints of Uniswap V3 and those of the bazaar, over the same contracts. */
let real: readonly Route[]
let bazaar: readonly Route[]
let services: Parameters<typeof createTestServices>[0]
/** Wallets with positions that are not burned. */
let owners: ReadonlySet<Address>

beforeAll(async () => {
  scene = await startPnlScene({ seed: 48, count: 6 })
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
    .replaceAll('"code":"uniswap_v3"', '"code":"bazaar_v1"')
    .replaceAll(/"feeTier":"(\d+)"/g, (_, fee: string) => `"fee":{"percent":"${Number(fee) / 10_000}"}`)
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

test('a portfolio has its rows, under its name', async () => {
  const [owner] = owners
  const [client] = services.clients ?? []
  if (owner === undefined || client === undefined) throw new Error('Cannot test without an open position')
  const setup = { chainIds: [1], servesSolana: false, connect: () => createTestServices(services) }
  const readRows = async (family: typeof BAZAAR, row: object) => {
    const holdings = family.configure(new Map([[1, row]])).holdings(setup)
    if (holdings === undefined) throw new Error('Cannot read holdings')
    return (await readHoldings(holdings, client, { wallet: owner }))?.rows ?? []
  }
  const theirs = await readRows(UNISWAP_V3, { uniswapV3: [DEPLOYMENT] })
  const ours = await readRows(BAZAAR, ROWS[0][1])
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
