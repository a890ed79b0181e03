import { expect, test } from 'bun:test'
import { FAMILIES } from '../../../src/family/mod.ts'
import { FINANCE_CHAINS } from '../../../src/finance/chain.ts'
import { parseReceiptSettings, toReceiptSettings } from '../../../src/receipt/settings.ts'

test.each(FAMILIES.filter(({ network }) => network === 'evm').map((family) => [family.name, family] as const))(
  'settings of %s on every built-in chain are read from a receipt as they were written',
  (_, definition) => {
    const family = definition.configure(new Map(FINANCE_CHAINS.map(({ id }) => [id, {}])))
    const chains = FINANCE_CHAINS.filter(({ id }) => family.settings.has(id))
    for (const prices of [true, false]) {
      const written = toReceiptSettings(family, chains, { prices })
      const parsed = parseReceiptSettings(definition, written)
      if ('mistakes' in parsed) throw new Error(parsed.mistakes.join('; '))
      expect(toReceiptSettings(parsed.family, [...parsed.chains.values()], { prices })).toEqual(written)
    }
  },
)
