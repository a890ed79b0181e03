import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Address } from 'viem'
import { createPositionReader, type PositionReader } from '../../../src/family/uniswap_v3/read/read.ts'
import { getConfidence } from '../../../src/finance/price/price.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { BANK, TOKENS, toWalletAddress } from '../../devnet/addresses.ts'
import { type Devnet, startDevnet } from '../../devnet/mod.ts'
import type { Pool } from '../../devnet/uniswap_v3_calls.ts'
import { createClient, newPool, newToken, pass, pooledChain, toRaw } from '../../finance/price/pool/world.ts'
import { startFaultyRpc } from '../../support/rpc.ts'
import { DEPLOYMENT, patient } from './support.ts'

const { usdc } = TOKENS
/** Pools of the same tokens differ by their tier. */
const FEES: Readonly<Record<number, number>> = { 15000: 500, 20000: 10_000 }

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
  return createPositionReader({
    clients: new Map([[chainId, client]]),
    deployments: new Map([[chainId, deployments]]),
    clock: systemClock,
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
  const reads = await reader.readOne(tokenId, { targets: places, signal: patient })
  const positions = reads.flatMap((read) => read.positions)
  const [position] = await reader.priceByPools(positions, { targets: places, reads, signal: patient })
  if (position === undefined) throw new Error('There is no such position')
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

test('a pool prices a token only up to what it pays until half the price', async () => {
  const other = { ...usdc, address: await newToken(devnet, 6), usd: 1 }
  const readPrice = async (dollars: number) => {
    const heap = await newPool(
      devnet,
      { address: token, decimals: 18, usd: 2 },
      { quote: other, dollars, fee: FEES[dollars] },
    )
    const [tokenId] = (await devnet.v3.readTokenIds(BANK)).slice(-1)
    if (tokenId === undefined) throw new Error(`Nothing was minted in ${heap.address}`)
    return (await readPrices(createReader(devnet.rpcUrl), tokenId)).get(token)
  }
  expect((await readPrice(15_000))?.source).toBe('pool')
  expect(await readPrice(20_000)).toBeUndefined()
}, 20_000)
