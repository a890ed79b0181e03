import { beforeAll, describe, expect, test } from 'bun:test'
import type { Address, Hex } from 'viem'
import type { RawMarket } from '../../../../src/family/morpho_blue/math/state.ts'
import { decodeLens, encodeRead } from '../../../../src/family/morpho_blue/read/abi.ts'
import { LENS_RUNTIME } from '../../../../src/family/morpho_blue/read/lens_artifact.ts'
import type { PriceSources } from '../../../../src/finance/price/price_sources.ts'
import { UpstreamError } from '../../../../src/lib/error.ts'
import { TOKENS } from '../../../devnet/addresses.ts'
import { type Devnet, sharedDevnet } from '../../../devnet/mod.ts'
import type { MorphoDevnet } from '../../../devnet/morpho_blue/mod.ts'

const AT = '0x00000000000000000000000000000000000057a7'
const FEEDS = Object.values(TOKENS).map(({ address, feed }) => ({ token: address, feed }))

let devnet: Devnet
let morpho: MorphoDevnet

beforeAll(async () => {
  devnet = await sharedDevnet()
  morpho = await devnet.morpho()
}, 60_000)

function question(market: keyof MorphoDevnet['markets'], wallet: keyof MorphoDevnet['wallets'] = 'borrower'): Hex {
  return questionAbout([morpho.markets[market].id], morpho.wallets[wallet])
}

function questionAbout(marketIds: readonly Hex[], wallet: Address, feeds: PriceSources['feeds'] = FEEDS): Hex {
  const sources = { feeds, wrappers: [], aaveOracle: morpho.aaveOracle }
  return encodeRead({ morpho: morpho.address, marketIds, wallet }, sources)
}

/** What the lens says of the only market that it was asked about. */
function findMarket(answer: Hex): RawMarket | undefined {
  const { entries } = decodeLens(answer)
  expect(entries).toHaveLength(1)
  return typeof entries[0] === 'string' ? undefined : entries[0]
}

function call(data: Hex, gas = 50_000_000): Promise<Hex> {
  const request = { to: AT, data, gas: `0x${gas.toString(16)}` }
  return devnet.rpc.call<Hex>('eth_call', request, 'latest', { [AT]: { code: LENS_RUNTIME } })
}

describe('the lens', () => {
  // `bun run lens --check` checks that the artifact is compiled from its source.
  test('is small enough to be deployed in a call with its arguments', () => {
    expect(LENS_RUNTIME.length / 2 - 1).toBeLessThanOrEqual(24_576)
  })

  test('returns the block it ran at', async () => {
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
    const found = findMarket(await call(question('wethUsdc')))
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

  test('asks the loan token’s feed, or Aave’s oracle if it has none and the oracle knows the token', async () => {
    const usd = async (market: keyof MorphoDevnet['markets'], feeds?: PriceSources['feeds']) =>
      findMarket(await call(questionAbout([morpho.markets[market].id], morpho.wallets.supplier, feeds)))?.loanUsd
    const round = { answer: 100_000_000n, updatedAtSec: (await devnet.client.getBlock()).timestamp, decimals: 8 }
    expect(await usd('wethUsdc')).toEqual({ rates: [], round, aave: undefined })
    expect(await usd('wethUsdc', [])).toEqual({ rates: [], round: undefined, aave: { price: 101_000_000n } })
    expect(await usd('undescribed')).toEqual({ rates: [], round: undefined, aave: undefined })
  })

  test('writes nothing about a market that does not exist, or that the wallet has nothing in', async () => {
    const { markets, wallets } = morpho
    const none = await call(questionAbout([`0x${'1'.repeat(64)}`, markets.wethUsdc.id], wallets.none))
    expect(decodeLens(none).entries).toEqual(['no_market', 'no_position'])
  })

  test('needs less than 600,000 gas, and less than 5,000,000 if an oracle burns all it is given', async () => {
    expect(findMarket(await call(question('wethUsdc'), 600_000))?.oraclePrice).toBeGreaterThan(0n)
    const { silentOracle } = morpho.markets
    await morpho.setOracle(silentOracle, { price: 1n, mood: 'burns_gas' })
    const found = findMarket(await call(question('silentOracle'), 5_000_000))
    await morpho.setOracle(silentOracle, { price: 1n, mood: 'reverts' })
    expect(found?.oraclePrice).toBeUndefined()
    expect(found?.loanUsd.round).toBeDefined()
    expect(found?.accrued?.endRateWad).toBeDefined()
  })

  test('answers all markets in one call, and ends a page between two of them if they may burn more gas', async () => {
    const { silentOracle } = morpho.markets
    const ids = Object.values(morpho.markets).map(({ id }) => id)
    const asked = questionAbout(ids, morpho.wallets.borrower)
    // Before all calls: a block between two of them may have another time, and so other interest.
    await morpho.setOracle(silentOracle, { price: 1n, mood: 'burns_gas' })
    const alone = await Promise.all(ids.map((id) => call(questionAbout([id], morpho.wallets.borrower))))
    const all = decodeLens(await call(asked))
    expect(all.taken).toBe(ids.length)
    expect(all.entries).toEqual(alone.flatMap((answer) => decodeLens(answer).entries))
    const few = decodeLens(await call(asked, 12_000_000))
    await morpho.setOracle(silentOracle, { price: 1n, mood: 'reverts' })
    expect(few.taken).toBeGreaterThan(1)
    expect(few.taken).toBeLessThan(ids.length)
    // Nothing of what is answered is answered with less gas than it needs.
    expect(few.entries).toEqual(all.entries.slice(0, few.taken))
  })
})

describe('decodeLens()', () => {
  test('refuses an answer that is cut anywhere, and one without Morpho', async () => {
    const answer = await call(question('wethUsdc'))
    for (let end = 2; end < answer.length; end += 2) {
      const cut = answer.slice(0, end) as Hex
      expect(() => decodeLens(cut)).toThrow(UpstreamError)
    }
    const { none } = morpho.wallets
    const subject = { morpho: none, marketIds: [morpho.markets.idle.id], wallet: none }
    const nothing = await call(encodeRead(subject, { feeds: FEEDS, wrappers: [], aaveOracle: undefined }))
    expect(() => decodeLens(nothing)).toThrow('its Morpho contract does not answer')
  })
})
