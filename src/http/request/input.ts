import * as v from 'valibot'
import { type Address, checksumAddress, type Hex } from 'viem'
import { pow10, UINT256_MAX } from '../../lib/number/fixed_point.ts'
import { isBase58Address } from '../../lib/text/base58.ts'
import { parseInstantMs } from '../../lib/text/instant.ts'
import { EVM_ADDRESS, SOLANA_ADDRESS, type TextFormat, textSchema } from '../../lib/text/text_format.ts'
import { PAGE_LIMIT_DEFAULT, PAGE_LIMIT_MAX, PAGE_MAX } from '../limits.ts'

/*
 * Schemas of path and query parameters, from text to a typed value. The message of each step says what is expected;
 * `validateInput` writes the sentence around it. `documented` describes the parameter in OpenAPI, because a pipe from
 * digits to a number would be described as text.
 */

const WHOLE_NUMBER = /^(?:0|[1-9][0-9]{0,15})$/
export const TARGET_HEALTH_FACTOR = 'Health factor that safe amounts to borrow and to withdraw would leave.'
const DATES = ['2026-01-01']
const TARGET = /^(?:0|[1-9][0-9]{0,2})(?:\.[0-9]{1,18})?$/
const PRINTABLE: TextFormat = { pattern: /^[\x20-\x7e]+$/, words: 'printable ASCII' }
const TOKEN_ID: TextFormat = { pattern: /^(0|[1-9][0-9]{0,77})$/, words: 'integer in up to 78 digits' }

/** An OpenAPI 3.1 schema object that describes a parameter or field. */
interface OpenapiSchema {
  readonly type?: string
  readonly [keyword: string]: unknown
}

/** Describes a schema in OpenAPI, instead of its steps. */
export function documented<Input>(
  schema: OpenapiSchema,
): v.MetadataAction<Input, { readonly documented: OpenapiSchema }> {
  return v.metadata({ documented: schema })
}

/** An EVM address in one case, or in mixed case with a valid checksum; yields the checksummed form. */
export const evmAddress = v.pipe(
  v.string('expected an EVM address, 0x and 40 hexadecimal digits'),
  v.regex(EVM_ADDRESS.pattern, 'expected an EVM address, 0x and 40 hexadecimal digits'),
  v.rawTransform(({ dataset, addIssue, NEVER }): Address => {
    const text = dataset.value
    const address = checksumAddress(text.toLowerCase() as Hex)
    if (address === text || isOneCase(text)) return address
    addIssue({ message: 'expected an EVM address with a right checksum, or all in lower case' })
    return NEVER
  }),
  documented({
    ...textSchema(EVM_ADDRESS),
    description: 'EVM address; in mixed case its checksum must be right.',
  }),
)

/** An address of EVM chains in a query, or a name of ENS. */
export const EVM_WALLET: TextFormat = {
  pattern: /^(0x[0-9a-fA-F]{40}|[^.,]+(\.[^.,]+)+)$/,
  words: '0x and 40 hex digits, or a name',
}

/** The wallet of a query: an EVM address. The exchange has replaced a name by the address before. */
export const evmWallet = v.pipe(
  evmAddress,
  documented({
    ...textSchema(EVM_WALLET),
    description: 'EVM address, in mixed case with a right checksum, or a name of ENS; `X-Wallet` says its address.',
  }),
)

const EXPECTED_ADDRESS = 'expected a Solana address, base58 of 32 bytes'

/** A Solana address. Its case is significant and stays. */
export const solanaAddress = v.pipe(
  v.string(EXPECTED_ADDRESS),
  v.check(isBase58Address, EXPECTED_ADDRESS),
  documented({ ...textSchema(SOLANA_ADDRESS), description: 'Solana address, base58.' }),
)

/** A whole number in plain ASCII digits, from `min` to `max`; `expected` completes the message. */
export function wholeNumber(options: { readonly min: number; readonly max: number; readonly expected?: string }) {
  const { min, max, expected = `expected a whole number from ${min} to ${max}` } = options
  return v.pipe(
    v.string(expected),
    v.regex(WHOLE_NUMBER, expected),
    v.transform(Number),
    v.minValue(min, expected),
    v.maxValue(max, expected),
    documented({ type: 'integer', minimum: min, maximum: max }),
  )
}

/** Page number, 1 if absent. */
export const page = v.optional(
  v.pipe(
    wholeNumber({ min: 1, max: PAGE_MAX, expected: 'expected a positive integer' }),
    v.description('Which page of the list, from 1.'),
  ),
  '1',
)

/** Page size, 10 if absent, at most 25. */
export const limit = v.optional(
  v.pipe(
    wholeNumber({ min: 1, max: PAGE_LIMIT_MAX, expected: `expected an integer from 1 to ${PAGE_LIMIT_MAX}` }),
    v.description('Entries of a page.'),
  ),
  String(PAGE_LIMIT_DEFAULT),
)

/**
 * Describes chain ids without an `enum`, so that a client generated for one configuration accepts another. `deployedIds`: those
 * on which anything can be found.
 */
export function chainSchema(ids: readonly number[], deployedIds = ids): OpenapiSchema {
  if (ids.length === 0) return { type: 'integer', description: 'No such chain is served.', 'x-chain-ids': ids }
  const description = `Id of a chain that is served: ${ids.join(', ')}. Any other is refused.`
  const deployed = deployedIds.length < ids.length ? { 'x-deployed-chain-ids': deployedIds } : {}
  return { type: 'integer', description, examples: [ids[0]], 'x-chain-ids': ids, ...deployed }
}

/** One of these chain ids; `what` describes them in the error. `deployedIds`: see `chainSchema`. */
export function configuredChainId(
  configuredIds: Iterable<number>,
  what = 'configured chain',
  deployedIds?: readonly number[],
) {
  const ids = [...configuredIds].sort((a, b) => a - b)
  const expected = `expected the id of a ${what} (${ids.join(', ')})`
  return v.pipe(
    v.string(expected),
    v.regex(WHOLE_NUMBER, expected),
    v.transform(Number),
    v.check((id) => ids.includes(id), expected),
    documented(chainSchema(ids, deployedIds)),
  )
}

/** Schema of a chain id with `what`. If no chain has it, every id passes: the route answers that none is configured. */
export function chainIdWith(what: string, chainIds: readonly number[]) {
  return chainIds.length > 0
    ? configuredChainId(chainIds, `configured chain with ${what}`)
    : wholeNumber({ min: 1, max: Number.MAX_SAFE_INTEGER })
}

/** `true` or `false`. */
export const flag = v.pipe(
  v.picklist(['true', 'false'], 'expected true or false'),
  v.transform((text) => text === 'true'),
  documented({ type: 'boolean' }),
)

/** One of the given words. */
export function choice<const Words extends readonly [string, ...string[]]>(words: Words) {
  const quoted = words.map((word) => `"${word}"`).join(', ')
  return v.picklist(words, words.length === 1 ? `expected ${quoted} or nothing` : `expected one of ${quoted}`)
}

/** A token id: decimal digits without leading zeros, below 2^256; yields a bigint. */
export const tokenId = v.pipe(
  v.string('expected a token id in decimal digits, below 2^256'),
  v.regex(TOKEN_ID.pattern, 'expected a token id in decimal digits, below 2^256'),
  v.transform((text) => BigInt(text)),
  v.maxValue(UINT256_MAX, 'expected a token id in decimal digits, below 2^256'),
  documented({ ...textSchema(TOKEN_ID), description: 'Id of the token that is the position.' }),
)

/** Printable ASCII text of at most `max` characters. */
export function shortText(max: number) {
  const expected = `expected at most ${max} printable ASCII characters`
  return v.pipe(
    v.string(expected),
    v.maxLength(max, expected),
    v.regex(PRINTABLE.pattern, expected),
    v.metadata({ 'x-format': PRINTABLE.words }),
  )
}

/** Target health factor: a decimal above 1, at most 100, 1.5 if absent; yields its digits unchanged. */
export const targetHealthFactor = v.optional(
  v.pipe(
    v.string('expected a decimal number above 1 and at most 100'),
    v.regex(TARGET, 'expected a decimal number above 1 and at most 100'),
    v.check(isTargetHealthFactor, 'expected a decimal number above 1 and at most 100'),
    documented({ type: 'number', exclusiveMinimum: 1, maximum: 100, description: TARGET_HEALTH_FACTOR }),
  ),
  '1.5',
)

/** `YYYY-MM-DD` or ISO 8601; a date means its first instant in UTC, a timestamp without a zone is UTC. */
export const instantFrom = instant('first')

/** `YYYY-MM-DD` or ISO 8601; a date means its last millisecond in UTC, a timestamp without a zone is UTC. */
export const instantTo = instant('last')

const SECONDS = /^(?:0|[1-9][0-9]{0,11})$/
const EXPECTED_MOMENT = 'expected Unix seconds, a date (YYYY-MM-DD) or an ISO 8601 timestamp'

const MILLISECONDS = /^[1-9][0-9]{12}$/

export interface SentTime {
  /** Seconds since the epoch. */
  readonly sec: number
  /** The text as it was sent, for errors. */
  readonly sent: string
}

const momentText = v.pipe(
  v.string(EXPECTED_MOMENT),
  v.check((text) => !MILLISECONDS.test(text), 'expected Unix seconds, this looks like milliseconds'),
  v.check((text) => parseMomentSec(text) !== undefined, EXPECTED_MOMENT),
  v.transform((sent): SentTime => ({ sec: parseMomentSec(sent) ?? Number.NaN, sent })),
)

function parseMomentSec(text: string): number | undefined {
  if (SECONDS.test(text)) return Number(text)
  const ms = parseInstantMs(text, 'first')
  return ms === undefined ? undefined : Math.floor(ms / 1_000)
}

const AT_BLOCK = 'Height of the block that the answer is about; needs chain_id.'
const AT_TIME =
  'Time that the answer is about, on each chain the last block at or before it: Unix seconds, YYYY-MM-DD (midnight, ' +
  'UTC) or an ISO 8601 timestamp. Not together with at_block.'

/** Query parameters that select the block of an answer: its height, or a time. */
export const moment = {
  at_block: v.optional(
    v.pipe(
      wholeNumber({ min: 0, max: Number.MAX_SAFE_INTEGER, expected: 'expected the height of a block' }),
      documented({ type: 'integer', minimum: 0, description: AT_BLOCK, examples: [21_000_000] }),
    ),
  ),
  at_time: v.optional(v.pipe(momentText, documented({ type: 'string', description: AT_TIME, examples: DATES }))),
}

/** The parameters of `moment` as fields of a JSON body: numbers, or text for a date. */
export const momentFields = {
  at_block: v.optional(
    v.pipe(
      v.number('expected the height of a block'),
      v.safeInteger('expected the height of a block'),
      v.minValue(0, 'expected the height of a block'),
      documented({ type: 'integer', minimum: 0, description: AT_BLOCK, examples: [21_000_000] }),
    ),
  ),
  at_time: v.optional(
    v.pipe(
      v.union([v.number(), v.string()], EXPECTED_MOMENT),
      v.transform(String),
      momentText,
      documented({ oneOf: [{ type: 'integer', minimum: 0 }, { type: 'string' }], description: AT_TIME }),
    ),
  ),
}

/** A parameter of other routes: refused with a reason, and not described in OpenAPI. */
function refusedParameter(why: string) {
  return v.optional(v.never(why))
}

/** Reason for refusing a past moment on Solana. */
export const NO_PAST = 'expected it for EVM chains only, because endpoints of Solana keep no past state'

/** Refuses the parameters of `moment` on routes of Solana; ignoring them would pass current state off as past state. */
export const noMoment = { at_block: refusedParameter(NO_PAST), at_time: refusedParameter(NO_PAST) }

interface MomentInput {
  readonly chain_id?: number | undefined
  readonly at_block?: number | undefined
  readonly at_time?: SentTime | undefined
}

/** Requires `chain_id` with `at_block`, and not both `at_block` and `at_time`. */
export function momentRule<Input extends MomentInput>() {
  return v.rawCheck<Input>(({ dataset, addIssue }) => {
    if (!dataset.typed || dataset.value.at_block === undefined) return
    const { at_time, chain_id } = dataset.value
    if (at_time !== undefined) addIssue({ message: 'Cannot read parameter "at_time": expected it without "at_block"' })
    else if (chain_id === undefined) addIssue(missingWith('at_block', { name: 'chain_id', values: dataset.value }))
  })
}

/** Creates the issue of a missing parameter that `other` requires. */
export function missingWith(other: string, { name, values }: { readonly name: string; readonly values: object }) {
  const input: Record<string, unknown> = { ...values }
  const path: [v.ObjectPathItem] = [{ type: 'object', origin: 'value', input, key: name, value: undefined }]
  return { input: undefined, message: `with "${other}"`, path }
}

function instant(edge: 'first' | 'last') {
  const expected = 'expected a date (YYYY-MM-DD) or an ISO 8601 timestamp'
  return v.pipe(
    v.string(expected),
    v.check((text) => parseInstantMs(text, edge) !== undefined, expected),
    v.transform((text) => new Date(parseInstantMs(text, edge) ?? Number.NaN)),
    documented({ type: 'string', description: 'YYYY-MM-DD or ISO 8601, UTC without a zone.', examples: DATES }),
  )
}

/** Compares in units of 10^-18: as a float, 1 plus the smallest step is 1. */
function isTargetHealthFactor(text: string): boolean {
  const [whole = '', fraction = ''] = text.split('.')
  const units = BigInt(whole + fraction.padEnd(18, '0'))
  return units > pow10(18) && units <= 100n * pow10(18)
}

function isOneCase(text: string): boolean {
  const digits = text.slice(2)
  return digits === digits.toLowerCase() || digits === digits.toUpperCase()
}
