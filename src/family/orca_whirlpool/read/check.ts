import type { SolanaAccounts } from '../../../chain/solana/accounts.ts'
import { UpstreamError } from '../../../lib/error.ts'
import { isTruncated, readRewardsTimestampSec } from './layout.ts'

/** Throws `UpstreamError` if an answer cannot be right: it then counts as the endpoint's failure. */
export type AccountsCheck = (answer: SolanaAccounts) => void

/** Checks what these programs never write: accounts of another size, and a pool later than the cluster's clock. */
export function createAccountsCheck(programs: readonly string[]): AccountsCheck {
  return ({ timestampSec, accounts }) => {
    for (const account of accounts) {
      if (account === null || !programs.includes(account.owner)) continue
      if (isTruncated(account.data)) throw new UpstreamError('The endpoint shows an account that is cut')
      const rewardsAtSec = readRewardsTimestampSec(account.data)
      if (rewardsAtSec !== undefined && rewardsAtSec > timestampSec) {
        throw new UpstreamError("The endpoint shows a pool from after the cluster's clock")
      }
    }
  }
}
