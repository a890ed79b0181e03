import { expect, test } from 'bun:test'
import { join } from 'node:path'

interface Link {
  parseView(fragment: string): { readonly wallets: readonly string[] }
  uniqueWallets(wallets: readonly string[]): readonly string[]
  listUnshown(fragment: string, shown: readonly string[]): readonly string[]
  isPartOfView(view: ViewPart, before: ViewPart): boolean
}

interface ViewPart {
  readonly wallets: readonly string[]
  readonly asOf: string
}

// The pages have a configuration of their own.
const LINK: string = join(import.meta.dir, '../../../../src/dashboard/lib/link.ts')
const { isPartOfView, listUnshown, parseView, uniqueWallets } = (await import(LINK)) as Link

const WALLET = '0xf9Af3629b1e07972A90b7F86B7c23B0795A87952'

test('one EVM wallet in two spellings is one wallet, and Solana addresses differ by case', () => {
  expect(parseView(`#wallet=${WALLET}&wallet=${WALLET.toLowerCase()}`).wallets).toEqual([WALLET])
  expect(uniqueWallets([WALLET.toLowerCase(), WALLET, 'name.eth', 'name.eth', ''])).toEqual([
    WALLET.toLowerCase(),
    'name.eth',
  ])
  const solana = '4Nd1mYQzvgV8Vr3Z3nYb7pD6T8qk2Jm9SxWfEoRrGk1a'
  expect(uniqueWallets([solana, solana.toLowerCase()])).toEqual([solana, solana.toLowerCase()])
})

test('wallets of a link that are not shown are told: the sixth and later, and what is no address', () => {
  const wallets = Array.from({ length: 7 }, (_, index) => `0x${String(index).repeat(40)}`)
  const fragment = `#${wallets.map((wallet) => `wallet=${wallet}`).join('&')}`
  expect(listUnshown(fragment, parseView(fragment).wallets)).toEqual(wallets.slice(5))
  expect(listUnshown(`#wallet=${WALLET}&wallet=${WALLET}1`, [WALLET])).toEqual([`${WALLET}1`])
  expect(listUnshown(`#wallet=${WALLET}&wallet=${WALLET.toLowerCase()}`, [WALLET])).toEqual([])
})

test('a view that only leaves wallets out pays for nothing again', () => {
  const view = (wallets: readonly string[], asOf = '') => ({ wallets, asOf })
  expect(isPartOfView(view(['a', 'c']), view(['a', 'b', 'c']))).toBe(true)
  expect(isPartOfView(view(['a', 'd']), view(['a', 'b', 'c']))).toBe(false)
  expect(isPartOfView(view(['a'], '2026-11-27T00:00Z'), view(['a', 'b']))).toBe(false)
})

test('a link may name several wallets in one field, as people write them', () => {
  const other = `0x${'2'.repeat(40)}`
  expect(parseView(`#wallet=${WALLET},${other}`).wallets).toEqual([WALLET, other])
  expect(parseView(`#wallet=${WALLET}%20${other}&wallet=${other}`).wallets).toEqual([WALLET, other])
})
