import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type Address, erc20Abi } from 'viem'
import { createPositionReader, type PositionReader } from '../../../../src/family/liquidity/enumerable/read/read.ts'
import { EXCHANGE } from '../../../../src/family/uniswap_v3/protocol.ts'
import { getConfidence } from '../../../../src/finance/price/price.ts'
import { TOKENS, toWalletAddress } from '../../../devnet/addresses.ts'
import { type Devnet, startDevnet } from '../../../devnet/mod.ts'
import type { Pool } from '../../../devnet/uniswap_v3_calls.ts'
import { computeFigures, DEPLOYMENT, patient } from '../../../support/family/uniswap_v3/support.ts'
import { startFaultyRpc } from '../../../support/rpc.ts'
import { slowClock } from '../../../support/test_clock.ts'
import { createClient, newPool, newToken, pass, pooledChain, toRaw } from '../../finance/price/pool/world.ts'

const { usdc } = TOKENS

let devnet: Devnet
let token: Address
let pool: Pool

beforeAll(async () => {
  devnet = await startDevnet()
  token = await newToken(devnet, 18)
  pool = await newPool(devnet, { address: token, decimals: 18, usd: 2 }, { dollars: 60_000 })
  await pass(devnet, 1_900)
}, 60_000)

afterAll(() => devnet?.stop())

function createReader(rpcUrl: string): PositionReader {
  const client = createClient({ ...pooledChain(devnet), rpcUrls: [rpcUrl] })
  const [chainId, deployments] = [client.chain.id, [DEPLOYMENT]] as const
  return createPositionReader(EXCHANGE, {
    clients: new Map([[chainId, client]]),
    deployments: new Map([[chainId, deployments]]),
    clock: slowClock,
  })
}

async function mint(dollars: number): Promise<bigint> {
  const edge = Math.floor(887_272 / pool.tickSpacing) * pool.tickSpacing
  const [own, other] = [toRaw(dollars / 2, 18), toRaw(dollars, 6)]
  const [amount0, amount1] = pool.token0 === token ? [own, other] : [other, own]
  const range = { pool, tickLower: -edge, tickUpper: edge }
  return (await devnet.v3.mint({ ...range, amount0, amount1, recipient: toWalletAddress('pooled') })).tokenId
}

async function readPrices(reader: PositionReader, tokenId: bigint) {
  const places = [...reader.targets.values()]
  const reads = await reader.readOne(tokenId, { targets: places, work: patient })
  const positions = reads.flatMap((read) => read.positions)
  const [full] = await reader.readFull(positions, { targets: places, reads, work: patient })
  if (full === undefined) throw new Error('There is no such position')
  const { position } = full
  const tokens = [position.token0, position.token1]
  return new Map(tokens.map(({ address, price }) => [address, price]))
}

test('a position’s token without a price gets its pool’s price in one more call; others are not read again', async () => {
  const [pooled, known] = [await mint(100), devnet.positions.inRange]
  const proxy = await startFaultyRpc(devnet.rpcUrl)
  try {
    const reader = createReader(proxy.url)
    const prices = await readPrices(reader, pooled)
    const price = prices.get(token)
    expect(price && getConfidence(price)).toBe('market')
    expect(Number(price?.units) / 10 ** Number(price?.scale)).toBeCloseTo(2, 2)
    expect(prices.get(usdc.address)?.source).toBe('feed')
    const before = proxy.seen.length
    await readPrices(reader, known)
    expect(proxy.seen.length - before).toBe(1)
  } finally {
    await proxy.stop()
  }
}, 20_000)

/** A wallet’s positions with prices by pools, each at its value in millionths of a dollar. */
async function readWorths(reader: PositionReader, wallet: Address, page: number) {
  const targets = [...reader.targets.values()]
  const reads = await reader.readWallet(wallet, { targets, work: patient })
  const positions = reads.flatMap((read) => read.positions).slice(0, page)
  const { positions: whole } = await reader.complete(wallet, { reads, positions, work: patient })
  const priced = await reader.readFull(whole, { targets, reads, work: patient }, reads)
  return priced.map(({ position }) => computeFigures(position).usd?.totalE6 ?? 0n)
}

test('positions of one wallet count no more of a token together than its pool bears, on any page', async () => {
  const heap = await newPool(devnet, { address: token, decimals: 18, usd: 2 }, { fee: 500, dollars: 100 })
  const wallet = toWalletAddress('forty positions')
  const isToken0 = heap.token0 === token
  const edge = Math.floor(887_272 / heap.tickSpacing) * heap.tickSpacing
  const near = (Math.floor(heap.startTick / heap.tickSpacing) + (isToken0 ? 2 : -1)) * heap.tickSpacing
  const range = isToken0 ? { tickLower: near, tickUpper: edge } : { tickLower: -edge, tickUpper: near }
  const amount = toRaw(20_000, 18)
  const amounts = isToken0 ? { amount0: amount, amount1: 0n } : { amount0: 0n, amount1: amount }
  for (let count = 0; count < 5; count++) {
    await devnet.v3.mint({ pool: heap, ...range, ...amounts, recipient: wallet })
  }
  const reader = createReader(devnet.rpcUrl)
  const sum = (values: readonly bigint[]) => values.reduce((total, each) => total + each, 0n)
  const all = await readWorths(reader, wallet, 5)
  // What the pool pays until half the price: 1 - sqrt(1/2) of its dollars.
  const bound = (toRaw(60_000, 6) * 2_928n) / 10_000n
  expect(Number(sum(all))).toBeGreaterThan(0.99 * Number(bound))
  expect(sum(all)).toBeLessThanOrEqual(await quoteInPool())
  // Each has its share, and the same one on a shorter page.
  expect(Math.max(...all.map(Number)) - Math.min(...all.map(Number))).toBeLessThanOrEqual(1)
  expect(await readWorths(reader, wallet, 2)).toEqual(all.slice(0, 2))
}, 30_000)

/** Dollars of the quote token in the pool that prices the token, in millionths. */
async function quoteInPool(): Promise<bigint> {
  const args = [pool.address] as const
  return await devnet.client.readContract({ address: usdc.address, abi: erc20Abi, functionName: 'balanceOf', args })
}
