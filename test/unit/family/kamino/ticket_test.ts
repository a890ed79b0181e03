import { expect, test } from 'bun:test'
import { computeTicket } from '../../../../src/family/kamino/math/withdrawal.ts'
import { decodeMarket, decodeReserve, decodeTicket } from '../../../../src/family/kamino/read/accounts/layout.ts'
import { patchAccount, type ServedAccounts, SF, ticketBytes, toServedAccount } from '../../../support/kamino.ts'
import { MARKET, SLOT, SOL, scene, WALLET } from '../../../support/kamino_scene.ts'

const NOW = 1_790_000_000n
const SOLS = 10n ** 9n
const TICKET = 'ticket'

type Patch = readonly [address: string, at: number, length: number, value: bigint]

/** The scene with 60 SOL at hand, 100 SOL in the queue, and ticket 7 of 30 SOL; tickets are paid, 5 is the next. */
const QUEUED: readonly Patch[] = [
  [MARKET, 3353, 1, 1n],
  [SOL, 224, 8, 60n * SOLS],
  [SOL, 232, 16, 9_940n * SOLS * SF],
  [SOL, 6968, 8, 100n * SOLS],
  [SOL, 6984, 8, 5n],
]

/** What the ticket is worth, what of it is paid, and what limits that. */
function compute(patches: readonly Patch[] = [], slot = SLOT) {
  const ticket = ticketBytes({ sequence: 7n, owner: WALLET, reserve: SOL, collateralAmount: 30n * SOLS })
  const accounts: ServedAccounts = { ...scene({}, { pricedAtSec: NOW }), [TICKET]: toServedAccount(ticket) }
  for (const [address, at, length, value] of [...QUEUED, ...patches])
    patchAccount(accounts, address, { at, length, value })
  const data = (address: string) => accounts[address]?.data ?? new Uint8Array()
  const { amount, withdrawable } = computeTicket({
    slot: BigInt(slot),
    timestampSec: NOW,
    ticket: decodeTicket(data(TICKET)),
    market: decodeMarket(data(MARKET)),
    reserve: decodeReserve(data(SOL)),
  })
  return [amount, ...(withdrawable === undefined ? ['whole'] : [withdrawable.amount, withdrawable.limitedBy])]
}

test.each([
  ['others of 70 SOL come first', [], [30n * SOLS, 0n, 'liquidity']],
  ['others of 40 SOL come first', [[SOL, 6968, 8, 70n * SOLS]], [30n * SOLS, 20n * SOLS, 'liquidity']],
  ['others of 30 SOL come first', [[SOL, 6968, 8, 60n * SOLS]], [30n * SOLS, 'whole']],
  ['it is the next', [[SOL, 6984, 8, 7n]], [30n * SOLS, 'whole']],
  [
    'it is the next, and 10 SOL are at hand',
    [
      [SOL, 6984, 8, 7n],
      [SOL, 224, 8, 10n * SOLS],
      [SOL, 232, 16, 9_990n * SOLS * SF],
    ],
    [30n * SOLS, 10n * SOLS, 'liquidity'],
  ],
  [
    '4 SOL are left of an hour’s withdrawals',
    [
      [SOL, 6984, 8, 7n],
      [SOL, 5416, 8, 4n * SOLS],
      [SOL, 5432, 8, NOW],
      [SOL, 5440, 8, 3_600n],
    ],
    [30n * SOLS, 4n * SOLS, 'cap'],
  ],
  [
    'tickets are not paid',
    [
      [SOL, 6984, 8, 7n],
      [MARKET, 3353, 1, 0n],
    ],
    [30n * SOLS, 0n, 'paused'],
  ],
  [
    'an emergency',
    [
      [SOL, 6984, 8, 7n],
      [MARKET, 122, 1, 1n],
    ],
    [30n * SOLS, 0n, 'halted'],
  ],
  [
    'it is invalid: its collateral comes back, behind the whole queue',
    [
      [TICKET, 128, 1, 1n],
      [SOL, 6968, 8, 40n * SOLS],
      [MARKET, 3353, 1, 0n],
    ],
    [30n * SOLS, 20n * SOLS, 'liquidity'],
  ],
] satisfies [string, Patch[], unknown][])('a ticket where %s', (_, patches, expected) => {
  expect(compute(patches)).toEqual(expected as ReturnType<typeof compute>)
})

test('a ticket earns like a deposit until it is paid', () => {
  const [amount] = compute([], SLOT + 9_000)
  expect(amount).toBeGreaterThan(30n * SOLS)
})
