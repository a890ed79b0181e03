import type { SolanaAccount } from '../../chain/solana/accounts.ts'
import { deriveMetadataAddress } from '../../chain/solana/token/metadata.ts'
import type { Clock } from '../../lib/clock.ts'
import { createLru } from '../../lib/lru.ts'
import { type SolanaToken, toSolanaToken } from './solana_token.ts'

const TOKENS_MAX = 10_000
/** Names can be changed by whoever made the token. */
const TOKEN_MS = 3_600_000

/** Accounts of one slot, by address; null if an account does not exist. */
type Accounts = ReadonlyMap<string, SolanaAccount | null>

/** Tokens as accounts show them, those of the first program remembered for an hour. */
export type SolanaTokens = ReturnType<typeof createSolanaTokens>

/** Makes an empty memory. */
export function createSolanaTokens(clock: Clock) {
  const tokens = createLru<{ readonly token: SolanaToken; readonly untilMs: number }>({ entriesMax: TOKENS_MAX })
  /** Where names of tokens are kept, by their mints: to derive an address takes long. */
  const names = createLru<string>({ entriesMax: TOKENS_MAX })

  /** A token of the first program; those of the second may change their fees at any time. */
  function known(mint: string): SolanaToken | undefined {
    const found = tokens.get(mint)
    return found !== undefined && clock.monotonicMs() < found.untilMs ? found.token : undefined
  }

  function nameAddressOf(mint: string): string {
    const address = names.get(mint) ?? deriveMetadataAddress(mint)
    names.set(mint, address)
    return address
  }

  return {
    known,
    /** Where a token is described, unless it is known. */
    unread: (mint: string): readonly string[] => (known(mint) === undefined ? [mint, nameAddressOf(mint)] : []),
    /** The token that accounts describe or that is known; undefined if its mint is missing or broken. */
    tokenIn(accounts: Accounts, address: string): SolanaToken | undefined {
      const mint = accounts.get(address)
      if (mint === undefined || mint === null) return known(address)
      const name = accounts.get(nameAddressOf(address)) ?? null
      const token = toSolanaToken(address, { mint, name })
      if (token?.isLasting) tokens.set(address, { token, untilMs: clock.monotonicMs() + TOKEN_MS })
      return token
    },
  }
}
