import * as v from 'valibot'
import type { Address } from 'viem'
import { SOLANA_CHAIN_ID } from '../../chain/solana/client.ts'
import { isNativeToken } from '../../finance/token/list/native.ts'
import { TARGET_LENGTH_MAX } from '../../http/limits.ts'
import {
  configuredChainId,
  documented,
  EVM_WALLET,
  evmAddress,
  flag,
  missingWith,
  moment,
  NO_PAST,
  type SentTime,
} from '../../http/request/input.ts'
import { isBase58Address } from '../../lib/text/base58.ts'
import { EVM_ADDRESS, SOLANA_ADDRESS, textSchema } from '../../lib/text/text_format.ts'

const EXPECTED_WALLET = 'expected an EVM address, 0x and 40 hexadecimal digits, or a Solana address, base58 of 32 bytes'

/** An EVM address, which yields its checksummed form, or a Solana address. */
export const walletAddress = v.pipe(
  v.string(EXPECTED_WALLET),
  v.rawTransform(({ dataset, addIssue, NEVER }): string => {
    const text = dataset.value
    if (isBase58Address(text)) return text
    const { success, output, issues } = v.safeParse(evmAddress, text)
    if (success) return output
    addIssue({ message: EVM_ADDRESS.pattern.test(text) ? issues[0].message : EXPECTED_WALLET })
    return NEVER
  }),
  documented({
    oneOf: [textSchema(EVM_WALLET), textSchema(SOLANA_ADDRESS)],
    description:
      'EVM address, in mixed case with a right checksum, a name of ENS (`X-Wallet` says its address), or Solana address, base58.',
  }),
)

const SOLANA_REFUSED = 'expected an EVM address, because endpoints of Solana keep no past state'

/** An EVM address on routes that need past state; a Solana address is refused with the reason. */
const historicalWallet = v.pipe(
  v.string(SOLANA_REFUSED),
  v.check((text) => !isBase58Address(text), SOLANA_REFUSED),
  evmAddress,
  documented({
    ...textSchema(EVM_WALLET),
    description:
      'EVM address, in mixed case with a right checksum, or a name of ENS; `X-Wallet` says its address. Endpoints of Solana keep no past state.',
  }),
)

/** Most tokens that a caller may name. */
const TOKENS_MAX = 100
const EXPECTED_TOKENS = `expected 1 to ${TOKENS_MAX} EVM addresses with commas between them`

/** Schema of addresses; removes duplicates. */
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
      `Up to ${TOKENS_MAX} addresses of tokens, separated by commas, that are read in addition to the lists; ` +
      'needs chain_id. Tokens in no list are not counted without include_unlisted.',
    examples: ['0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48'],
  }),
)

/** Parameters of every portfolio route, for EVM chains. */
export function portfolioParameters(chainIds: readonly number[]) {
  return {
    wallet: historicalWallet,
    chain_id: v.optional(configuredChainId(chainIds)),
    tokens: v.optional(tokens),
    include_unlisted: v.optional(v.pipe(flag, v.description('Counts tokens that are in no list.')), 'false'),
  }
}

/** Parameters of the routes about one moment. */
export function momentParameters(chainIds: readonly number[]) {
  return {
    ...portfolioParameters(chainIds),
    wallet: walletAddress,
    chain_id: v.optional(configuredChainId([...chainIds, SOLANA_CHAIN_ID])),
    allow_partial: v.optional(
      v.pipe(flag, v.description('Leaves out chains that cannot be read, and names them.')),
      'false',
    ),
    ...moment,
  }
}

interface WalletInput extends TokensInput {
  readonly wallet: string
  readonly at_block?: number | undefined
  readonly at_time?: SentTime | undefined
}

/** Checks that the parameters fit the wallet: a Solana wallet accepts no past moment, tokens or EVM chain. */
export function walletRule<Input extends WalletInput>() {
  return v.rawCheck<Input>(({ dataset, addIssue }) => {
    if (!dataset.typed) return
    const { wallet, chain_id, tokens, at_block, at_time } = dataset.value
    const addRefusal = (parameter: string, expected: string, got: unknown) =>
      addIssue({ message: `Cannot read parameter "${parameter}": ${expected}, got "${got}"` })
    if (!isBase58Address(wallet)) {
      if (chain_id === SOLANA_CHAIN_ID) addRefusal('chain_id', 'expected an EVM chain for an EVM wallet', chain_id)
    } else if (chain_id !== undefined && chain_id !== SOLANA_CHAIN_ID)
      addRefusal('chain_id', `expected ${SOLANA_CHAIN_ID} or nothing for a Solana wallet`, chain_id)
    else if (at_block !== undefined) addRefusal('at_block', NO_PAST, at_block)
    else if (at_time !== undefined) addRefusal('at_time', NO_PAST, at_time.sent)
    else if (tokens !== undefined)
      addRefusal('tokens', 'expected none for a Solana wallet, all of whose tokens are read', tokens[0])
  })
}

/** Contracts that the operator names because their `balanceOf` returns the native balance, by chain id. */
export type NativeDoublesByChain = ReadonlyMap<number, readonly Address[]>

interface TokensInput {
  readonly chain_id?: number | undefined
  readonly tokens?: readonly Address[] | undefined
}

/**
 * Checks that tokens come with their chain and do not include its native token, which is always read, under any name;
 * `nativeDoubles`: the operator's names of it, by chain.
 */
export function tokensRule<Input extends TokensInput>(nativeDoubles: NativeDoublesByChain) {
  return v.rawCheck<Input>(({ dataset, addIssue }) => {
    if (!dataset.typed) return
    const { chain_id, tokens = [] } = dataset.value
    const id = chain_id ?? 0
    const chain = { id, nativeDoubles: nativeDoubles.get(id) ?? [] }
    const native = tokens.find((token) => isNativeToken(chain, token))
    if (native !== undefined) {
      addIssue({
        message: `Cannot read parameter "tokens": expected no native token, which is always asked, got "${native}"`,
      })
    } else if (tokens.length > 0 && chain_id === undefined)
      addIssue(missingWith('tokens', { name: 'chain_id', values: dataset.value }))
  })
}
