import { beforeAll, describe, expect, test } from 'bun:test'
import { keccak256 } from 'viem'
import { type Devnet, sharedDevnet } from '../../../devnet/mod.ts'
import { ADAPTIVE_CURVE, MORPHO, type MorphoMarket } from '../../../devnet/morpho_blue/calls.ts'
import { morphoContracts } from '../../../devnet/morpho_blue/compile.ts'
import type { MorphoDevnet } from '../../../devnet/morpho_blue/mod.ts'
import type { MorphoMarketName } from '../../../devnet/morpho_blue/scenario.ts'

let devnet: Devnet
let morpho: MorphoDevnet

beforeAll(async () => {
  devnet = await sharedDevnet()
  morpho = await devnet.morpho()
}, 60_000)

type WalletName = keyof MorphoDevnet['wallets']

async function holds(wallet: WalletName, market: MorphoMarketName): Promise<string> {
  const books = await morpho.readAccrued(morpho.markets[market], morpho.wallets[wallet])
  const parts = { s: books.supplyShares, b: books.borrowShares, c: books.collateral }
  return Object.entries(parts)
    .filter(([, value]) => value > 0n)
    .map(([letter]) => letter)
    .join('')
}

describe('Morpho on the devnet', () => {
  test('stands at its mainnet address, with its model, and is built once', async () => {
    for (const address of [MORPHO, ADAPTIVE_CURVE]) {
      expect((await devnet.rpc.call<string>('eth_getCode', address, 'latest')).length).toBeGreaterThan(4_000)
    }
    expect(await devnet.morpho()).toBe(morpho)
  })

  test('is compiled once on a machine, and always gives the same code', async () => {
    const [first, second] = await Promise.all([morphoContracts(), morphoContracts()])
    expect(keccak256(first.Morpho)).toBe(keccak256(second.Morpho))
    const runtime = await devnet.rpc.call<string>('eth_getCode', MORPHO, 'latest')
    // Constructor and immutables apart, the runtime is the end of the creation code.
    expect(first.Morpho).toContain(runtime.slice(2, 402))
  })

  test.each([
    ['supplier', 'wethUsdc', 's'],
    ['supplier', 'idle', 's'],
    ['borrower', 'wethUsdc', 'bc'],
    ['borrower', 'linear', 'bc'],
    ['collateralOnly', 'wethUsdc', 'c'],
    ['both', 'wethUsdc', 'sbc'],
    ['badDebt', 'crashed', 'bc'],
    ['feeRecipient', 'wethUsdc', 's'],
    ['none', 'wethUsdc', ''],
  ] as [WalletName, MorphoMarketName, string][])('gives %s in %s what its name says', async (wallet, market, parts) => {
    expect(await holds(wallet, market)).toBe(parts)
  })

  test('has debt that its collateral does not cover', async () => {
    const { crashed, wethUsdc } = morpho.markets
    expect(await morpho.canLiquidate(crashed, morpho.wallets.badDebt)).toBe(true)
    expect(await morpho.canLiquidate(wethUsdc, morpho.wallets.borrower)).toBe(false)
  })

  test('does what a wallet does by real transactions', async () => {
    const { both: wallet } = morpho.wallets
    const market: MorphoMarket = morpho.markets.usdcWeth
    const assets = 10n ** 18n
    await morpho.supply({ market, wallet, assets })
    await morpho.supplyCollateral({ market, wallet, assets: 10_000_000_000n })
    await morpho.borrow({ market, wallet, assets })
    expect(await holds('both', 'usdcWeth')).toBe('sbc')
    await morpho.warp(3_600)
    expect(await morpho.staticRepayAll(market, wallet)).toBeGreaterThan(assets)
    await morpho.repay({ market, wallet, assets: assets / 2n })
    expect(await morpho.staticRepayAll(market, wallet)).toBeLessThan(assets)
    await morpho.withdraw({ market, wallet, assets: assets / 2n })
    await morpho.withdrawCollateral({ market, wallet, assets: 1_000_000n })
    await morpho.accrue(market)
    const books = await morpho.readStored(market, wallet)
    expect(books.collateral).toBe(9_999_000_000n)
    expect(books.lastUpdate).toBe((await devnet.client.getBlock()).timestamp)
  })
})
