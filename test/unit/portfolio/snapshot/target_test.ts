import { expect, test } from 'bun:test'
import { FINANCE_CHAINS, type FinanceChain, type FinanceClient } from '../../../../src/finance/chain.ts'
import { PRICE_RULE_REVISION } from '../../../../src/finance/price/pool/pool_price.ts'
import { FEED_RULE_REVISION } from '../../../../src/finance/price/price.ts'
import { createSeriesName, type MidnightQuery } from '../../../../src/portfolio/snapshots.ts'

const [ETHEREUM] = FINANCE_CHAINS
const RULES = { poolRule: PRICE_RULE_REVISION, feedRule: FEED_RULE_REVISION }
const TOKEN = '0x000000000000000000000000000000000000dEaD'

function createQuery(chain: Partial<FinanceChain>, query: Partial<MidnightQuery> = {}): MidnightQuery {
  const client = { chain: { ...ETHEREUM, ...chain } } as FinanceClient
  return { client, borrowedFeed: '', families: [], tokens: [], includeUnlisted: false, ...query }
}

test('a series has another name by another rule of prices, another list or another source, so that it is read anew', () => {
  const name = createSeriesName(createQuery({}))
  expect(createSeriesName(createQuery({}), RULES)).toBe(name)
  const prices = { usdFeeds: {}, stablecoins: [] }
  const others = [
    createSeriesName(createQuery({}), { ...RULES, poolRule: PRICE_RULE_REVISION - 1 }),
    createSeriesName(createQuery({}), { ...RULES, feedRule: FEED_RULE_REVISION - 1 }),
    createSeriesName(createQuery({ prices })),
    createSeriesName(createQuery({ prices: { ...prices, stablecoins: [TOKEN] } })),
    createSeriesName(createQuery({ spamTokens: [TOKEN] })),
    createSeriesName(createQuery({ tokens: { addresses: [TOKEN], names: [], added: [] } })),
    createSeriesName(createQuery({}, { borrowedFeed: 'a feed' })),
    createSeriesName(createQuery({}, { families: ['a family'] })),
    createSeriesName(createQuery({}, { tokens: [TOKEN] })),
    createSeriesName(createQuery({}, { includeUnlisted: true })),
  ]
  expect(new Set([name, ...others]).size).toBe(1 + others.length)
})
