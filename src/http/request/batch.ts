import * as v from 'valibot'
import { EVM_ADDRESS, type TextFormat, textSchema } from '../../lib/text/text_format.ts'
import { chainSchema, documented, EVM_WALLET, TARGET_HEALTH_FACTOR } from './input.ts'

/*
 * Schemas of fields in the JSON body of batch routes.
 */

const WALLETS_MAX = 500
const NAMES = ' Up to 5 of them may be names of ENS; `X-Wallet` says their addresses.'
const EXPECTED_TARGET = 'expected a number above 1 and at most 100'

/** Wallets without repetitions, in the order of their first appearance; `what`: `EVM addresses`. */
export function walletList<Address extends string>(
  address: v.GenericSchema<string, Address>,
  { what, format }: { readonly what: string; readonly format: TextFormat },
) {
  const expected = `expected 1 to ${WALLETS_MAX} ${what}`
  return v.pipe(
    v.array(address, expected),
    v.transform((addresses) => [...new Set(addresses)]),
    v.minLength(1, expected),
    v.maxLength(WALLETS_MAX, expected),
    documented({
      type: 'array',
      items: textSchema(format === EVM_ADDRESS ? EVM_WALLET : format),
      minItems: 1,
      description: `At most ${WALLETS_MAX} ${what} once repetitions are left out.${format === EVM_ADDRESS ? NAMES : ''}`,
    }),
  )
}

/** A target health factor as a JSON number; yields its digits. */
export const targetHealthFactorNumber = v.optional(
  v.pipe(
    v.number(EXPECTED_TARGET),
    v.gtValue(1, EXPECTED_TARGET),
    v.maxValue(100, EXPECTED_TARGET),
    v.transform(String),
    documented({ type: 'number', exclusiveMinimum: 1, maximum: 100, description: TARGET_HEALTH_FACTOR }),
  ),
  1.5,
)

/** One of these chains as a JSON number. */
export function chainIdNumber(chainIds: readonly number[], what = 'configured chain') {
  const ids = [...chainIds].sort((a, b) => a - b)
  const expected = `expected the id of a ${what} (${ids.join(', ')})`
  return v.pipe(
    v.number(expected),
    v.check((id) => ids.includes(id), expected),
    documented(chainSchema(ids)),
  )
}
