import type { SolanaAccount } from '../../chain/solana/accounts.ts'
import type { Clock } from '../../lib/clock.ts'
import { createRecent } from '../../lib/recent.ts'
import { type SolanaToken, solanaTokenFrom, tokenAddresses } from './solana_token.ts'

const TOKENS_MAX = 10_000
/** Names can be changed by whoever made the token. */
const TOKEN_MS = 3_600_000

/** Accounts of one slot, by address; null if an account does not exist. */
type Accounts = ReadonlyMap<string, SolanaAccount | null>

/** Tokens as accounts show them, those of the first program remembered for an hour. */
export interface SolanaTokens {
  /** A token of the first program; those of the second may change their fees at any time. */
  known(mint: string): SolanaToken | undefined
  /** Where a token is described, unless it is known. */
  unread(mint: string): readonly string[]
  /** The token that accounts describe or that is known; undefined if its mint is missing or broken. */
  tokenIn(accounts: Accounts, mint: string): SolanaToken | undefined
}

/** Makes an empty memory. */
export function createSolanaTokens(clock: Clock): SolanaTokens {
  const tokens = createRecent<{ readonly token: SolanaToken; readonly untilMs: number }>({ entriesMax: TOKENS_MAX })
  const addresses = createRecent<readonly [mint: string, name: string]>({ entriesMax: TOKENS_MAX })

  function known(mint: string): SolanaToken | undefined {
    const found = tokens.get(mint)
    return found !== undefined && clock.monotonicMs() < found.untilMs ? found.token : undefined
  }

  function addressesOf(mint: string): readonly [mint: string, name: string] {
    const both = addresses.get(mint) ?? tokenAddresses(mint)
    addresses.set(mint, both)
    return both
  }

  return {
    known,
    unread: (mint) => (known(mint) === undefined ? addressesOf(mint) : []),
    tokenIn(accounts, address) {
      const mint = accounts.get(address)
      if (mint === undefined || mint === null) return known(address)
      const [, name] = addressesOf(address)
      const token = solanaTokenFrom(address, { mint, name: accounts.get(name) ?? null })
      if (token?.isLasting) tokens.set(address, { token, untilMs: clock.monotonicMs() + TOKEN_MS })
      return token
    },
  }
}
