import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type Address, encodeFunctionData, erc20Abi, getAddress } from 'viem'
import { LENS_RUNTIME } from '../../../src/chain/call/exit/lens_artifact.ts'
import type { Database } from '../../../src/db/database.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { createMetrics } from '../../../src/lib/metrics.ts'
import { startTriggers } from '../../../src/trigger/mod.ts'
import { SAMPLE_BLOCKS } from '../../../src/trigger/trigger.ts'
import { BANK, TOKENS, toWalletAddress } from '../../devnet/addresses.ts'
import { createDevnetChain } from '../../devnet/chain.ts'
import { type Devnet, startDevnet } from '../../devnet/mod.ts'
import { amounts, usdToRaw } from '../../devnet/scenario.ts'
import { rangeAround } from '../../devnet/ticks.ts'
import { createAccount } from '../../support/account/scene.ts'
import { testDatabase } from '../../support/database.ts'
import { type FaultyRpc, startFaultyRpc } from '../../support/rpc.ts'
import { slowClock } from '../../support/test_clock.ts'
import { createTrigger } from '../../support/trigger/scene.ts'
import { waitFor } from '../../support/wait_for.ts'
import { countedClient, createPortfolio } from '../portfolio/support.ts'

const WALLETS = ['leaves', 'stays'].map((name) => toWalletAddress(`exit ${name}`))
const [LEAVES = '0x', STAYS = '0x'] = WALLETS

let db: Database
let devnet: Devnet
let faulty: FaultyRpc
let stop = () => {}

beforeAll(async () => {
  db = (await testDatabase()).db
  devnet = await startDevnet({ chainId: 10 })
  faulty = await startFaultyRpc(devnet.rpcUrl)
  const [pool] = Object.values(devnet.pools)
  if (pool === undefined) throw new Error('Cannot find a pool')
  const range = rangeAround(pool, -600, 600)
  await devnet.v3.mintMany(WALLETS.map((recipient) => ({ pool, ...range, ...amounts(pool, 900), recipient })))
  await pay(BANK, LEAVES, 5_000)
}, 180_000)

afterAll(async () => {
  stop()
  await faulty?.stop()
  await devnet?.stop()
})

/** Pays so many dollars of USDC. */
async function pay(from: Address, to: Address, usd: number): Promise<void> {
  const args = [to, usdToRaw(TOKENS.usdc, usd)] as const
  await devnet.send([
    { from, to: TOKENS.usdc.address, data: encodeFunctionData({ abi: erc20Abi, functionName: 'transfer', args }) },
  ])
}

/** Mines blocks of which one is a sample of each wallet, and waits until they are evaluated. */
async function sample(): Promise<void> {
  await devnet.rpc.call('anvil_mine', `0x${SAMPLE_BLOCKS.toString(16)}`)
  const newest = await devnet.client.getBlockNumber()
  await waitFor(
    `block ${newest} evaluated`,
    async () => {
      const [row] = await db.run<{ block: string | null }>('select block from watch_cursor where shard = 1', [])
      return BigInt(row?.block ?? -1) >= newest
    },
    60_000,
  )
}

interface Message {
  readonly text: string
  readonly data: {
    readonly subject: { readonly wallet: string }
    readonly block: { readonly number: number }
    readonly value: string
    readonly answer_url: string
  }
}

async function listMessages(): Promise<readonly (Message & { readonly type: string })[]> {
  const rows = await db.run<{ type: string; body: string }>('select type, body from message order by no', [])
  return rows.map(({ type, body }) => ({ ...JSON.parse(body), type }))
}

test('a wallet that would get less is told at a sample, with the figure of the route at its block', async () => {
  const { organizationId, apiKeyId } = await createAccount(db, { credits: 1_000 })
  const { client } = countedClient(createDevnetChain(devnet, { rpcUrls: [faulty.url] }))
  const portfolio = createPortfolio([client])
  for (const wallet of WALLETS) {
    const clause = { figure: 'exit_usd', below: '2000' }
    const watched = { chainId: 10, family: 'portfolio', subject: { wallet }, clause, clear: '2000' }
    await createTrigger(db, { organizationId, apiKeyId, pace: 'sampled', ...watched })
  }
  const started = startTriggers({
    db,
    holder: 'me',
    clients: new Map([[10, client]]),
    solanaChainId: undefined,
    families: [portfolio.watched],
    publicUrl: undefined,
    clock: slowClock,
    log: silentLog,
    metrics: createMetrics(),
    jobs: { clock: systemClock },
  })
  stop = started.stop
  await sample()
  const told = async () => (await listMessages()).map(({ type, data }) => [type, data.subject?.wallet])
  expect(await told()).toEqual([['trigger.fired', STAYS]])
  const before = await devnet.client.getBlockNumber()
  await pay(LEAVES, BANK, 4_900)
  await sample()
  expect(await told()).toEqual([
    ['trigger.fired', STAYS],
    ['trigger.fired', LEAVES],
  ])
  const [, message] = await listMessages()
  expect(message?.data.block.number).toBeGreaterThan(Number(before))
  expect(message?.text).toContain(`${LEAVES} (portfolio, Devnet): exit usd is ${message?.data.value}, below 2000`)
  for (const { data } of await listMessages()) {
    const target = new URL(data.answer_url, 'http://scope.test')
    expect(target.pathname).toBe('/v1/portfolio/exit')
    const { reply } = await portfolio.exit(target.search.slice(1))
    expect(reply.data).toMatchObject({ arrives_usd: data.value, executed_as: 'own_code', complete: true })
    expect(Number(data.value)).toBeGreaterThan(1_700)
  }

  // Where nothing is executed, what is in the wallet alone is no figure.
  const isExit = (overrides: unknown) => JSON.stringify(overrides ?? '').includes(LENS_RUNTIME)
  faulty.rule(({ params }) => (isExit(params[2]) ? { kind: 'http', status: 503, body: '' } : undefined))
  await pay(BANK, LEAVES, 4_900)
  await sample()
  const listUnseen = async () => {
    const rows = await db.run<{ wallet: string }>(
      `select w.subject ->> 'wallet' as wallet from watch_unseen u join watch w using (organization_id, id)`,
      [],
    )
    return new Set(rows.map(({ wallet }) => getAddress(wallet)))
  }
  expect(await listUnseen()).toEqual(new Set(WALLETS))
  expect(await told()).toHaveLength(2)
  faulty.rule(() => undefined)
  await sample()
  expect(await listUnseen()).toEqual(new Set())
  expect((await told()).at(-1)).toEqual(['trigger.cleared', LEAVES])
}, 180_000)
