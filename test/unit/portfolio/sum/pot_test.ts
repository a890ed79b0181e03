import { expect, test } from 'bun:test'
import { classifyAssets } from '../../../../src/portfolio/sum/classify.ts'
import { sharePots } from '../../../../src/portfolio/sum/pot.ts'
import type { HeldAsset } from '../../../../src/portfolio/sum/row.ts'
import { computeTotal } from '../../../../src/portfolio/sum/total.ts'
import { asset } from './assets.ts'

const WHOLE = 10n ** 18n
/** Dollars of a whole token. */
const PRICE = 3_000n

/** What a wallet lent to a market that can pay out five whole tokens. */
function lend(amount: bigint, only: Partial<HeldAsset> = {}): HeldAsset {
  const pot = { key: 'market', amount: 5n * WHOLE, reason: 'at_maturity' as const }
  const payable = amount > pot.amount ? { amount: pot.amount, detail: 'Less is there', reason: pot.reason } : undefined
  return asset({ kind: 'supplied', amount, sources: [[pot]], payable, ...only })
}

function sumTokens(assets: readonly HeldAsset[]): bigint {
  const { assetsE6 } = computeTotal(classifyAssets(sharePots(assets), { includeUnlisted: false }), {
    unsourced: new Set(),
  })
  return (assetsE6 * WHOLE) / (PRICE * 1_000_000n)
}

test('wallets together count at most what their market can pay them together, whatever their order', () => {
  const lent = [lend(3n * WHOLE), lend(9n * WHOLE), lend(WHOLE)]
  for (const order of [lent, lent.toReversed(), [...lent.slice(1), ...lent.slice(0, 1)]]) {
    expect(sumTokens(order)).toBe(5n * WHOLE)
  }
  expect(sumTokens([lend(3n * WHOLE), lend(WHOLE)])).toBe(4n * WHOLE)
})

test('each alone counts what it could be paid alone, and other markets, chains and spam take nothing of it', () => {
  for (const amount of [3n * WHOLE, 9n * WHOLE]) {
    expect(sharePots([lend(amount)])).toEqual([lend(amount)])
  }
  const other = { key: 'another', amount: 5n * WHOLE, reason: 'at_maturity' as const }
  expect(
    sumTokens([lend(5n * WHOLE), lend(5n * WHOLE, { sources: [[other]] }), lend(5n * WHOLE, { chainId: 2 })]),
  ).toBe(15n * WHOLE)
  const spam = lend(5n * WHOLE, { refused: { reason: 'spam', detail: 'It lures' } })
  expect(sumTokens([spam, lend(2n * WHOLE)])).toBe(2n * WHOLE)
})

test('what is not counted says why, and debts to the market are owed in full', () => {
  const [, second] = classifyAssets(sharePots([lend(4n * WHOLE), lend(4n * WHOLE)]), { includeUnlisted: false })
  expect(second?.rest).toMatchObject({ raw: 3n * WHOLE, reason: 'at_maturity' })
  const [, last] = classifyAssets(sharePots([lend(5n * WHOLE), lend(WHOLE)]), { includeUnlisted: false })
  expect(last?.verdict).toEqual({
    counted: false,
    reason: 'at_maturity',
    detail: 'Other positions count on the same tokens, of which 0 units are left for this one',
  })
  const debt = asset({ kind: 'borrowed', amount: 7n * WHOLE })
  expect(sharePots([lend(5n * WHOLE), debt])[1]).toBe(debt)
})
