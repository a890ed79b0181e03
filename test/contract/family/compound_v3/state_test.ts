import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Address, Hex } from 'viem'
import { createHoldingsReader } from '../../../../src/family/compound_v3/holdings.ts'
import { COMPOUND_V3 } from '../../../../src/family/compound_v3/mod.ts'
import { decodeLens, encodeRead } from '../../../../src/family/compound_v3/read/abi.ts'
import { LENS_RUNTIME } from '../../../../src/family/compound_v3/read/lens_artifact.ts'
import { createCometReader } from '../../../../src/family/compound_v3/read/read.ts'
import { createWatcher } from '../../../../src/family/compound_v3/watch.ts'
import type { Holdings } from '../../../../src/family/holding.ts'
import type { PositionOutlook } from '../../../../src/family/outlook.ts'
import { formatUsd } from '../../../../src/finance/figure.ts'
import { NO_PRICE_SOURCES } from '../../../../src/finance/price/price_sources.ts'
import { createWork } from '../../../../src/lib/async/work.ts'
import { rational } from '../../../../src/lib/number/rational.ts'
import { placeReplay, type RecordedCall } from '../../../devnet/aave_v4/replay.ts'
import { toWalletAddress } from '../../../devnet/addresses.ts'
import { recordCall, recordMarket, toOwnFeed, toUsdFeed } from '../../../devnet/compound_v3/record.ts'
import { type VectorAccount, WORLDS, type World } from '../../../devnet/compound_v3/vectors.ts'
import { createSend } from '../../../devnet/transaction.ts'
import { readNewestBlock } from '../../../support/forecast_watcher.ts'
import { slowClock } from '../../../support/test_clock.ts'
import { createCaller, type ReplayedChain, startReplayedChain, toDeployment } from './support.ts'

const LIMIT_MS = 120_000
const patient = createWork(new AbortController().signal)
const [world] = WORLDS as [World]
const isBorrower = ({ principal }: VectorAccount) => principal.startsWith('-')
const lender = world.accounts.find((each) => !isBorrower(each)) as VectorAccount
const borrower = world.accounts.find((each) => isBorrower(each) && each.isBorrowCollateralized) as VectorAccount
const STRANGER = toWalletAddress('stranger')
const NOTHING = recordCall(world.comet, 'userBasic', [STRANGER], [0n, 0n, 0n, 0, 0])

let chain: ReplayedChain

beforeAll(async () => {
  chain = await startReplayedChain()
  await chain.place(world, [NOTHING])
  await chain.mineAt(BigInt(world.block.timestamp))
}, LIMIT_MS)
afterAll(() => chain?.anvil.stop(), LIMIT_MS)

/** Does something with a chain on which some calls answer otherwise, at the same block. */
async function withAnswers<T>(calls: readonly RecordedCall[], act: () => Promise<T>): Promise<T> {
  try {
    await placeReplay(chain.rpc, calls)
    return await act()
  } finally {
    await chain.place(world, [NOTHING])
  }
}

const REVERTED = { answer: '0x', reverts: true } as const

function createParts() {
  return {
    clients: new Map([[1, chain.client]]),
    deployments: new Map([[1, [toDeployment(world)]]]),
    clock: slowClock,
  }
}

async function readHoldings(wallet: Address): Promise<Holdings> {
  const { client } = chain
  const read = await createHoldingsReader(createCometReader(createParts())).open(wallet, { client }, patient)
  if (read === undefined) throw new Error('Expected markets')
  return client.read((endpoint, work) => read({ endpoint, positionsMax: 100 }, work), { work: patient })
}

test(
  'the rows of a portfolio are those of the list, each with what a withdrawal of it pays',
  async () => {
    const { list } = createCaller(chain, world)
    for (const { wallet } of world.accounts) {
      const { rows, ownTokens, notRead, lenders } = await readHoldings(wallet)
      const [position] = (await list(`wallet=${wallet}`)).data[0]?.positions ?? []
      const listed = [
        ...(position?.suppliedAssets ?? []).map((each) => [
          'supplied',
          each.address,
          each.withdrawable?.raw,
          each['limited_by'],
        ]),
        ...(position?.rewards ?? []).map(({ raw }) => ['supplied', world.rewardToken, raw, null]),
        ...(position?.borrowedAssets ?? []).map(({ address }) => ['borrowed', address, undefined, null]),
      ]
      expect(
        rows.map(({ kind, token, amount, withdrawable }) => [
          kind,
          token.address,
          kind === 'borrowed' ? undefined : String(withdrawable === undefined ? amount : withdrawable.amount),
          withdrawable?.limitedBy ?? null,
        ]),
      ).toEqual(listed as never)
      expect(
        new Set(rows.map(({ kind, token, position: place }) => `${kind} ${token.address} ${place['part']}`)).size,
      ).toBe(rows.length)
      // The market is a token of which the wallet has a balance: it must not count again.
      expect([ownTokens, notRead, lenders]).toEqual([[world.comet], [], [world.comet]])
    }
  },
  LIMIT_MS,
)

test(
  'what is to be seen to and what is earned in a day is as the list says, interest as far as the market could pay it out',
  async () => {
    const { list } = createCaller(chain, world)
    const readOutlook = async (wallet: Address) => {
      const [outlook] = (await readHoldings(wallet)).listOutlooks?.() ?? []
      if (outlook === undefined) throw new Error(`Expected an outlook of ${wallet}`)
      return outlook
    }
    const toDaily = ({ interestUsd }: PositionOutlook) => formatUsd(interestUsd ?? rational(-1n, 1n))
    const seen = { liquidatable: 0, interest: 0 }
    for (const { wallet } of world.accounts) {
      const [{ positions: [position] = [], calculations: [calculation] = [] } = {}] = (await list(`wallet=${wallet}`))
        .data
      const outlook = await readOutlook(wallet)
      expect([outlook.position, outlook.code]).toEqual([{ family: 'compound-v3', market_id: 'usdc' }, 'compound_v3'])
      const health = String(position?.['healthFactor'])
      const isDue = ((position?.['liquidatable_because'] ?? []) as readonly string[]).length > 0
      const isNear = !isDue && health !== 'MAX' && Number(health) < 1.25
      const kinds = [...(isDue ? ['liquidatable'] : []), ...(isNear ? ['near_liquidation'] : [])]
      expect(outlook.toDo.map(({ kind }) => kind)).toEqual(kinds as never)
      for (const { text } of outlook.toDo) expect(text).toContain(health)
      expect([toDaily(outlook), outlook.untold]).toEqual([calculation?.['netDailyInterestUSD'] as string, undefined])
      if (isDue) seen.liquidatable++
      if (toDaily(outlook) !== '0.000000') seen.interest++
    }
    expect(Object.entries(seen).filter(([, count]) => count === 0)).toEqual([])
    const empty = recordCall(world.base, 'balanceOf', [world.comet], 0n)
    expect(toDaily(await withAnswers([empty], () => readOutlook(lender.wallet)))).toBe('0.000000')
    const unpriced = { ...recordCall(toUsdFeed(world.base), 'latestRoundData', [], [1n, 0n, 0n, 0n, 1n]), ...REVERTED }
    const { interestUsd, untold } = await withAnswers([unpriced], () => readOutlook(lender.wallet))
    expect([interestUsd, untold?.map(({ what }) => what)]).toEqual([undefined, ['interest of Compound V3 market usdc']])
    expect(untold?.[0]?.why).toContain(world.base)
  },
  LIMIT_MS,
)

test(
  'a paused market pays nothing, and a market without the money what it has',
  async () => {
    const idle = BigInt(lender.supplied) / 3n
    const { list } = createCaller(chain, world)
    const readSupplies = async (wallet: Address) =>
      (await list(`wallet=${wallet}`)).data[0]?.positions[0]?.suppliedAssets
    const short = recordCall(world.base, 'balanceOf', [world.comet], idle)
    const [lent, ...collaterals] = (await withAnswers([short], () => readSupplies(lender.wallet))) ?? []
    expect([lent?.withdrawable?.raw, lent?.['limited_by']]).toEqual([String(idle), 'liquidity'])
    expect(collaterals.map((each) => each['limited_by'])).toEqual(collaterals.map(() => null))
    const paused = await withAnswers(recordMarket(world, { pauseFlags: 4 }), () => readSupplies(lender.wallet))
    expect(paused?.map((each) => [each.withdrawable?.raw, each['limited_by']])).toEqual(
      paused?.map(() => ['0', 'paused']) as never,
    )
    expect(paused?.length).toBeGreaterThan(1)
  },
  LIMIT_MS,
)

test(
  'what can be liquidated cannot while absorption is paused',
  async () => {
    const due = world.accounts.find(({ isLiquidatableAfterAccrual }) => isLiquidatableAfterAccrual) as VectorAccount
    const { list } = createCaller(chain, world)
    const read = async () => (await list(`wallet=${due.wallet}`)).data[0]?.positions[0]?.['liquidatable_because']
    expect(await read()).toEqual(['health_factor'])
    expect(await withAnswers(recordMarket(world, { pauseFlags: 8 }), read)).toEqual([])
  },
  LIMIT_MS,
)

test(
  'rewards follow their multiplier, are not lost silently, and are paid all or not at all',
  async () => {
    const { list } = createCaller(chain, world)
    const read = async () => (await list(`wallet=${lender.wallet}`)).data[0]?.positions[0]?.rewards
    const half = await withAnswers(recordMarket(world, { multiplier: 10n ** 18n / 2n }), read)
    const all = BigInt(lender.rewardsClaimed) + BigInt(lender.rewardOwed)
    expect(half?.map(({ raw }) => BigInt(raw))).toEqual(
      all / 2n > BigInt(lender.rewardsClaimed) ? [all / 2n - BigInt(lender.rewardsClaimed)] : [],
    )
    const config = recordCall(world.rewards, 'rewardConfig', [world.comet], [world.rewardToken, 1n, true, 1n])
    const silent = { ...config, ...REVERTED }
    expect(await withAnswers([silent], read)).toBeNull()
    const { rows, notRead } = await withAnswers([silent], () => readHoldings(lender.wallet))
    expect(notRead).toEqual(['rewards of compound-v3 market usdc, whose contract does not answer'])
    expect(rows.length).toBeGreaterThan(0)
    const poor = recordCall(world.rewardToken, 'balanceOf', [world.rewards], BigInt(lender.rewardOwed) - 1n)
    const paid = (await withAnswers([poor], () => readHoldings(lender.wallet))).rows.find(
      ({ position }) => position['part'] === 'rewards',
    )
    expect(paid?.withdrawable).toEqual({ amount: 0n, limitedBy: 'liquidity' })
    expect(paid?.payable?.amount).toBe(0n)
  },
  LIMIT_MS,
)

test(
  'without a price in dollars the health factor stands; without a feed of the market it is unknown',
  async () => {
    const { list, batch } = createCaller(chain, world)
    const [asset] = world.collaterals.map((each) => each.asset) as [Address]
    const read = async () => (await list(`wallet=${borrower.wallet}`)).data[0]
    const healthy = (await read())?.positions[0]?.['healthFactor']
    const unpriced = { ...recordCall(toUsdFeed(asset), 'latestRoundData', [], [1n, 0n, 0n, 0n, 1n]), ...REVERTED }
    const entry = await withAnswers([unpriced], read)
    expect(entry?.positions[0]).toMatchObject({ healthFactor: healthy, netWorthUSD: null, totalDebtUSD: null })
    expect(entry?.positions[0]?.['reason']).toContain(asset)
    expect(entry?.calculations).toEqual([null])
    const reduced = await withAnswers([unpriced], () => batch({ wallets: [borrower.wallet] }))
    expect(reduced.data[0]?.positions[0] as unknown).toEqual({
      marketId: 'usdc',
      healthFactor: healthy,
      netWorthUSD: null,
    })
    const dead = { ...recordCall(world.comet, 'getPrice', [toOwnFeed(asset)], 1n), ...REVERTED }
    const unknown = await withAnswers([dead], read)
    expect(unknown?.positions[0]).toMatchObject({ healthFactor: null, liquidatable_because: [], netWorthUSD: null })
    const { rows } = await withAnswers([unpriced], () => readHoldings(borrower.wallet))
    expect(rows.filter(({ price }) => price.kind === 'missing').map(({ token }) => token.address)).toEqual([asset])
  },
  LIMIT_MS,
)

test(
  'a market that does not answer is named, and the doctor finds it',
  async () => {
    const { list } = createCaller(chain, world)
    const silent = recordMarket(world)
      .filter(({ to }) => to === world.comet)
      .map((call) => ({ ...call, ...REVERTED }))
    await withAnswers(silent, async () => {
      await expect(list(`wallet=${lender.wallet}`)).rejects.toThrow('market "usdc" does not answer')
      const rows = new Map([[1, { compoundV3: [toDeployment(world)] }]])
      const { clients, clock } = createParts()
      const [contract] = COMPOUND_V3.configure(rows).contracts({ clients, clock })
      await expect(contract?.read(lender.wallet, patient)).rejects.toThrow('market "usdc" does not answer')
    })
  },
  LIMIT_MS,
)

test(
  'what no market stores is no answer',
  async () => {
    const { list } = createCaller(chain, world)
    const { parameters, totals, block } = world
    const lies: readonly World[] = [
      { ...world, totals: { ...totals, totalBorrowBase: '1' } },
      { ...world, totals: { ...totals, lastAccrualTime: String(Number(block.timestamp) + 86_400) } },
      { ...world, basePrice8: '0' },
      { ...world, parameters: { ...parameters, baseScale: '0' } },
      { ...world, parameters: { ...parameters, trackingIndexScale: '0' } },
    ]
    for (const lie of lies) {
      await withAnswers(recordMarket(lie), async () => {
        const error = await list(`wallet=${borrower.wallet}`).then(
          () => undefined,
          (reason: unknown) => reason,
        )
        expect(String((error as Error | undefined)?.cause)).toContain('Cannot read a market of Compound V3')
      })
    }
  },
  LIMIT_MS,
)

test(
  'triggers see the figures of the list, also of a wallet without a position and without a price',
  async () => {
    const watcher = createWatcher(createParts())
    const { list } = createCaller(chain, world)
    const wallets = [...world.accounts.map(({ wallet }) => wallet), STRANGER]
    const subjects = [
      ...wallets.map((wallet) => ({ wallet, market_id: 'usdc' })),
      { wallet: STRANGER, market_id: 'none' },
    ]
    const block = await readNewestBlock(chain.rpc, 1)
    const confirmed = await watcher.confirm(subjects, { client: chain.client, block }, patient)
    expect(confirmed.at(-1)).toBe('gone')
    for (const [index, wallet] of wallets.entries()) {
      const figures = confirmed[index]
      if (figures === undefined || figures === 'gone') throw new Error('Expected figures')
      const [position] = (await list(`wallet=${wallet}`)).data[0]?.positions ?? []
      expect([figures.text('health_factor'), figures.text('total_debt_usd'), figures.text('is_liquidatable')]).toEqual([
        (position?.['healthFactor'] as string | undefined) ?? 'MAX',
        (position?.['totalDebtUSD'] as string | undefined) ?? '0.000000',
        ((position?.['liquidatable_because'] ?? []) as readonly string[]).length > 0,
      ])
    }
  },
  LIMIT_MS,
)

test(
  'a batch of 500 wallets, a few with positions, charges for these alone',
  async () => {
    const strangers = Array.from({ length: 500 - world.accounts.length }, (_, index) => toWalletAddress(`no ${index}`))
    const wallets = [...strangers, ...world.accounts.map(({ wallet }) => wallet)]
    const nothing = strangers.map((each) => recordCall(world.comet, 'userBasic', [each], [0n, 0n, 0n, 0, 0]))
    await withAnswers(nothing, async () => {
      const { data, credits } = await createCaller(chain, world).batch({ wallets })
      expect([data.map(({ wallet }) => wallet), credits]).toEqual([
        world.accounts.map(({ wallet }) => wallet),
        15 * world.accounts.length,
      ])
    })
  },
  LIMIT_MS,
)

test(
  'a wallet without anything takes less than 20,000 gas a market, one with everything less than 600,000',
  async () => {
    const markets = [toDeployment(world)]
    const lens = toWalletAddress('lens')
    await chain.rpc.call('anvil_setCode', lens, LENS_RUNTIME)
    const send = createSend(chain.rpc)
    /** Gas of a transaction that reads these wallets. */
    async function measure(wallets: readonly Address[]): Promise<number> {
      const data = encodeRead({ markets, wallets, bytesMax: 1_000_000 }, NO_PRICE_SOURCES)
      const call = { from: STRANGER, to: lens, data }
      expect(decodeLens(await chain.rpc.call<Hex>('eth_call', call)).taken).toBe(wallets.length)
      const [receipt] = (await send([call])) as readonly { readonly gasUsed?: Hex }[]
      return Number(receipt?.gasUsed)
    }
    const strangers = Array.from({ length: 50 }, (_, index) => toWalletAddress(`nothing ${index}`))
    const nothing = strangers.map((each) => recordCall(world.comet, 'userBasic', [each], [0n, 0n, 0n, 0, 0]))
    await withAnswers(nothing, async () => {
      const [one, all] = [await measure(strangers.slice(0, 1)), await measure(strangers)]
      expect((all - one) / (strangers.length - 1)).toBeLessThan(20_000)
      expect((await measure([borrower.wallet])) - one).toBeLessThan(600_000)
    })
  },
  LIMIT_MS,
)
