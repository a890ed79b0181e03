import type { SolanaAccount } from '../../chain/solana/accounts.ts'
import { deriveMetadataAddress } from '../../chain/solana/token.ts'
import type { Clock } from '../../lib/clock.ts'
import { createLru } from '../../lib/lru.ts'
import { type SolanaToken, toSolanaToken } from './solana_token.ts'

const TOKENS_MAX = 10_000
/** Cache time of a token, milliseconds: its creator can change the name. */
const TOKEN_MS = 3_600_000

/** Accounts of one slot, by address; null if an account does not exist. */
type Accounts = ReadonlyMap<string, SolanaAccount | null>

/** Decodes tokens from accounts and caches tokens of the first program for an hour. */
export type SolanaTokens = ReturnType<typeof createSolanaTokens>

/** Creates an empty cache of tokens. */
export function createSolanaTokens(clock: Clock) {
  const tokens = createLru<{ readonly token: SolanaToken; readonly untilMs: number }>({ entriesMax: TOKENS_MAX })
  /** Metadata addresses by mint, cached because deriving an address is slow. */
  const metadataAddresses = createLru<string>({ entriesMax: TOKENS_MAX })

  /** Returns a cached token of the first program; tokens of the second may change their fees at any time. */
  function getCached(mint: string): SolanaToken | undefined {
    const entry = tokens.get(mint)
    return entry !== undefined && clock.monotonicMs() < entry.untilMs ? entry.token : undefined
  }

  function getMetadataAddress(mint: string): string {
    const address = metadataAddresses.get(mint) ?? deriveMetadataAddress(mint)
    metadataAddresses.set(mint, address)
    return address
  }

  return {
    known: getCached,
    /** Lists the accounts that describe a token; empty if the token is cached. */
    listUnread: (mint: string): readonly string[] =>
      getCached(mint) === undefined ? [mint, getMetadataAddress(mint)] : [],
    /** Returns the token from accounts or the cache; undefined if its mint is missing or broken. */
    getToken(accounts: Accounts, address: string): SolanaToken | undefined {
      const mint = accounts.get(address)
      if (mint === undefined || mint === null) return getCached(address)
      const metadata = accounts.get(getMetadataAddress(address)) ?? null
      const token = toSolanaToken(address, { mint, name: metadata })
      if (token?.isLasting) tokens.set(address, { token, untilMs: clock.monotonicMs() + TOKEN_MS })
      return token
    },
  }
}
