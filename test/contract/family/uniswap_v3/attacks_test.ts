import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Address } from 'viem'
import type { Database } from '../../../../src/db/database.ts'
import { UNISWAP_V3 as FAMILY } from '../../../../src/family/uniswap_v3/mod.ts'
import type { FinanceClient } from '../../../../src/finance/chain.ts'
import { createHistory, type HistoryService } from '../../../../src/history/mod.ts'
import { silentLog } from '../../../../src/lib/log.ts'
import { blockLoopJob } from '../../../../src/trigger/evaluate/block_loop.ts'
import { toWalletAddress, UNISWAP_V3 } from '../../../devnet/addresses.ts'
import { type Devnet, startDevnet } from '../../../devnet/mod.ts'
import { createAccount } from '../../../support/account/scene.ts'
import { IS_FULL } from '../../../support/cases.ts'
import { testDatabase } from '../../../support/database.ts'
import { DEPLOYMENT } from '../../../support/family/uniswap_v3/support.ts'
import { createTestServices } from '../../../support/family.ts'
import { createFixedClock, slowClock } from '../../../support/test_clock.ts'
import { createTrigger } from '../../../support/trigger/scene.ts'
import {
  type Attack,
  type AttackedToken,
  type AttackStage,
  DAY_SEC,
  HELD_ATTACKS,
  OPEN_ATTACKS,
  startAttackStage,
  TOKEN_USD,
  toDevnetPool,
} from '../../finance/price/pool/route_attacks.ts'
import { createClient, pooledChain, toRaw } from '../../finance/price/pool/world.ts'
import { ask, createRoutes, type Routes } from './ask.ts'

/** Dollars on each side of the positions, and the levels of their triggers. */
const SIDE_USD = 10_000
const BELOW_USD = 15_000
const ABOVE_USD = 60_000
const TOLERANCE = 0.015
/** A mean of five minutes follows a crash within five minutes. */
const CRASH_SEC_MAX = 300
const ROUNDS_MAX = 2_000
const never = new AbortController().signal

interface Owner {
  readonly token: AttackedToken
  readonly wallet: Address
  readonly tokenId: bigint
}

let devnet: Devnet
let db: Database
let history: HistoryService
let client: FinanceClient
let routes: Routes
let stage: AttackStage
const owners: Owner[] = []
let nowSec = 0

beforeAll(async () => {
  devnet = await startDevnet({ ageSec: 60 * DAY_SEC })
  db = (await testDatabase()).db
  stage = await startAttackStage(devnet)
  client = createClient(pooledChain(devnet))
  history = createHistory({ clients: new Map([[1, client]]), db, clock: slowClock, log: silentLog, holder: 'test' })
  routes = createRoutes([client], [DEPLOYMENT])
  for (const token of stage.tokens) owners.push(await addOwner(token))
  await stage.stage.mine(60, 60)
  nowSec = await stage.readTime()
}, 120_000)

afterAll(async () => {
  await history?.close()
  await devnet?.stop()
}, 60_000)

/** An owner of a tenth of the honest pool. */
async function addOwner(token: AttackedToken): Promise<Owner> {
  const wallet = toWalletAddress(`attacked owner of ${token.side}`)
  const pool = await toDevnetPool(token)
  const edge = Math.floor(887_272 / pool.tickSpacing) * pool.tickSpacing
  const amounts = [toRaw(SIDE_USD / TOKEN_USD, 18), toRaw(SIDE_USD, 6)] as const
  const [amount0 = 0n, amount1 = 0n] = token.side === 'token0' ? amounts : amounts.toReversed()
  const range = { pool, tickLower: -edge, tickUpper: edge }
  const { tokenId } = await devnet.v3.mint({ ...range, amount0, amount1, recipient: wallet })
  return { token, wallet, tokenId }
}

/** Sum of the values in the list of an owner. */
async function tellList({ wallet }: Owner): Promise<number> {
  const { reply } = await ask(routes.list, `wallet=${wallet}&full=true`)
  const rows = reply.data as readonly { readonly usd: { readonly total: string | null } | null }[]
  return rows.reduce((sum, { usd }) => sum + Number(usd?.total ?? Number.NaN), 0)
}

/** Starts triggers on the value of both positions, and returns how to evaluate the newest block. */
async function startTriggers() {
  const { organizationId, apiKeyId } = await createAccount(db, { credits: 100_000 })
  for (const { tokenId, token } of owners) {
    for (const clause of [
      { figure: 'value_usd', below: String(BELOW_USD) },
      { figure: 'value_usd', above: String(ABOVE_USD) },
    ]) {
      await createTrigger(db, {
        organizationId,
        apiKeyId,
        chainId: 1,
        family: 'uniswap-v3',
        subject: { manager_address: UNISWAP_V3.manager, token_id: String(tokenId) },
        clause,
        clear: clause.below ?? clause.above ?? null,
        name: `${token.side} ${clause.below === undefined ? 'above' : 'below'}`,
      })
    }
  }
  const watched = FAMILY.configure(new Map([[1, { uniswapV3: [DEPLOYMENT] }]])).watch({
    chainIds: [1],
    servesSolana: false,
    connect: () => createTestServices({ clients: [client], db, history }),
  })
  const watcher = watched?.watcher?.()
  if (watcher === undefined) throw new Error('Cannot watch Uniswap V3')
  const partition = {
    chainId: 1,
    chainName: 'Devnet',
    finality: 'latest',
    shard: 0,
    blindAfterSec: 60,
    leaseSec: 15,
  } as const
  const job = blockLoopJob({
    partition,
    client,
    watchers: new Map([['uniswap-v3', watcher]]),
    db,
    holder: 'test',
    messageContext: { partition, publicUrl: 'https://scope.test', answerPath: () => '/' },
    recorder: { recordBlock: () => {}, recordFailure: () => {}, recordEnd: () => {} },
    onMessagesQueued: () => {},
    clock: createFixedClock(() => nowSec * 1_000),
    log: silentLog,
  })
  return async function evaluate(): Promise<void> {
    nowSec = await stage.readTime()
    const newest = await devnet.client.getBlockNumber({ cacheTime: 0 })
    for (let rounds = 0; rounds < ROUNDS_MAX; rounds++) {
      const [row] = await db.run<{ block: string | null }>('select block from watch_cursor', [])
      if (BigInt(row?.block ?? -1) >= newest) return
      await job.round(never)
    }
    throw new Error(`Cannot evaluate block ${newest} in ${ROUNDS_MAX} rounds`)
  }
}

async function listMessages(): Promise<readonly string[]> {
  const rows = await db.run<{ body: string }>('select body from message order by no', [])
  return rows.map(({ body }) => {
    const { type, data } = JSON.parse(body) as { readonly type: string; readonly data: { readonly name: string } }
    return `${type} ${data.name}`
  })
}

/** Lists the triggers that a type of message names. */
async function listNames(type: string): Promise<readonly string[]> {
  return (await listMessages()).flatMap((message) =>
    message.startsWith(`${type} `) ? [message.slice(type.length + 1)] : [],
  )
}

/** Lists the triggers whose figure cannot be told at the newest block. */
async function listUnknown(): Promise<readonly string[]> {
  const rows = await db.run<{ name: string }>(
    'select w.name from watch w join watch_unseen u using (organization_id, id)',
    [],
  )
  return rows.map(({ name }) => name)
}

/** Value of an honest position over all prices, its tokens at the told price as far as they count. */
function toExpected({ asset, bound = Number.POSITIVE_INFINITY, pushed = 1 }: Attack): number {
  const root = Math.sqrt(pushed)
  return SIDE_USD * root + Math.min((SIDE_USD / root) * asset, bound)
}

test('attacks move no list and fire no trigger but where dollars stand for half an hour; a crash fires it in time', async () => {
  const evaluate = await startTriggers()
  await evaluate()
  const faults: string[] = []
  const check = async (attack: Attack) => {
    for (const owner of owners) {
      const [value, expected] = [await tellList(owner), toExpected(attack)]
      if (!(Math.abs(value / expected - 1) <= TOLERANCE))
        faults.push(`${attack.name}, ${owner.token.side}: ${value}, expected ${expected}`)
    }
    await evaluate()
    faults.push(...(await listUnknown()).map((name) => `${attack.name}: the value of "${name}" is not known`))
  }
  for (const attack of HELD_ATTACKS.filter((_, no) => IS_FULL || no % 4 === 1))
    await stage.play(attack, () => check(attack))
  await evaluate()
  expect(faults).toEqual([])
  expect(await listMessages()).toEqual([])

  // What a stranger can still do, as the guide says.
  for (const attack of IS_FULL ? OPEN_ATTACKS : OPEN_ATTACKS.slice(-1)) await stage.play(attack, () => check(attack))
  await stage.stage.mine(30, 60)
  await evaluate()
  expect(faults).toEqual([])
  const fired = await listNames('trigger.fired')
  expect(new Set(fired)).toEqual(new Set(['token0 below', 'token1 below']))
  // Each is told once that it is over, so that its next message tells the crash.
  await passTime('cleared', { stepSec: 60, secMax: DAY_SEC }, async () => {
    return (await listNames('trigger.cleared')).length === fired.length
  })
  await db.run('delete from message', [])

  // A crash to a quarter of the price: tokens count at a mean of the last minutes, so that the trigger waits for these.
  for (const { world, honest } of stage.tokens) await world.push(world.arbitrageur, honest, TOKEN_USD / 4)
  await passTime('fired in a crash', { stepSec: 30, secMax: CRASH_SEC_MAX }, async () => {
    expect(await listUnknown()).toEqual([])
    return (await listMessages()).length >= owners.length
  })
  expect((await listMessages()).toSorted()).toEqual(['trigger.fired token0 below', 'trigger.fired token1 below'])

  /** Mines and evaluates a block after each step, until `isDone`. */
  async function passTime(
    what: string,
    { stepSec, secMax }: { readonly stepSec: number; readonly secMax: number },
    isDone: () => Promise<boolean>,
  ): Promise<void> {
    for (let passedSec = 0; passedSec === 0 || !(await isDone()); passedSec += stepSec) {
      if (passedSec > secMax) throw new Error(`The triggers are not ${what} within ${secMax} seconds`)
      await stage.stage.mine(1, stepSec)
      await evaluate()
    }
  }
}, 240_000)
