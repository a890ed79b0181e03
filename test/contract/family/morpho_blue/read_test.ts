import { beforeAll, describe, expect, test } from 'bun:test'
import { AccrualPosition, Market, MarketParams } from '@morpho-org/blue-sdk'
import { type Address, zeroAddress } from 'viem'
import { LENS_MODES } from '../../../../src/chain/call/lens.ts'
import { healthFactor } from '../../../../src/family/morpho_blue/math/market.ts'
import { RAY } from '../../../../src/finance/math/rate.ts'
import { createWork } from '../../../../src/lib/async/work.ts'
import { AbortedError, UnavailableError } from '../../../../src/lib/error.ts'
import { createDevnetChain } from '../../../devnet/chain.ts'
import { type Devnet, sharedDevnet } from '../../../devnet/mod.ts'
import type { MorphoMarket } from '../../../devnet/morpho_blue/calls.ts'
import type { MorphoDevnet } from '../../../devnet/morpho_blue/mod.ts'
import { caseCount } from '../../../support/cases.ts'
import { type FaultyRpc, REVERTING, startFaultyRpc } from '../../../support/rpc.ts'
import { createFixedClock } from '../../../support/test_clock.ts'
import { waitFor } from '../../../support/wait_for.ts'
import { createClient, createReader, type PositionRead, requirePosition } from './support.ts'

const ROUNDS = caseCount(20, 5)

let devnet: Devnet
let morpho: MorphoDevnet

beforeAll(async () => {
  devnet = await sharedDevnet()
  morpho = await devnet.morpho()
}, 60_000)

/** Every named market and wallet, those without a position too. */
function everything(): { readonly market: MorphoMarket; readonly wallet: Address }[] {
  const wallets = Object.values(morpho.wallets)
  return Object.values(morpho.markets).flatMap((market) => wallets.map((wallet) => ({ market, wallet })))
}

async function withProxy<T>(work: (proxy: FaultyRpc, read: ReturnType<typeof createReader>) => Promise<T>): Promise<T> {
  const proxy = await startFaultyRpc(devnet.rpcUrl)
  try {
    return await work(proxy, createReader(createClient(createDevnetChain(devnet, { rpcUrls: [proxy.url] }))))
  } finally {
    await proxy.stop()
  }
}

describe('read()', () => {
  test("gives concurrent callers the results of separate calls: none sees another's accrual", async () => {
    await withProxy(async (proxy, read) => {
      const alone: PositionRead[] = []
      for (const { market, wallet } of everything()) alone.push(await read(market, wallet))
      proxy.reset()
      const together = await Promise.all(everything().map(({ market, wallet }) => read(market, wallet)))
      expect(together).toEqual(alone)
      expect(alone.length).toBeGreaterThan(24)
      expect(proxy.seen).toHaveLength(8 + Math.ceil((alone.length - 8) / 8))
    })
  }, 60_000)

  test('accrues hundreds of random positions to the wei as the contract does, and as its own SDK does', async () => {
    const read = createReader(createClient(createDevnetChain(devnet)))
    const random = await morpho.startRandom({ seed: 20_261_121 })
    const seen = { positions: 0, absent: 0, supplied: 0, owed: 0, liquidatable: 0, bySdk: 0, paidOut: 0, accruing: 0 }
    for (let round = 0; round < ROUNDS; round++) {
      await random.round()
      for (const market of random.markets) {
        for (const wallet of random.wallets) {
          const [reading, expected] = await Promise.all([read(market, wallet), morpho.readAccrued(market, wallet)])
          const { supplyShares, borrowShares, collateral, lastUpdate, fee, ...totals } = expected
          if (supplyShares + borrowShares + collateral === 0n) {
            expect(reading).toMatchObject({ kind: 'absent', reason: 'no_position' })
            seen.absent++
            continue
          }
          const position = requirePosition(reading)
          seen.positions++
          expect(position.market).toEqual({ ...totals, lastUpdateSec: expect.anything(), feeWad: fee } as never)
          expect(position.collateral).toBe(collateral)
          const [stored, repaid, withdrawn, liquidatable] = await Promise.all([
            morpho.readStored(market, wallet),
            morpho.staticRepayAll(market, wallet),
            morpho.staticWithdrawAll(market, wallet),
            morpho.canLiquidate(market, wallet),
          ])
          if (stored.lastUpdate < lastUpdate) seen.accruing++
          expect(position.owed).toBe(repaid)
          if (position.owed > 0n) seen.owed++
          if (position.supplied > 0n) seen.supplied++
          // What was withdrawn leaves out the fee that accruing gave, because the shares were counted before.
          if (withdrawn !== undefined && stored.supplyShares === supplyShares) {
            expect(position.supplied).toBe(withdrawn)
            seen.paidOut++
          }
          const oraclePrice = await readOracle(market)
          const health = healthFactor({ ...position, oraclePrice, lltvWad: market.params.lltv })
          const isBelowOne = health !== 'max' && health.numerator < health.denominator
          if (collateral > 0n && position.owed > 0n) expect(isBelowOne).toBe(liquidatable)
          if (isBelowOne) seen.liquidatable++
          if (market.params.irm === morpho.adaptiveCurve || market.params.irm === zeroAddress) {
            seen.bySdk++
            compareWithSdk({ market, wallet, stored, position, oraclePrice, at: reading.block.timestampSec })
          }
        }
      }
    }
    expect(seen.positions).toBeGreaterThan(25 * ROUNDS)
    expect(seen.bySdk).toBeGreaterThan(20 * ROUNDS)
    expect(seen.accruing).toBeGreaterThan(5 * ROUNDS)
    expect(seen.supplied).toBeGreaterThan(5 * ROUNDS)
    expect(seen.paidOut).toBeGreaterThan(2 * ROUNDS)
    expect(seen.owed).toBeGreaterThan(3 * ROUNDS)
    expect(seen.liquidatable).toBeGreaterThan(ROUNDS / 6)
    expect(seen.absent).toBeGreaterThan(ROUNDS / 2)
  }, 120_000)

  async function readOracle({ params }: MorphoMarket): Promise<bigint> {
    if (params.oracle === zeroAddress) return 0n
    return BigInt(await devnet.rpc.call<string>('eth_call', { to: params.oracle, data: '0xa035b1fe' }, 'latest'))
  }

  /** Amounts to the wei; yields within what the SDK's floating point and its rounding of rates lose. */
  function compareWithSdk(options: {
    readonly market: MorphoMarket
    readonly wallet: Address
    readonly stored: Awaited<ReturnType<MorphoDevnet['readStored']>>
    readonly position: ReturnType<typeof requirePosition>
    readonly oraclePrice: bigint
    readonly at: bigint
  }): void {
    const { market, wallet, stored, position, oraclePrice, at } = options
    const { supplyShares, borrowShares, collateral, rateAtTarget, ...books } = stored
    const idle = market.params.irm === zeroAddress
    const sdkMarket = new Market({
      params: new MarketParams(market.params),
      ...books,
      price: oraclePrice,
      ...(idle ? {} : { rateAtTarget }),
    })
    const held = { user: wallet, marketId: sdkMarket.id, supplyShares, borrowShares, collateral }
    const theirs = new AccrualPosition(held, sdkMarket).accrueInterest(at)
    expect(sdkMarket.id as string).toBe(market.id)
    expect(position.owed).toBe(theirs.borrowAssets)
    // The SDK does not give a fee recipient its fee.
    if (wallet !== morpho.wallets.feeRecipient) expect(position.supplied).toBe(theirs.supplyAssets)
    const { totalSupplyAssets, totalSupplyShares, totalBorrowAssets, totalBorrowShares } = theirs.market
    expect(position.market).toMatchObject({
      totalSupplyAssets,
      totalSupplyShares,
      totalBorrowAssets,
      totalBorrowShares,
    })
    const health = healthFactor({ ...position, oraclePrice, lltvWad: market.params.lltv })
    if (health !== 'max') expect((health.numerator * 10n ** 18n) / health.denominator).toBe(theirs.healthFactor ?? -1n)
    closeTo(position.borrowApyRay, theirs.market.getBorrowApy(at))
    closeTo(position.supplyApyRay, theirs.market.getSupplyApy(at))
  }

  function closeTo(apyRay: bigint, apy: number): void {
    const ours = Number((apyRay * 10n ** 15n) / RAY) / 1e15
    // The SDK rounds a rate per second three times; each unit of its 18 decimals is 3.2e-11 in a year, compounded.
    expect(Math.abs(ours - apy)).toBeLessThanOrEqual(1e-10 * (1 + apy))
  }

  test('is the same for every mode of reading', async () => {
    const client = createClient(createDevnetChain(devnet))
    const readers = LENS_MODES.map((mode) => createReader(client, { mode }))
    const kinds = new Set<string>()
    for (const { market, wallet } of everything()) {
      const [first, ...others] = await Promise.all(readers.map((read) => read(market, wallet)))
      for (const other of others) expect(other).toEqual(first as never)
      kinds.add(first?.kind ?? 'none')
    }
    expect([...kinds].sort()).toEqual(['absent', 'position', 'unanswerable'])
  }, 60_000)

  test('takes one request, also without overrides', async () => {
    const { wethUsdc } = morpho.markets
    const counts: Record<string, { requests: number; depth: number }> = {}
    await withProxy(async (proxy) => {
      for (const mode of LENS_MODES) {
        const read = createReader(createClient(createDevnetChain(devnet, { rpcUrls: [proxy.url] })), { mode })
        await read(wethUsdc, morpho.wallets.borrower)
        proxy.reset()
        // Long enough for all that go together to arrive before the first is answered.
        proxy.rule(() => ({ kind: 'delay', ms: 50 }))
        await read(wethUsdc, morpho.wallets.borrower)
        proxy.rule(() => undefined)
        counts[mode] = { requests: proxy.seen.length, depth: proxy.depth() }
      }
    })
    expect(counts).toEqual({
      override: { requests: 1, depth: 1 },
      deployless: { requests: 1, depth: 1 },
    })
  })

  test('reads without override, and says what is missing if the endpoint hides revert data too', async () => {
    const { wethUsdc } = morpho.markets
    const direct = await createReader(createClient(createDevnetChain(devnet)))(wethUsdc, morpho.wallets.both)
    for (const how of ['ignore', 'refuse'] as const) {
      await withProxy(async (proxy, read) => {
        proxy.rule(() => ({ kind: 'no_overrides', how }))
        expect(await read(wethUsdc, morpho.wallets.both)).toEqual(direct)
      })
    }
    await withProxy(async (proxy, read) => {
      proxy.rule(({ params }) => {
        if (params.length > 2) return { kind: 'no_overrides', how: 'ignore' }
        return { kind: 'no_revert_data' }
      })
      await expect(read(wethUsdc, morpho.wallets.both)).rejects.toThrow(
        'Cannot read chain 1 (Devnet) after 1 attempt because its endpoints refuse "eth_call" with a state override ' +
          'and without "to", or at a block named by its hash',
      )
    })
  })

  test('reads again what it has read only when the chain has its next block', async () => {
    const proxy = await startFaultyRpc(devnet.rpcUrl)
    try {
      const { timestamp } = await devnet.client.getBlock()
      const clock = createFixedClock(() => Number(timestamp) * 1_000 + 10, 10)
      const chain = createDevnetChain(devnet, { rpcUrls: [proxy.url], blockTimeMs: 12_000, reuseMs: 12_000 })
      const read = createReader(createClient(chain), { clock })
      const { borrower, supplier } = morpho.wallets
      await Promise.all([1, 2, 3].map(() => read(morpho.markets.wethUsdc, borrower)))
      await read(morpho.markets.wethUsdc, borrower)
      const calls = () => proxy.seen.filter(({ method }) => method === 'eth_call').length
      expect(calls()).toBe(1)
      await read(morpho.markets.wethUsdc, supplier)
      await read(morpho.markets.usdcWeth, borrower)
      expect(calls()).toBe(3)
    } finally {
      await proxy.stop()
    }
  })

  test('is unavailable if Morpho is not at its address, and if no endpoint answers', async () => {
    const nowhere = createReader(createClient(createDevnetChain(devnet)), { morpho: morpho.wallets.none })
    await expect(nowhere(morpho.markets.wethUsdc, morpho.wallets.borrower)).rejects.toThrow(UnavailableError)
    // A contract, but not Morpho.
    const other = createReader(createClient(createDevnetChain(devnet)), {
      morpho: devnet.addresses.tokens.usdc.address,
    })
    await expect(other(morpho.markets.wethUsdc, morpho.wallets.borrower)).rejects.toThrow('Cannot read chain 1')
    await withProxy(async (proxy, read) => {
      proxy.rule(() => ({ kind: 'http', status: 500, body: 'upstream text' }))
      await expect(read(morpho.markets.wethUsdc, morpho.wallets.borrower)).rejects.toThrow(UnavailableError)
    })
  })

  test.each(REVERTING)(
    'asks another endpoint if one of them answers %s, and is unavailable if all of them do',
    async (_, rule) => {
      await withProxy(async (proxy, read) => {
        proxy.rule(rule)
        const { borrower } = morpho.wallets
        await expect(read(morpho.markets.wethUsdc, borrower)).rejects.toThrow(UnavailableError)
        const both = createReader(createClient(createDevnetChain(devnet, { rpcUrls: [proxy.url, devnet.rpcUrl] })))
        expect((await both(morpho.markets.wethUsdc, borrower)).kind).toBe('position')
      })
    },
  )

  test('stops when the caller leaves', async () => {
    await withProxy(async (proxy, read) => {
      proxy.rule(() => ({ kind: 'hang' }))
      const leaving = new AbortController()
      const reading = read(morpho.markets.wethUsdc, morpho.wallets.borrower, createWork(leaving.signal))
      await waitFor('a request', () => proxy.waiting() > 0)
      leaving.abort()
      await expect(reading).rejects.toThrow(AbortedError)
    })
  })

  test('refuses an answer about another market', async () => {
    await withProxy(async (proxy, read) => {
      const { usdcWeth, wethUsdc } = morpho.markets
      await read(usdcWeth, morpho.wallets.borrower)
      const call = proxy.seen.find(({ method }) => method === 'eth_call')
      const result = await devnet.rpc.call('eth_call', ...(call?.params ?? []))
      proxy.rule(({ method }) => (method === 'eth_call' ? { kind: 'result', result } : undefined))
      await expect(read(wethUsdc, morpho.wallets.borrower)).rejects.toThrow(UnavailableError)
      expect((await read(usdcWeth, morpho.wallets.borrower)).kind).toBe('position')
    })
  })

  test('gives a market’s fee recipient the shares of a future accrual, before any accrual happens', async () => {
    const { linear } = morpho.markets
    const { feeRecipient } = morpho.wallets
    await morpho.warp(86_400)
    const [stored, accrued] = await Promise.all([
      morpho.readStored(linear, feeRecipient),
      morpho.readAccrued(linear, feeRecipient),
    ])
    expect(accrued.supplyShares).toBeGreaterThan(stored.supplyShares)
    const { supplied } = requirePosition(
      await createReader(createClient(createDevnetChain(devnet)))(linear, feeRecipient),
    )
    const { totalSupplyAssets, totalSupplyShares, supplyShares } = accrued
    expect(supplied).toBe((supplyShares * (totalSupplyAssets + 1n)) / (totalSupplyShares + 10n ** 6n))
  })

  test('takes the rate after accrual from the model, whether or not the model stores state', async () => {
    const read = createReader(createClient(createDevnetChain(devnet)))
    const { linear, wethUsdc } = morpho.markets
    await morpho.warp(30 * 86_400)
    const before = requirePosition(await read(wethUsdc, morpho.wallets.borrower))
    await morpho.accrue(wethUsdc)
    const after = requirePosition(await read(wethUsdc, morpho.wallets.borrower))
    // Only one second more has passed, and yet a rate averaged over the month would now be another one.
    const changed = Number(before.borrowApyRay - after.borrowApyRay) / Number(after.borrowApyRay)
    expect(Math.abs(changed)).toBeLessThan(1e-6)
    const [base, slope] = [10n ** 9n, 4n * 10n ** 9n]
    await morpho.setLinearIrm({ base, slope })
    const { market, borrowApyRay } = requirePosition(await read(linear, morpho.wallets.borrower))
    const rate = base + (slope * market.totalBorrowAssets) / market.totalSupplyAssets
    expect(Number(borrowApyRay) / Number(RAY)).toBeCloseTo(Math.expm1((Number(rate) * 31_536_000) / 1e18), 12)
    await morpho.setLinearIrm({ base: 634_195_839n, slope: 3_170_979_198n })
  })
})
