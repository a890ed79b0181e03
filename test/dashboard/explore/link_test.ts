import { expect, test } from 'bun:test'
import { join } from 'node:path'

interface Link {
  parseView(fragment: string): { readonly wallets: readonly string[] }
  uniqueWallets(wallets: readonly string[]): readonly string[]
}

// The pages have a configuration of their own.
const LINK: string = join(import.meta.dir, '../../../src/dashboard/lib/link.js')
const { parseView, uniqueWallets } = (await import(LINK)) as Link

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
