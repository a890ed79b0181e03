import { expect, test } from 'bun:test'
import { addressesRegistry } from '@morpho-org/morpho-ts'
import { type Address, getAddress } from 'viem'
import { CHAINS } from '../../src/chain/chains.ts'
import { FEED_ROWS } from '../../src/chain/table/feeds.ts'
import { AAVE_MARKETS, chainlinkFeeds, OKU, UNISWAP_BLOCK_TIMES, UNISWAP_WETH, VIEM } from '../support/registries.ts'

const MORPHO = new Map(
  Object.entries(addressesRegistry).map(([id, each]) => [
    Number(id),
    each as { readonly wNative?: string; readonly usdc?: string },
  ]),
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
}

test('every built-in chain but Pharos is one that viem knows, and all but BNB’s use an endpoint of viem’s', () => {
  const unknown = CHAINS.filter(({ id }) => !VIEM.has(id)).map(({ name }) => name)
  expect(unknown).toEqual(['Pharos'])
  const elsewhere = CHAINS.filter(({ id, rpcUrls }) => {
    const theirs = VIEM.get(id)?.rpcUrls.default.http.map((url) => url.replace(/\/$/, ''))
    return theirs !== undefined && !theirs.some((url) => rpcUrls.includes(url))
  })
  expect(elsewhere.map(({ name }) => name)).toEqual(['BNB Smart Chain'])
})

test('every block time is the one of Uniswap’s SDK, else viem’s, else Oku’s, or none', () => {
  for (const { id, name, blockTimeMs } of CHAINS) {
    const sdk = UNISWAP_BLOCK_TIMES.get(id)
    const oku = OKU.get(id)?.blockTimeSeconds
    const known = sdk === undefined ? VIEM.get(id)?.blockTime : sdk * 1_000
    // Oku's are rough, so they may be left out.
    const others = blockTimeMs === 0 || oku === undefined ? 0 : oku * 1_000
    expect([name, blockTimeMs]).toEqual([name, known ?? others])
  }
})

test('every wrapped native token is the one of Morpho, Oku, Aave or Uniswap', () => {
  const unlisted: unknown[] = []
  for (const { id, name, prices } of CHAINS) {
    const { wrappedNative } = prices
    if (wrappedNative === undefined) continue
    const assets = AAVE_MARKETS.filter(({ chainId }) => chainId === id).flatMap((market) => market.assets)
    const others = [MORPHO.get(id)?.wNative, OKU.get(id)?.contracts?.weth9?.address, UNISWAP_WETH.get(id)]
    const theirs = [...others, ...assets]
    if (!theirs.some((each) => each !== undefined && getAddress(each) === wrappedNative)) unlisted.push(name)
  }
  expect(unlisted).toEqual([])
})

test('every oracle is that of Aave’s main market, on every built-in chain that has one', () => {
  for (const { id, name, prices } of CHAINS) {
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

test('every token with a feed is one of Aave’s assets there or the wrapped native token', () => {
  for (const { id, name, prices } of CHAINS) {
    const assets = AAVE_MARKETS.filter(({ chainId }) => chainId === id).flatMap((market) => market.assets)
    const known = [...assets, prices.wrappedNative]
    const unknown = Object.keys(prices.usdFeeds).filter((token) => !known.includes(token as Address))
    expect([name, unknown]).toEqual([name, []])
  }
})

test('every stablecoin without a feed is the USDC that Morpho names', () => {
  for (const { id, name, prices } of CHAINS) {
    const unfed = prices.stablecoins.filter((token) => prices.usdFeeds[token] === undefined)
    expect([name, unfed]).toEqual([name, unfed.length === 0 ? [] : [getAddress(MORPHO.get(id)?.usdc ?? '')]])
  }
})
