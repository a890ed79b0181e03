import { expect, test } from 'bun:test'
import { computeWithdrawables } from '../../../../src/family/kamino/math/withdrawal.ts'
import { patchAccount, type ServedAccounts, SF } from '../../../support/kamino.ts'
import { MARKET, OBLIGATION, type SceneChanges, SOL, USDC } from '../../../support/kamino_scene.ts'
import { createSnapshot } from './snapshot.ts'

/** The scene: 100 SOL at 150 (maximum loan-to-value 75 %, threshold 80 %) against 6,000 USDC. */
const NOW = 1_790_000_000n
const SOLS = 10n ** 9n

/** A number written into an account: offset and length in bytes are those of the program's interface description. */
type Patch = readonly [address: string, at: number, length: number, value: bigint]

/** What a withdrawal of the 100 SOL alone pays, base units, and what limits it. */
function withdraw(patches: readonly Patch[] = [], changes: SceneChanges = {}, isPriced = true) {
  const edit = (accounts: ServedAccounts) => {
    for (const [address, at, length, value] of patches) patchAccount(accounts, address, { at, length, value })
  }
  const found = computeWithdrawables(createSnapshot({ changes, pricedAtSec: NOW, edit }), { isPriced }).get(SOL)
  return found && [found.amount, found.limitedBy]
}

test('a deposit goes as far as the maximum loan-to-value lets it, and whole without a debt', () => {
  // 11,250 less 6,000 may go, at 75 % of 150 dollars a token: 7,000 dollars.
  expect(withdraw()).toEqual([46_666_666_666n, 'health'])
  expect(withdraw([], { borrows: [] })).toBeUndefined()
  const atLimit = { borrows: [{ reserve: USDC, amountSf: 11_250n * 10n ** 6n * SF }] }
  expect(withdraw([], atLimit)).toEqual([0n, 'health'])
  // A reserve that is being retired has no maximum any more.
  expect(withdraw([], { ...atLimit, sol: { maxLtvPct: 0 } })).toEqual([0n, 'health'])
})

test.each([
  ['an emergency', [[MARKET, 122, 1, 1n]], [0n, 'halted']],
  ['operations of an unknown kind that need a signature', [[MARKET, 3432, 8, 8n]], [0n, 'gate']],
  ['tickets that wait for all that is at hand', [[SOL, 6968, 8, 10_000n * SOLS]], [0n, 'liquidity']],
  ['nothing at hand', [[SOL, 224, 8, 0n]], [0n, 'liquidity']],
  ['an obsolete debt', [[USDC, 4856, 1, 1n]], [0n, 'inactive']],
  [
    '4 SOL left of an hour’s withdrawals',
    [
      [SOL, 5416, 8, 10n * SOLS],
      [SOL, 5424, 8, 6n * SOLS],
      [SOL, 5432, 8, NOW - 10n],
      [SOL, 5440, 8, 3_600n],
    ],
    [4n * SOLS, 'cap'],
  ],
  [
    'a mark of deleveraging at 48 %',
    [
      [OBLIGATION, 2336, 8, NOW - 3_600n],
      [OBLIGATION, 2321, 1, 48n],
    ],
    [16_666_666_666n, 'health'],
  ],
] satisfies [string, Patch[], unknown][])('%s', (_, patches, expected) => {
  expect(withdraw(patches)).toEqual(expected as ReturnType<typeof withdraw>)
})

test('withdrawals need no signature, whatever else does', () => {
  const every = [MARKET, SOL, USDC].map((address): Patch => [address, address === MARKET ? 3432 : 5800, 8, 7n])
  expect(withdraw(every)).toEqual(withdraw())
  expect(withdraw(every, { borrows: [] })).toBeUndefined()
})

test('what waits in the withdraw queue is held back in whole units, as the program counts it', () => {
  // 10,000 collateral tokens are worth 10,001 SOL, so that 5,000 base units in the queue are worth 5,000 and a half.
  const at = (queued: bigint): Patch[] => [
    [SOL, 224, 8, 60n * SOLS],
    [SOL, 232, 16, 9_941n * SOLS * SF],
    [SOL, 6968, 8, queued],
  ]
  expect(withdraw(at(0n), { borrows: [] })).toEqual([60n * SOLS, 'liquidity'])
  expect(withdraw(at(5_000n), { borrows: [] })).toEqual([60n * SOLS - 5_000n, 'liquidity'])
  expect(withdraw(at(10_000n), { borrows: [] })).toEqual([60n * SOLS - 10_001n, 'liquidity'])
})

test('without prices nothing is known of an obligation that owes, and everything of one that does not', () => {
  expect(withdraw([], {}, false)).toEqual([0n, 'price'])
  expect(withdraw([], { borrows: [] }, false)).toBeUndefined()
  expect(withdraw([[SOL, 224, 8, 0n]], { borrows: [], sol: {} }, false)).toEqual([0n, 'liquidity'])
})

test('what stays behind is nothing or the least value of a deposit', () => {
  const least: Patch = [MARKET, 3224, 16, 12_000n * SF]
  expect(withdraw([least])).toEqual([20n * SOLS, 'health'])
})
