import { expect, test } from 'bun:test'
import type { ListedTokenAccount } from '../../../../src/chain/solana/searches.ts'
import { ACCOUNTS_MAX, limitTokens } from '../../../../src/portfolio/solana/limit_tokens.ts'

function list(count: number) {
  const tokens = Array.from(
    { length: count },
    (_, index) => ({ mint: `mint ${index}`, amount: 3n }) as ListedTokenAccount,
  )
  return { tokens, oldestSlot: 7n, newestSlot: 9n }
}

test('limitTokens() leaves lists alone that are not too long', () => {
  const listed = list(ACCOUNTS_MAX)
  expect(limitTokens(listed, () => false)).toEqual({ ...listed, omitted: 0 })
})

test('limitTokens() keeps tokens with a price, wherever they stand, and counts the others', () => {
  const isPriced = ({ mint }: { readonly mint: string }) => mint === `mint ${ACCOUNTS_MAX + 2}`
  const { tokens, omitted, oldestSlot } = limitTokens(list(ACCOUNTS_MAX + 3), isPriced)
  expect([tokens.length, omitted, oldestSlot]).toEqual([ACCOUNTS_MAX, 3, 7n])
  expect(tokens[0]?.mint).toBe(`mint ${ACCOUNTS_MAX + 2}`)
  expect(tokens.at(-1)?.mint).toBe(`mint ${ACCOUNTS_MAX - 2}`)
})

test('limitTokens() keeps the greatest amount of a priced token beside any number of small ones', () => {
  const listed = list(ACCOUNTS_MAX + 3)
  const great = { mint: 'mint of all', amount: 2_500_000n } as ListedTokenAccount
  const { tokens } = limitTokens({ ...listed, tokens: [...listed.tokens, great] }, () => true)
  expect(tokens[0]).toBe(great)
  expect(tokens).toHaveLength(ACCOUNTS_MAX)
})
