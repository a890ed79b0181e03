import type { SolanaAccount } from '../../chain/solana/accounts.ts'
import {
  decodeMetadata,
  decodeMint,
  deriveMetadataAddress,
  type RawTokenName,
  type SolanaMint,
  TOKEN_2022_PROGRAM,
  TOKEN_PROGRAM,
} from '../../chain/solana/token.ts'
import type { Clock } from '../../lib/clock.ts'
import { createLru } from '../../lib/lru.ts'
import { memoize } from '../../lib/memoize.ts'
import { type KnownTokens, type RawTokenText, spamReason } from './spam.ts'
import { toTokenDisplayText } from './text.ts'
import { DECIMALS_MAX } from './token.ts'

/** A Solana token, fit for display. */
export interface SolanaToken extends RawTokenText {
  /** Address of the mint. */
  readonly address: string
  readonly decimals: number
  /** Visible text of at most 64 code points. */
  readonly symbol: string
  readonly name: string
  readonly mint: SolanaMint
  /** True for tokens of the first program, which can be cached because their decimals and rules cannot change. */
  readonly isLasting: boolean
}

/** Names of tokens that have neither a name in the mint nor Metaplex metadata. */
const NAMES: ReadonlyMap<string, RawTokenName> = new Map([
  ['So11111111111111111111111111111111111111112', { symbol: 'SOL', name: 'Wrapped SOL' }],
  ['EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v', { symbol: 'USDC', name: 'USD Coin' }],
  ['Es9vMFrzaCERmJfrf4H2FYD4KCoNkY11McCe8BenwNYB', { symbol: 'USDT', name: 'USDT' }],
])
const SYMBOL_LETTERS = 4

/**
 * Decodes a token from the account of its mint and the account of its metadata; undefined if the first is not a mint of
 * a token program. The name comes from the mint, else from Metaplex, else from a built-in list; the symbol falls back
 * to the first letters of the address.
 */
function toSolanaToken(
  address: string,
  { mint: account, name }: { readonly mint: SolanaAccount | null; readonly name: SolanaAccount | null },
): SolanaToken | undefined {
  const isLasting = account?.owner === TOKEN_PROGRAM
  const mint = isLasting || account?.owner === TOKEN_2022_PROGRAM ? decodeMint(account.data) : undefined
  if (mint === undefined || mint.decimals > DECIMALS_MAX) return undefined
  const ownName = mint.tokenName ?? decodeMetadata(name, address)
  const asWritten = ownName ?? NAMES.get(address) ?? { symbol: '', name: '' }
  return {
    address,
    decimals: mint.decimals,
    symbol: toTokenDisplayText(asWritten.symbol) || toFallbackSymbol(address),
    name: toTokenDisplayText(asWritten.name),
    mint,
    isLasting,
    asWritten,
  }
}

/** Returns the symbol of a token without a name: the first letters of its mint. */
export function toFallbackSymbol(mint: string): string {
  return mint.slice(0, SYMBOL_LETTERS)
}

/** Returns why a Solana token is spam, as a sentence; undefined if it is not. */
export const solanaSpamReason = memoize((token: SolanaToken): { readonly reason: string | undefined } => ({
  reason: spamReason(token, NONE_KNOWN),
}))

const NONE_KNOWN: KnownTokens = { spam: new Set(), listed: new Set() }

const TOKENS_MAX = 10_000
/** Cache time of a token, milliseconds: its creator can change the name. */
const TOKEN_MS = 3_600_000

/** Accounts of one slot, by address; null if an account does not exist. */
type Accounts = ReadonlyMap<string, SolanaAccount | null>

/** Decodes tokens from accounts and caches tokens of the first program for an hour. */
export type SolanaTokens = ReturnType<typeof createSolanaTokens>

/** Creates an empty cache of tokens. */
export function createSolanaTokens(clock: Clock) {
  const tokens = createLru<{ readonly token: SolanaToken; readonly untilMs: number }>({
    entriesMax: TOKENS_MAX,
    isOver: ({ untilMs }) => untilMs <= clock.monotonicMs(),
  })
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
