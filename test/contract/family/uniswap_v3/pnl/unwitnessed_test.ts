import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type TestDatabase, testDatabase } from '../../../../support/database.ts'
import { startFaultyRpc } from '../../../../support/rpc.ts'
import { withoutPast } from './endpoints.ts'
import { askAbout, type PnlScene, startPnlScene } from './scene.ts'

let scene: PnlScene
const databases: TestDatabase[] = []

beforeAll(async () => {
  scene = await startPnlScene({ seed: 5, count: 6 })
  await scene.devnet.rpc.call('anvil_mine', '0x28')
}, 60_000)
afterAll(async () => {
  await scene?.close()
  for (const database of databases) await database.close()
}, 60_000)

test.each([
  [1, [1]],
  [2, undefined],
])(
  'profit and loss and events by %d endpoints say whose word they rest on',
  async (endpoints, expected) => {
    const rpcUrls = Array.from({ length: endpoints }, (_, index) => `${scene.devnet.rpcUrl}?${index}`)
    const database = await testDatabase()
    databases.push(database)
    const { pnl, events } = scene.routes({ chain: { rpcUrls }, database, isPatient: true })
    const position = scene.lives.positions.find(({ isBurned }) => !isBurned)
    if (position === undefined) throw new Error('Cannot test without a position')
    // The first answer reads, the others rest on what is remembered and stored.
    for (const route of [pnl, pnl, events]) {
      const { reply } = await askAbout(route, position.tokenId)
      expect(reply.unwitnessed).toEqual(expected as number[])
    }
    const block = await scene.devnet.rpc.call<string>('eth_blockNumber')
    const past = await askAbout(pnl, position.tokenId, `at_block=${Number(block) - 20}`)
    expect(past.reply.unwitnessed).toEqual(expected as number[])
  },
  60_000,
)

test('prices that one endpoint gave are told although two gave the logs', async () => {
  const database = await testDatabase()
  databases.push(database)
  const rpcUrls = [0, 1].map((index) => `${scene.devnet.rpcUrl}?${index}`)
  const position = scene.lives.positions.find(({ isBurned }) => !isBurned)
  if (position === undefined) throw new Error('Cannot test without a position')
  const first = scene.routes({ chain: { rpcUrls }, database, isPatient: true })
  expect((await askAbout(first.pnl, position.tokenId)).reply.unwitnessed).toBeUndefined()
  // Only one endpoint answers now, so what is stored stays as it is.
  await database.db.run('update price_at set witnesses = 1', [])
  const dead = [scene.devnet.rpcUrl, 'http://127.0.0.1:9']
  const { pnl } = scene.routes({ chain: { rpcUrls: dead }, database, isPatient: true })
  // The second answer rests on prices that are remembered.
  for (let asked = 0; asked < 2; asked++) expect((await askAbout(pnl, position.tokenId)).reply.unwitnessed).toEqual([1])
}, 60_000)

test('a price that no endpoint knows rests on no word: two pruned endpoints that agree on the logs are enough', async () => {
  const database = await testDatabase()
  databases.push(database)
  const pruned = [0, 1].map(() => withoutPast(scene.devnet.rpcUrl))
  try {
    const position = scene.lives.positions.find(({ isBurned }) => !isBurned)
    if (position === undefined) throw new Error('Cannot test without a position')
    const rpcUrls = pruned.map(({ rpcUrl }) => rpcUrl)
    const prices = { usdFeeds: {}, stablecoins: [] }
    const { events } = scene.routes({ chain: { rpcUrls, prices }, database, isPatient: true })
    // The second answer rests on what is remembered.
    for (let asked = 0; asked < 2; asked++) {
      const { reply } = await askAbout(events, position.tokenId)
      expect(reply.data).toContainEqual(expect.objectContaining({ prices: null }))
      expect(reply.unwitnessed).toBeUndefined()
    }
  } finally {
    for (const { server } of pruned) await server.stop(true)
  }
}, 60_000)

test('the pool of a burned position that one endpoint alone gave is told', async () => {
  const database = await testDatabase()
  databases.push(database)
  const silent = await startFaultyRpc(scene.devnet.rpcUrl)
  try {
    const position = scene.lives.positions.find(({ isBurned }) => isBurned)
    if (position === undefined) throw new Error('Cannot test without a burned position')
    const rpcUrls = [scene.devnet.rpcUrl, silent.url]
    const ask = async () => {
      const { events } = scene.routes({ chain: { rpcUrls }, database, isPatient: true })
      // The second answer rests on what is remembered.
      const replies = [await askAbout(events, position.tokenId), await askAbout(events, position.tokenId)]
      return replies.map(({ reply }) => reply.unwitnessed)
    }
    expect(await ask()).toEqual([undefined, undefined])
    silent.rule(({ method }) =>
      method === 'eth_getTransactionReceipt' ? { kind: 'http', status: 500, body: '' } : undefined,
    )
    expect(await ask()).toEqual([[1], [1]])
  } finally {
    await silent.stop()
  }
}, 60_000)
