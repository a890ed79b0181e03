import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Address, encodeAbiParameters, keccak256, numberToHex } from 'viem'
import { LENS_MODES, type LensMode } from '../../../../src/chain/call/lens.ts'
import { computeBorrows, computeSupplies, computeTotals } from '../../../../src/family/aave_v3/math/account.ts'
import type { ChainRead, Position } from '../../../../src/family/aave_v3/read/position.ts'
import { createLendingReader } from '../../../../src/family/aave_v3/read/read.ts'
import { UnavailableError } from '../../../../src/lib/error.ts'
import { AAVE_TOKENS, MARKETS, type MarketName } from '../../../devnet/aave_v3/addresses.ts'
import type { AaveDevnet } from '../../../devnet/aave_v3/mod.ts'
import { sharedAave } from '../../../devnet/aave_v3/shared.ts'
import { toWalletAddress } from '../../../devnet/addresses.ts'
import type { Devnet } from '../../../devnet/mod.ts'
import { caseCount } from '../../../support/cases.ts'
import { type FaultyRpc, REVERTING, startFaultyRpc } from '../../../support/rpc.ts'
import { slowClock } from '../../../support/test_clock.ts'
import { countedChains, createChain, createClient, DEPLOYMENTS, findPosition, patient, readWallets } from './support.ts'

const RANDOM_COUNT = caseCount(150, 60)
const NAMES = Object.keys(MARKETS) as MarketName[]
const WAD = 10n ** 18n
const NO_DEBT = 2n ** 256n - 1n

let devnet: Devnet
let aave: AaveDevnet
/** Those with a name, those at random, and one that never did anything. */
let wallets: readonly Address[]

beforeAll(async () => {
  const shared = await sharedAave()
  devnet = shared.devnet
  aave = shared.aave
  const random = await aave.randomWallets(20_261_114, RANDOM_COUNT)
  wallets = [...Object.values(aave.wallets), ...random.wallets]
}, 180_000)

function listNames(positions: readonly Position[]): string[] {
  return positions.map(({ market }) => market)
}

describe('read()', () => {
  test('gives concurrent callers the results of separate calls, in far fewer requests', async () => {
    const { clients, count, reset } = countedChains(devnet, [1])
    const client = clients.get(1)
    if (client === undefined) throw new Error('Cannot find the chain')
    const some = wallets.slice(0, 80)
    const alone: ChainRead[] = []
    for (const wallet of some) alone.push(await readWallets(client, [wallet]))
    reset()
    expect(await Promise.all(some.map((wallet) => readWallets(client, [wallet])))).toEqual(alone)
    expect(count()).toBe(8 + 72 / 8)
    // Many wallets take too much gas to share it.
    reset()
    await Promise.all(Array.from({ length: 16 }, (_, index) => readWallets(client, wallets.slice(index, index + 20))))
    expect(count()).toBe(16)
  }, 60_000)

  test('counts a balance that a transfer before 3.0.1 left without an index as a movement', async () => {
    const [token] = aave.markets.v3_0.reserves.map(({ aToken }) => aToken)
    if (token === undefined) throw new Error('The market has no token')
    const [old, never] = [toWalletAddress('receiver before 3.0.1'), toWalletAddress('nothing before 3.0.1')]
    // Balances are in the slot 52: 128 bits of the balance below 128 bits of the index.
    const slot = keccak256(encodeAbiParameters([{ type: 'address' }, { type: 'uint256' }], [old, 52n]))
    await devnet.rpc.call('anvil_setStorageAt', token, slot, numberToHex(10n ** 18n, { size: 32 }))
    await devnet.rpc.call('evm_mine')
    const client = createClient(createChain(devnet))
    const deployments = DEPLOYMENTS.filter(({ market }) => market === 'v3_0')
    const reader = createLendingReader({
      clients: new Map([[1, client]]),
      deployments: new Map([[1, deployments]]),
      clock: slowClock,
    })
    const { value } = await reader.readMovements([old, never], { client, deployments }, patient)
    expect(value).toEqual([true, false])
  })

  test('gives the account figures of every wallet as the pool returns them at that block', async () => {
    const read = await readWallets(createClient(createChain(devnet)), wallets)
    const counts = { compared: 0, inDebt: 0, inEMode: 0 }
    for (const market of NAMES) {
      const truths = await aave.getUserAccountDataMany(market, wallets, read.block.number)
      for (const [index, wallet] of wallets.entries()) {
        const truth = truths[index]
        const position = read.wallets
          .find((each) => each.wallet === wallet)
          ?.positions.find((each) => each.market === market)
        if (position === undefined) {
          expect(truth).toMatchObject({ totalCollateralBase: 0n, totalDebtBase: 0n, healthFactor: NO_DEBT })
          continue
        }
        const { data } = position
        expect(data as unknown).toEqual({
          totalCollateral: truth?.totalCollateralBase,
          totalDebt: truth?.totalDebtBase,
          availableBorrows: truth?.availableBorrowsBase,
          liquidationThresholdBps: truth?.currentLiquidationThreshold,
          ltvBps: truth?.ltv,
          healthFactorWad: truth?.healthFactor,
        })
        counts.compared++
        if (data.totalDebt > 0n) counts.inDebt++
        if (position.category !== undefined) counts.inEMode++
      }
    }
    expect(counts.compared).toBeGreaterThan(RANDOM_COUNT)
    expect(counts.inDebt).toBeGreaterThan(RANDOM_COUNT / 3)
    expect(counts.inEMode).toBeGreaterThan(RANDOM_COUNT / 10)
  }, 60_000)

  test('gives amounts and flags of every reserve as the data provider returns them, and leaves none out', async () => {
    const read = await readWallets(createClient(createChain(devnet)), wallets)
    let compared = 0
    for (const market of NAMES) {
      for (const wallet of wallets) {
        const truth = await aave.getUserReserves(market, wallet, read.block.number)
        const position = read.wallets
          .find((each) => each.wallet === wallet)
          ?.positions.find((each) => each.market === market)
        const ours = (position?.assets ?? [])
          .filter(({ supplied, variableDebt, stableDebt }) => supplied + variableDebt + stableDebt > 0n)
          .map(({ reserve, supplied, variableDebt, stableDebt, isCollateral }) => ({
            asset: reserve.asset,
            supplied,
            variableDebt,
            stableDebt,
            isCollateral,
          }))
        const theirs = truth.map(({ asset, ...amounts }) => ({
          asset: aave.reserveOf(market, asset).asset,
          ...amounts,
        }))
        expect({ wallet, market, assets: sorted(ours) }).toEqual({ wallet, market, assets: sorted(theirs) })
        compared += ours.length
      }
    }
    expect(compared).toBeGreaterThan(2 * RANDOM_COUNT)
  }, 120_000)

  test('sums assets to the totals of the pool: exactly what backs debt, to a unit per asset what is owed', async () => {
    const read = await readWallets(createClient(createChain(devnet)), wallets)
    for (const position of read.wallets.flatMap(({ positions }) => positions)) {
      const { data, features } = position
      const collateral = computeSupplies(position).filter(({ asset }) => asset.isCollateral)
      expect(collateral.reduce((sum, { value }) => sum + value, 0n)).toBe(data.totalCollateral)
      const borrows = computeBorrows(position)
      const debt = borrows.reduce((sum, { value }) => sum + value, 0n)
      // Before 3.5 the pool rounded debt down, and variable and stable debt together.
      expect(debt - data.totalDebt).toBeLessThanOrEqual(features.zeroLtvEModes ? 0n : BigInt(2 * borrows.length))
      expect(debt).toBeGreaterThanOrEqual(data.totalDebt)
    }
  })

  test('calculates the liquidation limit of 3.6 as the pool does, so that it holds without debt too', async () => {
    const read = await readWallets(createClient(createChain(devnet)), wallets)
    let compared = 0
    for (const position of read.wallets.flatMap(({ positions }) => positions)) {
      const { data, features } = position
      if (data.totalDebt === 0n || !features.zeroLtvEModes) continue
      const { liquidationLimit } = computeTotals({ ...position, data: { ...data, totalDebt: 0n } })
      // Rounded half up by wadDiv, then cut to a whole.
      const scaled = (liquidationLimit * 10_000n) / WAD
      const healthFactor = (scaled * WAD + data.totalDebt / 2n) / data.totalDebt / 10_000n
      expect({ market: position.market, healthFactor }).toEqual({
        market: position.market,
        healthFactor: data.healthFactorWad,
      })
      compared++
    }
    expect(compared).toBeGreaterThan(RANDOM_COUNT / 3)
  })

  test('is the same for every mode of reading', async () => {
    const client = createClient(createChain(devnet))
    const [override, deployless] = await Promise.all(LENS_MODES.map((mode) => readWallets(client, wallets, { mode })))
    expect(deployless as unknown).toEqual(override)
  }, 120_000)

  test('finds each wallet in its markets, in the order of configuration, and no other wallet', async () => {
    const { everywhere, lidoOnly, etherfiOnly, oldBorrower, empty, left, badDebt, receiver } = aave.wallets
    const asked = [etherfiOnly, empty, everywhere, left, lidoOnly, badDebt, oldBorrower, receiver]
    const read = await readWallets(createClient(createChain(devnet)), asked)
    expect(read.wallets.map(({ wallet, positions }) => [wallet, listNames(positions)])).toEqual([
      [etherfiOnly, ['etherfi']],
      [everywhere, ['main', 'lido', 'etherfi']],
      [lidoOnly, ['lido']],
      [oldBorrower, ['v3_0']],
      [receiver, ['main']],
    ])
    const turned = await readWallets(createClient(createChain(devnet)), [everywhere], {
      deployments: DEPLOYMENTS.toReversed(),
    })
    expect(turned.wallets.map(({ positions }) => listNames(positions))).toEqual([['etherfi', 'lido', 'main']])
  })

  test('counts stable debt at its own rate', async () => {
    const { oldBorrower } = aave.wallets
    const read = await readWallets(createClient(createChain(devnet)), [oldBorrower])
    const borrows = computeBorrows(findPosition(read, { wallet: oldBorrower, market: 'v3_0' }))
    expect(borrows.map(({ asset }) => [asset.reserve.symbol, asset.stableDebt > 0n])).toEqual([
      ['USDC', false],
      ['DAI', true],
    ])
    const [, stable] = borrows
    expect(stable?.asset.stableRateRay).toBeGreaterThan(0n)
    expect(stable?.apyRay).not.toBe(stable?.asset.reserve.borrowApyRay as bigint)
  })

  test('reads the position that each named wallet is named for', async () => {
    const named = aave.wallets
    const read = await readWallets(createClient(createChain(devnet)), Object.values(named))
    const asset = (wallet: keyof typeof named, symbol: string) => {
      const { assets } = findPosition(read, { wallet: named[wallet], market: 'main' })
      const found = assets.find(({ reserve }) => reserve.symbol === symbol)
      if (found === undefined) throw new Error(`Cannot find ${symbol} of ${wallet}`)
      return found
    }
    const category = (wallet: keyof typeof named) =>
      findPosition(read, { wallet: named[wallet], market: 'main' }).category
    expect([category('emode')?.id, category('mixedEmode')?.id, category('modal')?.id]).toEqual([1, 1, 7])
    expect([category('emodeLtvZero')?.id, category('borrower')]).toEqual([4, undefined])
    expect(asset('isolated', 'ISOL')).toMatchObject({ isCollateral: true, reserve: { debtCeiling: 250_000_00n } })
    expect(asset('isolated', 'ISOL').reserve.isolationDebt).toBeGreaterThanOrEqual(3_500_00n)
    expect(asset('isolated', 'WETH').isCollateral).toBe(false)
    expect(asset('switchedOff', 'WBTC')).toMatchObject({
      isCollateral: false,
      reserve: { liquidationThresholdBps: 7_800n },
    })
    expect(asset('switchedOff', 'WBTC').supplied).toBeGreaterThan(0n)
    expect(asset('ltvZero', 'LTVZ')).toMatchObject({
      isCollateral: true,
      reserve: { ltvBps: 0n, liquidationThresholdBps: 6_000n },
    })
    expect(asset('paused', 'PAUS')).toMatchObject({ isCollateral: true, reserve: { isOpen: false } })
    expect(asset('frozen', 'FROZ')).toMatchObject({ isCollateral: true, reserve: { isOpen: true } })
    expect(asset('frozen', 'FROZ').variableDebt).toBeGreaterThan(0n)
    expect(asset('receiver', 'WETH').isCollateral).toBe(false)
    expect(asset('receiver', 'WETH').supplied).toBeGreaterThan(0n)
    expect(asset('receiverBorrower', 'weETH').isCollateral).toBe(true)
    const { data } = findPosition(read, { wallet: named.insolvent, market: 'main' })
    expect(data.totalDebt).toBeGreaterThan(data.totalCollateral)
    expect(asset('dust', 'wstETH').supplied).toBe(1n)
  })

  test('names a token whose symbol is bytes32', async () => {
    const { bytes32 } = aave.wallets
    const read = await readWallets(createClient(createChain(devnet)), [bytes32])
    const supplies = computeSupplies(findPosition(read, { wallet: bytes32, market: 'main' }))
    expect(supplies.map(({ asset }) => asset.reserve.symbol)).toContain('MKR')
  })
})

describe('a reserve without a price', () => {
  const breaks: readonly (readonly [string, () => Promise<void>, () => Promise<void>])[] = [
    ['a feed that reverts', () => aave.breakFeed('breakable'), () => aave.mendFeed('breakable')],
    [
      'a price of zero',
      () => aave.setPrice('breakable', 0n),
      () => aave.setPrice('breakable', BigInt(Math.round(AAVE_TOKENS.breakable.usd * 1e8))),
    ],
  ]
  for (const [name, broken, mended] of breaks) {
    test(`${name} makes its market unanswerable for its holders alone, in every mode`, async () => {
      const { breakable, borrower, everywhere, lender } = aave.wallets
      const client = createClient(createChain(devnet))
      const before = await readWallets(client, [borrower, everywhere])
      await broken()
      try {
        for (const mode of LENS_MODES) {
          const read = await readWallets(client, [borrower, breakable, everywhere, lender], { mode })
          expect(read.unanswerable).toEqual(
            [breakable, lender].map((wallet) => ({
              chainId: 1,
              wallet,
              market: 'main',
              reason: `reserve BRKN (${AAVE_TOKENS.breakable.address}) has no price`,
            })),
          )
          expect(read.wallets.map(({ wallet }) => wallet)).toEqual([borrower, breakable, everywhere, lender])
          const names = read.wallets.map(({ positions }) => listNames(positions))
          expect(names).toEqual([['main'], ['lido'], ['main', 'lido', 'etherfi'], ['lido', 'etherfi', 'v3_0']])
          const assets = (wallet: Address) =>
            findPosition(read, { wallet, market: 'main' }).assets.map(({ reserve }) => reserve.symbol)
          expect(assets(borrower)).toEqual(
            findPosition(before, { wallet: borrower, market: 'main' }).assets.map(({ reserve }) => reserve.symbol),
          )
        }
      } finally {
        await mended()
      }
      expect((await readWallets(client, [breakable])).unanswerable).toEqual([])
    })
  }
})

describe('requests', () => {
  let rpc: FaultyRpc

  beforeAll(async () => {
    rpc = await startFaultyRpc(devnet.rpcUrl)
  }, 60_000)

  afterAll(() => rpc.stop(), 60_000)

  async function countedRead(count: number, mode?: LensMode): Promise<{ calls: number; depth: number }> {
    const client = createClient(createChain(devnet, { rpcUrls: [rpc.url] }))
    // The chain's id is asked for once in the life of an endpoint.
    await readWallets(client, [aave.wallets.empty])
    rpc.reset()
    // Long enough for all that go together to arrive before the first is answered.
    rpc.rule(() => ({ kind: 'delay', ms: 50 }))
    const asked = Array.from({ length: count }, (_, index) => wallets[index] ?? toWalletAddress(`aave nobody ${index}`))
    await readWallets(client, asked, mode === undefined ? {} : { mode })
    return { calls: rpc.seen.length, depth: rpc.depth() }
  }

  test('are one for a wallet in all markets of a chain', async () => {
    expect(await countedRead(1)).toEqual({ calls: 1, depth: 1 })
  })

  test('grow with wallets in hundreds: one for 10 and 100 wallets, few for 500, two deep at most', async () => {
    expect(await countedRead(10)).toEqual({ calls: 1, depth: 1 })
    expect(await countedRead(100)).toEqual({ calls: 1, depth: 1 })
    const { calls, depth } = await countedRead(500)
    expect(calls).toBeLessThanOrEqual(5)
    expect(depth).toBe(2)
  })

  test('are few without overrides too', async () => {
    expect((await countedRead(100, 'deployless')).calls).toBe(1)
  })

  test('all concern one block, even while blocks come', async () => {
    const client = createClient(createChain(devnet, { rpcUrls: [rpc.url] }))
    // A block comes once another is pinned, and before a page is read: while Anvil makes one, any call may see it.
    let mined: Promise<unknown> | undefined
    const done = () => {
      mined ??= devnet.rpc.call('evm_mine')
      return mined
    }
    rpc.rule(({ method }) => (method === 'eth_call' ? { kind: 'meanwhile', done } : undefined))
    rpc.reset()
    const asked = Array.from({ length: 500 }, (_, index) => wallets[index] ?? toWalletAddress(`aave nobody ${index}`))
    const read = await readWallets(client, asked)
    rpc.rule(() => undefined)
    const blocks = rpc.seen.filter(({ method }) => method === 'eth_call').map(({ params }) => params[1])
    const { hash } = await devnet.client.getBlock({ blockNumber: read.block.number })
    expect(blocks).toEqual([{ blockHash: hash }, { blockHash: hash }])
    expect(await devnet.client.getBlockNumber({ cacheTime: 0 })).toBeGreaterThan(read.block.number)
    const [first, last] = [read.wallets[0], read.wallets.at(-1)]
    for (const held of [first, last]) {
      const [position] = held?.positions ?? []
      const { market, data } = position ?? {}
      const truth = await aave.getUserAccountData(market as MarketName, held?.wallet as Address, read.block.number)
      expect(data?.totalDebt).toBe(truth.totalDebtBase)
    }
  })

  test('are saved until the next block, for the same wallets in the same markets only', async () => {
    const client = createClient(createChain(devnet, { rpcUrls: [rpc.url], reuseMs: 600_000_000 }))
    const reader = createLendingReader({
      clients: new Map([[1, client]]),
      deployments: new Map([[1, DEPLOYMENTS]]),
      clock: slowClock,
    })
    const [place] = [...reader.targets.values()]
    if (place === undefined) throw new Error('Cannot find the devnet')
    await devnet.rpc.call('evm_mine')
    const { everywhere, lidoOnly } = aave.wallets
    const ask = async (asked: readonly Address[], deployments = DEPLOYMENTS) => {
      const [read] = await reader.read(asked, { targets: [{ ...place, deployments }], work: patient })
      return read?.wallets.map(({ wallet, positions }) => [wallet, listNames(positions)])
    }
    const lido = DEPLOYMENTS.filter(({ market }) => market === 'lido')
    const answers = async () => [
      await ask([everywhere]),
      await ask([lidoOnly]),
      await ask([everywhere], lido),
      await ask([everywhere, lidoOnly], lido),
    ]
    const first = await answers()
    rpc.reset()
    expect(await answers()).toEqual(first)
    expect(rpc.seen.length).toBe(0)
    expect(first).toEqual([
      [[everywhere, ['main', 'lido', 'etherfi']]],
      [[lidoOnly, ['lido']]],
      [[everywhere, ['lido']]],
      [
        [everywhere, ['lido']],
        [lidoOnly, ['lido']],
      ],
    ])
  })

  test('use the next mode of reading if an endpoint ignores or refuses overrides', async () => {
    const truth = await readWallets(createClient(createChain(devnet)), wallets.slice(0, 30))
    for (const how of ['ignore', 'refuse'] as const) {
      rpc.rule(() => ({ kind: 'no_overrides', how }))
      const read = await readWallets(createClient(createChain(devnet, { rpcUrls: [rpc.url] })), wallets.slice(0, 30))
      expect(read.wallets as unknown).toEqual(truth.wallets)
    }
    rpc.rule(() => undefined)
  })

  test.each(REVERTING)('go to another endpoint if one answers %s, and fail if all do', async (_, rule) => {
    rpc.rule(rule)
    try {
      const asked = [aave.wallets.borrower]
      const alone = readWallets(createClient(createChain(devnet, { rpcUrls: [rpc.url] })), asked)
      await expect(alone).rejects.toThrow(UnavailableError)
      const both = await readWallets(createClient(createChain(devnet, { rpcUrls: [rpc.url, devnet.rpcUrl] })), asked)
      expect(both.wallets.flatMap(({ positions }) => listNames(positions))).toEqual(['main'])
    } finally {
      rpc.rule(() => undefined)
    }
  })

  test('fail if the chain cannot be read or does not have a market', async () => {
    rpc.rule(() => ({ kind: 'error', error: { code: -32603, message: 'boom' } }))
    const failing = readWallets(createClient(createChain(devnet, { rpcUrls: [rpc.url] })), wallets.slice(0, 1))
    await expect(failing).rejects.toThrow(UnavailableError)
    await expect(failing).rejects.toThrow('Cannot read chain 1 (Devnet)')
    rpc.rule(() => undefined)
    const absent = [{ market: 'main', poolAddressesProvider: toWalletAddress('no market'), startBlock: 0 }]
    for (const mode of LENS_MODES) {
      const nowhere = readWallets(createClient(createChain(devnet)), wallets.slice(0, 1), {
        deployments: absent,
        mode,
      })
      await expect(nowhere).rejects.toThrow(UnavailableError)
    }
  })
})

function sorted<T extends { readonly asset: string }>(assets: readonly T[]): T[] {
  return [...assets].sort((a, b) => (a.asset < b.asset ? -1 : 1))
}
