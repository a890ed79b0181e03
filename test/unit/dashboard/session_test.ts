import { afterEach, beforeEach, expect, test } from 'bun:test'
import { join } from 'node:path'

interface Session {
  rememberWallet(wallet: string): void
  getRecentWallets(): readonly string[]
  rememberName(wallet: string, name: string): void
  getStoredName(wallet: string): string | undefined
}

const PATH: string = join(import.meta.dir, '../../../src/dashboard/lib/session.ts')
const { rememberWallet, getRecentWallets, rememberName, getStoredName } = (await import(PATH)) as Session

const WALLET = '0xf9Af3629b1e07972A90b7F86B7c23B0795A87952'
const LOWER = WALLET.toLowerCase()

beforeEach(() => {
  const stored = new Map<string, string>()
  Object.defineProperty(globalThis, 'sessionStorage', {
    configurable: true,
    value: {
      getItem: (name: string) => stored.get(name) ?? null,
      setItem: (name: string, value: string) => void stored.set(name, value),
    },
  })
})
afterEach(() => void Reflect.deleteProperty(globalThis, 'sessionStorage'))

test('a wallet in another spelling is the same wallet', () => {
  rememberWallet(WALLET)
  rememberWallet(LOWER)
  expect(getRecentWallets()).toEqual([LOWER])
  rememberName(WALLET, 'old.eth')
  expect(getStoredName(LOWER)).toBe('old.eth')
  rememberName(LOWER, 'new.eth')
  expect(getStoredName(WALLET)).toBe('new.eth')
})
