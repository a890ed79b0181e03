import { maxBigint, minBigint } from '../../lib/number/fixed_point.ts'
import type { SolanaSession } from './client.ts'
import type { ListedTokenAccount } from './searches.ts'
import { TOKEN_PROGRAMS } from './token.ts'

/** A wallet's token accounts with a balance, of both programs, and the slots of the two lists. */
export interface WalletTokens {
  readonly tokens: readonly ListedTokenAccount[]
  readonly oldestSlot: bigint
  readonly newestSlot: bigint
}

/** Lists a wallet's tokens at slots not before `minSlot`. Throws as `SolanaSession.tokenAccounts`. */
export async function listWalletTokens(
  session: Pick<SolanaSession, 'tokenAccounts'>,
  wallet: string,
  minSlot: bigint,
): Promise<WalletTokens> {
  const lists = await Promise.all(
    TOKEN_PROGRAMS.map((program) => session.tokenAccounts(wallet, { program }, { minSlot })),
  )
  const slots = lists.map(({ slot }) => slot)
  return {
    tokens: lists.flatMap(({ accounts }) => accounts).filter(({ amount }) => amount > 0n),
    oldestSlot: slots.reduce(minBigint),
    newestSlot: slots.reduce(maxBigint),
  }
}
