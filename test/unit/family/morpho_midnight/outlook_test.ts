import { expect, test } from 'bun:test'
import type { Address } from 'viem'
import { outlookMarket } from '../../../../src/family/morpho_midnight/present.ts'
import type { HeldMarket, MarketToken } from '../../../../src/family/morpho_midnight/read/position.ts'
import type { PositionOutlook } from '../../../../src/family/outlook.ts'

const ID = `0x${'5'.repeat(64)}` as const
const DAY_SEC = 86_400n
const MATURITY_SEC = 1_800_000_000n

function token(digit: string, symbol: string, decimals: number): MarketToken {
  const price = { kind: 'price', price: { units: 1n, scale: 0, source: 'feed' } } as const
  const address = `0x${digit.repeat(40)}` as Address
  return { address, symbol, name: symbol, decimals, asWritten: { symbol, name: symbol }, price }
}

/** A debt of 1,000 loan tokens, and a collateral that backs so many. */
function market(backed: bigint | undefined, overrides: Partial<HeldMarket> = {}): HeldMarket {
  const loan = token('1', 'USDC', 6)
  const oraclePrice = backed === undefined ? undefined : backed * 10n ** 36n
  return {
    marketId: ID,
    terms: { loanToken: loan.address, collaterals: [], maturitySec: MATURITY_SEC, encoded: '0x' },
    maturitySec: MATURITY_SEC,
    withdrawable: 0n,
    nowSec: MATURITY_SEC - 30n * DAY_SEC,
    credit: 0n,
    debt: 1_000n,
    loan,
    collaterals: [{ index: 0, amount: 1n, oraclePrice, lltvWad: 10n ** 18n, token: token('2', 'WETH', 18) }],
    ...overrides,
  }
}

const tellKinds = ({ toDo }: PositionOutlook) => toDo.map(({ kind }) => kind)

test('a debt is to be seen to near its liquidation, near its maturity, and after it however healthy it is', () => {
  const at = (nowSec: bigint, backed: bigint | undefined = 9_000n) => outlookMarket(market(backed, { nowSec }))
  const early = MATURITY_SEC - 30n * DAY_SEC
  expect(tellKinds(at(early))).toEqual([])
  expect(tellKinds(at(early, 1_249n))).toEqual(['near_liquidation'])
  expect(tellKinds(at(early, 999n))).toEqual(['liquidatable'])
  expect(tellKinds(at(MATURITY_SEC - 7n * DAY_SEC))).toEqual(['due'])
  expect(tellKinds(at(MATURITY_SEC))).toEqual(['due'])
  const overdue = at(MATURITY_SEC + 1n)
  expect(tellKinds(overdue)).toEqual(['liquidatable', 'due'])
  expect(overdue.toDo.map(({ text }) => text)).toEqual([
    'Any wallet can liquidate the debt in the Morpho Midnight market of USDC now: its debt has matured.',
    'The debt in the Morpho Midnight market of USDC is due since 2027-01-15.',
  ])
  expect(overdue.toDo.map(({ concerns }) => concerns({ kind: 'borrowed', part: undefined }))).toEqual([true, true])
  // Liquidating reverts while an oracle is silent, and the debt is due all the same.
  const unknown = outlookMarket(market(undefined, { nowSec: MATURITY_SEC + 1n }))
  expect(tellKinds(unknown)).toEqual(['due'])
})

test('a debt costs nothing more, and what a credit earns is named and not zero', () => {
  const debt = outlookMarket(market(9_000n))
  expect([debt.position, debt.code]).toEqual([{ family: 'morpho-midnight', market_id: ID }, 'morpho_midnight'])
  expect([debt.interestUsd?.numerator, debt.untold]).toEqual([0n, undefined])
  const credit = outlookMarket(market(undefined, { debt: 0n, collaterals: [], credit: 5n, nowSec: MATURITY_SEC + 9n }))
  expect([credit.toDo, credit.interestUsd]).toEqual([[], undefined])
  expect(credit.untold).toEqual([
    {
      what: 'interest of the Morpho Midnight market of USDC',
      why: 'Credit earns what it was bought below par for, and that price is not read',
    },
  ])
  const nameless = token('1', '', 6)
  expect(outlookMarket(market(999n, { loan: nameless })).toDo[0]?.text).toContain(`of ${nameless.address} now`)
})
