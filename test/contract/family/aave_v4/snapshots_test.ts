import { afterAll, beforeAll, expect, test } from 'bun:test'
import { ISpokeV4_ABI } from '@aave-dao/aave-address-book/abis'
import { type Address, encodeFunctionData, encodeFunctionResult } from 'viem'
import { AAVE_V4 } from '../../../../src/family/aave_v4/mod.ts'
import type { Clock } from '../../../../src/lib/clock.ts'
import { PendingError } from '../../../../src/lib/error.ts'
import { recordSnapshot } from '../../../devnet/aave_v4/record.ts'
import { placeReplay, type RecordedCall } from '../../../devnet/aave_v4/replay.ts'
import { readVectors, type Snapshot, type VectorSpoke } from '../../../devnet/aave_v4/vectors.ts'
import { toWalletAddress } from '../../../devnet/addresses.ts'
import { callRoute } from '../../../support/call_route.ts'
import { type TestDatabase, testDatabase } from '../../../support/database.ts'
import { createFamilyRoutes } from '../../../support/family.ts'
import { slowClock } from '../../../support/test_clock.ts'
import { createCaller, type ReplayedChain, startReplayedChain, toRow } from './support.ts'

const LIMIT_MS = 180_000
const CHAIN_ID = 1
const DAY_SEC = 86_400
const [valued, unpriced] = readVectors().snapshots as [Snapshot, Snapshot]
const [main, spoke] = Object.entries(valued.world.spokes).find(([, { name }]) => name === 'MAIN_SPOKE') as [
  Address,
  VectorSpoke,
]
const wallets = Object.keys(spoke.users) as Address[]
const findAccount = ({ answers }: Snapshot, wallet: Address) => answers.spokes[main]?.[wallet]?.account
const isOwing = (wallet: Address) => (findAccount(valued, wallet)?.borrowCount ?? '0') !== '0'
/** Has a debt, and a value at every midnight but the one at which a feed is dead. */
const debtor = wallets.find((each) => isOwing(each) && findAccount(unpriced, each) === undefined) as Address
/** Takes everything back before the last midnight, and leaves a flag. */
const leaver = wallets.find((each) => each !== debtor && isOwing(each)) as Address
const STRANGER = toWalletAddress('stranger')
/** What is in place at each midnight. */
const PLACED = [valued, valued, unpriced, valued]
const UNPRICED = PLACED.indexOf(unpriced)
const LAST = PLACED.length - 1
/** Its midnights are the first six days. */
const AGE_DAYS = 10

let chain: ReplayedChain
let database: TestDatabase
const days: number[] = []
/** Blocks of the midnights. */
const blocks: number[] = []

/** Says that a wallet has nothing in the spoke, but perhaps a flag of its first reserve. */
function recordNothing(wallet: Address, { hasFlag }: { readonly hasFlag: boolean }): RecordedCall[] {
  const nothing = { drawnShares: 0n, premiumShares: 0n, premiumOffsetRay: 0n, suppliedShares: 0n, dynamicConfigKey: 0 }
  const record = (functionName: string, args: readonly unknown[], result: unknown): RecordedCall => ({
    to: main,
    data: encodeFunctionData({ abi: ISpokeV4_ABI, functionName, args } as Parameters<typeof encodeFunctionData>[0]),
    answer: encodeFunctionResult({ abi: ISpokeV4_ABI, functionName, result } as Parameters<
      typeof encodeFunctionResult
    >[0]),
  })
  return [
    record('getUserLastRiskPremium', [wallet], 0n),
    ...spoke.reserves.flatMap((_, id) => [
      record('getUserPosition', [BigInt(id), wallet], nothing),
      record('getUserReserveStatus', [BigInt(id), wallet], [hasFlag && id === 0, false]),
    ]),
  ]
}

async function mineAt(timestampSec: number): Promise<number> {
  await chain.rpc.call('evm_setNextBlockTimestamp', timestampSec)
  await chain.rpc.call('evm_mine')
  return Number(await chain.rpc.call<string>('eth_blockNumber'))
}

beforeAll(async () => {
  database = await testDatabase()
  // A clock at its end is days behind that of the database.
  chain = await startReplayedChain({ timestampSec: Math.floor(Date.now() / 1_000) - AGE_DAYS * DAY_SEC })
  const { timestamp } = await chain.rpc.call<{ timestamp: string }>('eth_getBlockByNumber', 'latest', false)
  const start = (Math.floor(Number(timestamp) / DAY_SEC) + 1) * DAY_SEC
  // Midnights without the spoke, then those with it. What is placed is in the newest block already.
  await mineAt(start)
  await mineAt(start + DAY_SEC)
  for (const [index, snapshot] of PLACED.entries()) {
    days.push(start + (index + 2) * DAY_SEC)
    blocks.push(await mineAt(days[index] as number))
    const left = index === LAST ? recordNothing(leaver, { hasFlag: true }) : []
    await placeReplay(chain.rpc, [...recordSnapshot(snapshot), ...recordNothing(STRANGER, { hasFlag: false }), ...left])
  }
  await mineAt((days[LAST] as number) + 3_600)
}, LIMIT_MS)
afterAll(async () => {
  await chain?.anvil.stop()
  await database?.close()
}, LIMIT_MS)

/** Asks for a series so long after its last midnight, again while days of it are still being read. */
async function readSnapshots(wallet: Address, { more = '', laterSec = 3_600 } = {}) {
  const clock: Clock = { ...slowClock, now: () => ((days[LAST] as number) + laterSec) * 1_000 }
  const rows = [[CHAIN_ID, toRow(valued)]] as const
  const routes = createFamilyRoutes(AAVE_V4, { rows, clients: [chain.client], db: database.db, clock })
  const route = routes.find(({ path }) => path.endsWith('/snapshots'))
  if (route === undefined) throw new Error('Cannot find the route')
  const ask = (): ReturnType<typeof callRoute> =>
    callRoute(route, { params: { chain_id: '1' }, query: `wallet=${wallet}${more}` }).catch((error: unknown) => {
      if (!(error instanceof PendingError)) throw error
      return ask()
    })
  const { reply, credits } = await ask()
  return { data: reply.data as readonly Readonly<Record<string, unknown>>[], credits }
}

/** What the list says of a wallet at a midnight, as a snapshot has it. */
async function readListed(wallet: Address, index: number) {
  const { list } = createCaller(chain, valued)
  const { data } = await list(`wallet=${wallet}&chain_id=1&market_id=main&at_block=${blocks[index]}`)
  const [position] = data[0]?.positions ?? []
  return {
    timestamp: days[index],
    collateral_usd: position?.['totalCollateralUSD'],
    debt_usd: position?.['totalDebtUSD'],
    net_worth_usd: position?.['netWorthUSD'],
    health_factor: position?.['healthFactor'],
  }
}

test(
  'each midnight from the first trace on is what the list says at its block; one without a value is left out',
  async () => {
    const listed = await Promise.all([0, 1, LAST].map((index) => readListed(debtor, index)))
    expect(listed[0]?.debt_usd).toMatch(/[1-9]/)
    expect(await readSnapshots(debtor)).toEqual({ data: listed, credits: 2 })
    // A midnight that the chain has no block after has not passed there, whichever clock says so.
    expect((await readSnapshots(debtor, { laterSec: DAY_SEC + 60 })).data).toEqual(listed)
    await expect(readListed(debtor, UNPRICED)).rejects.toThrow('Cannot value spoke "main"')
  },
  LIMIT_MS,
)

test(
  'a wallet that took everything back keeps its series by the flag that it left, with zeros since',
  async () => {
    const { data } = await readSnapshots(leaver)
    expect(data.slice(0, 2)).toEqual([await readListed(leaver, 0), await readListed(leaver, 1)])
    expect(data.at(-1)).toEqual({
      timestamp: days[LAST],
      collateral_usd: '0.000000',
      debt_usd: '0.000000',
      net_worth_usd: '0.000000',
      health_factor: 'MAX',
    })
  },
  LIMIT_MS,
)

test(
  'a wallet without a trace has none, and a spoke of no chain is refused',
  async () => {
    expect(await readSnapshots(STRANGER)).toEqual({ data: [], credits: 2 })
    await expect(readSnapshots(STRANGER, { more: '&market_id=gold' })).rejects.toThrow('expected one of "main"')
  },
  LIMIT_MS,
)
