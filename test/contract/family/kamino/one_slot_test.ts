import { afterAll, expect, test } from 'bun:test'
import { caseCount } from '../../../support/cases.ts'
import { kaminoStage } from '../../../support/family/kamino/stage.ts'
import { obligationBytes, type ServedAccounts, SF, toFakeAddress, toServedAccount } from '../../../support/kamino.ts'
import { MARKET, OBLIGATION, SLOT, SOL, scene, USDC, WALLET } from '../../../support/kamino_scene.ts'
import { startSolanaDouble } from '../../../support/solana.ts'

const ANSWERS = caseCount(1_000, 60)
const AT_ONCE = 8
const NOW_SEC = Math.floor(Date.now() / 1_000)
/** Obligations of the wallet, the last of which is closed at a slot. */
const OBLIGATIONS = ['a', 'b', 'c', 'd'].map(toFakeAddress).sort()
const CLOSED_AT = SLOT + Math.floor(1.3 * ANSWERS)
/** Three changes in a row, or a machine at its limits took a second for an answer. */
const REFUSED = /changed while they were read|gave no answer in time/

const double = startSolanaDouble({ slot: SLOT })
double.clockSec = NOW_SEC
double.slotsPerRead = 1
afterAll(() => double.stop(), 60_000)

/** Amount of an obligation at a slot; every account changes with each slot. */
function amountAt(slot: number, index: number): bigint {
  return 10n ** 9n * BigInt(1 + index) + BigInt((slot - SLOT) * (index + 3)) * 10n ** 6n
}

function priceAt(slot: number): bigint {
  return 150_00000000n + BigInt(slot - SLOT) * 1_000_000n
}

function chainAt(slot: number): ServedAccounts {
  const prices = [{ index: 7, value: priceAt(slot), exponent: 8n, timestampSec: BigInt(NOW_SEC) }]
  const { [OBLIGATION]: _, ...rest } = scene({ prices }, { slot, pricedAtSec: BigInt(NOW_SEC) })
  const own = OBLIGATIONS.flatMap((address, index) => {
    if (index === OBLIGATIONS.length - 1 && slot >= CLOSED_AT) return []
    const deposits = [{ reserve: SOL, collateralAmount: amountAt(slot, index) }]
    // The reserves of some obligations change, so that other accounts must be read.
    const reserve = index === 1 && slot % 40 < 20 ? SOL : USDC
    const borrows = [{ reserve, amountSf: BigInt(slot - SLOT + 1) * SF }]
    const bytes = obligationBytes({ market: MARKET, owner: WALLET, deposits, borrows, lastUpdateSlot: BigInt(slot) })
    return [[address, toServedAccount(bytes)] as const]
  })
  return { ...rest, ...Object.fromEntries(own) }
}

/** US dollars supplied at a slot: the pool has no interest at the slot of its own refresh. */
function suppliedAt(slot: number, index: number): string {
  const e6 = (amountAt(slot, index) * priceAt(slot) * 10n ** 6n * 2n + 10n ** 17n) / (2n * 10n ** 17n)
  const text = e6.toString().padStart(7, '0')
  return `${text.slice(0, -6)}.${text.slice(-6)}`
}

interface Shown {
  readonly obligation_address: string
  readonly slot?: string
  readonly totalCollateralUSD: string
}

test.each([
  ['search', false],
  ['derive nothing', true],
])(
  `${ANSWERS} answers of endpoints that %s, while every account changes with each request, are of the slot they name`,
  async (_, refuses) => {
    double.accounts = chainAt
    double.slot = SLOT
    if (refuses) double.ofMethod.set('getProgramAccounts', { kind: 'rpc', code: -32601 })
    else double.ofMethod.clear()
    // The cluster's clock stands still, and a slow machine takes longer than an answer may be old.
    const stages = [0, 1].map(() => kaminoStage([double], { now: () => NOW_SEC * 1_000 }))
    if (refuses) {
      for (const stage of stages) {
        for (const address of OBLIGATIONS)
          await stage.single('risk', address, { wallet: WALLET, market_address: MARKET })
      }
    }
    const slots = new Set<string>()
    let [left, failed, closed] = [ANSWERS, 0, 0]

    async function askOnce(index: number): Promise<void> {
      const stage = stages[index % 2] as (typeof stages)[number]
      stage.pass()
      const { reply, status, message } = await stage.list({ wallet: WALLET })
      if (status === 502) {
        expect(message).toMatch(REFUSED)
        failed++
        return
      }
      const slot = String(reply?.asOf?.[0]?.blockNumber)
      slots.add(slot)
      const data = reply?.data as readonly { readonly positions: readonly Shown[] }[]
      const positions = data[0]?.positions ?? []
      const there = OBLIGATIONS.filter((_, at) => at < OBLIGATIONS.length - 1 || Number(slot) < CLOSED_AT)
      expect(positions.map((each) => each.obligation_address)).toEqual(there)
      if (there.length < OBLIGATIONS.length) closed++
      for (const [at, each] of positions.entries()) {
        expect(each.totalCollateralUSD).toBe(suppliedAt(Number(each.slot ?? slot), at))
      }
    }

    const worker = async () => {
      while (left > 0) await askOnce(left--)
    }
    await Promise.all(Array.from({ length: AT_ONCE }, worker))
    for (const stage of stages) stage.solana.close()
    expect(failed).toBeLessThan(3 + ANSWERS / 20)
    expect(closed).toBeGreaterThan(10)
    expect(slots.size).toBeGreaterThan(ANSWERS / 10)
  },
  120_000,
)
