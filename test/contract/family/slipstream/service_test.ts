import { afterAll, beforeAll, expect, test } from 'bun:test'
import { SLIPSTREAM } from '../../../../src/family/slipstream/mod.ts'
import { createDevnetChain } from '../../../devnet/chain.ts'
import { type Devnet, startDevnet } from '../../../devnet/mod.ts'
import { addStakedSlipstream } from '../../../devnet/slipstream.ts'
import { countedClient, patient } from '../../../support/family/uniswap_v3/support.ts'
import { createTestServices } from '../../../support/family.ts'
import { readNewestBlock } from '../../../support/forecast_watcher.ts'
import { checked, decodePayload, encodeReceipt, rowOver, type Stage, stageOver } from '../../receipt/stage.ts'

/* What the service does with every family, over a staked position. */

let devnet: Devnet
let slipstream: Awaited<ReturnType<typeof addStakedSlipstream>>
let stage: Stage
let block: number

beforeAll(async () => {
  devnet = await startDevnet()
  slipstream = await addStakedSlipstream(devnet)
  block = Number(await devnet.client.getBlockNumber())
  await devnet.rpc.call('anvil_mine', '0x2')
  stage = stageOver([rowOver([devnet.rpcUrl], slipstream.row)])
}, 120_000)
afterAll(async () => {
  await stage?.close()
  await devnet?.stop()
})

const listPaths = (): readonly (readonly [name: string, path: string])[] => {
  const { owner, tokenIds } = slipstream
  return [
    ['a list', `/v1/positions/slipstream?wallet=${owner}`],
    ['a past list', `/v1/positions/slipstream?wallet=${owner}&chain_id=1&at_block=${block}`],
    ['a position', `/v1/positions/slipstream/${tokenIds[0]}?chain_id=1`],
  ]
}

test('receipts of its answers verify, and name what lists the gauges', async () => {
  for (const [name, path] of listPaths()) {
    const { status, body } = await stage.get(`${path}&receipt=true`)
    expect({ name, status }).toEqual({ name, status: 200 })
    const { is, verdicts } = await checked(stage, encodeReceipt(body.receipt))
    expect({ name, is, figures: verdicts.figures.is }).toEqual({ name, is: 'true', figures: 'true' })
    expect([name, JSON.stringify(decodePayload(body.receipt)).includes(slipstream.voter)]).toEqual([name, true])
  }
}, 60_000)

test('triggers watch a staked position as its owner would see it', async () => {
  const client = countedClient(createDevnetChain(devnet)).client
  const watch = SLIPSTREAM.configure(new Map([[1, slipstream.row]])).watch({
    chainIds: [1],
    servesSolana: false,
    connect: () => createTestServices({ clients: [client] }),
  })
  const subject = { token_id: String(slipstream.tokenIds[0]), manager_address: slipstream.manager }
  const place = { client, block: await readNewestBlock(devnet.rpc, 1) }
  const [found] = (await watch?.watcher?.().confirm([subject], place, patient)) ?? []
  if (found === undefined || found === 'gone') throw new Error('Cannot watch the position')
  const { body } = await stage.get(`/v1/positions/slipstream/${subject.token_id}?chain_id=1`)
  expect([found.text('in_range'), found.text('is_active')]).toEqual([true, body.data.is_active] as never)
  expect(Number(found.text('value_usd'))).toBeGreaterThan(1_000)
})
