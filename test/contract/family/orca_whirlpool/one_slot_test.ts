import { afterAll, expect, test } from 'bun:test'
import { computeFigures } from '../../../../src/family/orca_whirlpool/math/figures.ts'
import { decodePool, decodePosition, decodeTick } from '../../../../src/family/orca_whirlpool/read/layout.ts'
import { caseCount } from '../../../support/cases.ts'
import { orcaStage } from '../../../support/family/orca_whirlpool/stage.ts'
import { type ServedAccounts, toFakeAddress } from '../../../support/kamino.ts'
import { type OrcaCase, orcaAccounts, orcaCase } from '../../../support/orca_vectors.ts'
import { startSolanaDouble } from '../../../support/solana.ts'
import { createPatientClock } from '../../../support/test_clock.ts'

const WALLET = toFakeAddress('wallet')
const SLOT = 432_000 * 925
const NOW_SEC = Math.floor(Date.now() / 1_000)
/** From this slot on, one token belongs to another wallet. */
const SOLD_AT = SLOT + Math.floor(1.2 * caseCount(1_000, 60))
const ANSWERS = caseCount(1_000, 60)
const AT_ONCE = 8
/** Everything changed three times, or a machine at its limits took a second for an answer. */
const REFUSED = /changed while (it was|they were) read|gave no answer in time/

const double = startSolanaDouble({ slot: SLOT })
double.clockSec = NOW_SEC
double.slotsPerRead = 1
afterAll(() => double.stop(), 60_000)

/** A state whose accounts all change with each slot. */
function at(state: OrcaCase, slot: number, wallet: string): OrcaCase {
  const plus = (text: string, by: number) => (BigInt(text) + BigInt(slot * by)).toString()
  const { pool, position, lower, upper, rewardVaults } = state
  const tick = (each: typeof lower) =>
    each && { ...each, outsideA: plus(each.outsideA, 7), outsideB: plus(each.outsideB, 9) }
  return {
    ...state,
    wallet,
    pool: {
      ...pool,
      growthA: plus(pool.growthA, 1_000_003),
      growthB: plus(pool.growthB, 1_000_033),
      feeRate: slot % 10_000,
      rewardsUpdatedAt: String(NOW_SEC - 5 - (slot % 60)),
    },
    position: { ...position, owedA: String(slot), owedB: String(slot * 3) },
    lower: tick(lower),
    upper: tick(upper),
    rewardVaults: rewardVaults.map((_, index) => String(slot * (index + 1))),
  }
}

/** An empty position whose range changes with each slot. */
function reset(state: OrcaCase, slot: number): OrcaCase {
  const lower = state.pool.tickSpacing * ((slot % 200) - 100)
  return {
    ...at(state, slot, WALLET),
    position: { ...state.position, owedA: String(slot), lower, upper: lower + 64_000 * 2 },
  }
}

const HELD = orcaCase('edge/in-range')
const SOLD = orcaCase('edge/taxed-next-epoch')
const BUNDLED = orcaCase('edge/mixed-arrays')
const EMPTY = orcaCase('edge/no-liquidity')

const made = new Map<number, { readonly states: readonly OrcaCase[]; readonly accounts: ServedAccounts }>()

function chainAt(slot: number) {
  const before = made.get(slot)
  if (before !== undefined) return before
  const states = [
    at(HELD, slot, WALLET),
    at(SOLD, slot, slot < SOLD_AT ? WALLET : toFakeAddress('buyer')),
    at(BUNDLED, slot, WALLET),
    reset(EMPTY, slot),
  ]
  const chain = { states, accounts: Object.assign({}, ...states.map((state) => orcaAccounts(state))) as ServedAccounts }
  made.set(slot, chain)
  return chain
}

/** Expected answer at a slot: the changing fields of each of the wallet's positions. */
function truth(slot: number): Record<string, unknown> {
  const { states, accounts } = chainAt(slot)
  const data = (address: string) => accounts[address]?.data ?? new Uint8Array()
  const told = states
    .filter(({ wallet, position }) => wallet === WALLET && position.liquidity !== '0')
    .map((state) => {
      const pool = decodePool(data(state.addresses.pool))
      const position = decodePosition(data(state.addresses.position))
      if (pool === undefined || position === undefined) throw new Error('Expected a position')
      const readTick = (array: string, tick: number) => {
        const found = decodeTick(data(array), { pool: state.addresses.pool, tickSpacing: pool.tickSpacing, tick })
        if (found === undefined) throw new Error('Expected a tick')
        return found
      }
      const token = { decimals: 0, transferFee: undefined, price: undefined }
      const { fees, rewards } = computeFigures({
        pool,
        state: position,
        tokenA: token,
        tokenB: token,
        ticks: {
          lower: readTick(state.addresses.lowerArray, position.tickLower),
          upper: readTick(state.addresses.upperArray, position.tickUpper),
        },
        rewards: state.rewardVaults.map((inVault) => ({ token, vaultAmount: BigInt(inVault) })),
        timestampSec: BigInt(NOW_SEC),
      })
      const paid = rewards.map(({ collectable }) => collectable.toString())
      return [state.tokenId, [String(pool.feeRate), fees.amount0.toString(), fees.amount1.toString(), paid]] as const
    })
  return Object.fromEntries(told)
}

interface Shown {
  readonly token_id: string
  readonly slot?: string
  readonly position_state: { readonly tickLower: string; readonly pool: { readonly feeTier: string } }
  readonly uncollected_fees: { readonly token0: { readonly raw: string }; readonly token1: { readonly raw: string } }
  readonly rewards: readonly { readonly collectable_raw: string }[]
}

test(`each of ${ANSWERS} answers is of the slot that it names, while every account changes with each request`, async () => {
  double.accounts = (slot) => chainAt(slot).accounts
  // The cluster's clock stands still, and a slow machine takes longer than an answer may be old.
  const stages = [0, 1].map(() => orcaStage([double], { now: () => NOW_SEC * 1_000, clock: createPatientClock() }))
  const slots = new Set<string>()
  let [left, failed, sold] = [ANSWERS, 0, 0]

  async function askOnce(index: number): Promise<void> {
    const stage = stages[index % 2] as (typeof stages)[number]
    stage.pass()
    if (index % 5 === 4) {
      const { reply, status, message } = await stage.single(EMPTY.tokenId, { wallet: WALLET, full: true })
      if (status === 502) {
        expect(message).toMatch(REFUSED)
        failed++
        return
      }
      if (reply === undefined) throw new Error(message)
      const slot = Number(reply.asOf?.[0]?.blockNumber)
      const { position_state: state, uncollected_fees: fees } = reply.data as Shown
      expect([Number(state.tickLower), fees.token0.raw]).toEqual([reset(EMPTY, slot).position.lower, String(slot)])
      return
    }
    const { reply, status, message } = await stage.list({ wallet: WALLET, full: true })
    if (status === 502) {
      expect(message).toMatch(REFUSED)
      failed++
      return
    }
    const slot = String(reply?.asOf?.[0]?.blockNumber)
    slots.add(slot)
    const data = reply?.data as readonly Shown[]
    expect(Object.keys(truth(Number(slot))).sort()).toEqual(data.map(({ token_id }) => token_id).sort())
    if (data.length === 2) sold++
    for (const each of data) {
      const { position_state: state, uncollected_fees: fees, rewards } = each
      const paid = rewards.map(({ collectable_raw }) => collectable_raw)
      expect([state.pool.feeTier, fees.token0.raw, fees.token1.raw, paid]).toEqual(
        truth(Number(each.slot ?? slot))[each.token_id] as [string, string, string, string[]],
      )
    }
  }

  const worker = async () => {
    while (left > 0) await askOnce(left--)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
  for (const stage of stages) stage.solana.close()
  expect(failed).toBeLessThan(3 + ANSWERS / 20)
  expect(sold).toBeGreaterThan(10)
  expect(slots.size).toBeGreaterThan(ANSWERS / 10)
}, 120_000)
