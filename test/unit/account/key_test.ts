import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { hashKey, isWellFormedKey, mintKey } from '../../../src/account/key.ts'

test('mintKey() makes keys of the documented form, never the same twice', () => {
  const keys = Array.from({ length: 1_000 }, () => mintKey())
  for (const { key, last4, hash } of keys) {
    expect(key).toMatch(/^ws_sk_[0-9A-Za-z]{24}$/)
    expect(isWellFormedKey(key)).toBe(true)
    expect(key.endsWith(last4)).toBe(true)
    expect(hash).toBe(hashKey(key))
  }
  expect(new Set(keys.map(({ key }) => key)).size).toBe(1_000)
})

test('isWellFormedKey() refuses every key with one changed character', () => {
  const { key } = mintKey()
  fc.assert(
    fc.property(fc.nat(key.length - 1), fc.constantFrom(...'0123456789ABCXYZabcxyz_-é'), (at, character) => {
      const changed = key.slice(0, at) + character + key.slice(at + 1)
      expect(isWellFormedKey(changed)).toBe(changed === key)
    }),
  )
})

test('isWellFormedKey() refuses cut, longer and invented keys', () => {
  const { key } = mintKey()
  for (const other of ['', 'ws_sk_', key.slice(0, -1), `${key}0`, ` ${key}`, `ws_sk_${'a'.repeat(24)}`]) {
    expect(isWellFormedKey(other)).toBe(false)
  }
})
