import { expect, test } from 'bun:test'
import { addressesRegistry } from '@morpho-org/morpho-ts'
import { type Address, getAddress } from 'viem'
import { DEFAULT_CHAIN_IDS } from '../../../../src/chain/chains.ts'
import { FINANCE_CHAINS } from '../../../../src/finance/chain.ts'
import { hasPriceSource } from '../../../../src/finance/price/price_sources.ts'
import { BRIDGED_ROWS, FAILED_BRIDGE_ROWS } from '../../../../src/finance/price/table/bridged.ts'
import { FEED_ROWS, SEQUENCER_FEED_ROWS } from '../../../../src/finance/price/table/feeds.ts'
import { POOL_ROWS } from '../../../../src/finance/price/table/pools.ts'
import { STABLECOIN_ROWS } from '../../../../src/finance/price/table/stablecoins.ts'
import { VAULT_ROWS } from '../../../../src/finance/price/table/vaults.ts'
import { WRAPPER_ROWS } from '../../../../src/finance/price/table/wrappers.ts'
import {
  AAVE_MARKETS,
  chainlinkFeeds,
  hubTokenUnderlying,
  stataUnderlying,
  UNISWAP_SDK,
} from '../../../support/registries.ts'
import { findListsWith } from '../../../support/token_lists.ts'

const MORPHO = new Map(
  Object.entries(addressesRegistry).map(([id, each]) => [Number(id), each as { readonly usdc?: string }]),
)
/** Chains with a feed, by their name in Aave's address book; the rest are not in it. */
const BOOKS = new Map<number, string>([
  ...([[1, 'Ethereum'] as const, [10, 'Optimism'], [56, 'BNB'], [100, 'Gnosis'], [137, 'Polygon']] as const),
  ...([[146, 'Sonic'] as const, [1_088, 'Metis'], [1_868, 'Soneium'], [5_000, 'Mantle'], [8_453, 'Base']] as const),
  ...([[42_161, 'Arbitrum'] as const, [42_220, 'Celo'], [43_114, 'Avalanche'], [59_144, 'Linea']] as const),
  ...([[534_352, 'Scroll'] as const] as const),
])
/** Wrapped bitcoins have bitcoin's feed, as at Aave; other bridged tokens have the feed of what they stand for. */
const BASES: Readonly<Record<string, string>> = {
  WETH: 'ETH',
  'WETH.e': 'ETH',
  WBTC: 'BTC',
  BTCB: 'BTC',
  'BTC.b': 'BTC',
  'WBTC.e': 'BTC',
  'USDC.e': 'USDC',
  USDCe: 'USDC',
  USDbC: 'USDC',
  mUSDC: 'USDC',
  mUSDT: 'USDT',
  USDT0: 'USDT',
  USDt: 'USDT',
  'DAI.e': 'DAI',
  mDAI: 'DAI',
  WXDAI: 'DAI',
  WPOL: 'MATIC',
  WBNB: 'BNB',
  WAVAX: 'AVAX',
  WMNT: 'MNT',
  wS: 'S',
  Metis: 'METIS',
  stETH: 'STETH',
}

test('every address about prices has the right checksum, and no token is listed twice', () => {
  for (const { prices, spamTokens } of FINANCE_CHAINS) {
    const { usdFeeds, stablecoins, aaveOracle } = prices
    const feeds = Object.entries(usdFeeds).flatMap(([token, { feed }]) => [token, feed])
    for (const address of [aaveOracle, ...stablecoins, ...spamTokens, ...feeds]) {
      if (address !== undefined) expect(address).toBe(getAddress(address))
    }
    expect(new Set(stablecoins).size).toBe(stablecoins.length)
  }
  for (const rows of Object.values(FEED_ROWS)) {
    expect(new Set(rows.map(([, token]) => token)).size).toBe(rows.length)
    expect(new Set(rows.map(([symbol]) => symbol)).size).toBe(rows.length)
  }
})

test('every wrapper is opened in two steps at most, and holds what Aave’s address book says', () => {
  for (const { id, name, prices } of FINANCE_CHAINS) {
    const wrappers = prices.wrappers ?? {}
    for (const [token, { of }] of Object.entries(wrappers)) {
      expect([name, getAddress(token), getAddress(of)]).toEqual([name, token as Address, of])
      const inner = wrappers[of]
      expect([name, token, inner && wrappers[inner.of]]).toEqual([name, token, undefined])
    }
    for (const [symbol, token, of, kind = 'erc4626'] of WRAPPER_ROWS[id] ?? []) {
      if (symbol.startsWith('stata '))
        expect([symbol, kind, of]).toEqual([symbol, 'erc4626', stataUnderlying(id, token) as Address])
      else if (symbol.startsWith('wa '))
        expect([symbol, kind, of]).toEqual([symbol, 'erc4626', hubTokenUnderlying(id, token) as Address])
      else expect(findListsWith(id, token, symbol).length).toBeGreaterThan(1)
    }
    // None is in both tables.
    expect(Object.keys(wrappers)).toHaveLength((WRAPPER_ROWS[id]?.length ?? 0) + (VAULT_ROWS[id]?.length ?? 0))
  }
})

test('every factory of pools is the one that Uniswap’s SDK names, and every quote token has a feed', () => {
  expect(Object.keys(POOL_ROWS).length).toBeGreaterThan(7)
  for (const [id, { factory, quotes }] of Object.entries(POOL_ROWS)) {
    expect([id, factory]).toEqual([id, UNISWAP_SDK.get(Number(id))?.factory as Address])
    expect(quotes).toHaveLength(4)
    const fed = (FEED_ROWS[Number(id)] ?? []).map(([symbol]) => symbol)
    expect([id, quotes.filter((symbol) => !fed.includes(symbol))]).toEqual([id, []])
  }
})

test('every heartbeat is between ten seconds and a day', () => {
  for (const { prices } of FINANCE_CHAINS) {
    for (const { heartbeatSec } of Object.values(prices.usdFeeds)) {
      expect(heartbeatSec).toBeGreaterThanOrEqual(10)
      expect(heartbeatSec).toBeLessThanOrEqual(86_400)
    }
  }
})

test('a chain that takes a token as a dollar prices its native token too', () => {
  const dark = FINANCE_CHAINS.filter(
    ({ nativeCurrency, prices: { stablecoins, usdFeeds, aaveOracle } }) =>
      stablecoins.length > 0 && aaveOracle === undefined && usdFeeds[nativeCurrency?.wrapped ?? '0x'] === undefined,
  )
  expect(dark.map(({ id }) => id)).toEqual([])
  // Those without any price have no net worth, and say so.
  const unsourced = FINANCE_CHAINS.filter((chain) => !hasPriceSource(chain) && chain.borrowedFeed === undefined)
  expect(unsourced.map(({ id }) => id)).toContain(1_329)
  expect(unsourced).toHaveLength(34)
  // Their dollars are asked for all the same.
  for (const { id, tokens } of FINANCE_CHAINS) {
    expect([id, (STABLECOIN_ROWS[id] ?? []).filter((token) => !tokens.addresses.includes(token))]).toEqual([id, []])
  }
})

test('tokens of failed bridges are assets of a market that still values them, and price nothing else', () => {
  for (const { id, nativeCurrency, prices } of FINANCE_CHAINS) {
    const { unbacked = [], stablecoins, quotes = [], wrappers = {}, aaveOracle } = prices
    expect([id, unbacked]).toEqual([id, FAILED_BRIDGE_ROWS[id] ?? []])
    if (unbacked.length === 0) continue
    expect(aaveOracle).toBeDefined()
    expect(unbacked.map((token) => getAddress(token))).toEqual([...unbacked])
    const pricing = [...stablecoins, ...quotes, ...Object.values(wrappers).map(({ of: inner }) => inner)]
    expect(unbacked.filter((token) => pricing.includes(token) || token === nativeCurrency?.wrapped)).toEqual([])
    // The address book has the assets of Fantom's closed market in its sources alone.
    const assets = AAVE_MARKETS.find(({ chainId }) => chainId === id)?.assets ?? []
    if (assets.length > 0) expect(unbacked.filter((token) => !assets.includes(token))).toEqual([])
  }
})

test('a chain whose ether has no feed borrows Ethereum’s, with the dollars of its list', () => {
  const borrowers = FINANCE_CHAINS.flatMap(({ id, nativeCurrency, borrowedFeed }) =>
    borrowedFeed === undefined ? [] : [{ id, symbol: nativeCurrency?.symbol ?? '', ...borrowedFeed }],
  )
  expect(borrowers.map(({ id }) => id)).toEqual([
    ...[130, 169, 288, 480, 988, 1_135, 1_750, 1_890, 2_818, 4_663, 5_042, 34_443, 42_170, 43_111, 60_808],
    ...[81_457, 167_000, 685_689, 747_474, 7_777_777],
  ])
  const lent: Readonly<Record<string, string>> = { ETH: 'WETH', USDC: 'USDC', USDT0: 'USDT' }
  for (const { id, symbol, chainId, token, stablecoins } of borrowers) {
    expect([id, chainId, stablecoins]).toEqual([id, 1, STABLECOIN_ROWS[id] ?? []])
    const row = FEED_ROWS[chainId]?.find(([name]) => name === lent[symbol])
    expect([id, symbol, token]).toEqual([id, symbol, row?.[1] as Address])
  }
  expect(borrowers.filter(({ stablecoins }) => stablecoins.length > 0).map(({ id }) => id)).toEqual([
    ...[130, 480, 1_135, 43_111],
  ])
  // Every other chain of ether has a price of its own.
  const others = FINANCE_CHAINS.filter(
    ({ nativeCurrency, borrowedFeed }) => nativeCurrency?.symbol === 'ETH' && borrowedFeed === undefined,
  )
  expect(others.filter((chain) => !hasPriceSource(chain))).toEqual([])
})

test('every default chain has a feed for its wrapped native token and for its stablecoins', () => {
  for (const { prices, nativeCurrency } of FINANCE_CHAINS.filter(({ id }) => DEFAULT_CHAIN_IDS.includes(id))) {
    const fed = Object.keys(prices.usdFeeds)
    for (const token of [nativeCurrency?.wrapped, ...prices.stablecoins]) expect(fed).toContain(token ?? '')
  }
})

test('every oracle is that of Aave’s main market, on every built-in chain that has one', () => {
  for (const { id, name, prices } of FINANCE_CHAINS) {
    const main = AAVE_MARKETS.find((market) => market.chainId === id && !/.(EtherFi|Horizon|Lido)$/.test(market.name))
    expect([name, prices.aaveOracle]).toEqual([name, main?.oracle])
  }
})

test('every feed is the one that Aave’s address book lists for what the token stands for', () => {
  const unlisted: string[] = []
  for (const [id, rows] of Object.entries(FEED_ROWS)) {
    const book = chainlinkFeeds(BOOKS.get(Number(id)) ?? '')
    for (const [symbol, , feed] of rows) {
      if (book === undefined) unlisted.push(`${id} ${symbol}`)
      else expect([id, symbol, feed]).toEqual([id, symbol, book.get(`${BASES[symbol] ?? symbol}__USD`) as Address])
    }
  }
  // The book has no feeds of these chains; they come from Chainlink's own directory.
  expect(unlisted).toEqual([
    ...['143 WMON', '143 WETH', '143 USDC', '143 USDT0', '999 WHYPE', '9745 WXPL', '9745 WETH', '9745 USDT0'],
  ])
})

test('every token with a feed is one of Aave’s assets, the wrapped native token, or on two lists by its symbol', () => {
  for (const { id, name, nativeCurrency } of FINANCE_CHAINS) {
    const assets = AAVE_MARKETS.filter(({ chainId }) => chainId === id).flatMap((market) => market.assets)
    const known = [...assets, nativeCurrency?.wrapped]
    const unknown = (FEED_ROWS[id] ?? []).filter(([symbol, token]) => {
      return !known.includes(token) && findListsWith(id, token, symbol).length < 2
    })
    expect([name, unknown]).toEqual([name, []])
  }
})

test('every stablecoin without a feed is the USDC that Morpho names', () => {
  for (const { id, name, prices } of FINANCE_CHAINS) {
    const unfed = prices.stablecoins.filter((token) => prices.usdFeeds[token] === undefined)
    expect([name, unfed]).toEqual([name, unfed.length === 0 ? [] : [getAddress(MORPHO.get(id)?.usdc ?? '')]])
  }
})

test('bridged tokens have a feed, and every token with the mark of a bridge in its symbol is one', () => {
  for (const { id, prices } of FINANCE_CHAINS) {
    const { bridged = [], usdFeeds } = prices
    expect([id, bridged]).toEqual([id, BRIDGED_ROWS[id] ?? []])
    expect([id, bridged.filter((token) => usdFeeds[token] === undefined)]).toEqual([id, []])
    const marked = (FEED_ROWS[id] ?? []).filter(([symbol]) => /(\.e|\.b|USDCe|USDbC)$|^m[A-Z]/.test(symbol))
    expect([id, marked.filter(([, token]) => !bridged.includes(token))]).toEqual([id, []])
  }
})

test('feeds about sequencers are those of rollups with feeds of prices', () => {
  for (const { id, prices } of FINANCE_CHAINS) {
    expect([id, prices.sequencerFeed]).toEqual([id, SEQUENCER_FEED_ROWS[id]])
    if (prices.sequencerFeed === undefined) continue
    expect(prices.sequencerFeed).toBe(getAddress(prices.sequencerFeed))
    expect(Object.keys(prices.usdFeeds).length).toBeGreaterThan(0)
  }
  expect(Object.keys(SEQUENCER_FEED_ROWS).map(Number)).toEqual([10, 1_088, 8_453, 42_161, 534_352])
})
