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

/** Derives a figure's unit from its name: percentages, US dollars, ratios where 1 is 100 %, amounts of tokens. */
export function getUnit(name: string): string {
  if (/percentage/i.test(name)) return 'percent'
  if (/^(amount|current|lower|upper)$/.test(name))
    return name === 'amount' ? 'whole tokens' : 'whole tokens of the other'
  return /apy|ltv|leverage|utilization|threshold|factor/i.test(name) ? 'ratio' : 'US dollars'
}

/** Adds unit and formula to the figures of a family's answer. */
export function linkFigures(schema: JsonSchema, family: string): JsonSchema {
  const link = (node: JsonSchema, name: string): JsonSchema => {
    const { properties, items, anyOf } = node
    const fields = Object.entries((properties ?? {}) as Readonly<Record<string, JsonSchema>>)
    return {
      ...node,
      ...(isFigure(name, node['x-format']) ? toLinks(family, name) : {}),
      ...(properties === undefined
        ? {}
        : { properties: Object.fromEntries(fields.map(([key, field]) => [key, link(field, key)])) }),
      ...(items === undefined ? {} : { items: link(items as JsonSchema, name) }),
      ...(Array.isArray(anyOf) ? { anyOf: anyOf.map((each: JsonSchema) => link(each, name)) } : {}),
    }
  }
  return link(schema, '')
}

function toLinks(family: string, name: string): JsonSchema {
  return { 'x-unit': getUnit(name), [FORMULA_LINK]: { url: getFormulaPath({ family, name }) } }
}
