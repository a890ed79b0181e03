import { expect, test } from 'bun:test'
import { FAMILY_ALIASES } from '../../src/family/alias.ts'

test('every alias leads to a canonical name, never to another alias', () => {
  for (const name of FAMILY_ALIASES.values()) expect(FAMILY_ALIASES.has(name)).toBe(false)
  expect(FAMILY_ALIASES.get('amm_a')).toBe('uniswap-v3')
})
