import { base58 } from '@scure/base'
import type { SolanaAccount } from '../../../chain/solana/accounts.ts'
import { type AccountKind, createByteReader, matchesAccountKind } from '../../../chain/solana/bytes.ts'
import type { KaminoProgram } from '../table/kamino.ts'

/*
 * The bytes of Kamino Lend's reserves and of Scope's feeds that determine a token's price; offsets are those of the
 * programs' published interface descriptions (IDL). "Sf" is an unsigned fixed-point number with 60 fractional bits.
 */

export const RESERVE_KIND: AccountKind = { size: 8624, discriminator: '2bf2ccca1af73b7f' }
export const SCOPE_PRICES_KIND: AccountKind = { size: 28_712, discriminator: '598076dd0648b492' }

/** A reserve's token and the facts of its price. */
export interface PricedReserve {
  readonly market: string
  readonly mint: string
  readonly decimals: number
  readonly emergencyMode: boolean
  /** US dollars per whole token, as last used by the program. */
  readonly priceSf: bigint
  readonly priceTimestampSec: bigint
  /** Checks that the price has passed, as bits. */
  readonly priceStatus: number
  readonly maxPriceAgeSec: bigint
  /** Lowest and highest accepted price, `value / 10^exponent` US dollars; 0 means no bound. */
  readonly priceBounds: { readonly lower: bigint; readonly upper: bigint; readonly exponent: bigint }
  readonly priceBlocked: boolean
  readonly scopeFeed: string
  /** Entries of the Scope feed whose product is the price, as stored; see `listEntryIndexes`. */
  readonly scopeChain: readonly number[]
  /** Check of the price against its average: highest distance, 0 without a check, and highest age of the average. */
  readonly averageCheck: { readonly toleranceBps: bigint; readonly maxAgeSec: bigint }
  /** Entries whose product is the average, as `scopeChain`. */
  readonly averageChain: readonly number[]
}

/** One entry of a Scope feed: `value / 10^exponent`. */
export interface ScopeEntry {
  readonly value: bigint
  readonly exponent: bigint
  readonly timestampSec: bigint
}

const SCOPE = { count: 512, at: 40, size: 56 }
/** Indexes of a chain of entries. */
const CHAIN = [0, 1, 2, 3]
const KEY_NONE = base58.encode(new Uint8Array(32))
/** The key that stands for no account: "nu" and ones. */
const KEY_NULL = 'nu11111111111111111111111111111111111111111'

/** Decodes the bytes of a reserve that passed `matchesAccountKind`. */
export function decodePricedReserve(data: Uint8Array): PricedReserve {
  const bytes = createByteReader(data)
  return {
    market: bytes.key(32),
    mint: bytes.key(128),
    decimals: Number(bytes.u64(272)),
    emergencyMode: bytes.u8(4864) !== 0,
    priceSf: bytes.u128(248),
    priceTimestampSec: bytes.u64(264),
    priceStatus: bytes.u8(25),
    maxPriceAgeSec: bytes.u64(5096),
    priceBounds: { lower: bytes.u64(5064), upper: bytes.u64(5072), exponent: bytes.u64(5080) },
    priceBlocked: bytes.u8(5256) !== 0,
    scopeFeed: bytes.key(5112),
    scopeChain: CHAIN.map((index) => bytes.u16(5144 + 2 * index)),
    averageCheck: { toleranceBps: bytes.u64(5088), maxAgeSec: bytes.u64(5104) },
    averageChain: CHAIN.map((index) => bytes.u16(5152 + 2 * index)),
  }
}

/** Lists the entries of a chain whose product is a price: all before the first index out of range. */
function listEntryIndexes(chain: readonly number[]): readonly number[] {
  const end = chain.findIndex((index) => index >= SCOPE.count)
  return chain.slice(0, end < 0 ? undefined : end)
}

/** Reads the entries whose product is a reserve's price, or its average; empty if its feed is unusable or not Scope's. */
export function readScopeEntries(
  accounts: ReadonlyMap<string, SolanaAccount | null>,
  reserve: PricedReserve,
  { scopeProgramId }: KaminoProgram,
  chain: 'scopeChain' | 'averageChain' = 'scopeChain',
): readonly (ScopeEntry | undefined)[] {
  const feed = findScopeFeed(reserve)
  const account = feed === undefined ? undefined : accounts.get(feed)
  if (account?.owner !== scopeProgramId || !matchesAccountKind(SCOPE_PRICES_KIND, account.data)) return []
  return listEntryIndexes(reserve[chain]).map((index) => decodeScopeEntry(account.data, index))
}

/** Decodes one entry of a Scope feed whose bytes passed `matchesAccountKind`; undefined past its end. */
export function decodeScopeEntry(data: Uint8Array, index: number): ScopeEntry | undefined {
  if (index >= SCOPE.count) return undefined
  const bytes = createByteReader(data)
  const at = SCOPE.at + SCOPE.size * index
  return { value: bytes.u64(at), exponent: bytes.u64(at + 8), timestampSec: bytes.u64(at + 24) }
}

/** Finds the feed that prices a reserve; undefined if it has no feed or its chain of entries was never set. */
export function findScopeFeed({
  scopeFeed,
  scopeChain,
}: Pick<PricedReserve, 'scopeFeed' | 'scopeChain'>): string | undefined {
  const [first = SCOPE.count] = scopeChain
  const isNamed = scopeFeed !== KEY_NONE && scopeFeed !== KEY_NULL
  const isSet = first < SCOPE.count && scopeChain.some((entry) => entry !== 0)
  return isNamed && isSet ? scopeFeed : undefined
}
