import { expect, test } from 'bun:test'
import { type Address, numberToHex } from 'viem'
import type { UnitOutcome } from '../../../../src/chain/call/exit/execute.ts'
import { type ExitUnit, encodeUnits, type StepOutcome } from '../../../../src/chain/call/exit/step.ts'
import type { HoldingStep } from '../../../../src/family/exit.ts'
import { attribute } from '../../../../src/portfolio/exit/attribute.ts'
import { readOwnMoney } from '../../../../src/portfolio/exit/own_money.ts'
import { classifyAssets } from '../../../../src/portfolio/sum/classify.ts'
import { asset, dollars } from '../sum/assets.ts'

const WALLET: Address = `0x${'e'.repeat(40)}`
const LENDER: Address = `0x${'c'.repeat(40)}`
const TOKENS_OWED = 6

const toToken = (index: number): Address => numberToHex(0xa0 + index, { size: 20 })

/** An account that owes one unit of each of some tokens, with so many steps besides, as it came out with money from elsewhere. */
function account(supplies: number) {
  const position = { family: 'made-up', id: '7' }
  const owed = Array.from({ length: TOKENS_OWED }, (_, index) => toToken(index))
  const rows = classifyAssets(
    owed.map((address) => {
      const token = { address, symbol: 'T', name: 'Token', decimals: 0 }
      return asset({ kind: 'borrowed', amount: 1n, token, price: dollars(1n), position })
    }),
    { includeUnlisted: false },
  )
  const steps: HoldingStep[] = [
    ...owed.map((token) => ({ kind: 'borrowed' as const, tokens: [token], loan: { token, amount: 3n }, calls: [] })),
    ...Array.from({ length: supplies }, () => ({ kind: 'supplied' as const, tokens: [toToken(0)], calls: [] })),
  ]
  const lent = { lender: LENDER, amount: 3n }
  const outcomes = steps.map(({ loan }): StepOutcome => {
    return loan === undefined ? { kind: 'done', deltas: [0n], lent: undefined } : { kind: 'done', deltas: [2n], lent }
  })
  const exit = { position, steps, explain: () => undefined }
  return { rows, unit: attribute(exit, rows, { kind: 'run', steps: outcomes, made: new Set() }) }
}

/** Encodes each call as its execution does, and repays where the wallet has been given money for it. */
function createRun() {
  let calls = 0
  const run = (units: readonly ExitUnit[]) => {
    calls += units.length
    for (const unit of units) encodeUnits(WALLET, [unit])
    return Promise.resolve({ units: units.map(execute) })
  }
  return { run, getCalls: () => calls }
}

function execute({ steps }: ExitUnit<ExitUnit['steps'][number] & Partial<HoldingStep>>): UnitOutcome {
  const held = new Map<Address, bigint>()
  const outcomes = steps.map(({ tokens: [token = '0x'], loan, kind }): StepOutcome => {
    const before = held.get(token) ?? 0n
    if (loan !== undefined) {
      held.set(token, before + loan.amount)
      return { kind: 'done', deltas: [loan.amount], lent: { lender: LENDER, amount: loan.amount } }
    }
    if (kind === 'supplied') return { kind: 'done', deltas: [0n], lent: undefined }
    if (before < 1n) return { kind: 'reverted', reason: '0x' }
    held.set(token, before - 1n)
    return { kind: 'done', deltas: [-1n], lent: undefined }
  })
  return { kind: 'run', steps: outcomes, made: new Set() }
}

test('money to bring has steps of its own, for which a call has room', async () => {
  const fits = account(20)
  const { run, getCalls } = createRun()
  const found = await readOwnMoney({ units: [fits.unit], rows: fits.rows }, run)
  expect(found?.lacking).toEqual(
    Array.from({ length: TOKENS_OWED }, (_, index) => ({ token: toToken(index), amount: 1n })),
  )
  expect(getCalls()).toBe(1 + 1 + TOKENS_OWED)
  // 252 steps in two rounds, which leave room for three tokens.
  const long = account(120)
  expect(await readOwnMoney({ units: [long.unit], rows: long.rows }, createRun().run)).toEqual({
    arrived: undefined,
    lacking: undefined,
  })
})

test('nothing is lacking where more arrives by own money than with money from elsewhere', async () => {
  const { rows, unit } = account(2)
  const isSupply = ({ kind }: HoldingStep) => kind === 'supplied'
  const [first, ...supplies] = [unit.exit.steps.findIndex(isSupply)].flatMap((at) => [at, at + 1])
  // Its market did not have all of it, until another account repaid.
  const steps = unit.steps.map(
    (each, index): StepOutcome => (index === first ? { kind: 'reverted', reason: '0x' } : each),
  )
  const planned = unit.exit.steps.map((each, index) => ({ ...each, isFallback: supplies.includes(index) }))
  const exit = { ...unit.exit, steps: planned }
  const runOwn = (units: readonly ExitUnit[]) => {
    const toOutcome = ({ isFallback, tokens }: ExitUnit['steps'][number]): StepOutcome =>
      isFallback === true ? { kind: 'skipped' } : { kind: 'done', deltas: tokens.map(() => 0n), lent: undefined }
    return Promise.resolve({
      units: units.map((each): UnitOutcome => ({ kind: 'run', steps: each.steps.map(toOutcome), made: new Set() })),
    })
  }
  const found = await readOwnMoney({ units: [{ ...unit, exit, steps }], rows }, runOwn)
  expect(found?.lacking).toEqual([])
})
