import { expect, test } from 'bun:test'
import type { ListedTokenAccount } from '../../../../src/chain/solana/searches.ts'
import { ACCOUNTS_MAX, limitTokens } from '../../../../src/portfolio/read/read_accounts.ts'

function list(count: number) {
  const tokens = Array.from(
    { length: count },
    (_, index) => ({ mint: `mint ${index}`, amount: 3n }) as ListedTokenAccount,
  )
  return { tokens, oldestSlot: 7n, newestSlot: 9n }
}

test('limitTokens() leaves lists alone that are not too long', () => {
  const listed = list(ACCOUNTS_MAX)
  expect(limitTokens(listed, () => false)).toEqual({ ...listed, omitted: [] })
})

test('limitTokens() keeps tokens with a price, wherever they stand, and counts the others', () => {
  const isPriced = ({ mint }: { readonly mint: string }) => mint === `mint ${ACCOUNTS_MAX + 2}`
  const { tokens, omitted, oldestSlot } = limitTokens(list(ACCOUNTS_MAX + 3), isPriced)
  expect([tokens.length, omitted.length, oldestSlot]).toEqual([ACCOUNTS_MAX, 3, 7n])
  expect(tokens[0]?.mint).toBe(`mint ${ACCOUNTS_MAX + 2}`)
  expect(tokens.at(-1)?.mint).toBe(`mint ${ACCOUNTS_MAX - 2}`)
})

test('limitTokens() keeps the greatest account of each priced token before any other, however small its units are', () => {
  const of = (mint: string, amount: bigint) => ({ mint, amount }) as ListedTokenAccount
  const cheap = Array.from({ length: ACCOUNTS_MAX + 3 }, () => of('cheap', 10n ** 15n))
  const dear = [of('dear', 1n), of('dear', 1_000n)]
  const { tokens, omitted } = limitTokens({ ...list(0), tokens: [...cheap, ...dear] }, () => true)
  expect(tokens.slice(0, 2)).toEqual([of('cheap', 10n ** 15n), of('dear', 1_000n)])
  expect([tokens.at(-1)?.mint, omitted.filter(({ mint }) => mint === 'dear')]).toEqual(['cheap', []])
})

test('limitTokens() keeps the greatest amount of a priced token beside any number of small ones', () => {
  const listed = list(ACCOUNTS_MAX + 3)
  const great = { mint: 'mint of all', amount: 2_500_000n } as ListedTokenAccount
  const { tokens } = limitTokens({ ...listed, tokens: [...listed.tokens, great] }, () => true)
  expect(tokens[0]).toBe(great)
  expect(tokens).toHaveLength(ACCOUNTS_MAX)
})
