import type { SolanaSession } from '../../../../chain/solana/client.ts'
import { base58Bytes } from '../../../../lib/text/base58.ts'
import { decoded, type Known } from '../accounts/known.ts'
import { ACCOUNT_KINDS, OBLIGATION_OWNER_AT } from '../accounts/layout.ts'
import type { FoundObligations } from './found.ts'

const { size, discriminator } = ACCOUNT_KINDS.obligation

/** Finds all obligations of a wallet. Throws `RefusedMethodError` if no endpoint searches the program's accounts. */
export function createSearch({ program, known }: { readonly program: string; readonly known: Known }) {
  return async (session: SolanaSession, wallet: string, minSlot: bigint): Promise<FoundObligations> => {
    const holds = [
      { at: 0, bytes: new Uint8Array(Buffer.from(discriminator, 'hex')) },
      { at: OBLIGATION_OWNER_AT, bytes: base58Bytes(wallet) },
    ]
    const { slot, accounts } = await session.programAccounts({ program, size, holds }, { minSlot })
    known.learn(new Map(accounts.map((account) => [account.address, account])))
    const targets = accounts.flatMap((account) => {
      const { obligation } = decoded(account)
      return obligation === undefined ? [] : [{ address: account.address, market: obligation.market, wallet }]
    })
    return { targets, oldest: slot, newest: slot, by: 'search' }
  }
}
