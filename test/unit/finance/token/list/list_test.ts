import { describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import optimism from '@eth-optimism/tokenlist'
import { getAddress, zeroAddress } from 'viem'
import { FINANCE_CHAINS } from '../../../../../src/finance/chain.ts'
import builtIn from '../../../../../src/finance/token/list/built_in.json' with { type: 'json' }
import { createTokenList, LISTED_MAX } from '../../../../../src/finance/token/list/list.ts'
import { AAVE_MARKETS } from '../../../../support/registries.ts'

const MODULES = join(import.meta.dir, '../../../../../node_modules')
interface AaveToken {
  readonly chainId: number
  readonly address: string
  readonly tags: readonly string[]
}

const aaveList = JSON.parse(readFileSync(join(MODULES, '@aave-dao/aave-address-book/tokenlist.json'), 'utf8')) as {
  readonly tokens: readonly AaveToken[]
}
const aave = new Set(
  aaveList.tokens
    .filter(({ tags }) => tags.join() === 'underlying')
    .map(({ chainId, address }) => `${chainId}:${address}`),
)
const OVM_ETH = '0xDeadDeAddeAddEAddeadDEaDDEAdDeaDDeAD0000'
const GOLD = '0x471EcE3750Da237f93B8E339c536989b8978a438'

describe('the built-in list', () => {
  test('holds addresses with their right checksum, each once, of chains that are built in', () => {
    for (const [id, addresses] of Object.entries(builtIn.chains)) {
      expect(FINANCE_CHAINS.some((chain) => chain.id === Number(id))).toBe(true)
      expect(addresses).toEqual([...new Set(addresses.map((each) => getAddress(each.toLowerCase())))].sort())
    }
  })

  test('holds every token of Optimism’s list and every asset of Aave’s markets, and nothing else', () => {
    for (const { id, name, tokens } of FINANCE_CHAINS) {
      const theirs = optimism.tokens.filter((token) => token.chainId === id).map(({ address }) => address)
      const assets = AAVE_MARKETS.filter(({ chainId }) => chainId === id).flatMap((market) => market.assets)
      const known = new Set([...theirs, ...assets].map((each) => getAddress(each.toLowerCase())))
      const native = [getAddress(zeroAddress), OVM_ETH, GOLD]
      const missing = [...known].filter((each) => !tokens.addresses.includes(each) && !native.includes(each))
      expect([name, missing]).toEqual([name, []])
      const rows = (builtIn.chains as Readonly<Record<string, readonly string[]>>)[id] ?? []
      const other = rows.filter((each) => !known.has(getAddress(each)))
      // Assets that Aave's markets once held, or those of its second version.
      expect([name, other.filter((each) => !aave.has(`${id}:${each}`))]).toEqual([name, []])
    }
  })

  test('names its sources, which are under MIT', async () => {
    for (const source of builtIn.sources) {
      const [name, version] = source.replace(', MIT', '').split(' ')
      const { default: theirs } = await import(join(MODULES, name ?? '', 'package.json'))
      expect(theirs).toMatchObject({ version, license: 'MIT' })
    }
  })
})

describe('createTokenList()', () => {
  const known = { id: 42_220, nativeCurrency: { wrapped: GOLD }, prices: { usdFeeds: {}, stablecoins: [] } } as const

  test('omits the native token under another name from every list', () => {
    const added = [
      { name: 'Mine', addresses: [OVM_ETH, GOLD, zeroAddress, '0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE'] as const },
    ]
    const { addresses, names } = createTokenList(known, added)
    expect(addresses).toEqual(createTokenList(known).addresses)
    expect(addresses).not.toContain(GOLD)
    expect(names).toEqual([`built-in ${builtIn.date}`, 'Mine'])
  })

  test('has every token once, including the wrapped native token and tokens with a price', () => {
    for (const chain of FINANCE_CHAINS) {
      const { addresses } = chain.tokens
      expect(new Set(addresses).size).toBe(addresses.length)
      expect(addresses.length).toBeLessThan(LISTED_MAX)
      const { usdFeeds, wrappers = {}, stablecoins } = chain.prices
      for (const token of [...Object.keys(usdFeeds), ...Object.keys(wrappers), ...stablecoins]) {
        if (token !== GOLD && token !== OVM_ETH) expect(addresses).toContain(getAddress(token))
      }
    }
  })
})
