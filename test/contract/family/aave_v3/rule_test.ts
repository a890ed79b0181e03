import { beforeAll, describe, expect, test } from 'bun:test'
import { type Address, encodeAbiParameters, encodeFunctionData, type Hex, keccak256, numberToHex, parseAbi } from 'viem'
import { findLiquidationReasons } from '../../../../src/family/aave_v3/math/rule.ts'
import { safeBorrow } from '../../../../src/family/aave_v3/math/safe.ts'
import type { Position } from '../../../../src/family/aave_v3/read/position.ts'
import { compareRational, parseRational, type Rational, rational } from '../../../../src/lib/number/rational.ts'
import { ASSETS, type AssetName, MARKETS, type MarketName } from '../../../devnet/aave_v3/addresses.ts'
import { borrowCall, liquidateCall, restrictCall, setPriceCall, supplyCall } from '../../../devnet/aave_v3/calls.ts'
import type { AaveDevnet } from '../../../devnet/aave_v3/mod.ts'
import { rawUsd } from '../../../devnet/aave_v3/scenario.ts'
import { exclusiveAave } from '../../../devnet/aave_v3/shared.ts'
import { BANK, toWalletAddress } from '../../../devnet/addresses.ts'
import type { Devnet } from '../../../devnet/mod.ts'
import type { Transaction } from '../../../devnet/transaction.ts'
import { IS_FULL } from '../../../support/cases.ts'
import { createChain, createClient, findPosition, readWallets } from './support.ts'

/** What governance sets besides. */
const GOVERNANCE_ABI = parseAbi([
  'function setPriceOracleSentinel(address sentinel)',
  'function setBorrowCap(address asset, uint256 cap)',
  'function setReservePause(address asset, bool paused, uint40 gracePeriod)',
  'function setReserveBorrowing(address asset, bool enabled)',
])
const SENTINEL = toWalletAddress('aave sentinel')
/** Answers every question with 0: false. */
const REFUSES: Hex = '0x60206000f3'
const ALMOST_ONE = rational(10_001n, 10_000n)

let devnet: Devnet
let aave: AaveDevnet
let random: readonly Address[]

beforeAll(async () => {
  const shared = await exclusiveAave()
  devnet = shared.devnet
  aave = shared.aave
  random = (await aave.randomWallets(47_002, 60)).wallets
  await devnet.rpc.call('anvil_setCode', SENTINEL, REFUSES)
}, 180_000)

async function onSnapshot(run: () => Promise<void>): Promise<void> {
  const snapshot = await devnet.rpc.call('evm_snapshot')
  try {
    await run()
  } finally {
    await devnet.rpc.call('evm_revert', snapshot)
  }
}

type Governance = (typeof GOVERNANCE_ABI)[number]['name']

function governCall(to: Address, functionName: Governance, args: readonly unknown[]): Transaction {
  const question = { abi: GOVERNANCE_ABI, functionName, args } as Parameters<typeof encodeFunctionData>[0]
  return { from: BANK, to, data: encodeFunctionData(question) }
}

const configureCall = (market: MarketName, functionName: Governance, ...args: readonly unknown[]) =>
  governCall(MARKETS[market].configurator, functionName, args)
const sentinelCall = (market: MarketName) => governCall(MARKETS[market].provider, 'setPriceOracleSentinel', [SENTINEL])

/** True if the contract would do so now. */
async function succeeds({ from, to, data }: Transaction): Promise<boolean> {
  const request = { from, to, data, gas: numberToHex(15_000_000) }
  return devnet.rpc.call('eth_call', request, 'latest').then(
    () => true,
    () => false,
  )
}

/** Assets of which the Pool lends a wallet a cent's worth. */
async function listBorrowable(market: MarketName, wallet: Address): Promise<AssetName[]> {
  const names = aave.markets[market].reserves.map(({ name }) => name)
  const lent = await Promise.all(
    names.map((asset) => succeeds(borrowCall({ market, wallet, asset, amount: rawUsd(asset, 0.01) }))),
  )
  return names.filter((_, index) => lent[index])
}

const readAll = async (wallets: readonly Address[]) => readWallets(createClient(createChain(devnet)), wallets)
const readOne = async (wallet: Address): Promise<Position> =>
  findPosition(await readAll([wallet]), { wallet, market: 'main' })
const isMore = (amount: Rational, usd: string) => compareRational(amount, parseRational(usd) as Rational) > 0

describe('a safe loan', () => {
  /** Compares what is told to be safe of every wallet with whether the Pool lends it anything. */
  async function compareLoans(market: MarketName, wallets: readonly Address[]) {
    const read = await readAll(wallets)
    const counts = { lent: 0, refused: 0 }
    for (const { wallet, positions } of read.wallets) {
      const position = positions.find((each) => each.market === market)
      if (position === undefined) continue
      const safe = safeBorrow(position, ALMOST_ONE)
      const borrowable = await listBorrowable(market, wallet)
      // Between nothing and a dollar the cent and the target may disagree.
      if (isMore(safe, '1')) expect({ wallet, borrowable }).not.toEqual({ wallet, borrowable: [] })
      else if (!isMore(safe, '0')) expect({ wallet, borrowable }).toEqual({ wallet, borrowable: [] })
      counts[borrowable.length > 0 ? 'lent' : 'refused']++
    }
    return counts
  }

  const frozen = (market: MarketName, but: readonly AssetName[]): Transaction[] =>
    aave.markets[market].reserves
      .filter(({ name }) => name !== 'frozen' && !but.includes(name))
      .map(({ name }) => restrictCall(market, { kind: 'freeze', asset: name, on: true }))

  test('is something exactly for the wallets to which the Pool lends anything', async () => {
    const wallets = [...Object.values(aave.wallets), ...random]
    const main = await compareLoans('main', wallets)
    expect(main.lent).toBeGreaterThan(20)
    expect(main.refused).toBeGreaterThan(3)
    expect((await compareLoans('v3_0', wallets)).lent).toBeGreaterThan(5)
  }, 120_000)

  test('is nothing while every reserve is frozen; with one left, of whom it may lend to', async () => {
    await onSnapshot(async () => {
      await devnet.send(frozen('main', []))
      expect((await compareLoans('main', random)).lent).toBe(0)
    })
    const cases = [
      ['main', ['weth']],
      ['main', ['usdc']],
      ['main', ['wbtc']],
      ['v3_0', ['weth']],
      ['v3_0', ['usdc']],
    ] as const
    // Every second of them, and each with `SEEDS=full`.
    for (const [market, left] of cases.filter((_, no) => IS_FULL || no % 2 === 0)) {
      await onSnapshot(async () => {
        await devnet.send(frozen(market, left))
        const counts = await compareLoans(market, [...Object.values(aave.wallets), ...random])
        expect(counts.lent + counts.refused).toBeGreaterThan(20)
      })
    }
  }, 120_000)

  test('is nothing where no reserve is enabled, but in an eMode, which lends what it names', async () => {
    await onSnapshot(async () => {
      const { reserves } = aave.markets.main
      await devnet.send(reserves.map(({ asset }) => configureCall('main', 'setReserveBorrowing', asset, false)))
      const { emode, borrower } = aave.wallets
      expect((await compareLoans('main', [...Object.values(aave.wallets), ...random])).lent).toBeGreaterThan(0)
      expect(await listBorrowable('main', borrower)).toEqual([])
      expect(await listBorrowable('main', emode)).toEqual(['weth'])
    })
  }, 60_000)

  test('is nothing while the sentinel of the sequencer refuses loans', async () => {
    for (const market of ['main', 'v3_0'] as const) {
      await onSnapshot(async () => {
        await devnet.send([sentinelCall(market)])
        expect((await compareLoans(market, random)).lent).toBe(0)
      })
    }
  }, 60_000)

  test('of a debtor of a siloed reserve is what that reserve lends: liquidity, cap, and nothing when frozen', async () => {
    await onSnapshot(async () => {
      const [wallet, other, lender] = ['silo', 'other', 'silo lender'].map((name) => toWalletAddress(`aave ${name}`))
      if (wallet === undefined || other === undefined || lender === undefined) throw new Error('Cannot name wallets')
      const asset = 'gho'
      const { asset: address } = aave.reserveOf('main', asset)
      const borrow = (from: Address, name: AssetName, usd: number) =>
        borrowCall({ market: 'main', wallet: from, asset: name, amount: rawUsd(name, usd) })
      await devnet.send([
        supplyCall({ market: 'main', wallet: lender, asset, amount: rawUsd(asset, 1_000) }),
        ...[wallet, other].map((each) =>
          supplyCall({ market: 'main', wallet: each, asset: 'weth', amount: rawUsd('weth', 3_000_000) }),
        ),
        borrow(other, 'usdc', 10),
        borrow(wallet, asset, 10),
      ])
      // Governance cannot make a reserve siloed that is owed already; its bit in the Pool can be.
      await siloReserve(address)
      expect(await listBorrowable('main', wallet)).toEqual([asset])
      expect(await listBorrowable('main', other)).not.toContain(asset)
      const { withdrawable } = (await readOne(wallet)).assets.find(({ reserve }) => reserve.asset === address)
        ?.reserve ?? { withdrawable: 0n }
      const unit = 10n ** BigInt(ASSETS[asset].decimals)
      const price = (await aave.getPrices('main')).get(asset) ?? 0n
      const told = safeBorrow(await readOne(wallet), ALMOST_ONE)
      expect(Number(told.numerator) / Number(told.denominator)).toBeCloseTo(
        Number((withdrawable * price) / unit) / 1e8,
        4,
      )

      const owed = await devnet.client.readContract({
        address: aave.reserveOf('main', asset).variableDebtToken,
        abi: parseAbi(['function totalSupply() view returns (uint256)']),
        functionName: 'totalSupply',
      })
      const cap = owed / unit + 5n
      await devnet.send([configureCall('main', 'setBorrowCap', address, cap)])
      const capped = safeBorrow(await readOne(wallet), ALMOST_ONE)
      const room = Number(((cap * unit - owed) * price) / unit) / 1e8
      expect(Number(capped.numerator) / Number(capped.denominator)).toBeCloseTo(room, 2)
      expect(await succeeds(borrow(wallet, asset, room + 0.5))).toBe(false)
      expect(await succeeds(borrow(wallet, asset, room - 0.5))).toBe(true)

      await devnet.send([restrictCall('main', { kind: 'freeze', asset, on: true })])
      expect(safeBorrow(await readOne(wallet), ALMOST_ONE)).toEqual(rational(0n, 1n))
      expect(await listBorrowable('main', wallet)).toEqual([])
      expect(isMore(safeBorrow(await readOne(other), ALMOST_ONE), '1')).toBe(true)
    })
  }, 60_000)

  /** Sets bit 62 of a reserve's configuration, which is the first word of its slots in the Pool. */
  async function siloReserve(asset: Address): Promise<void> {
    const { pool } = MARKETS.main
    const { hash, place } = await findConfiguration(asset)
    await devnet.rpc.call('anvil_setStorageAt', pool, place, numberToHex(BigInt(hash) | (1n << 62n), { size: 32 }))
    await devnet.rpc.call('evm_mine')
  }

  async function findConfiguration(asset: Address): Promise<{ readonly place: Hex; readonly hash: Hex }> {
    const { pool } = MARKETS.main
    const abi = parseAbi(['function getConfiguration(address asset) view returns (uint256)'])
    const wanted = await devnet.client.readContract({
      address: pool,
      abi,
      functionName: 'getConfiguration',
      args: [asset],
    })
    for (let slot = 0n; slot < 80n; slot++) {
      const place = keccak256(encodeAbiParameters([{ type: 'address' }, { type: 'uint256' }], [asset, slot]))
      const hash = await devnet.rpc.call<Hex>('eth_getStorageAt', pool, place, 'latest')
      if (BigInt(hash) === wanted) return { place, hash }
    }
    throw new Error('Cannot find the configuration of a reserve')
  }
})

describe('liquidatable_because', () => {
  const wallet = toWalletAddress('aave called')
  const liquidation = liquidateCall({ market: 'main', wallet, collateral: 'volatile', debt: 'usdc' })

  /** The reasons told, which must be some exactly if the contract lets the bank liquidate. */
  async function tellReasons() {
    const reasons = findLiquidationReasons(await readOne(wallet))
    expect({ reasons, succeeds: await succeeds(liquidation) }).toEqual({ reasons, succeeds: reasons.length > 0 })
    return reasons
  }

  async function standAt(healthFactor: number): Promise<void> {
    const prices = await aave.getPrices('main')
    const { healthFactor: now } = await aave.getUserAccountData('main', wallet)
    const price = ((prices.get('volatile') ?? 0n) * BigInt(Math.round(healthFactor * 1e9)) * 10n ** 9n) / now
    await devnet.send([setPriceCall('volatile', price)])
  }

  async function borrowToTheEdge(): Promise<void> {
    const supply = { market: 'main', wallet, asset: 'volatile', amount: rawUsd('volatile', 10_000) } as const
    await devnet.send([supplyCall(supply)])
    const { availableBorrowsBase } = await aave.getUserAccountData('main', wallet)
    const amount = rawUsd('usdc', (Number(availableBorrowsBase) / 1e8) * 0.95)
    await devnet.send([borrowCall({ market: 'main', wallet, asset: 'usdc', amount })])
  }

  test('is none while the sentinel delays a liquidation, and from a health factor below 0.95 one all the same', async () => {
    await onSnapshot(async () => {
      await borrowToTheEdge()
      expect(await tellReasons()).toEqual([])
      await standAt(0.97)
      expect(await tellReasons()).toEqual(['health_factor'])
      await devnet.send([sentinelCall('main')])
      expect(await tellReasons()).toEqual([])
      await standAt(0.94)
      expect(await tellReasons()).toEqual(['health_factor'])
    })
  }, 60_000)

  test('is none in the grace period of the collateral or of the debt, and one from its end on', async () => {
    for (const asset of ['volatile', 'usdc'] as const) {
      await onSnapshot(async () => {
        await borrowToTheEdge()
        await standAt(0.97)
        const { asset: address } = aave.reserveOf('main', asset)
        await devnet.send([restrictCall('main', { kind: 'pause', asset, on: true })])
        expect(await tellReasons()).toEqual([])
        await devnet.send([configureCall('main', 'setReservePause', address, false, 3_600)])
        expect(await tellReasons()).toEqual([])
        await devnet.rpc.call('evm_increaseTime', 3_700)
        await devnet.rpc.call('evm_mine')
        await standAt(0.97)
        expect(await tellReasons()).toEqual(['health_factor'])
      })
    }
  }, 60_000)
})
