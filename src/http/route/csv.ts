import { CodedError } from '../../lib/error.ts'
import { createJsonSchema, type JsonSchema } from './json_schema.ts'
import type { Pagination, Route } from './route.ts'

/** Parameter by which a list is asked for as CSV, besides the header `Accept: text/csv`. */
export const FORMAT_PARAMETER_NAME = 'format'

/** A list as a spreadsheet takes it. */
export interface CsvTable {
  /** What is asked, without the format. */
  readonly query: string
  readonly fault: CodedError | undefined
  /** The same rows as CSV (RFC 4180). `json` is the answer. */
  write(json: string): { readonly body: string; readonly headers: Readonly<Record<string, string>> }
}

type Rows = readonly Readonly<Record<string, unknown>>[]
/** Names from a row down to a figure. */
type Column = readonly string[]

const FORMATS = ['csv', 'json']
/** Spreadsheets run a cell that begins so; tokens may be called anything. */
const FORMULA = /^[=+\-@\t\r\uFF1D\uFF0B\uFF0D\uFF20]/
const FIGURE = /^-?\d+(?:\.\d+)?(?:e[+-]?\d+)?$/i
const columnsByRoute = new WeakMap<Route, readonly Column[] | undefined>()

/** How a request asks for CSV; undefined if it does not, or if the route is not a list. */
export function findCsvTable(
  route: Route,
  { query, accept }: { readonly query: string; readonly accept: string | null },
): CsvTable | undefined {
  const isNamed = query.includes(FORMAT_PARAMETER_NAME)
  if (!isNamed && (accept === null || !accept.startsWith('text/csv'))) return undefined
  const columns = columnsOf(route)
  if (columns === undefined) return undefined
  const pairs = query.split('&')
  const formats = pairs
    .filter((pair) => pair.split('=')[0] === FORMAT_PARAMETER_NAME)
    .map((pair) => pair.slice(FORMAT_PARAMETER_NAME.length + 1))
  const [format = accept?.startsWith('text/csv') ? 'csv' : 'json'] = formats
  const fault = faultOf(formats, query)
  if (fault === undefined && format === 'json' && formats.length === 0) return undefined
  const rest = pairs.filter((pair) => pair.split('=')[0] !== FORMAT_PARAMETER_NAME).join('&')
  const asJson = (json: string) => ({ body: json, headers: {} })
  const asTable = (json: string) => written(JSON.parse(json), columns)
  return { query: rest, fault, write: format === 'json' ? asJson : asTable }
}

/** True if a route answers a list, which may be asked for as CSV. */
export function isList(route: Route): boolean {
  return columnsOf(route) !== undefined
}

function faultOf(formats: readonly string[], query: string): CodedError | undefined {
  const wrong = formats.length > 1 ? 'repeated' : formats.find((format) => !FORMATS.includes(format))
  if (wrong !== undefined) return refused(`expected "csv" or "json", once`)
  return formats[0] !== 'json' && /(?:^|&)receipt=/.test(query)
    ? refused('expected "json" with "receipt", which has no place in a table')
    : undefined
}

function refused(detail: string): CodedError {
  return new CodedError('INVALID_PARAMETER', `Cannot read parameter "${FORMAT_PARAMETER_NAME}": ${detail}`)
}

/** Columns of the rows that a route answers, as its schema has them; undefined if it answers no list. */
function columnsOf(route: Route): readonly Column[] | undefined {
  if (!columnsByRoute.has(route)) {
    const { data } = (createJsonSchema(route.output)['properties'] ?? {}) as { readonly data?: JsonSchema }
    const items = data?.['type'] === 'array' ? (data['items'] as JsonSchema) : undefined
    columnsByRoute.set(route, items?.['properties'] === undefined ? undefined : leavesOf(items))
  }
  return columnsByRoute.get(route)
}

function leavesOf(schema: JsonSchema, path: Column = []): readonly Column[] {
  const objects = objectsOf(schema)
  if (objects.length === 0) return [path]
  const leaves = objects
    .flatMap((properties) => Object.entries(properties))
    .flatMap(([name, field]) => leavesOf(field, [...path, name]))
  // Kinds of an object have fields in common.
  return [...new Map(leaves.map((leaf) => [leaf.join('.'), leaf])).values()]
}

/** Fields of the object that a schema describes, or of each kind of it; none if it may have or be something else. */
function objectsOf({
  properties,
  additionalProperties,
  anyOf,
}: JsonSchema): readonly Readonly<Record<string, JsonSchema>>[] {
  if (typeof additionalProperties === 'object') return []
  if (properties !== undefined) return [properties as Readonly<Record<string, JsonSchema>>]
  if (!Array.isArray(anyOf)) return []
  const kinds = anyOf.filter(({ type }: JsonSchema) => type !== 'null').map(objectsOf)
  return kinds.some((kind) => kind.length === 0) ? [] : kinds.flat()
}

function written(
  { data, pagination }: { readonly data: Rows; readonly pagination?: Pagination },
  columns: readonly Column[],
): ReturnType<CsvTable['write']> {
  const lines = [
    columns.map((column) => column.join('.')),
    ...data.map((row) => columns.map((column) => cellOf(column.reduce(valueIn, row)))),
  ]
  return {
    body: lines.map((cells) => `${cells.map(quoted).join(',')}\r\n`).join(''),
    headers: {
      'content-type': 'text/csv; charset=utf-8; header=present',
      ...(pagination === undefined ? {} : paginationHeaders(pagination)),
    },
  }
}

function valueIn(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined
}

/** A value as text, with every digit. Lists inside a row, and objects with fields of any name, are JSON. */
function cellOf(value: unknown): string {
  if (value === undefined || value === null) return ''
  const text = typeof value === 'object' ? JSON.stringify(value) : String(value)
  return FORMULA.test(text) && !FIGURE.test(text) ? `'${text}` : text
}

function quoted(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/** What a table has no place for (RFC 8288). */
function paginationHeaders({ total, next_page: next, prev_page: prev }: Pagination): Readonly<Record<string, string>> {
  const link = (address: string | null, rel: string) => {
    if (address === null) return []
    const target = new URL(address)
    target.searchParams.set(FORMAT_PARAMETER_NAME, 'csv')
    return [`<${target.href}>; rel="${rel}"`]
  }
  const links = [...link(next, 'next'), ...link(prev, 'prev')]
  return { 'x-total-count': String(total), ...(links.length === 0 ? {} : { link: links.join(', ') }) }
}
