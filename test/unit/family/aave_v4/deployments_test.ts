import { expect, test } from 'bun:test'
import * as aaveBook from '@aave-dao/aave-address-book'
import { getAddress } from 'viem'
import { AAVE_V4_DEPLOYMENTS, HUB_NAMES } from '../../../../src/family/aave_v4/table.ts'

interface Book {
  readonly ACCESS_MANAGER: string
  readonly SPOKES: Readonly<Record<string, string>>
  readonly HUBS: Readonly<Record<string, string>>
}

/** Chains of the address book; Base is in none that npm has. */
const BOOKS = new Map<number, Book>([
  [1, aaveBook.AaveV4Ethereum],
  [5042, aaveBook.AaveV4Arc],
  [43114, aaveBook.AaveV4Avalanche],
])

/** Addresses of constants that end so, by the rest of the constant in lower case. */
function listBook(constants: Readonly<Record<string, string>>, end: RegExp) {
  return Object.entries(constants)
    .filter(([name]) => end.test(name))
    .map(([name, address]) => `${name.replace(end, '').toLowerCase().replaceAll('_', '-')} ${address}`)
    .toSorted()
}

const SPOKE = /(?<!TREASURY)_E?SPOKE$/

test('every spoke and access manager of Aave’s address book is built in at its address', () => {
  expect([...AAVE_V4_DEPLOYMENTS.keys()]).toEqual([1, 5042, 8453, 43114])
  for (const [chainId, book] of BOOKS) {
    const { accessManager, spokes = [] } = AAVE_V4_DEPLOYMENTS.get(chainId) ?? {}
    expect(accessManager).toBe(getAddress(book.ACCESS_MANAGER))
    expect(spokes.map(({ name, address }) => `${name} ${address}`).toSorted()).toEqual(listBook(book.SPOKES, SPOKE))
  }
})

test('every hub of the address book has its name', () => {
  for (const book of BOOKS.values()) {
    for (const row of listBook(book.HUBS, /_HUB$/)) {
      const [name = '', address = ''] = row.split(' ')
      expect(HUB_NAMES.get(getAddress(address))).toBe(name)
    }
  }
})

test('addresses are checksummed, and a spoke and its address are listed once per chain', () => {
  for (const { accessManager, spokes } of AAVE_V4_DEPLOYMENTS.values()) {
    expect(getAddress(accessManager)).toBe(accessManager)
    for (const field of ['name', 'address'] as const) {
      expect(new Set(spokes.map((spoke) => spoke[field])).size).toBe(spokes.length)
    }
    for (const { address, startBlock } of spokes) {
      expect(getAddress(address)).toBe(address)
      expect(startBlock).toBeGreaterThan(0)
    }
  }
})
