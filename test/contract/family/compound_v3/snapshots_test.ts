import { afterAll, beforeAll, expect, test } from 'bun:test'
import { COMPOUND_V3 } from '../../../../src/family/compound_v3/mod.ts'
import type { Clock } from '../../../../src/lib/clock.ts'
import { PendingError } from '../../../../src/lib/error.ts'
import { placeReplay } from '../../../devnet/aave_v4/replay.ts'
import { toWalletAddress } from '../../../devnet/addresses.ts'
import { recordCall, toUsdFeed } from '../../../devnet/compound_v3/record.ts'
import { type VectorAccount, WORLDS, type World } from '../../../devnet/compound_v3/vectors.ts'
import { callRoute } from '../../../support/call_route.ts'
import { type TestDatabase, testDatabase } from '../../../support/database.ts'
import { CHAIN_ID } from '../../../support/family/replay_node.ts'
import { createFamilyRoutes } from '../../../support/family.ts'
import { slowClock } from '../../../support/test_clock.ts'
import { createCaller, type ReplayedChain, startReplayedChain, toDeployment } from './support.ts'

const LIMIT_MS = 180_000
const DAY_SEC = 86_400
const [world] = WORLDS as [World]
/** The first midnight after the world's block. */
const FIRST = (Math.floor(Number(world.block.timestamp) / DAY_SEC) + 1) * DAY_SEC
const DAYS = [0, 1, 2, 3].map((day) => FIRST + day * DAY_SEC)
const UNPRICED = 2
const STRANGER = toWalletAddress('stranger')
const isBorrower = ({ principal }: VectorAccount) => principal.startsWith('-')
const wallets = [world.accounts.find(isBorrower), world.accounts.find((each) => !isBorrower(each))].map(
  (each) => (each as VectorAccount).wallet,
)

let chain: ReplayedChain
let database: TestDatabase
/** Blocks of the midnights. */
const blocks: number[] = []

beforeAll(async () => {
  database = await testDatabase()
  chain = await startReplayedChain()
  // Midnights without a market, then those with it; at one of them a token has no price. What is placed is in the newest
  // block already.
  for (const day of [-3, -2]) await chain.mineAt(BigInt(FIRST + day * DAY_SEC))
  await chain.mineAt(BigInt(world.totals.lastAccrualTime))
  await chain.place(world, [recordCall(world.comet, 'userBasic', [STRANGER], [0n, 0n, 0n, 0, 0])])
  const price = recordCall(toUsdFeed(world.base), 'latestRoundData', [], [1n, 0n, 0n, 0n, 1n])
  for (const [index, time] of DAYS.entries()) {
    blocks.push(await chain.mineAt(BigInt(time)))
    if (index === UNPRICED) await placeReplay(chain.rpc, [price])
    else await chain.place(world)
  }
  await chain.mineAt(BigInt((DAYS.at(-1) ?? 0) + 3_600))
}, LIMIT_MS)
afterAll(async () => {
  await chain?.anvil.stop()
  await database?.close()
}, LIMIT_MS)

/** Asks for a series an hour after its last midnight, again while days of it are still being read. */
async function readSnapshots(wallet: string, market = 'usdc') {
  const clock: Clock = { ...slowClock, now: () => ((DAYS.at(-1) ?? 0) + 3_600) * 1_000 }
  const rows = [[CHAIN_ID, { compoundV3: [toDeployment(world)] }]] as const
  const routes = createFamilyRoutes(COMPOUND_V3, { rows, clients: [chain.client], db: database.db, clock })
  const route = routes.find(({ path }) => path.endsWith('/snapshots'))
  if (route === undefined) throw new Error('Cannot find the route')
  const ask = (): ReturnType<typeof callRoute> =>
    callRoute(route, { params: { chain_id: '1' }, query: `wallet=${wallet}&market_id=${market}` }).catch(
      (error: unknown) => {
        if (!(error instanceof PendingError)) throw error
        return ask()
      },
    )
  const { reply, credits } = await ask()
  return { data: reply.data as readonly Readonly<Record<string, unknown>>[], credits }
}

test(
  'each midnight from the first trace on is what the list says at its block; one without a price is left out',
  async () => {
    const { list } = createCaller(chain, world)
    for (const wallet of wallets) {
      const { data, credits } = await readSnapshots(wallet)
      const told = DAYS.filter((_, index) => index !== UNPRICED)
      expect([data.map(({ timestamp }) => timestamp), credits]).toEqual([told, 2])
      for (const snapshot of data) {
        const block = blocks[DAYS.indexOf(Number(snapshot['timestamp']))]
        const [position] = (await list(`wallet=${wallet}&chain_id=1&at_block=${block}`)).data[0]?.positions ?? []
        expect(snapshot).toEqual({
          timestamp: snapshot['timestamp'],
          collateral_usd: position?.['totalCollateralUSD'],
          debt_usd: position?.['totalDebtUSD'],
          net_worth_usd: position?.['netWorthUSD'],
          health_factor: position?.['healthFactor'],
        })
      }
      // Interest moves the figures from day to day.
      expect(new Set(data.map((each) => each['net_worth_usd'])).size).toBe(told.length)
    }
  },
  LIMIT_MS,
)

test(
  'a wallet without a trace has none, and a market of no chain is refused',
  async () => {
    expect(await readSnapshots(STRANGER)).toEqual({ data: [], credits: 2 })
    await expect(readSnapshots(STRANGER, 'weth')).rejects.toThrow('expected one of "usdc"')
  },
  LIMIT_MS,
)
