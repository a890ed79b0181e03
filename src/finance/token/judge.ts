import { createLru } from '../../lib/lru.ts'
import { memoize } from '../../lib/memoize.ts'
import type { FinanceChain } from '../chain.ts'
import { spamReason } from './spam/spam.ts'
import { type RawToken, type Token, tokenFrom } from './token.ts'

/** Most tokens that are remembered, at most about a kilobyte each, because no more of their texts is read. */
const TOKENS_MAX = 10_000

export interface JudgedToken {
  readonly token: Token
  /** Why it is spam, as a sentence; undefined if it is not. */
  readonly spam: string | undefined
}

/** Interprets tokens, recognizes spam, and remembers the verdicts on the latest tokens. */
export type TokenJudge = ReturnType<typeof createTokenJudge>

/** Makes a judge. A token that changes what it says about itself is judged anew. */
export function createTokenJudge() {
  const remembered = createLru<{ readonly raw: RawToken; readonly judged: JudgedToken }>({ entriesMax: TOKENS_MAX })
  return {
    judge(raw: RawToken, chain: FinanceChain): JudgedToken {
      const key = `${chain.id}:${raw.address}`
      const before = remembered.get(key)
      if (before !== undefined && saysTheSame(before.raw, raw)) return before.judged
      const token = tokenFrom(raw)
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
