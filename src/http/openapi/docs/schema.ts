import type { JsonSchema } from '../json_schema.ts'
import { type OpenapiDocument, resolved } from './document.ts'
import { type Content, type Html, html, joined, prose } from './html.ts'

/** A schema may refer to itself, so the page must stop. */
const DEPTH_MAX = 12
/** Objects this deep are folded until they are opened. */
const FOLDED_DEPTH = 3

/** Type, limits and default of one value on a line, and its description below. */
export function valueLine(schema: JsonSchema, document: OpenapiDocument, description?: string): Html {
  const words = description ?? descriptionOf(resolved(schema, document))
  return html`${facts(schema, document)}${words === undefined ? '' : html`<p>${prose(words)}</p>`}`
}

/** The fields of a schema as a tree of lists; the value itself if it has none. */
export function fieldTree(schema: JsonSchema, document: OpenapiDocument): Html {
  const tree = fields(schema, { document, depth: 1 })
  return tree ?? html`<div class="value">${valueLine(schema, document)}</div>`
}

interface TreePosition {
  readonly document: OpenapiDocument
  readonly depth: number
}

function fields(schema: JsonSchema, place: TreePosition): Html | undefined {
  const found = fieldsIn(schema, place)
  return found.length === 0 ? undefined : html`<ul class="fields">${found.map((each) => field(each, place))}</ul>`
}

interface Field {
  readonly name: string
  readonly schema: JsonSchema
  readonly optional: boolean
}

function field({ name, schema, optional }: Field, { document, depth }: TreePosition): Html {
  const head = html`<code class="name">${name}</code> ${facts(schema, document)}${optional ? html` <span class="optional">optional</span>` : ''}`
  const words = descriptionOf(resolved(schema, document))
  const said = words === undefined ? '' : html`<p>${prose(words)}</p>`
  const inner = fields(schema, { document, depth: depth + 1 })
  if (inner === undefined) return html`<li>${head}${said}</li>`
  const body = html`<summary>${head}</summary>${said}${inner}</details>`
  return depth < FOLDED_DEPTH ? html`<li><details open>${body}</li>` : html`<li><details>${body}</li>`
}

/** Fields of an object, of the items of a list or map, and of every alternative. */
function fieldsIn(given: JsonSchema, { document, depth }: TreePosition): readonly Field[] {
  const schema = resolved(given, document)
  if (depth > DEPTH_MAX) return []
  const required = list(schema['required'])
  const properties = Object.entries((schema['properties'] ?? {}) as Readonly<Record<string, JsonSchema>>)
  const own = properties.map(([name, value]) => ({ name, schema: value, optional: !required.includes(name) }))
  const inner = [schema['items'], schema['additionalProperties'], ...parts(schema)].filter(isSchema)
  return [...own, ...inner.flatMap((each) => fieldsIn(each, { document, depth: depth + 1 }))]
}

function facts(given: JsonSchema, document: OpenapiDocument): Html {
  const schema = resolved(given, document)
  const limits = limitsOf(schema, document)
  const type = html`<span class="type">${typeOf(schema, document)}</span>`
  return limits.length === 0 ? type : html`${type} <span class="limits">${joined(limits, ' · ')}</span>`
}

function typeOf(given: JsonSchema, document: OpenapiDocument): string {
  const schema = resolved(given, document)
  const { type } = schema
  const alternatives = parts(schema)
  if (alternatives.length > 0) return [...new Set(alternatives.map((each) => typeOf(each, document)))].join(' or ')
  if (Array.isArray(type)) return type.map((each) => typeOf({ ...schema, type: each }, document)).join(' or ')
  if (type === 'array') return isSchema(schema['items']) ? `${typeOf(schema['items'], document)}[]` : 'array'
  const held = schema['additionalProperties']
  if (type === 'object' && isSchema(held)) return `map of ${typeOf(held, document)}`
  if (typeof type === 'string') return type
  return 'const' in schema ? typeof schema['const'] : 'any'
}

/** Limits of a value, and of the items of a list, a map or an alternative. */
function limitsOf(given: JsonSchema, document: OpenapiDocument): readonly Content[] {
  const schema = resolved(given, document)
  const limits: Content[] = []
  const choices = 'const' in schema ? [schema['const']] : list(schema['enum'])
  if (choices.length > 0) {
    limits.push([choices.length > 1 ? 'one of ' : 'only ', joined(choices.map(literal), ', ')])
  }
  if ('exclusiveMinimum' in schema) limits.push(`above ${shown(schema['exclusiveMinimum'])}`)
  limits.push(...span(schema, { least: 'minimum', most: 'maximum', unit: '' }))
  if ('exclusiveMaximum' in schema) limits.push(`below ${shown(schema['exclusiveMaximum'])}`)
  limits.push(...span(schema, { least: 'minLength', most: 'maxLength', unit: 'character' }))
  limits.push(...span(schema, { least: 'minItems', most: 'maxItems', unit: 'item' }))
  const { pattern, 'x-format': words } = schema
  if (typeof words === 'string') limits.push(words)
  else if (typeof pattern === 'string') limits.push(html`<code>${pattern}</code>`)
  if ('default' in schema) limits.push(['default ', literal(schema['default'])])
  const inner = [schema['items'], schema['additionalProperties'], ...parts(schema)].filter(isSchema)
  return [...limits, ...inner.flatMap((each) => limitsOf(each, document))]
}

function span(
  schema: JsonSchema,
  { least, most, unit }: { readonly least: string; readonly most: string; readonly unit: string },
): readonly string[] {
  const [from, to] = [schema[least], schema[most]]
  if (from === undefined && to === undefined) return []
  const units = unit === '' ? '' : (to ?? from) === 1 ? ` ${unit}` : ` ${unit}s`
  if (from === undefined) return [`at most ${shown(to)}${units}`]
  return [to === undefined ? `at least ${shown(from)}${units}` : `${shown(from)} to ${shown(to)}${units}`]
}

function literal(value: unknown): Html {
  return html`<code>${shown(value)}</code>`
}

/** Large numbers in groups of three; without `Intl`, whose first use takes longer than the whole page. */
function shown(value: unknown): string {
  if (typeof value === 'number') return value >= 1e6 ? String(value).replace(/\B(?=(\d{3})+$)/g, ',') : String(value)
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function parts(schema: JsonSchema): readonly JsonSchema[] {
  return [...list(schema['anyOf']), ...list(schema['oneOf']), ...list(schema['allOf'])].filter(isSchema)
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

function isSchema(value: unknown): value is JsonSchema {
  return typeof value === 'object' && value !== null
}

function descriptionOf({ description }: JsonSchema): string | undefined {
  return typeof description === 'string' ? description : undefined
}
