import { beforeAll, describe, expect, test } from 'bun:test'
import { type Address, concatHex, type Hex, numberToHex, pad, toFunctionSelector } from 'viem'
import { LENS_MODES } from '../../../../src/chain/call/lens.ts'
import { computeSupplies } from '../../../../src/family/aave_v3/math/account.ts'
import { safeBorrow } from '../../../../src/family/aave_v3/math/safe.ts'
import type { ChainRead } from '../../../../src/family/aave_v3/read/position.ts'
import type { AaveV3Deployment } from '../../../../src/family/aave_v3/table.ts'
import { formatRational, rational } from '../../../../src/lib/number/rational.ts'
import { ASSETS, MARKETS, type MarketName } from '../../../devnet/aave_v3/addresses.ts'
import type { AaveDevnet } from '../../../devnet/aave_v3/mod.ts'
import { sharedAave } from '../../../devnet/aave_v3/shared.ts'
import { toWalletAddress } from '../../../devnet/addresses.ts'
import type { Devnet } from '../../../devnet/mod.ts'
import { forwarderCode, type Instead } from './forwarder.ts'
import { createChain, createClient, readWallets } from './support.ts'

const ALMOST_ONE = rational(10_001n, 10_000n)

let devnet: Devnet
let aave: AaveDevnet
let wallets: readonly Address[]

beforeAll(async () => {
  const shared = await sharedAave()
  devnet = shared.devnet
  aave = shared.aave
  wallets = [...Object.values(aave.wallets), ...(await aave.randomWallets(3_137, 60)).wallets]
}, 180_000)

function selector(signature: string): Hex {
  return toFunctionSelector(signature)
}

let markets = 0

/** A market of its own behind whose pool the real one stands, but for some functions; read on every rung alike. */
async function readThrough(base: MarketName, functions: Readonly<Record<string, Instead>>): Promise<ChainRead> {
  const [provider, pool] = [toWalletAddress(`provider ${++markets}`), toWalletAddress(`pool ${markets}`)]
  const instead = Object.fromEntries(Object.entries(functions).map(([name, answer]) => [selector(name), answer]))
  await devnet.rpc.call('anvil_setCode', pool, forwarderCode(MARKETS[base].pool, instead))
  const answer = pad(pool, { size: 32 })
  await devnet.rpc.call(
    'anvil_setCode',
    provider,
    forwarderCode(MARKETS[base].provider, { [selector('getPool()')]: answer }),
  )
  await devnet.rpc.call('evm_mine')
  return readAlike([{ market: base, poolAddressesProvider: provider, startBlock: 0 }])
}

async function readAlike(deployments: readonly AaveV3Deployment[]): Promise<ChainRead> {
  const client = createClient(createChain(devnet))
  const reads = []
  for (const mode of LENS_MODES) reads.push(await readWallets(client, wallets, { deployments, mode }))
  const [best, ...others] = reads as [ChainRead, ...ChainRead[]]
  for (const other of others) expect(other as unknown).toEqual(best)
  return best
}

function of(read: ChainRead, wallet: Address) {
  const [position] = read.wallets.find((each) => each.wallet === wallet)?.positions ?? []
  if (position === undefined) throw new Error(`Cannot find ${wallet}`)
  return position
}

const ONE = numberToHex(1, { size: 32 })

describe('a forwarded pool', () => {
  test('is read as the pool itself', async () => {
    const passed = await readThrough('main', {})
    const { provider } = MARKETS.main
    const itself = await readAlike([{ market: 'main', poolAddressesProvider: provider, startBlock: 0 }])
    expect(passed.wallets as unknown).toEqual(itself.wallets)
    expect(passed.wallets.length).toBeGreaterThan(40)
  })
})

describe('versions', () => {
  test('3.2 to 3.5: eModes by bitmap, which zero no LTV', async () => {
    const read = await readThrough('main', { 'getEModeCategoryLtvzeroBitmap(uint8)': 'reverts' })
    const { features, category } = of(read, aave.wallets.emodeLtvZero)
    expect(features).toEqual({ liquidEModes: true, zeroLtvEModes: false, isolatedEModes: false })
    expect(category).toMatchObject({ id: 4, answered: true, zeroLtvBitmap: 0n, isolated: false })
    expect(category?.collateralBitmap).toBeGreaterThan(0n)
  })

  test('3.6: an eMode that zeroes the LTV of one of its assets', async () => {
    const { category, features } = of(await readThrough('main', {}), aave.wallets.emodeLtvZero)
    expect(features).toEqual({ liquidEModes: true, zeroLtvEModes: true, isolatedEModes: false })
    expect(category?.zeroLtvBitmap).toBe(1n << 2n)
  })

  test('3.7: isolated eModes, and no debt ceiling any more', async () => {
    const { isolated, emode } = aave.wallets
    const formatCeiling = (read: ChainRead) => formatRational(safeBorrow(of(read, isolated), ALMOST_ONE), { digits: 6 })
    const before = await readThrough('main', {})
    const after = await readThrough('main', { 'getIsEModeCategoryIsolated(uint8)': ONE })
    expect(of(after, emode).features.isolatedEModes).toBe(true)
    expect([of(before, emode).category?.isolated, of(after, emode).category?.isolated]).toEqual([false, true])
    // The ceiling is far from reached here: both are the LTV's, but for interest of the moment between the readings.
    expect(Number(formatCeiling(after))).toBeCloseTo(Number(formatCeiling(before)), 2)
    const bits = of(after, isolated).assets.map(({ reserve }) => reserve.debtCeiling)
    expect(bits).toContain(250_000_00n)
  })

  test("3.1: the withdrawable amount is the pool's virtual balance, not its token balance", async () => {
    const { oldSupplier } = aave.wallets
    const paid = (read: ChainRead) => of(read, oldSupplier).assets.map(({ reserve }) => reserve.withdrawable)
    const balances = await Promise.all(
      (['weth', 'dai'] as const).map(async (asset) => {
        const { aToken } = aave.reserveOf('v3_0', asset)
        const data = concatHex([selector('balanceOf(address)'), pad(aToken, { size: 32 })])
        return BigInt(await devnet.rpc.call<Hex>('eth_call', { to: ASSETS[asset].address, data }, 'latest'))
      }),
    )
    expect(paid(await readThrough('v3_0', {}))).toEqual(balances)
    const virtual = { 'getVirtualUnderlyingBalance(address)': numberToHex(1_234n, { size: 32 }) }
    expect(paid(await readThrough('v3_0', virtual))).toEqual([1_234n, 1_234n])
    const absurd = { 'getVirtualUnderlyingBalance(address)': numberToHex(2n ** 130n, { size: 32 }) }
    expect(paid(await readThrough('v3_0', absurd))).toEqual([2n ** 128n - 1n, 2n ** 128n - 1n])
  })

  test('3.0 and 3.1: an eMode may have one price for all its assets', async () => {
    const { oldEmode, oldSupplier } = aave.wallets
    const { pool } = MARKETS.v3_0
    const data = concatHex([selector('getEModeCategoryData(uint8)'), ONE])
    const real = await devnet.rpc.call<Hex>('eth_call', { to: pool, data }, 'latest')
    // Offset, LTV, threshold, bonus, then the price source.
    const at = 2 + 64 * 4
    const sourced =
      `${real.slice(0, at)}${pad(ASSETS.wbtc.address, { size: 32 }).slice(2)}${real.slice(at + 64)}` as Hex
    const prices = await aave.getPrices('v3_0')
    const plain = await readThrough('v3_0', {})
    const shared = await readThrough('v3_0', { 'getEModeCategoryData(uint8)': sourced })
    const listPrices = (read: ChainRead, wallet: Address) =>
      of(read, wallet).assets.map(({ reserve, price }) => [reserve.symbol, price])
    expect(listPrices(plain, oldEmode)).toEqual([
      ['USDC', prices.get('usdc') as bigint],
      ['DAI', prices.get('dai') as bigint],
    ])
    expect(listPrices(shared, oldEmode)).toEqual([
      ['USDC', prices.get('wbtc') as bigint],
      ['DAI', prices.get('wbtc') as bigint],
    ])
    expect(listPrices(shared, oldSupplier)).toEqual(listPrices(plain, oldSupplier))
    expect(of(plain, oldEmode).category).toMatchObject({ ltvBps: 9_300n, liquidationThresholdBps: 9_500n })
  })
})

describe('a pool with failing functions', () => {
  test.each([
    ['getUserConfiguration(address)', "the pool does not return the wallet's configuration"],
    ['getUserEMode(address)', "the pool does not return the wallet's eMode"],
    ['getUserAccountData(address)', 'the pool cannot value the account'],
  ])('has no answer for a wallet with a position if %s reverts', async (name, because) => {
    const read = await readThrough('lido', { [name]: 'reverts' })
    expect(read.wallets).toEqual([])
    expect(new Set(read.unanswerable.map((each) => each.reason))).toEqual(new Set([because]))
    const held = await readThrough('lido', {})
    const asked = name.startsWith('getUserConfiguration') ? wallets : held.wallets.map(({ wallet }) => wallet)
    expect(read.unanswerable.map(({ wallet }) => wallet)).toEqual([...asked])
  })

  test.each([
    ['getEModeCategoryCollateralConfig(uint8)', 'reverts'],
    ['getEModeCategoryCollateralConfig(uint8)', ONE],
  ] as const)('has no answer for wallets in an eMode if %s %s', async (name, answer) => {
    const read = await readThrough('lido', { [name]: answer })
    const usual = await readThrough('lido', {})
    const inside = usual.wallets.filter(({ positions: [position] }) => position?.category !== undefined)
    expect(inside.length).toBeGreaterThan(2)
    expect(read.unanswerable.map(({ wallet }) => wallet)).toEqual(inside.map(({ wallet }) => wallet))
    expect(read.wallets.length).toBe(usual.wallets.length - inside.length)
  })

  test.each([
    ['aToken', 'a supply token does not answer'],
    ['variableDebtToken', 'a debt token does not answer'],
  ] as const)('has no answer for wallets that may hold %s if it fails', async (token, because) => {
    const usual = await readThrough('etherfi', {})
    const address = aave.reserveOf('etherfi', 'weth')[token]
    const code = await devnet.rpc.call<Hex>('eth_getCode', address, 'latest')
    await devnet.rpc.call('anvil_setCode', address, '0x60006000fd')
    try {
      const read = await readThrough('etherfi', {})
      expect(new Set(read.unanswerable.map((each) => each.reason))).toEqual(new Set([because]))
      const holders = usual.wallets.filter(({ positions: [position] }) => {
        return position?.assets.some(({ reserve, variableDebt }) => reserve.symbol === 'WETH' && variableDebt > 0n)
      })
      // Only the broken token knows who has supplied, so no wallet gets an answer.
      const asked = token === 'aToken' ? wallets : holders.map(({ wallet }) => wallet)
      expect(read.unanswerable.map(({ wallet }) => wallet)).toEqual([...asked])
      expect(holders.length).toBeGreaterThan(2)
    } finally {
      await devnet.rpc.call('anvil_setCode', address, code)
    }
  })

  test.each([
    ['a symbol that reverts', 'reverts', ''],
    ['a symbol of no bytes', '0x', ''],
    [
      'a symbol of 20,000 letters',
      `0x${numberToHex(32, { size: 32 }).slice(2)}${numberToHex(20_000, { size: 32 }).slice(2)}${'41'.repeat(20_000)}`,
      '',
    ],
  ] as const)('reads on over %s', async (_, symbol, shown) => {
    const asset = ASSETS.weeth.address
    const code = await devnet.rpc.call<Hex>('eth_getCode', asset, 'latest')
    const usual = await readThrough('etherfi', {})
    const behind = toWalletAddress('the real weETH')
    await devnet.rpc.call('anvil_setCode', behind, code)
    await devnet.rpc.call('anvil_setCode', asset, forwarderCode(behind, { [selector('symbol()')]: symbol as Instead }))
    try {
      const read = await readThrough('etherfi', {})
      expect(read.wallets.map(({ wallet }) => wallet)).toEqual(usual.wallets.map(({ wallet }) => wallet))
      const symbols = computeSupplies(of(read, aave.wallets.etherfiOnly)).map(
        ({ asset: { reserve } }) => reserve.symbol,
      )
      expect(symbols).toEqual([shown])
    } finally {
      await devnet.rpc.call('anvil_setCode', asset, code)
    }
  })
})
