import type { ListedTokenAccount } from '../../chain/solana/searches.ts'
import type { WalletTokens } from '../../chain/solana/token/wallet_tokens.ts'

/** Most token accounts with a balance that are read. */
export const ACCOUNTS_MAX = 2_000

/** The tokens of a wallet that are read, and the number of the others. */
export interface LimitedTokens extends WalletTokens {
  readonly omitted: number
}

/**
 * Takes the accounts to read. Strangers can give a wallet any number of them, so those of tokens with a price come
 * first, and of these the greatest amounts.
 */
export function limitTokens(
  listed: WalletTokens,
  isPriced: (token: Pick<ListedTokenAccount, 'mint'>) => boolean,
): LimitedTokens {
  const { tokens } = listed
  if (tokens.length <= ACCOUNTS_MAX) return { ...listed, omitted: 0 }
  const ranked = tokens.map((token) => ({ token, isPriced: isPriced(token) }))
  ranked.sort((a, b) => Number(b.isPriced) - Number(a.isPriced) || compareAmounts(b.token, a.token))
  const taken = ranked.slice(0, ACCOUNTS_MAX).map(({ token }) => token)
  return { ...listed, tokens: taken, omitted: tokens.length - ACCOUNTS_MAX }
}

type Amount = Pick<ListedTokenAccount, 'amount'>

function compareAmounts({ amount: a }: Amount, { amount: b }: Amount): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}
