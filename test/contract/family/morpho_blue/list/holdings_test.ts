import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type Address, parseAbi } from 'viem'
import { createHoldingsReader } from '../../../../../src/family/morpho_blue/holdings.ts'
import { createEnteredMarketsReader } from '../../../../../src/family/morpho_blue/read/entered_markets.ts'
import { createPositionReader } from '../../../../../src/family/morpho_blue/read/read.ts'
import { TOKENS } from '../../../../devnet/addresses.ts'
import { type Devnet, startDevnet } from '../../../../devnet/mod.ts'
import type { MorphoDevnet } from '../../../../devnet/morpho_blue/mod.ts'
import { type TestDatabase, testDatabase } from '../../../../support/database.ts'
import { readHoldings } from '../../../../support/holdings.ts'
import { slowClock } from '../../../../support/test_clock.ts'
import { DEPLOYMENT } from '../support.ts'
import { type Lister, readTruth, startLister } from './world.ts'

const BUILD_LIMIT_MS = 180_000
const FEED = parseAbi(['function latestRoundData() view returns (uint80, int256, uint256, uint256, uint80)'])

let devnet: Devnet
let morpho: MorphoDevnet
let database: TestDatabase
let lister: Lister
let wallets: readonly Address[]

beforeAll(async () => {
  devnet = await startDevnet({ ageSec: 3 * 365 * 86_400 })
  morpho = await devnet.morpho()
  const random = await morpho.startRandom({ seed: 20_261_124, count: 12 })
  for (let round = 0; round < 8; round++) await random.round()
  wallets = [...Object.values(morpho.wallets), ...random.wallets]
  database = await testDatabase()
  lister = startLister(devnet, { database })
}, BUILD_LIMIT_MS)
afterAll(async () => {
  await lister?.close()
  await database?.close()
  await devnet?.stop()
}, BUILD_LIMIT_MS)

function readWalletHoldings(wallet: Address, positionsMax?: number) {
  const { client, history } = lister
  const clients = new Map([[1, client]])
  const reader = createPositionReader({ clients, deployments: new Map([[1, DEPLOYMENT]]), clock: slowClock })
  const entered = createEnteredMarketsReader({ reader, history, db: database.db })
  const asked = { wallet, ...(positionsMax === undefined ? {} : { positionsMax }) }
  return readHoldings(createHoldingsReader({ reader, entered }), client, asked)
}

test('has what was lent, the collateral and the debt of every market that the list has, in raw units, at the feeds’ prices', async () => {
  const seen = { lent: 0, collateral: 0, borrowed: 0, exceeds: 0, priced: new Set<Address>() }
  const answers = new Map<Address, bigint>()
  for (const { address, feed } of Object.values(TOKENS)) {
    const [, answer] = await devnet.client.readContract({ abi: FEED, address: feed, functionName: 'latestRoundData' })
    answers.set(address, answer)
  }
  for (const wallet of wallets) {
    const [held, { data }] = await Promise.all([readWalletHoldings(wallet), lister.ask({ wallet })])
    const ids = (data[0]?.positions ?? []).map(({ marketId }) => marketId)
    const block = Number(held?.block.number)
    const markets = [...new Set(held?.rows.map(({ position }) => position['market_id']))].sort()
    expect(markets).toEqual(ids)
    const all = [...Object.values(morpho.markets)].filter(({ id }) => ids.includes(id))
    const truth = await readTruth(devnet, { markets: all, wallet, block })
    for (const { id, params } of all) {
      const of = (kind: string, part?: string) =>
        held?.rows.find(
          ({ position, kind: its }) => position['market_id'] === id && its === kind && position['part'] === part,
        )
      const [lent, collateral, debt] = [of('supplied', 'lent'), of('supplied', 'collateral'), of('borrowed')]
      expect([lent, collateral, debt].map((row) => row?.amount ?? 0n)).toEqual([
        truth.get(id)?.supplied ?? 0n,
        truth.get(id)?.collateral ?? 0n,
        truth.get(id)?.owed ?? 0n,
      ])
      expect([lent, debt].flatMap((row) => row?.token.address ?? [])).not.toContain(params.collateralToken)
      expect(debt?.refused).toBeUndefined()
      if (lent !== undefined) seen.lent++
      if (collateral !== undefined) seen.collateral++
      if (debt !== undefined) seen.borrowed++
      const { totalSupplyAssets, totalBorrowAssets } = await morpho.readAccrued({ id, params }, wallet)
      const exceeds = (lent?.amount ?? 0n) > totalSupplyAssets - totalBorrowAssets
      expect((lent?.payable?.amount ?? lent?.amount ?? 0n) < (lent?.amount ?? 0n)).toBe(exceeds)
      if (exceeds) seen.exceeds++
    }
    // Never by the oracle of a permissionless market.
    for (const { token, price } of held?.rows ?? []) {
      const units = answers.get(token.address)
      expect(price).toMatchObject(
        units === undefined
          ? { kind: 'missing', hasSource: false }
          : { kind: 'price', price: { units, scale: 8, source: 'feed' } },
      )
      if (units !== undefined) seen.priced.add(token.address)
    }
  }
  expect(seen.lent).toBeGreaterThan(7)
  expect(seen.collateral).toBeGreaterThan(7)
  expect(seen.borrowed).toBeGreaterThan(5)
  expect(seen.exceeds).toBeGreaterThan(0)
  expect(seen.priced).toContain(TOKENS.weth.address)
  expect(seen.priced).toContain(TOKENS.usdc.address)
}, 60_000)

test('marks supplies that cannot be withdrawn because interest cannot be accrued, and still counts debts', async () => {
  await morpho.setLinearIrm({ base: 1n, slope: 1n, silent: true })
  const [lender, debtor] = [
    await readWalletHoldings(morpho.wallets.supplier),
    await readWalletHoldings(morpho.wallets.borrower),
  ]
  await morpho.setLinearIrm({ base: 634_195_839n, slope: 3_170_979_198n })
  const inLinear = (held: typeof lender) =>
    held?.rows.filter(({ position }) => position['market_id'] === morpho.markets.linear.id) ?? []
  expect(inLinear(lender).map(({ refused }) => refused?.reason)).toEqual(['withdrawal_reverts'])
  expect(inLinear(debtor).map(({ kind, refused }) => [kind, refused?.reason])).toEqual([
    ['supplied', 'withdrawal_reverts'],
    ['borrowed', undefined],
  ])
})

test('of too many markets reads the first ones and counts the rest, and has nothing for a wallet without any', async () => {
  const [all, first] = [
    await readWalletHoldings(morpho.wallets.supplier),
    await readWalletHoldings(morpho.wallets.supplier, 2),
  ]
  const listMarkets = (held: typeof all) => new Set(held?.rows.map(({ position }) => position['market_id']))
  expect(first?.omitted).toEqual({ family: 'morpho-blue', kind: 'supplied', count: 6 })
  expect(listMarkets(first).size).toBeWithin(1, 3)
  expect([...listMarkets(first)].filter((market) => !listMarkets(all).has(market))).toEqual([])
  const none = await readWalletHoldings(morpho.wallets.none)
  expect([none?.rows, none?.omitted]).toEqual([[], undefined])
})
