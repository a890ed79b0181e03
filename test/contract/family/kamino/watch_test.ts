import { afterAll, beforeEach, describe, expect, test } from 'bun:test'
import * as v from 'valibot'
import { SOLANA_CHAIN_ID } from '../../../../src/chain/solana/client.ts'
import type { WatchableFamily } from '../../../../src/family/contract.ts'
import { KAMINO } from '../../../../src/family/kamino/mod.ts'
import { createWatcher } from '../../../../src/family/kamino/watch.ts'
import { LENDING_FIGURES } from '../../../../src/family/lending/watched.ts'
import type { ConfirmedFigures, WatchSubject } from '../../../../src/family/watch.ts'
import { createWork } from '../../../../src/lib/async/work.ts'
import { caseCount } from '../../../support/cases.ts'
import { kaminoStage } from '../../../support/family/kamino/stage.ts'
import {
  obligationBytes,
  patchAccount,
  type ServedAccounts,
  SF,
  toFakeAddress,
  toServedAccount,
} from '../../../support/kamino.ts'
import { MARKET, OBLIGATION, SLOT, SOL, scene, USDC, WALLET } from '../../../support/kamino_scene.ts'
import { startSolanaDouble } from '../../../support/solana.ts'

const FIGURES = Object.keys(LENDING_FIGURES)
const COUNT = caseCount(400)
const patient = createWork(new AbortController().signal)

const double = startSolanaDouble({ slot: SLOT })
afterAll(() => double.stop(), 60_000)
beforeEach(() => {
  double.accounts = world()
  double.slot = SLOT
  double.slotsPerRead = 0
  double.seen.length = 0
})

const toAddress = (index: number) => toFakeAddress(`obligation ${index}`)
const toSubject = (address: string): WatchSubject => ({ obligation_address: address, market_address: MARKET })

/** Obligations of every size; every tenth has no debt. */
function world(): ServedAccounts {
  const own = Array.from({ length: COUNT }, (_, index) => {
    const deposits = [{ reserve: SOL, collateralAmount: 10n ** 9n * BigInt(100 + index) }]
    const amountSf = 10n ** 6n * BigInt(1_000 + 37 * index) * SF
    const borrows = index % 10 === 0 ? [] : [{ reserve: USDC, amountSf }]
    const lastUpdateSlot = BigInt(SLOT)
    return [
      toAddress(index),
      toServedAccount(obligationBytes({ market: MARKET, owner: WALLET, deposits, borrows, lastUpdateSlot })),
    ]
  })
  return { ...scene(), ...Object.fromEntries(own) }
}

function watched(): WatchableFamily {
  const setup = { chainIds: [], servesSolana: true, connect: () => ({}) as never }
  const found = KAMINO.configure(new Map()).watch(setup)
  if (found === undefined) throw new Error('Cannot watch Kamino')
  return found
}

function formatFigures(found: ConfirmedFigures | 'gone' | undefined) {
  if (found === undefined || found === 'gone') throw new Error('Expected figures')
  return Object.fromEntries(FIGURES.map((figure) => [figure, found.text(figure)]))
}

describe('confirm()', () => {
  test('returns the figures of the routes at the same slot, digit by digit, a dozen obligations per request', async () => {
    const stage = kaminoStage([double])
    const watcher = createWatcher(stage.reader, stage.solana)
    const addresses = [OBLIGATION, ...Array.from({ length: COUNT }, (_, index) => toAddress(index))]
    // The first read fills the cache with reserves and feeds.
    await watcher.confirm(addresses.map(toSubject), 0n, patient)
    double.seen.length = 0
    const { slot, timestampSec, subjects } = await watcher.confirm(addresses.map(toSubject), BigInt(SLOT), patient)
    expect(slot).toBe(BigInt(SLOT))
    expect(Math.abs(Number(timestampSec) - Date.now() / 1_000)).toBeLessThan(60)
    expect(double.seen.length).toBeLessThan(1 + COUNT / 12)
    const listed = await stage.list({ wallet: WALLET })
    expect(listed.message).toBeUndefined()
    const shown = (listed.reply as unknown as { readonly data: readonly Shown[] }).data[0]?.positions ?? []
    const byAddress = new Map(shown.map((position) => [position['obligation_address'], position]))
    let compared = 0
    for (const [index, obligation_address] of addresses.entries()) {
      const risk = await stage.single('risk', obligation_address, { wallet: WALLET, market_address: MARKET })
      const { data } = risk.reply as unknown as { readonly data: Risk }
      const { health_factor, current_ltv_percentage } = data
      const texts = formatFigures(subjects[index])
      expect(texts).toMatchObject({ health_factor, current_ltv_percentage })
      expect(subjects[index]).toHaveProperty('owner', WALLET)
      const position = byAddress.get(obligation_address)
      if (position === undefined) continue
      compared++
      expect(texts).toEqual({
        health_factor: position['healthFactor'] ?? '',
        net_worth_usd: position['netWorthUSD'] ?? '',
        total_collateral_usd: position['totalCollateralUSD'] ?? '',
        total_debt_usd: position['totalDebtUSD'] ?? '',
        current_ltv_percentage,
        is_liquidatable: false,
        due_in_sec: 'MAX',
      })
    }
    expect(compared).toBeGreaterThan(20)
  }, 60_000)

  test('returns gone for a missing obligation or one of another market; one that cannot be valued stops no other', async () => {
    const broken = toFakeAddress('obligation without a reserve')
    const deposits = [{ reserve: toFakeAddress('no reserve'), collateralAmount: 10n ** 9n }]
    const bytes = obligationBytes({
      market: MARKET,
      owner: WALLET,
      deposits,
      borrows: [],
      lastUpdateSlot: BigInt(SLOT),
    })
    double.accounts = { ...world(), [broken]: toServedAccount(bytes) }
    const stage = kaminoStage([double])
    const asked = [
      toSubject(toFakeAddress('nothing')),
      { ...toSubject(OBLIGATION), market_address: toFakeAddress('another market') },
      toSubject(broken),
      toSubject(OBLIGATION),
    ]
    const { subjects } = await createWatcher(stage.reader, stage.solana).confirm(asked, 0n, patient)
    expect(subjects.slice(0, 2)).toEqual(['gone', 'gone'])
    expect(formatFigures(subjects[2])).toEqual(Object.fromEntries(FIGURES.map((figure) => [figure, null])))
    expect(formatFigures(subjects[3])).toMatchObject({ health_factor: '2.0000', current_ltv_percentage: '40.0000' })
  }, 60_000)

  test('tells whether any wallet may liquidate, and the time until the debt is due', async () => {
    const ask = async (maturitySec: bigint) => {
      const accounts = world()
      patchAccount(accounts, USDC, { at: 5776, length: 8, value: maturitySec })
      patchAccount(accounts, MARKET, { at: 3308, length: 1, value: 1n })
      double.accounts = accounts
      const stage = kaminoStage([double])
      const watcher = createWatcher(stage.reader, stage.solana)
      const { subjects, timestampSec } = await watcher.confirm([toSubject(OBLIGATION)], 0n, patient)
      const [found] = subjects
      if (found === undefined || found === 'gone') throw new Error('Expected the obligation')
      const figures = ['is_liquidatable', 'due_in_sec'] as const
      return { timestampSec, texts: figures.map(found.text), values: figures.map(found.value) }
    }
    expect(await ask(0n)).toMatchObject({ texts: [false, 'MAX'], values: [false, 'MAX'] })
    const { timestampSec } = await ask(1n)
    expect(await ask(1n)).toMatchObject({ texts: [true, '0'], values: [true, { numerator: 0n, denominator: 1n }] })
    const ahead = await ask(timestampSec + 1_000n)
    expect(ahead.texts).toEqual([false, String(timestampSec + 1_000n - ahead.timestampSec)])
  })

  test('answers from no slot before the requested one', async () => {
    const stage = kaminoStage([double])
    const watcher = createWatcher(stage.reader, stage.solana)
    double.slot = SLOT + 5
    const { slot } = await watcher.confirm([toSubject(OBLIGATION)], BigInt(SLOT + 3), patient)
    expect(slot).toBe(BigInt(SLOT + 5))
    await expect(watcher.confirm([toSubject(OBLIGATION)], BigInt(SLOT + 1_000), patient)).rejects.toThrow('Solana')
  }, 60_000)
})

interface Shown {
  readonly positions: readonly Readonly<Record<string, string>>[]
}

interface Risk {
  readonly health_factor: string
  readonly current_ltv_percentage: string
}

describe('WATCHABLE', () => {
  test('accepts an obligation of a market, and its wallet for the path', () => {
    const { subject, answerPath, chainIds, watcher, accountWatcher } = watched()
    expect([chainIds, watcher, typeof accountWatcher]).toEqual([[SOLANA_CHAIN_ID], undefined, 'function'])
    const parse = (value: unknown) => {
      const result = v.safeParse(subject(SOLANA_CHAIN_ID), value)
      return result.success ? result.output : undefined
    }
    const plain = toSubject(OBLIGATION)
    expect(parse(plain)).toEqual(plain)
    expect(parse({ ...plain, wallet: WALLET })).toEqual({ ...plain, wallet: WALLET })
    expect(parse({ ...plain, wallet: '0x' })).toBeUndefined()
    expect(parse({ obligation_address: OBLIGATION })).toBeUndefined()
    const query = `market_address=${MARKET}&wallet=${WALLET}`
    for (const of of [plain, { ...plain, wallet: WALLET }]) {
      const toPath = (figure: string) => answerPath(of, SOLANA_CHAIN_ID, 1n, { figure, owner: WALLET })
      expect(toPath('health_factor')).toBe(`/v1/lending/kamino/position/${OBLIGATION}/risk?${query}`)
      expect(toPath('net_worth_usd')).toBe(`/v1/lending/kamino?${query}`)
    }
  })
})
