import { createLru } from '../../lib/lru.ts'
import { memoize } from '../../lib/memoize.ts'
import type { FinanceChain } from '../chain.ts'
import { toTokenSet } from './list/list.ts'
import { type KnownTokens, spamReason } from './spam.ts'
import { type RawToken, type Token, toToken } from './token.ts'

/** Most cached tokens, about a kilobyte each at most, because no more of their texts is read. */
const TOKENS_MAX = 10_000

export interface FilteredToken {
  readonly token: Token
  /** Why the token is spam, as a sentence; undefined if it is not. */
  readonly spam: string | undefined
}

/** Decodes tokens, recognizes spam, and caches the verdicts on the latest tokens. */
export type SpamFilter = ReturnType<typeof createSpamFilter>

/** Creates the spam filter. A token whose metadata changes is re-evaluated. */
export function createSpamFilter() {
  const cache = createLru<{ readonly raw: RawToken; readonly result: FilteredToken }>({ entriesMax: TOKENS_MAX })
  return {
    classify(raw: RawToken, chain: FinanceChain): FilteredToken {
      const key = `${chain.id}:${raw.address}`
      const cached = cache.get(key)
      if (cached !== undefined && isSameText(cached.raw, raw)) return cached.result
      const token = toToken(raw)
      const result = { token, spam: spamReason(token, getKnownTokens(chain)) }
      cache.set(key, { raw, result })
      return result
    },
  }
}

/** Returns the tokens of a chain that are spam or none whatever their texts say. */
export const getKnownTokens = memoize(
  ({ spamTokens, tokens }: FinanceChain): KnownTokens => ({
    spam: new Set(spamTokens),
    listed: toTokenSet(tokens.addresses),
  }),
)

function isSameText(a: RawToken, b: RawToken): boolean {
  return a.symbol === b.symbol && a.name === b.name && a.decimals === b.decimals
}
