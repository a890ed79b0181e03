import type { ListedTokenAccount } from '../../chain/solana/searches.ts'
import type { WalletTokens } from '../../chain/solana/token/wallet_tokens.ts'
import { groupBy } from '../../lib/group_by.ts'

/** Most token accounts with a balance that are read. */
export const ACCOUNTS_MAX = 2_000

/** The tokens of a wallet that are read, and the others. */
export interface LimitedTokens extends WalletTokens {
  readonly omitted: readonly ListedTokenAccount[]
}

/**
 * Takes the accounts to read. Strangers can give a wallet any number of them, so those of tokens with a price come
 * first, and of these the greatest one of each token: units of one token say nothing beside those of another.
 */
export function limitTokens(
  listed: WalletTokens,
  isPriced: (token: Pick<ListedTokenAccount, 'mint'>) => boolean,
): LimitedTokens {
  const { tokens } = listed
  if (tokens.length <= ACCOUNTS_MAX) return { ...listed, omitted: [] }
  const ranked = [...groupBy(tokens, ({ mint }) => mint).values()].flatMap(([first, ...others]) => {
    if (first === undefined) return []
    const accounts = [first, ...others].sort((a, b) => compareAmounts(b, a))
    const hasPrice = isPriced(first)
    return accounts.map((token, place) => ({ token, place, hasPrice }))
  })
  ranked.sort(
    (a, b) => Number(b.hasPrice) - Number(a.hasPrice) || a.place - b.place || compareAmounts(b.token, a.token),
  )
  const inOrder = ranked.map(({ token }) => token)
  return { ...listed, tokens: inOrder.slice(0, ACCOUNTS_MAX), omitted: inOrder.slice(ACCOUNTS_MAX) }
}

type Amount = Pick<ListedTokenAccount, 'amount'>

function compareAmounts({ amount: a }: Amount, { amount: b }: Amount): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}
