import { enumKeyword, getFieldSchemas, type JsonSchema } from '../http/route/json_schema.ts'
import type { Route } from '../http/route/route.ts'

/** Argument that names the protocol, where several routes share a tool. */
export const PROTOCOL_FIELD = 'protocol'

/** Keyword of the chain ids that a configuration serves, which OpenAPI does not list as an enumeration. */
const CHAIN_IDS = 'x-chain-ids'

/** An argument of one route. */
interface Field {
  readonly name: string
  readonly required: boolean
  readonly schema: JsonSchema
}

/** An argument of a tool, as one of its routes has it. */
interface GivenField extends Field {
  /** Code of the route's protocol; undefined for a route of none. */
  readonly code: string | undefined
}

/**
 * Creates the schema of a tool's arguments: those of its routes together, each with its description, and which protocols
 * take it if not all do. Short, because `tools/list` takes up context in every session. Throws if two fields of a route
 * share a name.
 */
export function createInputSchema(routes: readonly Route[]) {
  const fieldsByRoute = routes.map(listFields)
  const given = fieldsByRoute.flat()
  const names = [...new Set(given.map(({ name }) => name))]
  const codes = routes.flatMap(({ tool }) => tool?.protocol?.code ?? [])
  const properties = names.map((name) => {
    const fields = given.filter((field) => field.name === name)
    return [name, mergeFields(fields, codes)] as const
  })
  const required = names.filter((name) => fieldsByRoute.every((fields) => isRequired(fields, name)))
  const protocol = { [PROTOCOL_FIELD]: { type: 'string', ...enumKeyword(codes), description: 'Protocol to ask.' } }
  const isChosen = codes.length > 1
  return {
    type: 'object',
    properties: { ...(isChosen && protocol), ...Object.fromEntries(properties) },
    required: [...(isChosen ? [PROTOCOL_FIELD] : []), ...required],
  }
}

function listFields(route: Route): readonly GivenField[] {
  const fields = [...getFieldSchemas(route.input), ...getFieldSchemas(route.body)]
  const names = new Set([PROTOCOL_FIELD, ...fields.map(({ name }) => name)])
  if (names.size !== fields.length + 1) {
    throw new Error(`Cannot make a tool of "${route.path}": two of its fields have one name`)
  }
  return fields.map((field) => ({ ...field, code: route.tool?.protocol?.code }))
}

function isRequired(fields: readonly Field[], name: string): boolean {
  return fields.some((field) => field.name === name && field.required)
}

/** Merges the same argument of several routes. */
function mergeFields(fields: readonly GivenField[], codes: readonly string[]): JsonSchema {
  const shapes = fields.map(({ schema: { description, ...shape } }) => shortenSchema(shape))
  const descriptions = new Set(fields.flatMap(({ name, schema }) => BRIEF.get(name) ?? schema['description'] ?? []))
  const description = [[...descriptions].join(' Or: '), ...noteProtocols(fields, codes)].join(' ').trim()
  return { ...mergeShapes(shapes), ...(description !== '' && { description }) }
}

function mergeShapes(shapes: readonly JsonSchema[]): JsonSchema {
  const [first = {}, ...others] = [...new Map(shapes.map((shape) => [JSON.stringify(shape), shape])).values()]
  if (others.length === 0) return first
  // Words of one type are one list: of some protocols, some may be refused.
  const isList = shapes.every((shape) => Array.isArray(shape['enum']) && shape['type'] === first['type'])
  if (!isList) return { anyOf: [first, ...others] }
  return { ...first, ...enumKeyword([...new Set(shapes.flatMap((shape) => shape['enum'] as unknown[]))]) }
}

/** Says which protocols take or require an argument, if not all do. */
function noteProtocols(fields: readonly GivenField[], codes: readonly string[]): readonly string[] {
  const takes = fields.map(({ code }) => code)
  const requires = fields.flatMap(({ required, code }) => (required ? [code] : []))
  const lacks = codes.filter((code) => !takes.includes(code))
  const required = requires.length === 0 ? [] : [`Required with ${requires.join(', ')}.`]
  if (lacks.length === 0) return requires.length === takes.length ? [] : required
  if (requires.length === takes.length) return [`Required with ${takes.join(', ')}, only there.`]
  const limits = lacks.length < takes.length ? `Not with ${lacks.join(', ')}.` : `Only with ${takes.join(', ')}.`
  return [limits, ...required]
}

/** Common arguments in fewer words. An argument that is not among them has the words of its route. */
const BRIEF: ReadonlyMap<string, string> = new Map([
  ['chain_id', 'Chain id.'],
  ['at_block', 'Block to answer for; needs chain_id.'],
  ['at_time', 'Moment to answer for: Unix seconds, YYYY-MM-DD or ISO 8601, UTC; not with at_block.'],
  ['receipt', 'Adds a receipt for 2 credits; `proof`, for 25, a proof, not with at_time.'],
  ['tokens', 'Up to 100 further token addresses, separated by commas; needs chain_id.'],
  ['target_health_factor', 'Health factor that safe amounts leave.'],
  ['page', 'Page, from 1.'],
  ['limit', 'Entries at most.'],
])

/** Keywords that a model does not need: the answer to a wrong value says what is expected, and so do descriptions. */
const UNNEEDED = new Set([
  ...['examples', 'x-format', 'pattern', 'minLength', 'maxLength', 'minItems', 'additionalProperties', CHAIN_IDS],
])
/** Bounds beyond these are met by no caller, or go without saying. */
const MAXIMUM_TOLD_MAX = 1_000_000
const MINIMUM_TOLD_MIN = 2

/** Leaves out what a model does not need, at every depth, and lists chain ids. */
export function shortenSchema(schema: JsonSchema): JsonSchema {
  const { [CHAIN_IDS]: chainIds } = schema
  if (Array.isArray(chainIds)) return { type: schema['type'], ...enumKeyword(chainIds) }
  const entries = Object.entries(schema).flatMap(([keyword, value]): [string, unknown][] => {
    if (UNNEEDED.has(keyword) || (keyword === 'default' && !value)) return []
    if (keyword === 'maximum' && Number(value) > MAXIMUM_TOLD_MAX) return []
    if (keyword === 'minimum' && Number(value) < MINIMUM_TOLD_MIN) return []
    if (keyword === 'items') return [[keyword, shortenSchema(value as JsonSchema)]]
    if (keyword === 'anyOf') return [[keyword, (value as JsonSchema[]).map(shortenSchema)]]
    if (keyword !== 'properties') return [[keyword, value]]
    const properties = Object.entries(value as Record<string, JsonSchema>)
    return [[keyword, Object.fromEntries(properties.map(([name, inner]) => [name, shortenSchema(inner)]))]]
  })
  const { oneOf, ...rest } = Object.fromEntries(entries)
  return Array.isArray(oneOf) ? { ...rest, ...mergeShapes(oneOf.map(shortenSchema)) } : rest
}
