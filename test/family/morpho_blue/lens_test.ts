import { beforeAll, describe, expect, test } from 'bun:test'
import type { Hex } from 'viem'
import { decodeLens, encodeRead } from '../../../src/family/morpho_blue/read/abi.ts'
import { LENS_RUNTIME } from '../../../src/family/morpho_blue/read/lens_artifact.ts'
import { UpstreamError } from '../../../src/lib/error.ts'
import { TOKENS } from '../../devnet/addresses.ts'
import { type Devnet, sharedDevnet } from '../../devnet/mod.ts'
import type { MorphoDevnet } from '../../devnet/morpho_blue/mod.ts'

const AT = '0x00000000000000000000000000000000000057a7'
const FEEDS = Object.values(TOKENS).map(({ address, feed }) => ({ token: address, feed }))

let devnet: Devnet
let morpho: MorphoDevnet

beforeAll(async () => {
  devnet = await sharedDevnet()
  morpho = await devnet.morpho()
}, 60_000)

function question(market: keyof MorphoDevnet['markets'], wallet: keyof MorphoDevnet['wallets'] = 'borrower'): Hex {
  const subject = { morpho: morpho.address, marketId: morpho.markets[market].id, wallet: morpho.wallets[wallet] }
  return encodeRead(subject, { feeds: FEEDS, aaveOracle: morpho.aaveOracle })
}

function call(data: Hex, gas = 50_000_000): Promise<Hex> {
  const request = { to: AT, data, gas: `0x${gas.toString(16)}` }
  return devnet.rpc.call<Hex>('eth_call', request, 'latest', { [AT]: { code: LENS_RUNTIME } })
}

describe('the lens', () => {
  // That it is what its source compiles to is `bun run lens --check`'s to say.
  test('is small enough to be deployed in a call with its arguments', () => {
    expect(LENS_RUNTIME.length / 2 - 1).toBeLessThanOrEqual(24_576)
  })

  test('tells the block it ran at', async () => {
    const latest = await devnet.client.getBlock()
    expect(decodeLens(await call(question('wethUsdc'))).block).toEqual({
      chainId: 1,
      number: latest.number,
      timestampSec: latest.timestamp,
      parentHash: latest.parentHash,
    })
  })

  test('reads a market as it is stored and as the contract accrues it, and leaves nothing behind', async () => {
    const { wethUsdc } = morpho.markets
    const { borrower } = morpho.wallets
    await morpho.warp(3_600)
    const { found } = decodeLens(await call(question('wethUsdc')))
    const [stored, accrued] = await Promise.all([
      morpho.readStored(wethUsdc, borrower),
      morpho.readAccrued(wethUsdc, borrower),
    ])
    expect(found?.params).toEqual(wethUsdc.params)
    expect(found?.market.lastUpdateSec).toBe(stored.lastUpdate)
    expect(found?.market.totalBorrowAssets).toBe(stored.totalBorrowAssets)
    expect(found?.accrued?.market.lastUpdateSec).toBe(accrued.lastUpdate)
    expect(found?.accrued?.market.totalBorrowAssets).toBe(accrued.totalBorrowAssets)
    expect(accrued.totalBorrowAssets).toBeGreaterThan(stored.totalBorrowAssets)
  })

  test('asks the loan token’s feed and Aave’s oracle if they know the token', async () => {
    const usd = async (market: keyof MorphoDevnet['markets']) => decodeLens(await call(question(market))).found?.usd
    expect(await usd('wethUsdc')).toEqual({
      round: { answer: 100_000_000n, updatedAtSec: (await devnet.client.getBlock()).timestamp, decimals: 8 },
      aave: { source: expect.stringMatching(/^0x[0-9a-fA-F]{40}$/), price: 101_000_000n },
    })
    expect((await usd('usdcWeth'))?.aave).toBeUndefined()
    expect(await usd('undescribed')).toEqual({ round: undefined, aave: undefined })
  })

  test('writes nothing about a market that does not exist', async () => {
    const subject = { morpho: morpho.address, marketId: `0x${'1'.repeat(64)}` as const, wallet: morpho.wallets.none }
    const { found } = decodeLens(await call(encodeRead(subject, { feeds: [], aaveOracle: undefined })))
    expect(found).toBeUndefined()
  })

  test('needs less than 600,000 gas, and less than 5,000,000 if an oracle burns all it is given', async () => {
    expect(decodeLens(await call(question('wethUsdc'), 600_000)).found?.oraclePrice).toBeGreaterThan(0n)
    const { silentOracle } = morpho.markets
    await morpho.setOracle(silentOracle, { price: 1n, mood: 'burns_gas' })
    const { found } = decodeLens(await call(question('silentOracle'), 5_000_000))
    await morpho.setOracle(silentOracle, { price: 1n, mood: 'reverts' })
    expect(found?.oraclePrice).toBeUndefined()
    expect(found?.usd.round).toBeDefined()
    expect(found?.accrued?.endRateWad).toBeDefined()
  })
})

describe('decodeLens()', () => {
  test('refuses an answer that is cut anywhere, and one without Morpho', async () => {
    const answer = await call(question('wethUsdc'))
    for (let end = 2; end < answer.length; end += 64) {
      const cut = answer.slice(0, end) as Hex
      expect(() => decodeLens(cut)).toThrow(UpstreamError)
    }
    const subject = { morpho: morpho.wallets.none, marketId: morpho.markets.idle.id, wallet: morpho.wallets.none }
    const nothing = await call(encodeRead(subject, { feeds: FEEDS, aaveOracle: undefined }))
    expect(() => decodeLens(nothing)).toThrow('its Morpho contract does not answer')
  })
})
