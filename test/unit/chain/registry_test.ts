import { expect, test } from 'bun:test'
import { addressesRegistry } from '@morpho-org/morpho-ts'
import { getAddress } from 'viem'
import { CHAINS } from '../../../src/chain/chains.ts'
import { AAVE_MARKETS, OKU, UNISWAP_BLOCK_TIMES, UNISWAP_WETH, VIEM } from '../../support/registries.ts'

const MORPHO = new Map(
  Object.entries(addressesRegistry).map(([id, each]) => [Number(id), each as { readonly wNative?: string }]),
)
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
    const others = blockTimeMs === undefined || oku === undefined ? undefined : oku * 1_000
    expect([name, blockTimeMs]).toEqual([name, known ?? others])
  }
})

test('every wrapped native token is the one of Morpho, Oku, Aave or Uniswap', () => {
  const unlisted: unknown[] = []
  for (const { id, name, nativeCurrency } of CHAINS) {
    const wrappedNative = nativeCurrency?.wrapped
    if (wrappedNative === undefined) continue
    const assets = AAVE_MARKETS.filter(({ chainId }) => chainId === id).flatMap((market) => market.assets)
    const others = [MORPHO.get(id)?.wNative, OKU.get(id)?.contracts?.weth9?.address, UNISWAP_WETH.get(id)]
    const theirs = [...others, ...assets]
    if (!theirs.some((each) => each !== undefined && getAddress(each) === wrappedNative)) unlisted.push(name)
  }
  expect(unlisted).toEqual([])
})

test("Fraxtal's native token is not wrapped as frxETH, which a feed of ether would price", () => {
  expect(CHAINS.find(({ id }) => id === 252)?.nativeCurrency).toEqual({ symbol: 'FRAX', name: 'Frax', decimals: 18 })
})

test('every native currency has the symbol, name and decimals that viem gives it', () => {
  for (const { id, name, nativeCurrency } of CHAINS) {
    const theirs = VIEM.get(id)?.nativeCurrency
    expect([name, nativeCurrency?.symbol, nativeCurrency?.decimals]).toEqual([name, theirs?.symbol, theirs?.decimals])
    expect([name, nativeCurrency?.name ?? nativeCurrency?.symbol]).toEqual([name, theirs?.name])
  }
})

test('every explorer is the one that viem names, and only Pharos has none', () => {
  for (const { id, name, explorer } of CHAINS) {
    expect([name, explorer]).toEqual([name, VIEM.get(id)?.blockExplorers?.default.url.replace(/\/$/, '')])
  }
  expect(CHAINS.filter(({ explorer }) => explorer === undefined).map(({ name }) => name)).toEqual(['Pharos'])
})
