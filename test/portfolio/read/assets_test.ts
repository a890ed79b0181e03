import { expect, test } from 'bun:test'
import type { Holding, HoldingExclusion } from '../../../src/family/holding.ts'
import { FINANCE_CHAINS } from '../../../src/finance/chain.ts'
import type { UsdPriceOutcome } from '../../../src/finance/price/price.ts'
import type { Token } from '../../../src/finance/token/token.ts'
import { toHeldAssets } from '../../../src/portfolio/read/assets.ts'

const BLOCK = { chainId: 1, number: 1n, hash: '0x01', parentHash: '0x00', timestampSec: 1_700_000_000n } as const
const TOKEN: Token = {
  address: '0x1111111111111111111111111111111111111111',
  symbol: 'X',
  name: 'X',
  decimals: 18,
  asWritten: { symbol: 'X', name: 'X' },
}
const PRICE: UsdPriceOutcome = { kind: 'price', price: { units: 1n, scale: 0, source: 'feed' } }

/** True if the wallet's own balance of an unlisted token stays unlisted beside a position in it. */
function isUnlistedBeside(refused: HoldingExclusion | undefined): boolean | undefined {
  const chain = FINANCE_CHAINS.find(({ id }) => id === 1)
  if (chain === undefined) throw new Error('Cannot find chain 1')
  const position = { family: 'uniswap-v3', token_id: '1' }
  const row: Holding = {
    kind: 'liquidity',
    token: TOKEN,
    amount: 1n,
    price: PRICE,
    position,
    ...(refused && { refused }),
  }
  const { assets } = toHeldAssets(
    {
      balances: {
        block: BLOCK,
        rows: [{ token: TOKEN, spam: undefined, raw: 1n, isListed: false, price: PRICE }],
        silent: [],
        tokensAsked: 2,
      },
      holdings: [{ block: BLOCK, rows: [row], positions: 1, ownTokens: [], notRead: [] }],
      prices: new Map(),
    },
    { chain, tokens: [] },
  )
  return assets.find(({ kind }) => kind === 'wallet')?.isUnlisted
}

test('a position does not list its tokens, refused or not: a third party may have sent it', () => {
  expect(isUnlistedBeside(undefined)).toBe(true)
  expect(isUnlistedBeside({ reason: 'spam', detail: 'A lure' })).toBe(true)
  expect(isUnlistedBeside({ reason: 'exceeds_liquidity', detail: 'Hollow' })).toBe(true)
})
