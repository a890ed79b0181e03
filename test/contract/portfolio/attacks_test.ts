import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Address } from 'viem'
import type { Clock } from '../../../src/lib/clock.ts'
import { BANK, TOKENS, toWalletAddress } from '../../devnet/addresses.ts'
import { type Devnet, startDevnet } from '../../devnet/mod.ts'
import { ADAPTIVE_CURVE, CALLS, toMorphoMarket } from '../../devnet/morpho_blue/calls.ts'
import { morphoContracts } from '../../devnet/morpho_blue/compile.ts'
import type { MorphoDevnet } from '../../devnet/morpho_blue/mod.ts'
import { approveCall, deployOracle, percent } from '../../devnet/morpho_blue/tools.ts'
import { IS_FULL } from '../../support/cases.ts'
import { type TestDatabase, testDatabase } from '../../support/database.ts'
import { slowClock } from '../../support/test_clock.ts'
import { type Lister, startLister } from '../family/morpho_blue/list/world.ts'
import {
  type Attack,
  type AttackedToken,
  type AttackStage,
  DAY_SEC,
  HELD_ATTACKS,
  OPEN_ATTACKS,
  sendTokens,
  startAttackStage,
  TOKEN_USD,
} from '../finance/price/pool/route_attacks.ts'
import { pooledChain, toRaw } from '../finance/price/pool/world.ts'
import { transferCall } from '../finance/token/balance/world.ts'
import { createPortfolio, listing, toFigures } from './support.ts'

const CHAIN_ID = 10
/** Tokens of a holder, and of a debtor who has sold them. */
const HELD = 4_000
const OWED = 400_000
/** What the honest pool of 100,000 dollars pays until half the price: 1 − √½ of them. */
const HONEST_BOUND_USD = 29_289
const TOLERANCE = 0.015

/** Wallets of an attacked token. */
interface Victims {
  readonly token: AttackedToken
  readonly holder: Address
  /** Owes in a market whose oracle says a hundredth, so that pools alone hold the debt up. */
  readonly debtor: Address
  /** Owes in a market whose oracle says the right price. */
  readonly witnessed: Address
}

interface Told {
  readonly holder: number
  readonly debtor: number
  readonly witnessed: number
}

let devnet: Devnet
let morpho: MorphoDevnet
let database: TestDatabase
let lister: Lister
let stage: AttackStage
const victims: Victims[] = []
let nowSec = 0
/** The chain's clock. Callers wait longer than on a quiet machine. */
const clock: Clock = { ...slowClock, now: () => nowSec * 1_000 }

beforeAll(async () => {
  devnet = await startDevnet({ chainId: CHAIN_ID, ageSec: 60 * DAY_SEC })
  morpho = await devnet.morpho()
  stage = await startAttackStage(devnet)
  for (const token of stage.tokens) victims.push(await addVictims(token))
  database = await testDatabase()
  const chain = pooledChain(devnet)
  const { prices } = chain
  const { tokens } = listing(
    chain,
    stage.tokens.map(({ world }) => world.token),
  )
  lister = startLister(devnet, { database, overrides: { prices, tokens } })
}, 180_000)

afterAll(async () => {
  await lister?.close()
  await database?.close()
  await devnet?.stop()
}, 60_000)

async function addVictims(token: AttackedToken): Promise<Victims> {
  const [holder, debtor, witnessed] = ['holder', 'debtor', 'witnessed'].map((name) =>
    toWalletAddress(`attacked ${name} of ${token.side}`),
  ) as [Address, Address, Address]
  await devnet.send([sendTokens(token, holder, HELD), approveCall(token.world.token)])
  await borrow(token, { wallet: debtor, oracleUsd: TOKEN_USD / 100 })
  await borrow(token, { wallet: witnessed, oracleUsd: TOKEN_USD })
  return { token, holder, debtor, witnessed }
}

/** A loan against three times as many dollars; what is borrowed is gone. */
async function borrow(
  { world }: AttackedToken,
  { wallet, oracleUsd }: { readonly wallet: Address; readonly oracleUsd: number },
): Promise<void> {
  const codes = await morphoContracts()
  // Value of one raw unit of dollars in raw units of the token, times 10^36.
  const price = (10n ** (18n + 36n) * 100n) / BigInt(oracleUsd * 100) / 10n ** 6n
  const oracle = await deployOracle({ rpc: devnet.rpc, send: devnet.send, codes }, price)
  const tokens = { loanToken: world.token, collateralToken: TOKENS.usdc.address }
  const market = toMorphoMarket({ ...tokens, oracle, irm: ADAPTIVE_CURVE, lltv: percent(86n) })
  await devnet.send([CALLS.createMarket(market)])
  await morpho.supply({ market, wallet: BANK, assets: toRaw(1_000_000, 18) })
  await morpho.supplyCollateral({ market, wallet, assets: toRaw(OWED * TOKEN_USD * 3, 6) })
  await morpho.borrow({ market, wallet, assets: toRaw(OWED, 18) })
  await devnet.send([transferCall(world.token, { from: wallet, to: BANK, value: toRaw(OWED, 18) })])
}

/** A process of its own each time. */
function createProcess() {
  return createPortfolio([lister.client], {
    db: database.db,
    history: lister.history,
    clock,
  })
}

async function tellLive(wallets: Victims): Promise<Told> {
  const portfolio = createProcess()
  const look = async (wallet: Address) => toFigures(await portfolio.balance(`wallet=${wallet}&chain_id=${CHAIN_ID}`))
  const [holder, debtor, witnessed] = [
    await look(wallets.holder),
    await look(wallets.debtor),
    await look(wallets.witnessed),
  ]
  const toUsd = (e6: bigint) => Number(e6) / 1e6
  return { holder: toUsd(holder.net), debtor: toUsd(debtor.debt), witnessed: toUsd(witnessed.debt) }
}

/** What a snapshot of a midnight says. */
interface WireSnapshot {
  readonly timestamp: number
  readonly net_worth_usd: string | null
  readonly debt_usd: string
}

/** The figures of midnights, by their times. */
async function tellMidnights(wallets: Victims): Promise<ReadonlyMap<number, Told>> {
  const portfolio = createProcess()
  const read = async (wallet: Address) => {
    const { reply } = await portfolio.snapshots(`wallet=${wallet}&chain_id=${CHAIN_ID}&max_snapshots=30`)
    return reply.data as readonly WireSnapshot[]
  }
  const [holder, debtor, witnessed] = [
    await read(wallets.holder),
    await read(wallets.debtor),
    await read(wallets.witnessed),
  ]
  return new Map(
    holder.map(({ timestamp, net_worth_usd }, index) => [
      timestamp,
      {
        holder: Number(net_worth_usd),
        debtor: Number(debtor[index]?.debt_usd),
        witnessed: Number(witnessed[index]?.debt_usd),
      },
    ]),
  )
}

function toExpected({ asset, debt, bound = HONEST_BOUND_USD }: Attack): Told {
  const owed = OWED * TOKEN_USD
  return {
    holder: Math.min(HELD * TOKEN_USD * asset, bound),
    debtor: owed * debt,
    // The oracle of the market raises a debt, and never lowers it.
    witnessed: owed * Math.max(1, debt),
  }
}

function findFaults(told: Told | undefined, attack: Attack, label: string): string[] {
  const expected = toExpected(attack)
  return (['holder', 'debtor', 'witnessed'] as const).flatMap((who) => {
    const value = told?.[who] ?? Number.NaN
    const isRight = Math.abs(value / expected[who] - 1) <= TOLERANCE
    return isRight ? [] : [`${attack.name}, ${label}: ${who} ${value}, expected ${expected[who]}`]
  })
}

test('live and at midnights, attacks move no holding and no debt but where dollars stand for half an hour', async () => {
  const attacks = [...HELD_ATTACKS, ...OPEN_ATTACKS]
  const played: { readonly attack: Attack; readonly midnightSec: number }[] = []
  const faults: string[] = []
  for (const attack of attacks) {
    await stage.play(attack, async (midnightSec) => {
      nowSec = await stage.readTime()
      played.push({ attack, midnightSec })
      for (const each of victims) {
        faults.push(...findFaults(await tellLive(each), attack, `${each.token.side}, live`))
      }
    })
  }
  nowSec = await stage.readTime()
  for (const each of victims) {
    const midnights = await tellMidnights(each)
    // Another process finds what was stored: of one token, and of each with `SEEDS=full`.
    if (IS_FULL || each === victims[0]) expect(await tellMidnights(each)).toEqual(midnights)
    for (const { attack, midnightSec } of played) {
      faults.push(...findFaults(midnights.get(midnightSec), attack, `${each.token.side}, midnight`))
    }
  }
  expect(faults).toEqual([])
}, 240_000)
