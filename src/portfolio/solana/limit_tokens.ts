import type { ListedTokenAccount } from '../../chain/solana/searches.ts'
import type { WalletTokens } from '../../chain/solana/token/wallet_tokens.ts'

/** Most token accounts with a balance that are read. */
export const ACCOUNTS_MAX = 2_000

/** The tokens of a wallet that are read, and the number of the others. */
export interface LimitedTokens extends WalletTokens {
  readonly omitted: number
}

/** Takes the first accounts of tokens, those with a price before others: strangers can give a wallet any number. */
export function limitTokens(
  listed: WalletTokens,
  isPriced: (token: Pick<ListedTokenAccount, 'mint'>) => boolean,
): LimitedTokens {
  const { tokens } = listed
  if (tokens.length <= ACCOUNTS_MAX) return { ...listed, omitted: 0 }
  const ordered = [...tokens.filter(isPriced), ...tokens.filter((token) => !isPriced(token))]
  return { ...listed, tokens: ordered.slice(0, ACCOUNTS_MAX), omitted: tokens.length - ACCOUNTS_MAX }
}
