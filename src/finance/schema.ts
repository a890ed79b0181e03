import * as v from 'valibot'
import { DECIMAL, EVM_ADDRESS, SOLANA_ADDRESS, text } from '../lib/text/text_format.ts'

/** A chain's id in an answer. */
export const chainId = v.pipe(v.number(), v.integer())
/** An EVM address in an answer. */
export const evmAddress = text(EVM_ADDRESS)
/** A Solana address in an answer. */
export const base58Address = text(SOLANA_ADDRESS)

/** Builds the schema of a field that only `full=true` adds; `words` describe it. */
export function withFull<Schema extends v.GenericSchema>(schema: Schema, words: string) {
  return v.optional(v.pipe(schema, v.description(`full=true: ${words}`)))
}

/** Builds the schema of what an answer lacks; `amount` is in whole tokens, null where there is none. `words` describe it. */
export function incompleteList(words: string) {
  return v.pipe(
    v.array(v.strictObject({ what: v.string(), amount: v.nullable(text(DECIMAL)), why: v.string() })),
    v.description(words),
  )
}
