import type { ObligationTarget } from '../accounts/account_cache.ts'

/** How obligations were found: by a search of all accounts of the program, or by addresses in a number of markets. */
export type FoundBy = 'search' | { readonly markets: number }

/** A wallet's obligations, empty ones included, as they stood between two slots. */
export interface FoundObligations {
  readonly targets: readonly ObligationTarget[]
  readonly oldest: bigint
  readonly newest: bigint
  readonly by: FoundBy
}
