import { afterAll, beforeAll, expect, test } from 'bun:test'
import { stringToHex } from 'viem'
import { midnightStore } from '../../../../sql/functions.ts'
import type { QuorumResult } from '../../../../src/chain/past/quorum.ts'
import type { ChainClient } from '../../../../src/chain/rpc/client.ts'
import type { BrokenPart, RawAccount, RawReserve } from '../../../../src/family/aave_v3/read/abi.ts'
import { type ChainRead, interpret } from '../../../../src/family/aave_v3/read/position.ts'
import type { AaveV3Target, LendingReader } from '../../../../src/family/aave_v3/read/read.ts'
import { snapshotMarket } from '../../../../src/family/aave_v3/snapshot.ts'
import { lendingSnapshots } from '../../../../src/family/lending/series.ts'
import { createSnapshotTaker } from '../../../../src/finance/series/snapshot_taker.ts'
import { createSnapshotStore } from '../../../../src/finance/series/store.ts'
import { createMidnights, DAY_SEC } from '../../../../src/history/midnight.ts'
import { toWalletAddress } from '../../../devnet/addresses.ts'
import { type TestDatabase, testDatabase } from '../../../support/database.ts'
import { slowClock } from '../../../support/test_clock.ts'

const never = new AbortController().signal
const CHAIN_ID = 5
const DAY = 20_000
const HASH = `0x${'5a'.repeat(32)}` as const
const [HOLDER, UNVALUED, STRANGER] = ['holder', 'unvalued', 'stranger'].map(toWalletAddress) as [
  `0x${string}`,
  `0x${string}`,
  `0x${string}`,
]
const DEPLOYMENT = { market: 'main', poolAddressesProvider: toWalletAddress('main'), startBlock: 0 }
const ZEROS = { collateralUsd: '0.000000', debtUsd: '0.000000', netWorthUsd: '0.000000', healthFactor: 'MAX' }
const SEVEN = { ...ZEROS, collateralUsd: '7.000000', netWorthUsd: '7.000000' }

let database: TestDatabase
beforeAll(async () => {
  database = await testDatabase()
  // The block of the midnight, as it is stored once it is final: no endpoint is asked for it.
  await midnightStore(database.db, {
    chainId: CHAIN_ID,
    day: DAY,
    block: '900',
    hash: HASH.slice(2),
    parentHash: '00'.repeat(32),
    time: String(DAY * DAY_SEC),
    isFinal: true,
    witnesses: 2,
  })
}, 60_000)
afterAll(() => database?.close())

function reserve(id: number, price: bigint | undefined): RawReserve {
  return {
    market: 0,
    id,
    asset: toWalletAddress(`token ${id}`),
    configuration: 1n << 56n,
    liquidityRateRay: 0n,
    variableBorrowRateRay: 0n,
    isolationDebt: 0n,
    price,
    withdrawable: 0n,
    underBorrowCap: 0n,
    graceUntilSec: 0n,
    symbol: stringToHex('TKN', { size: 32 }),
  }
}

/** Has supplied one token of a reserve, which the pool counts as so much. */
function account(wallet: number, reserveId: number, totalCollateral: bigint): RawAccount {
  return {
    wallet,
    market: 0,
    category: 0,
    data: {
      totalCollateral,
      totalDebt: 0n,
      availableBorrows: 0n,
      liquidationThresholdBps: 0n,
      ltvBps: 0n,
      healthFactorWad: 2n ** 256n - 1n,
    },
    holdings: [
      {
        reserve: reserveId,
        isCollateral: true,
        supplied: 1n,
        variableDebt: 0n,
        stableDebt: 0n,
        stableRateRay: 0n,
      },
    ],
  }
}

/** What the chain says if the oracle of one of two reserves fails so. */
function readWith(price: bigint | undefined, broken: readonly BrokenPart[] = []): ChainRead {
  const wallets = [HOLDER, UNVALUED, STRANGER]
  const features = { liquidEModes: true, zeroLtvEModes: true, isolatedEModes: true }
  const sentinel = { refusesLoans: false, delaysLiquidations: false }
  return interpret(
    {
      block: { chainId: CHAIN_ID, number: 900n, timestampSec: BigInt(DAY * DAY_SEC), parentHash: '0x00' },
      taken: wallets.length,
      markets: [{ answered: true, unit: 10n ** 8n, features, sentinel, lenders: [] }],
      categories: [],
      accounts: [account(0, 0, 7n * 10n ** 8n), ...(broken.length > 0 ? [] : [account(1, 1, price ?? 0n)])],
      broken: broken.map((part) => ({ wallet: 1, market: 0, part })),
      reserves: [reserve(0, 7n * 10n ** 8n), reserve(1, price)],
    },
    { deployments: [DEPLOYMENT], wallets },
  )
}

/** Takes the day of all three wallets of such a chain, as so many endpoints agree; what is stored then, by wallet. */
async function taken(found: ChainRead, endpoints: readonly number[]) {
  await database.db.run('delete from lending_snapshot', [])
  const store = createSnapshotStore(database.db, { holder: 'test', table: lendingSnapshots(database.db) })
  const place = {
    client: { chain: { id: CHAIN_ID, name: 'Test', rpcUrls: ['one', 'two'] } } as unknown as ChainClient,
    deployments: [DEPLOYMENT],
  } as unknown as AaveV3Target
  const reader = {
    readAgreed: async (): Promise<QuorumResult<ChainRead>> => ({ value: found, endpoints }),
  } as Partial<LendingReader> as LendingReader
  const midnights = createMidnights({ db: database.db, clock: slowClock })
  const taker = createSnapshotTaker({ midnights, store, clock: slowClock })
  const market = snapshotMarket(reader, place)
  const wallets = [HOLDER, UNVALUED, STRANGER]
  const witnesses = await Promise.all(wallets.map((wallet) => taker.take({ target: market, day: DAY, wallet }, never)))
  expect(witnesses).toEqual(wallets.map(() => endpoints.length))
  return await Promise.all(
    wallets.map(async (wallet) => {
      const rows = await store.list(market, wallet, 10)
      return rows.map(({ day, figures }) => [day, figures])
    }),
  )
}

test.each([
  ['answers zero', readWith(0n)],
  ['does not answer', readWith(undefined)],
  ['is never reached, for a broken token', readWith(1n, ['supplied'])],
] as const)('a market whose oracle %s is stored as a day without figures, never as one of zeros', async (_, found) => {
  for (const endpoints of [[0, 1], [0]]) {
    // A wallet without a position has zeros on that day.
    expect(await taken(found, endpoints)).toEqual([[[DAY, SEVEN]], [[DAY, undefined]], [[DAY, ZEROS]]])
  }
})

test('once the oracle answers for it, the day has figures', async () => {
  const figures = { ...ZEROS, collateralUsd: '3.000000', netWorthUsd: '3.000000' }
  expect(await taken(readWith(3n * 10n ** 8n), [0, 1])).toEqual([[[DAY, SEVEN]], [[DAY, figures]], [[DAY, ZEROS]]])
})
