import * as v from 'valibot'
import type { Address } from 'viem'
import { isNativeToken } from '../../finance/token/list/native.ts'
import { TARGET_LENGTH_MAX } from '../../http/limits.ts'
import { chainIdIn, documented, evmAddress, flag, missingWith, moment } from '../../http/request/input.ts'

/** Tokens that a caller may name. */
const TOKENS_MAX = 100
const EXPECTED_TOKENS = `expected 1 to ${TOKENS_MAX} EVM addresses with commas between them`

/** Addresses without repetitions. */
const tokens = v.pipe(
  v.string(EXPECTED_TOKENS),
  v.transform((text) => text.split(',')),
  v.array(evmAddress, EXPECTED_TOKENS),
  v.transform((addresses) => [...new Set(addresses)]),
  v.maxLength(TOKENS_MAX, EXPECTED_TOKENS),
  v.metadata({ lengthMax: TARGET_LENGTH_MAX }),
  documented({
    type: 'string',
    description:
      `Up to ${TOKENS_MAX} addresses of tokens, with commas between them, that are asked in addition to the lists; ` +
      'needs chain_id. What is in no list is not counted without include_unlisted.',
  }),
)

/** Parameters of every route of portfolios. */
export function portfolioParameters(chainIds: readonly number[]) {
  return {
    wallet: evmAddress,
    chain_id: v.optional(chainIdIn(chainIds)),
    tokens: v.optional(tokens),
    include_unlisted: v.optional(v.pipe(flag, v.description('Counts tokens that are in no list.')), 'false'),
  }
}

/** Those of the routes about one moment. */
export function momentParameters(chainIds: readonly number[]) {
  return {
    ...portfolioParameters(chainIds),
    allow_partial: v.optional(
      v.pipe(flag, v.description('Leaves out chains that cannot be read, and names them.')),
      'false',
    ),
    ...moment,
  }
}

interface TokensInput {
  readonly chain_id?: number | undefined
  readonly tokens?: readonly Address[] | undefined
}

/** Tokens are of one chain, and its native token is always asked. */
export function tokensRule<Input extends TokensInput>() {
  return v.rawCheck<Input>(({ dataset, addIssue }) => {
    if (!dataset.typed) return
    const { chain_id, tokens = [] } = dataset.value
    const native = tokens.find((token) => isNativeToken(chain_id ?? 0, token))
    if (native !== undefined) {
      addIssue({
        message: `Cannot read parameter "tokens": expected no native token, which is always asked, got "${native}"`,
      })
    } else if (tokens.length > 0 && chain_id === undefined)
      addIssue(missingWith('tokens', { name: 'chain_id', values: dataset.value }))
  })
}
