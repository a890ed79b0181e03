import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Address } from 'viem'
import type { Database } from '../../../src/db/database.ts'
import { AAVE_V3 } from '../../../src/family/aave_v3/mod.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { createMetrics } from '../../../src/lib/metrics.ts'
import { startTriggers } from '../../../src/trigger/mod.ts'
import { setPriceCall } from '../../devnet/aave_v3/calls.ts'
import type { AaveDevnet } from '../../devnet/aave_v3/mod.ts'
import { exclusiveAave } from '../../devnet/aave_v3/shared.ts'
import type { Devnet } from '../../devnet/mod.ts'
import { createAccount } from '../../support/account/scene.ts'
import { callRoute } from '../../support/call_route.ts'
import { testDatabase } from '../../support/database.ts'
import { createFamilyRoutes, createTestServices } from '../../support/family.ts'
import { slowClock } from '../../support/test_clock.ts'
import { createTrigger } from '../../support/trigger/scene.ts'
import { waitFor } from '../../support/wait_for.ts'
import { createChain, createClient, DEPLOYMENTS, patient } from '../family/aave_v3/support.ts'

let db: Database
let devnet: Devnet
let aave: AaveDevnet
let stop = () => {}

beforeAll(async () => {
  db = (await testDatabase()).db
  const shared = await exclusiveAave()
  devnet = shared.devnet
  aave = shared.aave
}, 180_000)

afterAll(() => stop())

test('a price moves wallets of Aave below their levels, and each message has the figure of the route at its block', async () => {
  const { organizationId, apiKeyId } = await createAccount(db, { credits: 10_000 })
  const client = createClient(createChain(devnet))
  const clients = [client]
  const rows = [[devnet.chainId, { aaveV3: DEPLOYMENTS }]] as const
  const routes = createFamilyRoutes(AAVE_V3, { rows, clients })
  const route = routes.find(({ path }) => path === '/v1/lending/aave-v3')
  if (route === undefined) throw new Error('Expected the route')
  const watched = AAVE_V3.configure(new Map(rows)).watch({
    chainIds: [devnet.chainId],
    servesSolana: false,
    connect: () => createTestServices({ clients }),
  })
  if (watched === undefined) throw new Error('Cannot watch Aave')
  const { wallets } = await aave.randomWallets(77, 30)
  const everybody: readonly Address[] = [...Object.values(aave.wallets), ...wallets]
  const metrics = createMetrics()
  for (const wallet of everybody) {
    for (const below of ['1.1', '1.5', '2.5']) {
      await createTrigger(db, {
        organizationId,
        apiKeyId,
        chainId: devnet.chainId,
        subject: { wallet, market_id: 'main' },
        clause: { figure: 'health_factor', below },
        clear: below,
      })
    }
  }
  const started = startTriggers({
    db,
    holder: 'me',
    clients: new Map([[devnet.chainId, client]]),
    solanaChainId: undefined,
    families: [watched],
    publicUrl: undefined,
    clock: slowClock,
    log: silentLog,
    metrics,
    jobs: { clock: systemClock },
  })
  stop = started.stop

  async function evaluated(): Promise<void> {
    const newest = await devnet.client.getBlockNumber()
    await waitFor(
      `block ${newest} evaluated`,
      async () => {
        const [row] = await db.run<{ block: string | null }>('select block from watch_cursor', [])
        return BigInt(row?.block ?? -1) >= newest
      },
      60_000,
    )
  }

  await evaluated()
  for (const percent of [40, 250, 60, 400, 100]) {
    await devnet.send([setPriceCall('wsteth', (361_248_371_902n * BigInt(percent)) / 100n)])
    await evaluated()
  }
  const messages = await db.run<{ type: string; body: string }>('select type, body from message order by no', [])
  expect(new Set(messages.map(({ type }) => type))).toEqual(new Set(['trigger.fired', 'trigger.cleared']))
  expect(messages.length).toBeGreaterThan(20)
  for (const { body } of messages) {
    const { data } = JSON.parse(body)
    const target = new URL(data.answer_url, 'http://scope.test')
    const { reply } = await callRoute(route, { query: target.search.slice(1) }, patient.signal)
    expect(JSON.stringify(reply.data)).toContain(`"healthFactor":"${data.value}"`)
    expect(data.citation[0]).toMatchObject({ chain_id: devnet.chainId, block_number: data.block.number })
  }
  // Now the state of all wallets matches the route's answer, read again.
  const states = await db.run<{ wallet: string; below: string; phase: string }>(
    `select w.subject ->> 'wallet' as wallet, w.clause ->> 'below' as below, s.phase
     from watch w join watch_state s using (organization_id, id)`,
    [],
  )
  const confirmed = await watched.watcher?.().confirm(
    states.map(({ wallet }) => ({ wallet, market_id: 'main' })),
    { client, block: await newestOf() },
    patient,
  )
  for (const [index, { below, phase }] of states.entries()) {
    const found = confirmed?.[index]
    const text = found === undefined || found === 'gone' ? null : found.text('health_factor')
    expect([index, phase]).toEqual([index, Number(text) < Number(below) ? 'fired' : 'armed'])
  }
  expect(metrics.render()).toContain('walletscope_trigger_block{chain_id="1",finality="latest"}')
}, 180_000)

async function newestOf() {
  const { number, hash, parentHash, timestamp } = await devnet.client.getBlock()
  return { chainId: devnet.chainId, number: number ?? 0n, hash: hash ?? '0x', parentHash, timestampSec: timestamp }
}
