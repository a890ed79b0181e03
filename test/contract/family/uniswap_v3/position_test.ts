import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { type Address, encodeAbiParameters, type Hex, parseAbi, zeroAddress } from 'viem'
import { LENS_MODES } from '../../../../src/chain/call/lens.ts'
import type { ChainRead } from '../../../../src/family/liquidity/enumerable/read/position.ts'
import type { ChainPrices } from '../../../../src/finance/chain.ts'
import { deployAll } from '../../../devnet/aave_v3/deploy.ts'
import { TOKENS, toWalletAddress } from '../../../devnet/addresses.ts'
import { packageCreationCode } from '../../../devnet/artifacts.ts'
import { createDevnetChain } from '../../../devnet/chain.ts'
import { type Devnet, sharedDevnet } from '../../../devnet/mod.ts'
import { AAVE_PRICES, type MorphoDevnet } from '../../../devnet/morpho_blue/mod.ts'
import {
  BURNING_ORACLE,
  computeFigures,
  countedClient,
  createTestReader,
  patient,
  toWhole,
} from '../../../support/family/uniswap_v3/support.ts'

const { usdc, dai, usdt, weth } = TOKENS
const ORACLE_ABI = parseAbi([
  'function getAssetPrice(address asset) view returns (uint256)',
  'function getSourceOfAsset(address asset) view returns (address)',
])
const AAVE_USDC = { units: AAVE_PRICES.usdc, scale: 8, source: 'aave_oracle' } as const
const AAVE_DAI = { units: AAVE_PRICES.dai, scale: 8, source: 'aave_oracle' } as const
const DOLLAR = { units: 1n, scale: 0, source: 'stablecoin' } as const
const FED_DOLLAR = { units: 100_000_000n, scale: 8, source: 'feed' } as const
/** Reverts without a word: PUSH1 0, PUSH1 0, REVERT. */
const REVERTING = '0x60006000fd'
/** Burns all gas at once: INVALID. */
const BURNING = '0xfe'
/** Burns all gas, step by step: JUMPDEST, PUSH1 0, JUMP. */
const LOOPING = '0x5b600056'

const ORACLE_PACKAGE = '@aave/core-v3/artifacts/contracts/misc/AaveOracle.sol/AaveOracle.json'

let devnet: Devnet
let morpho: MorphoDevnet
let unchanged: Hex

beforeAll(async () => {
  devnet = await sharedDevnet()
  morpho = await devnet.morpho()
  await devnet.hostile()
}, 120_000)

beforeEach(async () => {
  unchanged = await devnet.client.snapshot()
})

afterEach(async () => {
  await devnet.client.revert({ id: unchanged })
})

/** The oracle that knows USDC and DAI, and no feeds, unless told otherwise. */
function createPrices(overrides: Partial<ChainPrices> = {}): ChainPrices {
  return { usdFeeds: {}, stablecoins: [], aaveOracle: morpho.aaveOracle, ...overrides }
}

/** Reads in every lens mode, which must agree, and returns the requests. */
async function read(prices: ChainPrices, wallet: Address = devnet.wallets.provider) {
  const ways = await Promise.all(
    LENS_MODES.map(async (mode) => {
      const { client, requests } = countedClient(createDevnetChain(devnet, { prices }))
      const { reader, targets: places } = createTestReader(client, { mode })
      const [found] = await reader.readWallet(wallet, { targets: places, work: patient })
      if (found === undefined) throw new Error('Expected an answer')
      const { untilMs: _, ...answer } = found
      return { answer: { ...answer, positions: toWhole(answer.positions) }, requests: requests.length }
    }),
  )
  const [override, deployless] = ways
  if (override === undefined) throw new Error('Cannot read the devnet')
  expect(deployless?.answer).toEqual(override.answer)
  return { ...override.answer, requests: ways.map(({ requests }) => requests) }
}

function findPrice({ positions }: ChainRead, token: Address) {
  const found = positions.flatMap(({ token0, token1 }) => [token0, token1]).find(({ address }) => address === token)
  if (found === undefined) throw new Error(`Cannot find token ${token} among the positions`)
  return found.price
}

function findStablePositions({ positions }: ChainRead) {
  const found = positions.find(({ tokenId }) => tokenId === devnet.positions.stable)
  if (found === undefined) throw new Error('Cannot find the position in DAI and USDC')
  return found
}

async function readSource(token: Address): Promise<Address> {
  return devnet.client.readContract({
    address: morpho.aaveOracle,
    abi: ORACLE_ABI,
    functionName: 'getSourceOfAsset',
    args: [token],
  })
}

/** Millionths of a dollar, rounded half up; prices have 8 decimals, DAI 18 and USDC 6. */
function worthE6(amountDai: bigint, amountUsdc: bigint): bigint {
  const unitsE26 = amountDai * AAVE_PRICES.dai + amountUsdc * 10n ** 12n * AAVE_PRICES.usdc
  return (unitsE26 + 5n * 10n ** 19n) / 10n ** 20n
}

describe('USD prices', () => {
  test('of tokens without a feed come from Aave, and so do all values of the position', async () => {
    const answer = await read(createPrices())
    for (const token of [usdc, dai]) {
      const units = await devnet.client.readContract({
        address: morpho.aaveOracle,
        abi: ORACLE_ABI,
        functionName: 'getAssetPrice',
        args: [token.address],
      })
      expect(findPrice(answer, token.address)).toEqual({ units, scale: 8, source: 'aave_oracle' })
    }
    const stable = findStablePositions(answer)
    expect([stable.token0.address, stable.token1.address]).toEqual([dai.address, usdc.address])
    const { amounts, owed, usd } = computeFigures(stable, [0n, 0n])
    expect(usd).toEqual({
      amountsE6: worthE6(amounts.amount0, amounts.amount1),
      feesE6: worthE6(owed.amount0, owed.amount1),
      withdrawnE6: 0n,
      totalE6: worthE6(amounts.amount0 + owed.amount0, amounts.amount1 + owed.amount1),
    })
    expect(usd?.amountsE6).toBeGreaterThan(10_000_000_000n)
  })

  test('are missing for an unknown token, and then the position has no value', async () => {
    const answer = await read(createPrices())
    expect(findPrice(answer, weth.address)).toBeUndefined()
    const half = answer.positions.find(({ tokenId }) => tokenId === devnet.positions.inRange)
    expect(half === undefined ? half : computeFigures(half).usd).toBeUndefined()
  })

  test('come from a feed first, then from Aave, then from a list', async () => {
    const { usdFeeds } = createDevnetChain(devnet).prices
    const stablecoins = [usdc.address, usdt.address]
    const all = await read(createPrices({ usdFeeds, stablecoins }))
    expect(findPrice(all, usdc.address)).toEqual(FED_DOLLAR)
    expect(findPrice(all, dai.address)).toEqual(FED_DOLLAR)
    const unfed = await read(createPrices({ stablecoins }))
    expect(findPrice(unfed, usdc.address)).toEqual(AAVE_USDC)
    expect(findPrice(unfed, usdt.address)).toEqual(DOLLAR)
  })

  test('are missing if the feed is stale, in the future, zero, negative or silent, even if others have one', async () => {
    const { usdFeeds } = createDevnetChain(devnet).prices
    const prices = createPrices({ usdFeeds, stablecoins: [usdc.address, usdt.address] })
    const { timestamp } = await devnet.client.getBlock()
    const answer = 100_000_000n
    const broken = [
      { answer, updatedAtSec: timestamp - 90_000n },
      { answer, updatedAtSec: timestamp + 90_000n },
      { answer: 0n },
      { answer: -1n },
    ]
    for (const round of broken) {
      await devnet.setFeed(usdc.feed, round)
      await devnet.setFeed(usdt.feed, round)
      const found = await read(prices)
      expect(findPrice(found, usdc.address)).toBeUndefined()
      expect(findPrice(found, usdt.address)).toBeUndefined()
      expect(findPrice(found, dai.address)).toEqual(FED_DOLLAR)
    }
    await devnet.client.setCode({ address: usdc.feed, bytecode: BURNING })
    expect(findPrice(await read(prices), usdc.address)).toBeUndefined()
  })

  test('are missing for a stale feed that Aave asks through a cap, which hides its age', async () => {
    const { usdFeeds } = createDevnetChain(devnet).prices
    const prices = createPrices({ usdFeeds, stablecoins: [usdc.address] })
    await morpho.capAaveSource('usdc', usdc.feed)
    expect(findPrice(await read(prices), usdc.address)).toEqual(FED_DOLLAR)
    const { timestamp } = await devnet.client.getBlock()
    const monthAgo = timestamp - 30n * 86_400n
    await devnet.setFeed(usdc.feed, { answer: 100_000_000n, updatedAtSec: monthAgo })
    const ofAave = await devnet.client.readContract({
      address: morpho.aaveOracle,
      abi: ORACLE_ABI,
      functionName: 'getAssetPrice',
      args: [usdc.address],
    })
    expect(ofAave).toBe(100_000_000n)
    const answer = await read(prices)
    expect(findPrice(answer, usdc.address)).toBeUndefined()
    expect(computeFigures(findStablePositions(answer)).usd).toBeUndefined()
  })

  test.each([
    ['is zero', undefined],
    ['reverts', REVERTING],
    ['burns all gas', BURNING],
    ['never ends', LOOPING],
    ['has gone', '0x'],
  ] as const)(
    'are missing, even for a listed stablecoin, if Aave’s source %s, and other prices stay',
    async (_, bytecode) => {
      const prices = createPrices({ stablecoins: [usdc.address, usdt.address] })
      const before = await read(prices)
      if (bytecode === undefined) await morpho.setAavePrice('usdc', 0n)
      else await devnet.client.setCode({ address: await readSource(usdc.address), bytecode })
      const answer = await read(prices)
      expect(findPrice(answer, usdc.address)).toBeUndefined()
      expect(findPrice(answer, dai.address)).toEqual(AAVE_DAI)
      expect(findPrice(answer, usdt.address)).toEqual(DOLLAR)
      expect(computeFigures(findStablePositions(answer)).usd).toBeUndefined()
      const ids = ({ positions }: ChainRead) => positions.map(({ tokenId }) => tokenId)
      expect(ids(answer)).toEqual(ids(before))
      expect(answer.unreadable).toEqual([])
    },
    20_000,
  )

  test.each([
    ['reverts', REVERTING],
    ['burns all gas', BURNING],
    ['is not there', '0x'],
  ] as const)(
    'are missing without a feed if Aave’s oracle %s: the list’s dollar replaces no source that failed',
    async (_, bytecode) => {
      await devnet.client.setCode({ address: morpho.aaveOracle, bytecode })
      const { usdFeeds } = createDevnetChain(devnet).prices
      const fed = { [weth.address]: usdFeeds[weth.address] } as ChainPrices['usdFeeds']
      const answer = await read(createPrices({ usdFeeds: fed, stablecoins: [usdt.address] }))
      expect(answer.positions).toHaveLength(10)
      expect(findPrice(answer, usdc.address)).toBeUndefined()
      expect(findPrice(answer, usdt.address)).toBeUndefined()
      expect(findPrice(answer, weth.address)).toEqual({ units: 300_000_000_000n, scale: 8, source: 'feed' })
    },
  )

  test('are missing if Aave’s oracle counts in another currency or unit than dollars with 8 decimals', async () => {
    const types = ['address', 'address[]', 'address[]', 'address', 'address', 'uint256'].map((type) => ({ type }))
    const [source, other] = [await readSource(dai.address), weth.address]
    const findDai = async (base: Address, unit: bigint) => {
      const args = encodeAbiParameters(types, [other, [dai.address], [source], zeroAddress, base, unit])
      const code = await packageCreationCode(ORACLE_PACKAGE, { args })
      const [aaveOracle = zeroAddress] = await deployAll(devnet.send, [code])
      const { client } = countedClient(createDevnetChain(devnet, { prices: createPrices({ aaveOracle }) }))
      const { reader, targets } = createTestReader(client)
      const [found] = await reader.readWallet(devnet.wallets.provider, { targets, work: patient })
      return found === undefined ? 'nothing' : findPrice({ ...found, positions: toWhole(found.positions) }, dai.address)
    }
    expect(await findDai(zeroAddress, 10n ** 8n)).toMatchObject({ scale: 8, source: 'aave_oracle' })
    expect(await findDai(other, 10n ** 8n)).toBeUndefined()
    expect(await findDai(zeroAddress, 10n ** 18n)).toBeUndefined()
  })

  test('are read for odd tokens too, and none is lost if each of them burns all gas', async () => {
    const { wallet } = await devnet.hostile()
    const before = await read(createPrices(), wallet)
    await devnet.client.setCode({ address: morpho.aaveOracle, bytecode: BURNING_ORACLE })
    const { positions, spams, unreadable } = await read(createPrices({ stablecoins: [weth.address] }), wallet)
    expect({ positions: positions.length, spams, unreadable }).toEqual({
      positions: before.positions.length,
      spams: before.spams,
      unreadable: before.unreadable,
    })
    for (const { token0, token1 } of positions) expect([token0.price, token1.price]).toEqual([undefined, undefined])
  }, 60_000)

  test('cost no request more than without an oracle', async () => {
    const { usdFeeds } = createDevnetChain(devnet).prices
    const [prices, without] = [createPrices({ usdFeeds }), { usdFeeds, stablecoins: [] }]
    expect((await read(prices)).requests).toEqual((await read(without)).requests)
    const many = toWalletAddress('list of 300 with an oracle')
    await devnet.mintMany(many, 300)
    const { requests, positions } = await read(prices, many)
    expect(positions).toHaveLength(300)
    expect(requests).toEqual((await read(without, many)).requests)
    expect(requests[0]).toBe(1)
  }, 60_000)
})
