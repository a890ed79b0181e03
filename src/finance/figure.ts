import * as v from 'valibot'
import { formatFixed } from '../lib/number/decimal.ts'
import { formatRational, type Rational, rational } from '../lib/number/rational.ts'
import { DECIMAL, EVM_ADDRESS, fixedDecimal, named, SOLANA_ADDRESS, text, withWords } from '../lib/text/text_format.ts'
import type { BoundlessRatio } from './math/lending.ts'
import { RAY } from './math/rate.ts'

/** A chain's id in an answer. */
export const chainId = withWords('Id of the chain (EIP-155); 101 is Solana', v.pipe(v.number(), v.integer()))
/** An EVM address in an answer. */
export const evmAddress = text(EVM_ADDRESS)
/** A Solana address in an answer. */
export const base58Address = text(SOLANA_ADDRESS)

/** Builds the schema of a field that only `full=true` adds; `words` describe it. */
export function withFull<Schema extends v.GenericSchema>(schema: Schema, words: string) {
  return v.optional(v.pipe(schema, v.description(`full=true: ${words}`)))
}

const missingPart = named(
  'MissingPart',
  'Something that the figures do not have in them',
  v.strictObject({
    what: withWords('What is missing, in words', v.string()),
    amount: withWords(
      'How much of it, whole tokens, all digits; null where that is not known',
      v.nullable(text(DECIMAL)),
    ),
    why: withWords('The reason in a sentence', v.string()),
  }),
)

/** Builds the schema of what an answer lacks; `amount` is in whole tokens, null where there is none. `words` describe it. */
export function incompleteList(words: string) {
  return withWords(words, v.array(missingPart))
}

export const USD_DIGITS = 6
const RATIO_DIGITS = 8
const PERCENTAGE_DIGITS = 4
const HEALTH_FACTOR_DIGITS = 4

/** US dollars in an answer. */
export const usdFigure = text(fixedDecimal(USD_DIGITS, { signed: true }))
/** A rate or a ratio in an answer, 1 for 100 %. */
export const ratioFigure = text(fixedDecimal(RATIO_DIGITS, { signed: true }))
/** What an APY in an answer has in it. */
export const APY_WORDS =
  'Interest alone, compounded over a year at the rates of this block; no rewards that are paid beside it'
/** An APY in an answer, 1 for 100 %. */
export const apyFigure = v.pipe(ratioFigure, v.description(APY_WORDS))
/** A rate or a ratio, `MAX` if it is infinite. */
export const ratioOrMaxFigure = text(fixedDecimal(RATIO_DIGITS, { max: true }))
/** A ratio in an answer, 100 for 100 %. */
export const percentageFigure = text(fixedDecimal(PERCENTAGE_DIGITS))
/** A health factor in an answer. */
export const healthFactorFigure = v.pipe(
  text(fixedDecimal(HEALTH_FACTOR_DIGITS, { max: true })),
  v.description('Truncated to 4 digits; MAX without debt'),
)

/** Formats US dollars: six digits, half away from zero. */
export function formatUsd(value: Rational): string {
  return formatRational(value, { digits: USD_DIGITS })
}

/** Formats millionths of a US dollar as `formatUsd`. */
export function formatUsdE6(unitsE6: bigint): string {
  return formatFixed(unitsE6, { scale: USD_DIGITS, digits: USD_DIGITS })
}

/** Formats a ratio: eight digits, half away from zero, `MAX` if it is infinite. */
export function formatRatio(value: BoundlessRatio): string {
  return value === 'max' ? 'MAX' : formatRational(value, { digits: RATIO_DIGITS })
}

/** Formats a yearly yield, ray, as `formatRatio`. */
export function formatApy(apyRay: bigint): string {
  return formatRatio(rational(apyRay, RAY))
}

/** Formats a ratio in percent: four digits, half away from zero. */
export function formatPercentage({ numerator, denominator }: Rational): string {
  return formatRational({ numerator: numerator * 100n, denominator }, { digits: PERCENTAGE_DIGITS })
}

/** Formats a health factor: four digits, rounded down, so that safety is never overstated. */
export function formatHealthFactor(value: BoundlessRatio): string {
  return value === 'max' ? 'MAX' : formatRational(value, { digits: HEALTH_FACTOR_DIGITS, rounding: 'toward_zero' })
}
