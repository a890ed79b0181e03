import type { SolanaAccounts } from '../../../../chain/solana/accounts.ts'
import type { KaminoProgram } from '../../../../finance/price/table/kamino.ts'
import { UpstreamError } from '../../../../lib/error.ts'
import { isAccount, isTruncated, readLastUpdateSlot } from './layout.ts'

/** Throws `UpstreamError` for an impossible answer, which then counts as a failure of the endpoint. */
export type AnswerCheck = (answer: Pick<SolanaAccounts, 'slot' | 'accounts'>) => void

/** Rejects what the program never writes: accounts of another size, and a refresh after the slot of the answer. */
export function createAnswerCheck({ programId }: Pick<KaminoProgram, 'programId'>): AnswerCheck {
  return ({ slot, accounts }) => {
    for (const account of accounts) {
      if (account?.owner !== programId) continue
      const { data } = account
      if (isTruncated(data)) throw new UpstreamError('Cannot use the answer: an account is truncated')
      const isDated = isAccount('obligation', data) || isAccount('reserve', data)
      if (isDated && readLastUpdateSlot(data) > slot) {
        throw new UpstreamError('Cannot use the answer: an account was refreshed after its slot')
      }
    }
  }
}
