import { toCurrencyField } from '../../lib/text/currency_field.ts'
import type { JsonSchema } from '../route/json_schema.ts'

/**
 * Adds to every object with a field of US dollars the fields that tell the same in a currency, by the pattern of their
 * names: which of them an answer has depends on the request.
 */
export function addCurrencyPatterns(schema: JsonSchema, currencies: readonly string[]): JsonSchema {
  const add = (node: unknown): unknown => {
    if (Array.isArray(node)) return node.map(add)
    if (typeof node !== 'object' || node === null) return node
    const fields = Object.fromEntries(Object.entries(node).map(([key, value]) => [key, add(value)]))
    const names = Object.keys((fields['properties'] ?? {}) as object)
    return names.some((name) => toCurrencyField(name, '') !== undefined)
      ? { ...fields, patternProperties: { [toPattern(names, currencies)]: CONVERTED } }
      : fields
  }
  return add(schema) as JsonSchema
}

/** Schema of what a field of US dollars is in a currency. */
const CONVERTED = {
  type: ['string', 'null'],
  pattern: '^-?\\d+(\\.\\d+)?$',
  'x-format': 'decimal, may be negative',
  description: 'With currency: the same as the field of US dollars of that name, by the rate of fx',
}

function toPattern(names: readonly string[], currencies: readonly string[]): string {
  const stems = names.flatMap((name) => {
    const field = toCurrencyField(name, '')
    return field === undefined ? [] : [field]
  })
  return `^(${stems.join('|')})(${currencies.map((each) => each.toLowerCase()).join('|')})$`
}
