import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import { type Address, encodeFunctionData, type Hex, numberToHex, parseAbi } from 'viem'
import type { Log } from '../../../../../src/lib/log.ts'
import { silentLog } from '../../../../../src/lib/log.ts'
import { type TestDatabase, testDatabase } from '../../../../support/database.ts'
import { type FaultyRpc, type SeenRequest, startFaultyRpc } from '../../../../support/rpc.ts'
import { askAbout, type PnlScene, startPnlScene } from './scene.ts'
import { computeTruths, type ExpectedPnl, type Truth } from './truth.ts'

const ABI = parseAbi(['function latestRoundData() view returns (uint80, int256, uint256, uint256, uint80)'])

let scene: PnlScene
let liar: FaultyRpc
let honest: FaultyRpc
let third: FaultyRpc
let database: TestDatabase
/** A position whose prices all come from feeds. */
let position: ExpectedPnl
let truth: Truth
/** The block of its first flow, the feed's answer there, and the false answer. */
let lie: { readonly block: Hex; readonly word: string; readonly said: string; readonly feed: Address }

beforeAll(async () => {
  scene = await startPnlScene({ seed: 11, count: 24 })
  const { devnet, lives, flows } = scene
  ;[liar, honest, third] = await Promise.all([
    startFaultyRpc(devnet.rpcUrl),
    startFaultyRpc(devnet.rpcUrl),
    startFaultyRpc(devnet.rpcUrl),
  ])
  const final = lives.blockNumber - 12n
  const found = lives.positions.find(({ tokenId, pool, isBurned }) => {
    const [first] = flows.get(tokenId) ?? []
    const isFinal = first !== undefined && first.blockNumber <= final && first.amount0 > 0n
    return !isBurned && isFinal && pool.tokens.every(({ feed }) => feed !== undefined)
  })
  if (found === undefined) throw new Error('Cannot test without such a position')
  position = found
  const [told] = await computeTruths(devnet, [position], { flows, block: lives.blockNumber })
  if (told === undefined) throw new Error('Cannot test without the truth')
  truth = told
  lie = await lieAbout(position)
}, 60_000)

beforeEach(async () => {
  database = await testDatabase()
  for (const rpc of [liar, honest, third]) {
    rpc.rule(() => undefined)
    rpc.reset()
  }
})

afterAll(async () => {
  await Promise.all([liar, honest, third].map((rpc) => rpc?.stop()))
  await scene?.close()
})

async function lieAbout({ tokenId, pool }: ExpectedPnl): Promise<typeof lie> {
  const [first] = scene.flows.get(tokenId) ?? []
  const feed = pool.tokens[0].feed
  if (first === undefined || feed === undefined) throw new Error('The position has no flow')
  const block = numberToHex(first.blockNumber)
  const data = encodeFunctionData({ abi: ABI, functionName: 'latestRoundData' })
  const round = await scene.devnet.rpc.call<Hex>('eth_call', { to: feed, data }, block)
  const word = round.slice(2 + 64, 2 + 128)
  const said = (BigInt(`0x${word}`) * 140_000n).toString(16).padStart(64, '0')
  return { block, word, said, feed }
}

/** Answers the price at the one block as a hundred and forty thousand times as high. */
function inflated({ method, params }: SeenRequest) {
  if (method !== 'eth_call' || params[1] !== lie.block) return undefined
  return { kind: 'change', change: (result: unknown) => String(result).replaceAll(lie.word, lie.said) } as const
}

/** Creates the route over these endpoints, with the log of its client. */
function over(...rpcs: readonly FaultyRpc[]) {
  const warned: Record<string, unknown>[] = []
  const log: Log = { ...silentLog, warn: (fields) => void warned.push(fields) }
  const { pnl } = scene.routes({ chain: { rpcUrls: rpcs.map(({ url }) => url) }, database, log })
  const ask = async () => (await askAbout(pnl, position.tokenId)).reply.data as unknown as Record<string, unknown>
  return { ask, warned }
}

async function storedPrices(): Promise<readonly { units: string; witnesses: number }[]> {
  return await database.db.run<{ units: string; witnesses: number }>(
    'select units::text as units, witnesses from price_at where block = $1 order by units',
    [String(BigInt(lie.block))],
  )
}

const liesKept = async () => {
  const units = String(BigInt(`0x${lie.said}`))
  return (await storedPrices()).filter((row) => row.units === units).length
}

for (const [first, second] of [
  ['liar', 'honest'],
  ['honest', 'liar'],
] as const) {
  test(`a false answer of a feed at a past block is refused naming the endpoints, and is not stored: ${first} before ${second}`, async () => {
    liar.rule(inflated)
    const rpcs = first === 'liar' ? [liar, honest] : [honest, liar]
    const { ask, warned } = over(...rpcs)
    await expect(ask()).rejects.toMatchObject({
      code: 'SERVICE_UNAVAILABLE',
      message:
        `Cannot believe the prices at block ${BigInt(lie.block)} of chain 1 (Devnet): endpoints 1 and 2 ` +
        'contradict each other (second witness)',
    })
    expect(warned).toContainEqual({
      msg: 'RPC endpoints contradicted each other',
      chainId: 1,
      endpoints: expect.any(Array),
      what: `the prices at block ${BigInt(lie.block)}`,
    })
    expect(JSON.stringify(warned)).not.toContain('127.0.0.1')
    expect(await liesKept()).toBe(0)
    liar.rule(() => undefined)
    expect(await ask()).toEqual({ ...truth.pnl })
    expect(new Set((await storedPrices()).map(({ witnesses }) => witnesses))).toEqual(new Set([2]))
  })
}

/** Mints by their filter: transfers from the zero address, of every id. */
function isAboutMints({ method, params }: SeenRequest): boolean {
  const { topics = [] } = (params[0] ?? {}) as { readonly topics?: readonly unknown[] }
  return method === 'eth_getLogs' && topics.length === 2 && JSON.stringify(topics[1]).includes('0'.repeat(64))
}

const MINT_LIES = [
  ['hides every mint', () => []],
  ['says that each was minted later', (logs: readonly MintLog[]) => logs.map(withNextId)],
] as const

interface MintLog {
  readonly topics: readonly string[]
}

/** The id after it, as if the position had been minted later. */
function withNextId(log: MintLog): MintLog {
  const [transfer = '', from = '', to = '', id = '0x0'] = log.topics
  return { ...log, topics: [transfer, from, to, numberToHex(BigInt(id) - 1n, { size: 32 })] }
}

test.each(MINT_LIES)('an endpoint that %s leads no search', async (_, change) => {
  const asked = (request: SeenRequest) =>
    isAboutMints(request)
      ? ({ kind: 'change', change: (result: unknown) => change(result as readonly MintLog[]) } as const)
      : undefined
  liar.rule(asked)
  for (const rpcs of [
    [liar, honest],
    [honest, liar],
  ]) {
    await expect(over(...rpcs).ask()).rejects.toMatchObject({ message: expect.stringContaining('(second witness)') })
  }
  expect(await over(liar, honest, third).ask()).toEqual({ ...truth.pnl })
  // The endpoint with one block per request does not help the search, but confirms its result.
  honest.rule(({ method, params: [filter] }) => {
    const { fromBlock, toBlock } = (filter ?? {}) as { readonly fromBlock?: string; readonly toBlock?: string }
    const isLong = method === 'eth_getLogs' && fromBlock !== undefined && fromBlock !== toBlock
    return isLong ? { kind: 'error', error: { code: -32602, message: 'query exceeds max block range 1' } } : undefined
  })
  const answer = await over(liar, honest)
    .ask()
    .catch((error: Error) => error)
  if (!(answer instanceof Error)) expect(answer).toEqual({ ...truth.pnl })
  liar.rule(() => undefined)
  expect(await over(liar, honest).ask()).toEqual({ ...truth.pnl })
})

test('a third endpoint outvotes the false one, which is named by its position', async () => {
  liar.rule(inflated)
  const { ask, warned } = over(liar, honest, third)
  expect(await ask()).toEqual({ ...truth.pnl })
  expect(await liesKept()).toBe(0)
  expect(warned).toContainEqual({
    msg: 'An RPC endpoint contradicted others',
    chainId: 1,
    endpoint: 1,
    what: `the prices at block ${BigInt(lie.block)}`,
  })
})

test('the answer of a single endpoint is marked, read again when a second appears, and replaced once two agree', async () => {
  liar.rule(inflated)
  const alone = await over(liar).ask()
  expect(alone).not.toEqual({ ...truth.pnl })
  expect(await liesKept()).toBe(1)
  expect(new Set((await storedPrices()).map(({ witnesses }) => witnesses))).toEqual(new Set([1]))
  // It still returns the false answer, so the two endpoints disagree.
  await expect(over(liar, honest).ask()).rejects.toMatchObject({ message: expect.stringContaining('second witness') })
  liar.rule(() => undefined)
  const both = over(liar, honest)
  expect(await both.ask()).toEqual({ ...truth.pnl })
  expect(await liesKept()).toBe(0)
  expect(new Set((await storedPrices()).map(({ witnesses }) => witnesses))).toEqual(new Set([2]))
  expect(both.warned).toContainEqual({
    msg: 'Corrected a stored price',
    chainId: 1,
    token: position.pool.tokens[0].address,
    block: BigInt(lie.block),
  })
  // Agreed once, it is never read again.
  for (const rpc of [liar, honest]) rpc.reset()
  expect(await over(liar, honest).ask()).toEqual({ ...truth.pnl })
  expect([...liar.seen, ...honest.seen].filter(({ params }) => params[1] === lie.block)).toEqual([])
})

test('a second endpoint without that state cannot witness: the answer is marked and not read each time', async () => {
  honest.rule(({ method, params }) =>
    method === 'eth_call' && params[1] !== 'latest'
      ? { kind: 'error', error: { code: -32000, message: 'missing trie node 9f (path )' } }
      : undefined,
  )
  const { ask } = over(liar, honest)
  expect(await ask()).toEqual({ ...truth.pnl })
  expect((await storedPrices()).map(({ witnesses }) => witnesses)).toContain(1)
  const before = liar.seen.length
  expect(await ask()).toEqual({ ...truth.pnl })
  expect(liar.seen.slice(before).filter(({ params }) => params[1] === lie.block)).toEqual([])
})

test('a second endpoint that hangs or fails is not waited for long, and the answer is marked', async () => {
  honest.rule(({ method, params }) => (method === 'eth_call' && params[1] === lie.block ? { kind: 'hang' } : undefined))
  const { ask } = over(liar, honest)
  expect(await ask()).toEqual({ ...truth.pnl })
  expect(new Set((await storedPrices()).map(({ witnesses }) => witnesses))).toEqual(new Set([1]))
})
