import { describe, expect, test } from 'bun:test'
import { ConfigError, readConfig } from '../../../src/config/config.ts'
import { FINANCE_CHAINS } from '../../../src/finance/chain.ts'

const TOKEN = '0xC36442b4a4522E871399CD717aBDD847Ab11FE88'
const OTHER = '0x1F98431c8aD98523631AE4a59f267346ea31F984'
const FEED = '0x8fFfFfd4AfB6115b954Bd326cbe7B4BA576818f6'
const UNICHAIN = FINANCE_CHAINS.find(({ id }) => id === 130)
const [USDC = TOKEN] = UNICHAIN?.borrowedFeed?.stablecoins ?? []

/** The chain of a row, or the mistakes. */
function read(row: { readonly id: number; readonly [key: string]: unknown }) {
  const text = JSON.stringify({ chains: [row] })
  try {
    const [chain] = readConfig({ CHAINS_FILE: 'f', CHAINS: String(row.id) }, () => text).chains
    return { prices: chain?.prices, borrowedFeed: chain?.borrowedFeed }
  } catch (error) {
    if (error instanceof ConfigError) return error.mistakes
    throw error
  }
}

describe('"stablecoins" of a row', () => {
  const devnet = { id: 31_337, name: 'Devnet', rpcUrls: ['http://a.test'] }

  test('count where a source of the row prices the native token', () => {
    const feeds = { wrappedNative: OTHER, usdFeeds: { [OTHER]: FEED } }
    for (const source of [feeds, { aaveOracle: FEED }, { wrappedNative: TOKEN }]) {
      const prices = { ...source, stablecoins: [TOKEN] }
      expect(read({ ...devnet, prices })).toMatchObject({ prices: { stablecoins: [TOKEN] } })
      expect(read({ ...devnet, prices })).toMatchObject({ borrowedFeed: undefined })
    }
  })

  test('are a mistake where nothing prices it, whatever the row calls it', () => {
    const mistake = [
      'CHAINS_FILE: chain 31337: expected a price of the native token beside "stablecoins": name its wrapped token in ' +
        '"wrappedNative" and a feed of that in "usdFeeds", or "aaveOracle"',
    ]
    const prices = { stablecoins: [TOKEN] }
    expect(read({ ...devnet, prices })).toEqual(mistake)
    expect(read({ ...devnet, add: { prices } })).toEqual(mistake)
    expect(read({ ...devnet, nativeSymbol: 'ETH', prices })).toEqual(mistake)
    // A feed of another token prices nothing native.
    expect(read({ ...devnet, prices: { ...prices, usdFeeds: { [OTHER]: FEED } } })).toEqual(mistake)
    expect(read({ id: 1_329, prices })).toEqual([mistake[0]?.replace('31337', '1329') ?? ''])
  })

  test('wait for Ethereum’s feed where a built-in chain borrows it', () => {
    const { token } = UNICHAIN?.borrowedFeed ?? {}
    const borrowed = (stablecoins: readonly string[]) => ({
      prices: { stablecoins: [] },
      borrowedFeed: { chainId: 1, token, stablecoins },
    })
    expect(read({ id: 130 })).toMatchObject(borrowed([USDC]))
    expect(read({ id: 130, prices: { stablecoins: [TOKEN] } })).toMatchObject(borrowed([TOKEN]))
    expect(read({ id: 130, add: { prices: { stablecoins: [TOKEN] } } })).toMatchObject(borrowed([USDC, TOKEN]))
    // A feed of its own wins, and its dollars count as on other chains.
    const usdFeeds = { [UNICHAIN?.nativeCurrency?.wrapped ?? '']: FEED }
    const own = read({ id: 130, prices: { usdFeeds } })
    expect(own).toMatchObject({ prices: { stablecoins: [USDC] }, borrowedFeed: undefined })
    // Under another symbol the native token is not ether.
    expect(read({ id: 130, nativeSymbol: 'UNI' })).toMatchObject({
      prices: { stablecoins: [] },
      borrowedFeed: undefined,
    })
  })
})

describe('managers of Slipstream among those of "uniswapV3"', () => {
  const manager = { manager: TOKEN, factory: OTHER }
  const gauges = { kind: 'gauges', voter: FEED }
  const base = { id: 8_453, rpcUrls: ['http://a.test'] }
  const configure = (row: object) =>
    readConfig({ CHAINS_FILE: 'f', CHAINS: '8453' }, () => JSON.stringify({ chains: [{ ...base, ...row }] }))
  const listSettings = (row: object, family: string) =>
    configure(row)
      .families.find(({ name }) => name === family)
      ?.settings.get(8_453) as readonly object[]
  const slipstream = { kind: 'slipstream', ...manager, custodians: [gauges] }
  const builtIn = listSettings({}, 'slipstream')
  const uniswap = listSettings({}, 'uniswap-v3')

  test('are told by their kind, and their gauges by the voter', () => {
    const expected = [{ ...manager, voter: FEED, startBlock: 0, code: 'slipstream' }]
    const fork = { kind: 'uniswap', manager: FEED, factory: OTHER }
    expect(listSettings({ uniswapV3: [fork, slipstream] }, 'slipstream')).toEqual(expected)
    expect(listSettings({ uniswapV3: [fork, slipstream] }, 'uniswap-v3')).toMatchObject([{ manager: FEED }])
    // A list stands in place of the built-in one, also once all of its rows have moved.
    expect(listSettings({ uniswapV3: [slipstream] }, 'uniswap-v3') ?? []).toEqual([])
    expect(listSettings({ uniswapV3: [fork] }, 'slipstream')).toEqual(builtIn)
    expect(listSettings({ add: { uniswapV3: [slipstream] } }, 'slipstream')).toEqual([...builtIn, ...expected])
    expect(listSettings({ add: { uniswapV3: [slipstream] } }, 'uniswap-v3')).toEqual(uniswap)
  })

  test('have no other custodians, nor any other kind', () => {
    const listMistakes = (row: object) => read({ ...base, uniswapV3: [row] })
    expect(listMistakes({ ...slipstream, custodians: [{ kind: 'masterchef', address: FEED }] })).toEqual([
      'CHAINS_FILE: chains.0.slipstream.0.custodians: there is no such setting',
    ])
    expect(listMistakes({ ...slipstream, kind: 'ramses' })).toContain(
      'CHAINS_FILE: chains.0.uniswapV3.0.kind: expected "uniswap" or "slipstream"',
    )
  })

  test('are named as not read where a row leaves them out, their gauges too', () => {
    const omitted = configure({ uniswapV3: [{ kind: 'slipstream', ...manager }] }).families.flatMap(
      (family) => family.omitted.get(8_453) ?? [],
    )
    expect(omitted.filter((text) => text.includes('voter'))).toEqual([
      'positions in slipstream gauges of voter 0x16613524e02ad97eDfeF371bC883F2F5d6C480A5',
    ])
    expect(omitted.filter((text) => text.startsWith('positions in slipstream aerodrome'))).toHaveLength(3)
  })
})
