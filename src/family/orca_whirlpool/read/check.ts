import type { SolanaAccounts } from '../../../chain/solana/accounts.ts'
import { UpstreamError } from '../../../lib/error.ts'
import { isTruncated, readRewardsTimestampSec } from './layout.ts'

/** Throws `UpstreamError` for an impossible answer, which then counts as a failure of the endpoint. */
export type AccountsCheck = (answer: SolanaAccounts) => void

/** Rejects what these programs never write: accounts of another size, and a pool later than the cluster's clock. */
export function createAccountsCheck(programs: readonly string[]): AccountsCheck {
  return ({ timestampSec, accounts }) => {
    for (const account of accounts) {
      if (account === null || !programs.includes(account.owner)) continue
      if (isTruncated(account.data)) throw new UpstreamError('Cannot use the answer: an account is truncated')
      const rewardsAtSec = readRewardsTimestampSec(account.data)
      if (rewardsAtSec !== undefined && rewardsAtSec > timestampSec) {
        throw new UpstreamError("Cannot use the answer: a pool is later than the cluster's clock")
      }
    }
  }
}
