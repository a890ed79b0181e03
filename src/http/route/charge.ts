/** What a success costs, as data: the charge and every sentence about it are made from it. */
export interface Charge {
  /** For one of what is counted, or for the answer. */
  readonly credits: number
  /** What is counted: `position on the page`; without it the answer is. */
  readonly per?: string
  /** What else to know: `counted before pagination`. */
  readonly terms?: string
  /** The lower price of each if so many or more match. */
  readonly many?: { readonly from: number; readonly credits: number }
  /** Other prices, by the value of a parameter; the first that fits. */
  readonly instead?: readonly Instead[]
}

interface Instead {
  readonly credits: number
  readonly parameter: string
  readonly value: string | boolean
}

/** Of a route whose every answer costs the same. */
export const PER_CALL = 'successful call'

/** Credits of one of what is counted, for a valid input. */
export function getUnitCredits({ credits, instead = NO_OTHERS }: Charge, input: object): number {
  const values = input as Readonly<Record<string, unknown>>
  for (const other of instead) if (values[other.parameter] === other.value) return other.credits
  return credits
}

const NO_OTHERS: readonly never[] = []

/** Credits of `count` of them. */
export function computeCredits(charge: Charge, input: object, count: number): number {
  const { many } = charge
  return count * (many !== undefined && count >= many.from ? many.credits : getUnitCredits(charge, input))
}

/** The sentence about it: `8 credits; 4 with status=inactive.` */
export function priceSentence({ credits, per, terms, many, instead = [] }: Charge): string {
  const each = `${credits} ${credits === 1 ? 'credit' : 'credits'}${per === undefined ? '' : ` per ${per}`}`
  const fewer = many === undefined ? undefined : `${many.credits} where ${many.from} or more match`
  const usual = [each, fewer, terms].filter((part) => part !== undefined).join(', ')
  const others = instead.map((other) => `${other.credits} with ${other.parameter}=${other.value}`).join(', ')
  return `${others === '' ? usual : `${usual}; ${others}`}.`
}
