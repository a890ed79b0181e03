import { expect, test } from 'bun:test'
import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { FINANCE_CHAINS } from '../../../../src/finance/chain.ts'
import { getSourceContract } from '../../../../src/finance/price/past/price_reader.ts'
import { type AnswerRange, findRoundFault } from '../../../../src/finance/price/past/round_faults.ts'
import { FEED_RULE_REVISION } from '../../../../src/finance/price/price.ts'

/**
 * What lenses do with feeds, by the revision under which midnights and prices of flows are stored. If this fails, the
 * rule may have changed: raise `FEED_RULE_REVISION` if another price could be believed, and record the new text.
 */
const RULES = { revision: 2, text: 'f29087ab1497c0c3' }

test('another rule of feeds has another revision, so that what was stored by the old one is read anew', () => {
  const source = readFileSync('src/finance/price/prices.sol', 'utf8')
  const [rule = ''] = /function writeRound[\s\S]*?(?=\/\/\/ Whether Aave)/.exec(source) ?? []
  const text = rule.replaceAll(/\/\/.*$/gm, '').replaceAll(/\s+/g, ' ')
  expect({ revision: FEED_RULE_REVISION, text: hash('sha256', text).slice(0, 16) }).toEqual(RULES)
})

test('the price of a feed is stored under the revision of the rule on every chain that has one', () => {
  const chains = FINANCE_CHAINS.filter(({ prices }) => Object.keys(prices.usdFeeds).length > 0)
  expect(chains.length).toBeGreaterThan(10)
  for (const chain of chains) {
    for (const token of Object.keys(chain.prices.usdFeeds) as `0x${string}`[]) {
      const name = (rule?: number) => getSourceContract({ chain }, { kind: 'chain' }, token, rule)
      expect(name()).toBe(name(FEED_RULE_REVISION))
      if (chain.prices.unbacked?.includes(token) !== true) expect(name()).not.toBe(name(FEED_RULE_REVISION - 1))
    }
  }
})

const RANGE = { least: 10n, greatest: 100n }
const NOW_SEC = 1_000_000

test.each([
  [9, 'bound'],
  [10, 'bound'],
  [11, undefined],
  [99, undefined],
  [100, 'bound'],
  [101, 'bound'],
] as const)('of a range of 10 to 100 an answer of %d has the fault %p', (units, expected) => {
  const answer = BigInt(units)
  const round = { answer, updatedAtSec: BigInt(NOW_SEC) }
  const find = (range: AnswerRange | undefined) =>
    findRoundFault(round, { range, sequencer: undefined, blockTimestampSec: BigInt(NOW_SEC) })
  expect(find(RANGE)).toBe(expected)
  for (const range of [undefined, { least: answer, greatest: answer }]) expect(find(range)).toBeUndefined()
})

test.each([
  ['down', 36_000, 39_600, 'halt'],
  ['down', 3_600, 3_600, undefined],
  ['up', 3_599, 3_600, 'halt'],
  ['up', 3_600, 7_200, undefined],
  ['up', 3_599, 3_599, undefined],
] as const)(
  'of a sequencer that is %s since %d s a round of %d s before has the fault %p',
  (is, sinceSec, ageSec, expected) => {
    const sequencer = { isDown: is === 'down', sinceSec: BigInt(NOW_SEC - sinceSec) }
    const round = { answer: 50n, updatedAtSec: BigInt(NOW_SEC - ageSec) }
    expect(findRoundFault(round, { range: RANGE, sequencer, blockTimestampSec: BigInt(NOW_SEC) })).toBe(expected)
  },
)
