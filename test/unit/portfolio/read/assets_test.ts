import { expect, test } from 'bun:test'
import { type Address, zeroAddress } from 'viem'
import type { Holding, HoldingExclusion } from '../../../../src/family/holding.ts'
import { FINANCE_CHAINS } from '../../../../src/finance/chain.ts'
import type { PoolPriceOutcome } from '../../../../src/finance/price/pool/pool_price.ts'
import { noPriceBecause, type UsdPrice, type UsdPriceOutcome } from '../../../../src/finance/price/price.ts'
import type { Token } from '../../../../src/finance/token/token.ts'
import { findUnaskedTokens, toHeldAssets } from '../../../../src/portfolio/read/read_chain.ts'
import { classifyAssets } from '../../../../src/portfolio/sum/classify.ts'
import { computeTotal } from '../../../../src/portfolio/sum/total.ts'

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
      holdings: [{ block: BLOCK, rows: [row], ownTokens: [], notRead: [] }],
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

/** The asset of a holding, whatever the wallet has beside it; `prices`: what pools say. */
function toAsset(row: Holding, prices: ReadonlyMap<Address, PoolPriceOutcome> = new Map()) {
  const chain = FINANCE_CHAINS.find(({ id }) => id === 1)
  if (chain === undefined) throw new Error('Cannot find chain 1')
  const balances = { block: BLOCK, rows: [], silent: [], tokensAsked: 1 }
  const holdings = [{ block: BLOCK, rows: [row], ownTokens: [], notRead: [] }]
  return toHeldAssets({ balances, holdings, prices }, { chain, tokens: [] }).assets[0]
}

test('a debt that only pools price has the greater of their price and that of its market’s oracle', () => {
  const dollars = (units: bigint, source: UsdPrice['source']): UsdPrice => ({ units, scale: 0, source })
  const unsourced: UsdPriceOutcome = { ...noPriceBecause('no source of its price is configured'), hasSource: false }
  const debt = (usd: bigint): Holding => ({
    kind: 'borrowed',
    token: TOKEN,
    amount: 1n,
    price: unsourced,
    position: { family: 'morpho-blue' },
    marketPrice: dollars(usd, 'market_oracle'),
  })
  const pool: PoolPriceOutcome = {
    kind: 'price',
    price: dollars(2n, 'pool'),
    debtPrice: dollars(2n, 'pool'),
    boundUsd: { units: 100_000n, scale: 0 },
    marks: [],
    pools: [TOKEN.address],
  }
  const prices = new Map([[TOKEN.address, pool]])
  expect(toAsset(debt(3n), prices)?.price).toMatchObject({ price: { units: 2n }, debtPrice: { units: 3n } })
  expect(toAsset(debt(1n), prices)?.price).toMatchObject({ debtPrice: { units: 2n } })
  expect(toAsset(debt(3n))?.price).toMatchObject({ kind: 'price', price: { units: 3n, source: 'market_oracle' } })
  // A feed is not replaced.
  const fed = { ...debt(3n), price: PRICE }
  expect(toAsset(fed, prices)?.price).toEqual(PRICE)
})

test('a token that memory asked for has a row only if a position of the block has it, emptied or not', () => {
  const chain = FINANCE_CHAINS.find(({ id }) => id === 1)
  if (chain === undefined) throw new Error('Cannot find chain 1')
  const row = { token: TOKEN, spam: undefined, raw: 1n, isListed: false, price: PRICE }
  const balances = { block: BLOCK, rows: [row], silent: [], tokensAsked: 2 }
  const count = (emptied: readonly Address[], tokens: readonly Address[] = []) => {
    const holdings = [{ block: BLOCK, rows: [], ownTokens: [], emptied, notRead: [] }]
    return toHeldAssets({ balances, holdings, prices: new Map() }, { chain, tokens }).assets.length
  }
  expect(count([])).toBe(0)
  expect(count([TOKEN.address])).toBe(1)
  expect(count([], [TOKEN.address])).toBe(1)
  const holdings = [{ block: BLOCK, rows: [], ownTokens: [], emptied: [TOKEN.address], notRead: [] }]
  expect([...findUnaskedTokens({ holdings }, { chain, tokens: [] })]).toEqual([TOKEN.address])
})

test('an ordinary loan on a chain that borrows ether’s feed is the difference of both sides', () => {
  const chain = FINANCE_CHAINS.find(({ id }) => id === 130)
  const [usdc] = chain?.borrowedFeed?.stablecoins ?? []
  const weth = chain?.nativeCurrency?.wrapped
  if (chain === undefined || usdc === undefined || weth === undefined) throw new Error('Cannot find chain 130')
  const unsourced: UsdPriceOutcome = { ...noPriceBecause('no source of its price is configured'), hasSource: false }
  const hold = (kind: Holding['kind'], address: Address, [amount, decimals]: [bigint, number]): Holding => ({
    kind,
    token: { ...TOKEN, address, decimals },
    amount: amount * 10n ** BigInt(decimals),
    price: unsourced,
    position: { family: 'morpho-blue' },
  })
  const sum = (rows: readonly Holding[], borrowed: UsdPriceOutcome | undefined) => {
    const balances = { block: BLOCK, rows: [], silent: [], tokensAsked: 1 }
    const holdings = [{ block: BLOCK, rows, ownTokens: [], notRead: [] }]
    const { assets } = toHeldAssets({ balances, holdings, prices: new Map() }, { chain, tokens: [], borrowed })
    const { netE6, debtE6, gaps } = computeTotal(classifyAssets(assets, { includeUnlisted: false }), {
      unsourced: new Set(),
    })
    return { netE6, debtE6, gaps: gaps.length }
  }
  const ether: UsdPriceOutcome = { kind: 'price', price: { units: 3_000n, scale: 0, source: 'feed' } }
  const owesDollars = [hold('supplied', weth, [10n, 18]), hold('borrowed', usdc, [12_000n, 6])]
  const owesEther = [hold('supplied', usdc, [100_000n, 6]), hold('borrowed', weth, [28n, 18])]
  expect(sum(owesDollars, ether)).toEqual({ netE6: 18_000_000_000n, debtE6: 12_000_000_000n, gaps: 0 })
  expect(sum(owesEther, ether)).toEqual({ netE6: 16_000_000_000n, debtE6: 84_000_000_000n, gaps: 0 })
  // The native token has that price too, and a token with a price of its own keeps it.
  expect(sum([hold('supplied', zeroAddress, [1n, 18])], ether).netE6).toBe(3_000_000_000n)
  const own: UsdPriceOutcome = { kind: 'price', price: { units: 2_900n, scale: 0, source: 'feed' } }
  expect(sum([{ ...hold('supplied', weth, [1n, 18]), price: own }], ether).netE6).toBe(2_900_000_000n)
  // One side without the other is no sum.
  for (const missing of [undefined, noPriceBecause('its price feed is stale', 'stale')]) {
    expect(sum(owesDollars, missing)).toEqual({ netE6: undefined, debtE6: 0n, gaps: 2 })
    expect(sum(owesEther, missing)).toEqual({ netE6: undefined, debtE6: 0n, gaps: 2 })
  }
})
