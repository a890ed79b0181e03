import * as v from 'valibot'
import { type Address, getAddress, isAddress } from 'viem'
import { isBase58Address } from '../lib/text/base58.ts'

/** An EVM address in a `CHAINS_FILE`; returned checksummed. */
export const address = v.pipe(
  v.string(),
  v.check((text) => isAddress(text), 'expected an EVM address: 0x and 40 hex digits, with a right checksum if any'),
  v.transform((text): Address => getAddress(text)),
)

/** First block with events; 0 if a `CHAINS_FILE` does not name it. */
export const startBlock = v.optional(v.pipe(v.number(), v.safeInteger(), v.minValue(0)), 0)

/** The address of a Solana program. */
export const program = v.pipe(v.string(), v.check(isBase58Address, 'expected the base58 address of a program'))

const base58 = v.pipe(v.string(), v.check(isBase58Address, 'expected a base58 address'))

/** Entries of a `CHAINS_FILE` for Kamino. All families on Solana share them, because they use Kamino's prices. */
export const kaminoEntries = {
  klendProgram: v.optional(program),
  scopeProgram: v.optional(program),
  /** Additional markets and reserves. Each is trusted only after its account was read. */
  kaminoMarkets: v.optional(
    v.array(
      v.strictObject({
        market: base58,
        lookupTable: v.optional(base58),
        reserves: v.optional(v.pipe(v.array(base58), v.maxLength(90, 'expected at most 90 reserves')), []),
      }),
    ),
  ),
}

/** Values that occur more than once, each listed once. */
export function findDuplicates<T>(values: readonly T[]): T[] {
  return [...new Set(values.filter((value, index) => values.indexOf(value) !== index))]
}
