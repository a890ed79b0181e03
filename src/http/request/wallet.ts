import * as v from 'valibot'
import { isBase58Address } from '../../lib/text/base58.ts'
import { EVM_ADDRESS, SOLANA_ADDRESS, textSchema } from '../../lib/text/text_format.ts'
import { documented, evmAddress } from './input.ts'

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
    oneOf: [textSchema(EVM_ADDRESS), textSchema(SOLANA_ADDRESS)],
    description: 'EVM address, in mixed case with a right checksum, or Solana address, base58.',
  }),
)

const SOLANA_REFUSED = 'expected an EVM address, because endpoints of Solana keep no past state'

/** An EVM address on routes that need past state; a Solana address is refused with the reason. */
export const historicalWallet = v.pipe(
  v.string(SOLANA_REFUSED),
  v.check((text) => !isBase58Address(text), SOLANA_REFUSED),
  evmAddress,
  documented({
    ...textSchema(EVM_ADDRESS),
    description: 'EVM address; in mixed case its checksum must be right. Endpoints of Solana keep no past state.',
  }),
)
