import { expect, test } from 'bun:test'
import { FINANCE_CHAINS } from '../../../src/finance/chain.ts'
import { parseReceiptSettings, toReceiptSettings } from '../../../src/receipt/settings.ts'
import { configureSubject, findSubject } from '../../../src/receipt/subject.ts'

test.each(['uniswap-v3', 'uniswap-v4', 'aave-v3', 'morpho-blue', 'portfolio'])(
  'settings of %s on every built-in chain are read from a receipt as they were written',
  (name) => {
    const definition = findSubject(name)
    if (definition === undefined) throw new Error(`Cannot find ${name}`)
    const { subject } = configureSubject(definition, new Map(FINANCE_CHAINS.map(({ id }) => [id, {}])))
    const chains = FINANCE_CHAINS.filter(
      ({ id }) => subject.readsTokens || subject.families.some(({ settings }) => settings.has(id)),
    )
    expect(chains.length).toBeGreaterThan(5)
    for (const prices of subject.readsTokens ? [true] : [true, false]) {
      const written = toReceiptSettings(subject, chains, { prices })
      const parsed = parseReceiptSettings(definition, written)
      if ('mistakes' in parsed) throw new Error(parsed.mistakes.join('; '))
      const read = [...parsed.chains.values()]
      expect(toReceiptSettings(parsed.subject, read, { prices })).toEqual(written)
      if (!subject.readsTokens) continue
      const toTokens = ({ tokens, nativeDoubles, borrowedFeed }: (typeof chains)[number]) => {
        return { tokens: tokens.addresses, nativeDoubles, borrowedFeed }
      }
      expect(read.map(toTokens)).toEqual(chains.map(toTokens))
    }
  },
)
