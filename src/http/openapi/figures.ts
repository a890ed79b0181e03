import type { JsonSchema } from '../route/json_schema.ts'

/** Figures that repeat the caller's input. */
const INPUT_FIGURES: ReadonlySet<string> = new Set(['target_health_factor'])

/** Keyword of the link to a figure's formula. */
export const FORMULA_LINK = 'externalDocs'

/** True for a number that is calculated; `format` is that of its text. */
export function isFigure(name: string, format: unknown): format is string {
  return typeof format === 'string' && format.startsWith('decimal') && !INPUT_FIGURES.has(name)
}

/** Returns path and anchor of a figure's formula, relative to the service's address. */
function getFormulaPath({ family, name }: { readonly family: string; readonly name: string }): string {
  return `formulas#${family}.${name}`
}

/** Units by the digits of a format: each kind of figure has its own (`finance/figure.ts`). */
const UNITS: readonly (readonly [digits: RegExp, unit: string])[] = [
  [/ or MAX$|\b8 digits/, 'ratio'],
  [/\b4 digits/, 'percent'],
  [/\b6 digits/, 'US dollars'],
]

/**
 * Tells a figure's unit by its format; of one with all digits, which is a price, a price of one token in the other, or an
 * amount, by its name.
 */
export function getUnit(name: string, format: string): string {
  const [, unit] = UNITS.find(([digits]) => digits.test(format)) ?? []
  if (unit !== undefined) return unit
  if (/usd$/.test(name)) return 'US dollars'
  if (/^(fx_)?rate$/.test(name)) return 'US dollars per unit of the currency'
  return /^(current|lower|upper)$/.test(name) ? 'whole tokens of the other' : 'whole tokens'
}

/** Adds unit and formula to the figures of a family's answer. */
export function linkFigures(schema: JsonSchema, family: string): JsonSchema {
  const link = (node: JsonSchema, name: string): JsonSchema => {
    const { properties, items, anyOf, 'x-format': format } = node
    const fields = Object.entries((properties ?? {}) as Readonly<Record<string, JsonSchema>>)
    return {
      ...node,
      ...(isFigure(name, format) ? toLinks({ family, name, format }) : {}),
      ...(properties === undefined
        ? {}
        : { properties: Object.fromEntries(fields.map(([key, field]) => [key, link(field, key)])) }),
      ...(items === undefined ? {} : { items: link(items as JsonSchema, name) }),
      ...(Array.isArray(anyOf) ? { anyOf: anyOf.map((each: JsonSchema) => link(each, name)) } : {}),
    }
  }
  return link(schema, '')
}

function toLinks(figure: { readonly family: string; readonly name: string; readonly format: string }): JsonSchema {
  return { 'x-unit': getUnit(figure.name, figure.format), [FORMULA_LINK]: { url: getFormulaPath(figure) } }
}
