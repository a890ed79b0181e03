import type { Address } from 'viem'
import type { Steps } from '../../../lib/async/cooperative.ts'
import { UpstreamError } from '../../../lib/error.ts'
import type { FinanceChain } from '../../chain.ts'
import type { FilteredToken } from '../../token/spam_filter.ts'
import type { RawToken } from '../../token/token.ts'
import { describeMissingDecimals, hasDecimals, type TokenWithDecimals } from '../priced_token.ts'

/** A position that is left out because of what its tokens are. */
export interface SpamPosition {
  readonly chainId: number
  readonly manager: Address
  readonly tokenId: bigint
  readonly reason: string
}

/** A position that could not be decoded in full. */
export interface UnreadablePosition {
  readonly chainId: number
  readonly manager: Address
  readonly tokenId: bigint
  /** What is wrong, in words that follow "because". */
  readonly because: string
}

/** Positions of a reading. Every entry of its list is in exactly one of the three. */
export interface ClassifiedPositions<Listed> {
  readonly positions: readonly Listed[]
  readonly spams: readonly SpamPosition[]
  readonly unreadable: readonly UnreadablePosition[]
}

/** The pool and tokens of a position that is neither spam nor unreadable. */
export interface PositionParts<Pool> {
  readonly pool: Pool
  readonly token0: TokenWithDecimals
  readonly token1: TokenWithDecimals
  /** Why its tokens are spam. */
  readonly spam: string | undefined
}

/** How positions are sorted out. */
interface SortOptions<Raw, Broken> {
  readonly chain: FinanceChain
  readonly judge: (raw: RawToken, chain: FinanceChain) => FilteredToken
  /** `included` if positions are answered even if their tokens are spam. */
  readonly spam: 'apart' | 'included'
  readonly managerOf: (raw: Raw | Broken) => Address
  /** Why one could not be read, in words that follow "because". */
  readonly becauseOf: (broken: Broken) => string
}

/** Tokens or positions that are interpreted in one step. */
const STEP_TOKENS = 32
const STEP_POSITIONS = 500

/**
 * Names the tokens of a lens' answer and separates spam, unless it is included, and positions whose tokens cannot be
 * shown. Pools and tokens are places in the answer's lists. Throws `UpstreamError` for a place that is none.
 */
export function* classifyPositions<
  Raw extends { readonly pool: number; readonly tokenId: bigint },
  Broken extends { readonly tokenId: bigint },
  Pool extends { readonly token0: number; readonly token1: number },
  Listed,
>(
  read: {
    readonly tokens: readonly RawToken[]
    readonly pools: readonly Pool[]
    readonly positions: readonly Raw[]
    readonly broken: readonly Broken[]
  },
  { chain, judge, spam, managerOf, becauseOf }: SortOptions<Raw, Broken>,
  make: (raw: Raw, parts: PositionParts<Pool>) => Listed,
): Steps<ClassifiedPositions<Listed>> {
  const tokens: FilteredToken[] = []
  for (const [index, raw] of read.tokens.entries()) {
    if (index % STEP_TOKENS === STEP_TOKENS - 1) yield
    tokens.push(judge(raw, chain))
  }
  const positions: Listed[] = []
  const spams: SpamPosition[] = []
  const placeOf = (raw: Raw | Broken) => ({ chainId: chain.id, manager: managerOf(raw), tokenId: raw.tokenId })
  const unreadable: UnreadablePosition[] = read.broken.map((raw) => ({ ...placeOf(raw), because: becauseOf(raw) }))
  // A wallet's positions are in few pools.
  const fates: Classification<Pool>[] = []
  for (const [index, raw] of read.positions.entries()) {
    if (index % STEP_POSITIONS === STEP_POSITIONS - 1) yield
    let fate = fates[raw.pool]
    if (fate === undefined) {
      fate = fateOf(resolveIndex(read.pools, raw.pool), tokens, spam)
      fates[raw.pool] = fate
    }
    if (fate.kind === 'listed') {
      positions.push(make(raw, fate.parts))
      continue
    }
    if (fate.kind === 'spam') spams.push({ ...placeOf(raw), reason: fate.reason })
    else unreadable.push({ ...placeOf(raw), because: fate.because })
  }
  return { positions, spams, unreadable }
}

/** Where the positions of a pool belong. */
type Classification<Pool> =
  | { readonly kind: 'listed'; readonly parts: PositionParts<Pool> }
  | { readonly kind: 'spam'; readonly reason: string }
  | { readonly kind: 'unreadable'; readonly because: string }

function fateOf<Pool extends { readonly token0: number; readonly token1: number }>(
  pool: Pool,
  tokens: readonly FilteredToken[],
  spam: 'apart' | 'included',
): Classification<Pool> {
  const [first, second] = [resolveIndex(tokens, pool.token0), resolveIndex(tokens, pool.token1)]
  const [token0, token1] = [first.token, second.token]
  const reason = first.spam ?? second.spam
  if (reason !== undefined && spam === 'apart') return { kind: 'spam', reason }
  if (hasDecimals(token0) && hasDecimals(token1))
    return { kind: 'listed', parts: { pool, token0, token1, spam: reason } }
  return { kind: 'unreadable', because: describeMissingDecimals(hasDecimals(token0) ? token1 : token0) }
}

/** What an answer refers to by its place. Throws `UpstreamError` if it did not send it. */
export function resolveIndex<T>(list: readonly T[], index: number): T {
  const item = list[index]
  if (item === undefined) throw new UpstreamError('Cannot decode the lens: it refers to what it did not send')
  return item
}
