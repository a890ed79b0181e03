import { createLru } from '../../lib/lru.ts'
import { memoize } from '../../lib/memoize.ts'
import type { FinanceChain } from '../chain.ts'
import { spamReason } from './spam/spam.ts'
import { type RawToken, type Token, toToken } from './token.ts'

/** Most tokens that are remembered, at most about a kilobyte each, because no more of their texts is read. */
const TOKENS_MAX = 10_000

export interface FilteredToken {
  readonly token: Token
  /** Why it is spam, as a sentence; undefined if it is not. */
  readonly spam: string | undefined
}

/** Interprets tokens, recognizes spam, and remembers the verdicts on the latest tokens. */
export type SpamFilter = ReturnType<typeof createSpamFilter>

/** Makes a judge. A token that changes what it says about itself is judged anew. */
export function createSpamFilter() {
  const remembered = createLru<{ readonly raw: RawToken; readonly judged: FilteredToken }>({ entriesMax: TOKENS_MAX })
  return {
    judge(raw: RawToken, chain: FinanceChain): FilteredToken {
      const key = `${chain.id}:${raw.address}`
      const before = remembered.get(key)
      if (before !== undefined && saysTheSame(before.raw, raw)) return before.judged
      const token = toToken(raw)
      const judged = { token, spam: spamReason(token, listedOn(chain)) }
      remembered.set(key, { raw, judged })
      return judged
    },
  }
}

const listedOn = memoize(({ spamTokens }: FinanceChain) => new Set(spamTokens))

function saysTheSame(a: RawToken, b: RawToken): boolean {
  return a.symbol === b.symbol && a.name === b.name && a.decimals === b.decimals
}
