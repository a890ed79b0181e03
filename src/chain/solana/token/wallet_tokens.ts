import { maxBigint, minBigint } from '../../../lib/number/fixed_point.ts'
import type { SolanaSession } from '../client.ts'
import type { ListedTokenAccount } from '../searches.ts'
import { TOKEN_PROGRAMS } from './program.ts'

/** A wallet's token accounts that hold something, of both programs, and the slots of the two lists. */
export interface WalletTokens {
  readonly tokens: readonly ListedTokenAccount[]
  readonly oldest: bigint
  readonly newest: bigint
}

/** Lists them, at slots not before `minSlot`. Throws as `SolanaSession.tokenAccounts`. */
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
    oldest: slots.reduce(minBigint),
    newest: slots.reduce(maxBigint),
  }
}
