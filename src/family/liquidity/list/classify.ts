import { type Address, checksumAddress } from 'viem'
import type { FinanceChain } from '../../../finance/chain.ts'
import { describeMissingDecimals, hasDecimals, type TokenWithDecimals } from '../../../finance/token/priced_token.ts'
import type { FilteredToken } from '../../../finance/token/spam.ts'
import type { RawToken, Token } from '../../../finance/token/token.ts'
import type { Steps } from '../../../lib/async/cooperative.ts'
import { UpstreamError } from '../../../lib/error.ts'
import { memoize } from '../../../lib/memoize.ts'

/** A position that is left out because its tokens are spam. */
interface SpamPosition {
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
  /** What is wrong, as words after "because". */
  readonly reason: string
}

/** Positions of a read. Every entry of its list is in exactly one of the three arrays. */
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
  /** Reason why its tokens are spam; undefined if they are not. */
  readonly spam: string | undefined
}

/** Options of classifying positions. */
interface ClassifyOptions<Raw, Broken> {
  readonly chain: FinanceChain
  readonly classifyToken: (raw: RawToken, chain: FinanceChain) => FilteredToken
  /** `included` lists positions even if their tokens are spam. */
  readonly spam: 'apart' | 'included'
  readonly getManager: (raw: Raw | Broken) => Address
  /** Returns why a position could not be read, as words after "because". */
  readonly getReason: (broken: Broken) => string
}

/** Tokens or positions in one step. */
const STEP_TOKENS = 32
const STEP_POSITIONS = 500

/**
 * Classifies the positions of a lens' answer: decodes tokens, and separates spam (unless included) and positions whose
 * tokens have no decimals. Pools and tokens are indexes of the answer's lists. Throws `UpstreamError` for an index out
 * of range.
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
  { chain, classifyToken, spam, getManager, getReason }: ClassifyOptions<Raw, Broken>,
  make: (raw: Raw, parts: PositionParts<Pool>) => Listed,
): Steps<ClassifiedPositions<Listed>> {
  const tokens: FilteredToken[] = []
  for (const [index, raw] of read.tokens.entries()) {
    if (index % STEP_TOKENS === STEP_TOKENS - 1) yield
    tokens.push(classifyToken(raw, chain))
  }
  const positions: Listed[] = []
  const spams: SpamPosition[] = []
  const toLocation = (raw: Raw | Broken) => ({ chainId: chain.id, manager: getManager(raw), tokenId: raw.tokenId })
  const unreadable: UnreadablePosition[] = read.broken.map((raw) => ({ ...toLocation(raw), reason: getReason(raw) }))
  // A wallet's positions are in few pools.
  const classifications: Classification<Pool>[] = []
  for (const [index, raw] of read.positions.entries()) {
    if (index % STEP_POSITIONS === STEP_POSITIONS - 1) yield
    let classification = classifications[raw.pool]
    if (classification === undefined) {
      classification = classifyPool(resolveIndex(read.pools, raw.pool), tokens, spam)
      classifications[raw.pool] = classification
    }
    if (classification.kind === 'listed') {
      positions.push(make(raw, classification.parts))
      continue
    }
    if (classification.kind === 'spam') spams.push({ ...toLocation(raw), reason: classification.reason })
    else unreadable.push({ ...toLocation(raw), reason: classification.reason })
  }
  return { positions, spams, unreadable }
}

/** The class of all positions of a pool. */
type Classification<Pool> =
  | { readonly kind: 'listed'; readonly parts: PositionParts<Pool> }
  | { readonly kind: 'spam'; readonly reason: string }
  | { readonly kind: 'unreadable'; readonly reason: string }

function classifyPool<Pool extends { readonly token0: number; readonly token1: number }>(
  pool: Pool,
  tokens: readonly FilteredToken[],
  spam: 'apart' | 'included',
): Classification<Pool> {
  const [first, second] = [resolveIndex(tokens, pool.token0), resolveIndex(tokens, pool.token1)]
  const [token0, token1] = [toMarkedToken(first), toMarkedToken(second)]
  const reason = first.spam ?? second.spam
  if (reason !== undefined && spam === 'apart') return { kind: 'spam', reason }
  if (hasDecimals(token0) && hasDecimals(token1))
    return { kind: 'listed', parts: { pool, token0, token1, spam: reason } }
  return { kind: 'unreadable', reason: describeMissingDecimals(hasDecimals(token0) ? token1 : token0) }
}

/** Returns a filtered token with the reason why it is spam. */
const toMarkedToken = memoize(({ token, spam }: FilteredToken): Token & Pick<TokenWithDecimals, 'spam'> =>
  spam === undefined ? token : { ...token, spam },
)

/** Returns the item at an index of an answer's list. Throws `UpstreamError` for an index out of range. */
export function resolveIndex<T>(list: readonly T[], index: number): T {
  const item = list[index]
  if (item === undefined) throw new UpstreamError('Cannot decode the lens: it refers to what it did not send')
  return item
}

/** Most spam positions that an answer lists; more would not help. */
const SPAMS_SHOWN_MAX = 1_000

/**
 * Presents the number of positions of each kind, and the spam positions. `unreadable` counts additional positions that
 * failed to decode in full.
 */
export function presentCounts(
  reads: readonly ClassifiedPositions<{ readonly liquidity: bigint }>[],
  { filtered, unreadable = 0 }: { readonly filtered: number; readonly unreadable?: number },
) {
  const positions = reads.flatMap((read) => read.positions)
  const spams = reads.flatMap((read) => read.spams)
  const totalActive = positions.filter(({ liquidity }) => liquidity > 0n).length
  return presentTotals({
    totalActive,
    totalInactive: positions.length - totalActive,
    filtered,
    errors: reads.reduce((sum, read) => sum + read.unreadable.length, unreadable),
    spams: spams.slice(0, SPAMS_SHOWN_MAX).map(presentSpam),
  })
}

/** Presents the number of positions of each kind on any chain; `filtered` are those that match the request. */
export function presentTotals<Spam>(counts: {
  readonly totalActive: number
  readonly totalInactive: number
  readonly filtered: number
  /** Positions that cannot be decoded. */
  readonly errors: number
  /** As answers have them. */
  readonly spams: readonly Spam[]
}) {
  const { totalActive, totalInactive, filtered, errors, spams } = counts
  const total = totalActive + totalInactive
  return { totalActive, totalInactive, total, filtered, errors, spams: spams.slice(0, SPAMS_SHOWN_MAX) }
}

/** Presents a spam position, with the reason. */
function presentSpam({ tokenId, chainId, manager, reason }: SpamPosition) {
  return { token_id: tokenId.toString(), chain_id: chainId, manager_address: checksumAddress(manager), reason }
}
