import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Address } from 'viem'
import { readVectors, type Snapshot, type VectorAnswers, type VectorSpoke } from '../../../devnet/aave_v4/vectors.ts'
import {
  createCaller,
  listWallets,
  type ReplayedChain,
  startReplayedChain,
  toMarketId,
  type WireAsset,
  type WireEntry,
} from './support.ts'

const LIMIT_MS = 300_000
const { snapshots } = readVectors()

let chain: ReplayedChain
/** Blocks at which the snapshots are there. */
const blocks: number[] = []

beforeAll(async () => {
  chain = await startReplayedChain()
  for (const snapshot of snapshots) blocks.push(await chain.place(snapshot))
}, LIMIT_MS)
afterAll(() => chain?.anvil.stop(), LIMIT_MS)

/** What a withdrawal of one unit more reverts with, as answers say it. */
const LIMITS: Readonly<Record<string, string | null>> = {
  all: null,
  ReservePaused: 'paused',
  SpokeHalted: 'halted',
  SpokeNotActive: 'inactive',
  InsufficientLiquidity: 'liquidity',
  HealthFactorBelowThreshold: 'health',
  InvalidPremiumChange: 'premium_threshold',
  InvalidPrice: 'price',
}
const RAY = 10n ** 27n

/** `numerator / 10^digits` with six digits, half away from zero. */
function toUsd(numerator: bigint, digits: number): string {
  const scale = 10n ** BigInt(digits - 6)
  const millionths = (2n * numerator + (numerator < 0n ? -scale : scale)) / (2n * scale)
  const text = String(millionths < 0n ? -millionths : millionths).padStart(7, '0')
  return `${millionths < 0n ? '-' : ''}${text.slice(0, -6)}.${text.slice(-6)}`
}

/** `units / 10^digits` with so many digits, truncated. */
function toFixed(units: bigint, digits: number, shown: number): string {
  const text = String(units / 10n ** BigInt(digits - shown)).padStart(shown + 1, '0')
  return `${text.slice(0, -shown)}.${text.slice(-shown)}`
}

const toHealth = (wad: bigint): string => (wad >= (1n << 256n) - 1n ? 'MAX' : toFixed(wad, 18, 4))
const toBps = (bps: bigint): string => `${toFixed(bps, 4, 4)}0000`

function toRaw(text: unknown, decimals: number): bigint {
  const [whole = '', fraction = ''] = String(text).split('.')
  return BigInt(whole + fraction.padEnd(decimals, '0'))
}

/** The places of a snapshot: each wallet in each spoke. */
function listPlaces({ world, answers }: Snapshot, wallets: readonly Address[]) {
  return (Object.entries(world.spokes) as [Address, VectorSpoke][]).flatMap(([address, spoke]) =>
    wallets.map((wallet) => {
      const user = spoke.users[wallet]
      const held = Object.entries(user?.positions ?? {})
      const isHeld = held.some(([, { suppliedShares, drawnShares, premiumShares }]) =>
        [suppliedShares, drawnShares, premiumShares].some((shares) => shares !== '0'),
      )
      const used = new Set(held.map(([id]) => Number(id)))
      for (const id of spoke.reserves.keys()) if ((BigInt(user?.word ?? 0) >> BigInt(2 * id)) & 3n) used.add(id)
      const isPriced = [...used].every((id) => spoke.reserves[id]?.price !== null)
      return { wallet, address, spoke, user, isHeld, isPriced, told: answers.spokes[address]?.[wallet] }
    }),
  )
}

type Place = ReturnType<typeof listPlaces>[number]

/** Every figure that the contracts gave, as the list must show it. */
function expectFigures(
  place: Place,
  told: VectorAnswers & { readonly account: object },
  entry: WireEntry | undefined,
): number {
  const { spoke, user } = place
  const [position] = entry?.positions ?? []
  const { account, refresh } = told
  if (position === undefined || account === undefined || user === undefined) throw new Error('Expected a position')
  let compared = 0
  const same = (actual: unknown, expected: unknown, what: string): void => {
    compared++
    if (actual !== expected) {
      throw new Error(`${what} of ${place.wallet} in ${spoke.name}: ${String(actual)}, expected ${String(expected)}`)
    }
  }
  const debt = BigInt(account.totalDebtValueRay)
  same(position['healthFactor'], toHealth(BigInt(account.healthFactor)), 'healthFactor')
  same(position['totalCollateralUSD'], toUsd(BigInt(account.totalCollateralValue), 26), 'totalCollateralUSD')
  same(position['totalDebtUSD'], toUsd(debt, 53), 'totalDebtUSD')
  same(position['riskPremium'], toBps(BigInt(user.riskPremium)), 'riskPremium')
  const toAfter = (text: string | undefined, format: (value: bigint) => string) =>
    text === undefined ? null : format(BigInt(text))
  same(position['riskPremiumAfterRefresh'], toAfter(refresh?.riskPremium.riskPremium, toBps), 'riskPremiumAfterRefresh')
  same(
    position['healthFactorAfterRefresh'],
    toAfter(refresh?.dynamicConfig.healthFactor, toHealth),
    'healthFactorAfterRefresh',
  )
  same(position['targetHealthFactor'], toHealth(BigInt(spoke.liq.targetHealthFactor)), 'targetHealthFactor')
  let worth = -debt
  for (const [id, reserve] of spoke.reserves.entries()) {
    const amounts = told.reserves[id]
    const [supply, loan] = [position.suppliedAssets, position.borrowedAssets].map((assets): WireAsset | undefined =>
      assets.find(({ reserveId }) => reserveId === id),
    )
    const supplied = BigInt(amounts?.supplied ?? 0)
    const [drawn, premium] = [BigInt(amounts?.drawnDebt ?? 0), BigInt(amounts?.premiumDebt ?? 0)]
    const price = BigInt(reserve.price ?? 0)
    const { decimals } = reserve
    same(supply === undefined, supplied === 0n, `supply of reserve ${id}`)
    same(loan === undefined, drawn + premium === 0n, `debt of reserve ${id}`)
    if (supply !== undefined) {
      worth += supplied * price * 10n ** BigInt(18 - decimals) * RAY
      same(toRaw(supply.amount, decimals), supplied, `amount of reserve ${id}`)
      same(supply['amountSuppliedUSD'], toUsd(supplied * price * 10n ** 18n, 26 + decimals), 'amountSuppliedUSD')
      if (amounts?.maxWithdraw !== undefined) {
        same(supply.withdrawable?.raw, amounts.maxWithdraw, `withdrawable of reserve ${id}`)
        same(supply['limited_by'], LIMITS[amounts.maxWithdrawStop ?? ''], `limited_by of reserve ${id}`)
      }
      const bonus = BigInt(account.healthFactor) < 10n ** 18n ? amounts?.liquidationBonus : undefined
      if (supply['isCollateral'] === true && bonus !== undefined) {
        same(supply['liquidationBonus'], toBps(BigInt(bonus) - 10_000n), `liquidationBonus of reserve ${id}`)
      }
    }
    if (loan !== undefined) {
      same(toRaw(loan['drawn'], decimals), drawn, `drawn debt of reserve ${id}`)
      same(toRaw(loan['premium'], decimals), premium, `premium of reserve ${id}`)
      same(toRaw(loan.amount, decimals), drawn + premium, `debt of reserve ${id}`)
    }
  }
  same(position['netWorthUSD'], toUsd(worth, 53), 'netWorthUSD')
  return compared
}

for (const [index, snapshot] of snapshots.entries()) {
  test(
    `the list equals what the contracts answered, to the unit: ${snapshot.label}`,
    async () => {
      const { list } = createCaller(chain, snapshot)
      let [compared, held] = [0, 0]
      for (const place of listPlaces(snapshot, listWallets(snapshot))) {
        const { wallet, spoke, isHeld, isPriced, told } = place
        const query = `wallet=${wallet}&chain_id=1&market_id=${toMarketId(spoke.name)}&at_block=${blocks[index]}`
        if (isHeld && !isPriced) {
          await expect(list(query)).rejects.toThrow(/has no price/)
          continue
        }
        const { data, credits } = await list(query)
        expect([data.length, credits]).toEqual(isHeld ? [1, 15] : [0, 0])
        if (!isHeld) continue
        held++
        if (told?.account === undefined) throw new Error(`The vectors have no account of ${wallet}`)
        compared += expectFigures(place, { ...told, account: told.account }, data[0])
      }
      expect(held).toBeGreaterThan(20)
      expect(compared).toBeGreaterThan(600)
    },
    LIMIT_MS,
  )
}

for (const [index, snapshot] of snapshots.entries()) {
  test(
    `the batch has the figures of the list, and charges for wallets with positions: ${snapshot.label}`,
    async () => {
      const { list, batch } = createCaller(chain, snapshot)
      const at = blocks[index]
      for (const [address, spoke] of Object.entries(snapshot.world.spokes) as [Address, VectorSpoke][]) {
        const market = toMarketId(spoke.name)
        const places = listPlaces(snapshot, listWallets(snapshot)).filter((place) => place.address === address)
        const wallets = places.filter(({ isHeld, isPriced }) => !isHeld || isPriced).map(({ wallet }) => wallet)
        const { data, credits } = await batch({ wallets, chain_id: 1, market_id: market, at_block: at })
        const held = places.filter(({ isHeld, isPriced }) => isHeld && isPriced)
        expect([data.map(({ wallet }) => wallet), credits]).toEqual([
          held.map(({ wallet }) => wallet),
          15 * held.length,
        ])
        const [last] = held.slice(-1)
        if (last === undefined) continue
        const own = await list(`wallet=${last.wallet}&chain_id=1&market_id=${market}&at_block=${at}`)
        const [{ positions: [position] = [], calculations: [calculation] = [] } = {}] = own.data
        const [reduced] = data.slice(-1)
        expect(reduced?.positions).toEqual([
          { marketId: market, healthFactor: position?.['healthFactor'], netWorthUSD: position?.['netWorthUSD'] },
        ] as never)
        expect(reduced?.calculations[0]?.['netAPY']).toBe(calculation?.['netAPY'] as never)
      }
    },
    LIMIT_MS,
  )
}
