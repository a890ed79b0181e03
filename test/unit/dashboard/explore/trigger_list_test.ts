import { expect, test } from 'bun:test'
import { join } from 'node:path'

interface TriggerLists {
  matchesSubject(trigger: { readonly subject: object }, subject: Readonly<Record<string, string>>): boolean
}

const PATH: string = join(import.meta.dir, '../../../../src/dashboard/explore/trigger/list.tsx')
const { matchesSubject } = (await import(PATH)) as TriggerLists

test('a trigger is one on a subject in another spelling of its EVM address, not of its Solana address', () => {
  const matches = (one: string, other: string) => matchesSubject({ subject: { wallet: one } }, { wallet: other })
  expect(matches('0xABcd', '0xabCD')).toBe(true)
  expect(matches('0xABcd', '0xabCe')).toBe(false)
  expect(matches('So1111A', 'So1111a')).toBe(false)
  // What a trigger does not name is not compared.
  expect(matchesSubject({ subject: { wallet: '0x1' } }, { wallet: '0x1', market_id: 'main' })).toBe(true)
})
