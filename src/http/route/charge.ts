import { isJsonObject } from '../../lib/text/json.ts'

/** Price of a success, as data: the charge and every sentence about it derive from it. */
export interface Charge {
  /** Credits per unit, or for the answer. */
  readonly credits: number
  /** The unit: `position on the page`; absent: the answer. */
  readonly per?: string
  /** Additional terms: `counted before pagination`. */
  readonly terms?: string
  /** The lower unit price if `from` or more match. */
  readonly many?: { readonly from: number; readonly credits: number }
  /** Other unit prices by the value of a parameter; the first match applies. */
  readonly instead?: readonly Instead[]
}

interface Instead {
  readonly credits: number
  /** Its name, `when.figure` for a field of an object. */
  readonly parameter: string
  readonly value: string | boolean
}

/** Unit of a route with a fixed price. */
export const PER_CALL = 'successful call'

/** Returns the credits of one unit, for a valid input. */
export function getUnitCredits({ credits, instead = NO_OTHERS }: Charge, input: object): number {
  for (const other of instead) if (readParameter(input, other.parameter) === other.value) return other.credits
  return credits
}

function readParameter(input: object, name: string): unknown {
  let value: unknown = input
  for (const field of name.split('.')) value = isJsonObject(value) ? value[field] : undefined
  return value
}

const NO_OTHERS: readonly never[] = []

/** Computes the credits of `count` units. */
export function computeCredits(charge: Charge, input: object, count: number): number {
  const { many } = charge
  return count * (many !== undefined && count >= many.from ? many.credits : getUnitCredits(charge, input))
}

/** Writes the sentence about a charge: `8 credits; 4 with status=inactive.` */
export function priceSentence({ credits, per, terms, many, instead = [] }: Charge): string {
  const each = `${credits} ${credits === 1 ? 'credit' : 'credits'}${per === undefined ? '' : ` per ${per}`}`
  const fewer = many === undefined ? undefined : `${many.credits} where ${many.from} or more match`
  const usual = [each, fewer, terms].filter((part) => part !== undefined).join(', ')
  const others = instead.map((other) => `${other.credits} with ${other.parameter}=${other.value}`).join(', ')
  return `${others === '' ? usual : `${usual}; ${others}`}.`
}
