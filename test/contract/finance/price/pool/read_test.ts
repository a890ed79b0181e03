import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createRecorder } from '../../../../../src/chain/receipt/recorder.ts'
import { computeLookAges } from '../../../../../src/finance/price/pool/read_past_blocks.ts'
import { toChainRecord, toPayloadRead } from '../../../../../src/receipt/payload.ts'
import { createReplayer } from '../../../../../src/receipt/replay.ts'
import { TOKENS } from '../../../../devnet/addresses.ts'
import { slowClock } from '../../../../support/test_clock.ts'
import { ask, askPrices, stageChain, stageClient } from './asked.ts'
import { startStage, World } from './stage.ts'

let stage: Awaited<ReturnType<typeof startStage>>
let world: World

beforeAll(async () => {
  stage = await startStage()
  world = await World.create(stage, 'token0')
  const pool = await world.pool(TOKENS.usdc, 3_000, 2)
  await world.full(world.honest, pool, 100_000)
  // One observation, overwritten: the window's start is read from its block.
  await stage.mine(100, 12)
  await world.push(world.arbitrageur, pool, 2.001)
  await stage.mine(160, 12)
  await world.push(world.arbitrageur, pool, 2.002)
  await stage.mine(1, 12)
}, 60_000)

afterAll(() => stage?.anvil.stop())

const token = () => ({ address: world.token, decimals: 18 })

/** Requests of a question, the checks of the endpoint apart; bytes of what is sent. */
async function note(blockTimeMs?: number) {
  const requests: { readonly method: string; readonly at: unknown }[] = []
  const onRequest = (method: string, params: readonly unknown[]) => {
    if (method !== 'eth_chainId') requests.push({ method, at: method === 'eth_call' ? params[1] : params[0] })
  }
  const asked = await ask(world, { onRequest }, blockTimeMs)
  return { asked, requests }
}

describe('a price by pools', () => {
  test('takes a search with two headers, then all blocks at once: two round trips', async () => {
    const { asked, requests } = await note()
    expect(asked.asset).toBeCloseTo(1, 2)
    const head = await stage.client.getBlock()
    const [block, search, anchor, ...full] = requests
    expect([block, search, anchor].map((each) => each?.method)).toEqual([
      'eth_getBlockByNumber',
      'eth_call',
      'eth_getBlockByNumber',
    ])
    expect(full.map(({ method }) => method)).toEqual(Array(5).fill('eth_call'))
    // Now by its hash, four earlier blocks by their heights: each where the hash puts it.
    const heights = full.flatMap(({ at }) => (typeof at === 'string' ? Number(at) : []))
    const ages = [...computeLookAges(head.hash), 1_800]
    const times = await Promise.all(heights.map((height) => stage.client.getBlock({ blockNumber: BigInt(height) })))
    const actual = times.map(({ timestamp }) => Number(head.timestamp - timestamp)).sort((a, b) => a - b)
    expect(actual).toHaveLength(4)
    for (const [index, age] of ages.sort((a, b) => a - b).entries()) {
      expect(Math.abs((actual[index] ?? 0) - age)).toBeLessThanOrEqual(60)
    }
  })

  test('is the same whatever time between blocks the chain is said to have', async () => {
    const [right, wrong] = [await note(), await note(250)]
    // Looks may be a block apart.
    expect(wrong.asked.marks).toEqual(right.asked.marks)
    for (const name of ['asset', 'debt', 'holder'] as const) {
      expect((wrong.asked[name] ?? 0) / (right.asked[name] ?? 1)).toBeCloseTo(1, 2)
    }
  })

  test('is refused from an endpoint that answers for another block than it was asked', async () => {
    await expect(ask(world, { answersNow: true })).rejects.toThrow('Cannot read chain 1')
  })

  test('comes from logs if the endpoint keeps no state, and is young without them', async () => {
    const logs = await ask(world, { keepsBlocks: 100 })
    expect(logs).toMatchObject({ marks: [] })
    expect(logs.asset).toBeCloseTo(1, 2)
    const young = await ask(world, { keepsBlocks: 100, hasNoLogs: true })
    expect(young).toMatchObject({ marks: ['young'], bound: 0, holder: 0 })
    expect(young.debt).toBeCloseTo(1, 2)
  })
})

describe('a receipt', () => {
  test('holds the looks with their blocks, and replays to the same price', async () => {
    const client = stageClient(stage)
    const recorder = createRecorder(client)
    const [outcome] = await askPrices(recorder.client, [token()])
    const record = recorder.record()
    if (record === undefined || outcome === undefined) throw new Error('Nothing was recorded')
    const earlier = record.calls.flatMap(({ at }) => at ?? [])
    // The earliest look may be at the block of the window's start.
    expect(record.calls).toHaveLength(2 + earlier.length)
    expect([3, 4]).toContain(earlier.length)
    for (const { number, hash, timestampSec, parentHash } of earlier) {
      const block = await stage.client.getBlock({ blockNumber: number })
      expect([hash, timestampSec, parentHash]).toEqual([block.hash, block.timestamp, block.parentHash])
    }
    const stored = toChainRecord(JSON.parse(JSON.stringify(toPayloadRead(record))))
    expect(stored).toEqual(record)
    const replay = async (each: typeof record) => {
      const replayer = createReplayer(each, { chain: stageChain(stage), clock: slowClock })
      return { replayer, outcomes: await askPrices(replayer.client, [token()]) }
    }
    const { replayer, outcomes } = await replay(stored)
    expect(outcomes).toEqual([outcome])
    expect(replayer.faults()).toEqual([])
    // Without one look, or with a look of another block, there is no answer.
    const [look] = record.calls.filter(({ at }) => at !== undefined)
    if (look?.at === undefined) throw new Error('There is no look')
    const without = record.calls.filter((each) => each !== look)
    await expect(replay({ ...record, calls: without })).rejects.toThrow()
    const moved = { ...look, at: { ...look.at, timestampSec: look.at.timestampSec + 1n } }
    await expect(replay({ ...record, calls: [...without, moved] })).rejects.toThrow('another block')
  })
})

test('computeLookAges() puts one look in each ten minutes, by the hash of the block', () => {
  const seen = new Set<number>()
  for (let index = 0; index < 500; index++) {
    const ages = computeLookAges(`0x${index.toString(16).padStart(64, '0')}`)
    for (const [part, age] of ages.entries()) {
      expect(age).toBeGreaterThan(600 * part)
      expect(age).toBeLessThanOrEqual(600 * (part + 1))
    }
    seen.add(ages[0] ?? 0)
  }
  expect(seen.size).toBeGreaterThan(250)
})
