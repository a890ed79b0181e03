import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type FaultyRpc, startFaultyRpc } from '../../../support/rpc.ts'
import { askAbout, type PnlScene, startPnlScene } from './scene.ts'

/** Long enough that requests which do not wait for one another are all sent before the first is answered. */
const DELAY_MS = 400

let scene: PnlScene
let far: FaultyRpc

beforeAll(async () => {
  scene = await startPnlScene({ seed: 5, count: 12 })
  await scene.devnet.rpc.call('anvil_mine', '0x28')
  far = await startFaultyRpc(scene.devnet.rpcUrl)
}, 60_000)
afterAll(async () => {
  await far?.stop()
  await scene?.close()
}, 60_000)

test('profit and loss of a new block takes five requests in a row, its final block stored among them', async () => {
  const { pnl: route } = scene.routes({ chain: { rpcUrls: [far.url] } })
  const [tokenId] = scene.lives.positions.flatMap((each) => (each.isBurned ? [] : each.tokenId))
  if (tokenId === undefined) throw new Error('Cannot test without a position')
  await askAbout(route, tokenId)
  await scene.devnet.rpc.call('anvil_mine', '0x1')
  far.reset()
  far.rule(() => ({ kind: 'delay', ms: DELAY_MS }))
  await askAbout(route, tokenId)
  far.rule(() => undefined)
  // The position; the head and the anchor; the final block; its logs beside the parents of the end; logs of the end.
  expect(far.depth()).toBe(5)
}, 60_000)
