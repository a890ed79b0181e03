import { CodedError } from '../../lib/error.ts'
import { toCurrencyField } from '../../lib/text/currency_field.ts'
import { CURSOR_PARAMETER_NAME } from './cursor.ts'
import { createJsonSchema, type JsonSchema } from './json_schema.ts'
import type { Pagination, Route } from './route.ts'

/** Parameter that requests a list as CSV, besides the header `Accept: text/csv`. */
export const FORMAT_PARAMETER_NAME = 'format'

/** A list as a table for spreadsheets. */
export interface CsvTable {
  /** The query without the format. */
  readonly query: string
  readonly fault: CodedError | undefined
  /** False if JSON was asked for by name: the answer stays as it is. */
  readonly isTable: boolean
  /** True if the table has the whole list, up to `TABLE_ROWS_MAX` rows: no page was asked for. */
  readonly isWhole: boolean
  /** Writes the rows of `json`, the answer, as CSV (RFC 4180), unless they continue a table under the names of columns. */
  write(
    json: string,
    options?: { readonly isContinued: boolean },
  ): { readonly body: string; readonly headers: Readonly<Record<string, string>> }
  /** Converts the header that leads on in a list to one that leads on in its table. */
  toTableLink(link: string): string
}

interface ListBody {
  readonly data: Rows
  /** The rate by which figures were converted, if one was asked for. */
  readonly fx?: { readonly currency: string } & Readonly<Record<string, unknown>>
  readonly pagination?: Pagination
  readonly coverage?: { readonly complete?: boolean }
  readonly counts?: Readonly<Record<string, number | readonly unknown[]>>
}

type Rows = readonly Readonly<Record<string, unknown>>[]
/** Path of field names from a row to a figure. */
type Column = readonly string[]

const FORMATS = ['csv', 'json']
/** Spreadsheets run a cell with such a beginning as a formula, and a token's name is arbitrary. */
const FORMULA = /^[=+\-@\t\r\uFF1D\uFF0B\uFF0D\uFF20]/
const FIGURE = /^-?\d+(?:\.\d+)?(?:e[+-]?\d+)?$/i
const columnsByRoute = new WeakMap<Route, readonly Column[] | undefined>()

/** Finds the table that a request asks for; undefined for JSON, or if the route does not answer a list. */
export function findCsvTable(
  route: Route,
  { query, accept }: { readonly query: string; readonly accept: string | null },
): CsvTable | undefined {
  const isNamed = query.includes(FORMAT_PARAMETER_NAME)
  if (!isNamed && (accept === null || !accept.startsWith('text/csv'))) return undefined
  const columns = listColumns(route)
  if (columns === undefined) return undefined
  const pairs = query.split('&')
  const formats = pairs
    .filter((pair) => pair.split('=')[0] === FORMAT_PARAMETER_NAME)
    .map((pair) => pair.slice(FORMAT_PARAMETER_NAME.length + 1))
  const [format = accept?.startsWith('text/csv') ? 'csv' : 'json'] = formats
  const fault = findFault(formats, query)
  if (fault === undefined && format === 'json' && formats.length === 0) return undefined
  const remainingQuery = pairs.filter((pair) => pair.split('=')[0] !== FORMAT_PARAMETER_NAME).join('&')
  const isTable = format !== 'json'
  const isWhole = isTable && hasWholeTable(route) && !namesPage(remainingQuery)
  const toJson = (json: string) => ({ body: json, headers: {} })
  const toTable: CsvTable['write'] = (json, { isContinued } = { isContinued: false }) =>
    formatTable(JSON.parse(json), { columns, isContinued })
  const toTableLink = (link: string) =>
    isTable ? link.replace(/>; rel=/, `&${FORMAT_PARAMETER_NAME}=csv>; rel=`) : link
  return { query: remainingQuery, fault, isTable, isWhole, write: isTable ? toTable : toJson, toTableLink }
}

/** True if a route answers a list, which may be requested as CSV. */
export function isList(route: Route): boolean {
  return listColumns(route) !== undefined
}

/** True if a table without a page has the whole list of a route. */
export function hasWholeTable({ input, body, readsPage }: Pick<Route, 'input' | 'body' | 'readsPage'>): boolean {
  const { entries = {} } = input as { readonly entries?: Readonly<Record<string, unknown>> }
  return body === undefined && readsPage !== true && PAGE_PARAMETERS.every((name) => name in entries)
}

const PAGE_PARAMETERS = ['page', 'limit']

function namesPage(query: string): boolean {
  const parameters = new URLSearchParams(query)
  return [...PAGE_PARAMETERS, CURSOR_PARAMETER_NAME].some((name) => parameters.has(name))
}

function findFault(formats: readonly string[], query: string): CodedError | undefined {
  const wrong = formats.length > 1 ? 'repeated' : formats.find((format) => !FORMATS.includes(format))
  if (wrong !== undefined) return invalidFormatError(`expected "csv" or "json", once`)
  return formats[0] !== 'json' && /(?:^|&)receipt=/.test(query)
    ? invalidFormatError('expected "json" with "receipt", which has no place in a table')
    : undefined
}

function invalidFormatError(detail: string): CodedError {
  return new CodedError('INVALID_PARAMETER', `Cannot read parameter "${FORMAT_PARAMETER_NAME}": ${detail}`)
}

/** Lists the columns of a route's rows from its schema; undefined if the route does not answer a list. */
function listColumns(route: Route): readonly Column[] | undefined {
  if (!columnsByRoute.has(route)) {
    const { data } = (createJsonSchema(route.output)['properties'] ?? {}) as { readonly data?: JsonSchema }
    const items = data?.['type'] === 'array' ? (data['items'] as JsonSchema) : undefined
    columnsByRoute.set(route, items?.['properties'] === undefined ? undefined : listLeaves(items))
  }
  return columnsByRoute.get(route)
}

function listLeaves(schema: JsonSchema, path: Column = []): readonly Column[] {
  const objects = listObjects(schema)
  if (objects.length === 0) return [path]
  const leaves = objects
    .flatMap((properties) => Object.entries(properties))
    .flatMap(([name, field]) => listLeaves(field, [...path, name]))
  // Kinds of a union share fields.
  return [...new Map(leaves.map((leaf) => [leaf.join('.'), leaf])).values()]
}

/** Lists the fields of an object schema, or of each kind of a union; empty if other fields or values are possible. */
function listObjects({
  properties,
  additionalProperties,
  anyOf,
}: JsonSchema): readonly Readonly<Record<string, JsonSchema>>[] {
  if (typeof additionalProperties === 'object') return []
  if (properties !== undefined) return [properties as Readonly<Record<string, JsonSchema>>]
  if (!Array.isArray(anyOf)) return []
  const kinds = anyOf.filter(({ type }: JsonSchema) => type !== 'null').map(listObjects)
  return kinds.some((kind) => kind.length === 0) ? [] : kinds.flat()
}

function formatTable(
  { data, fx, pagination, coverage, counts }: ListBody,
  { columns: dollarColumns, isContinued }: { readonly columns: readonly Column[]; readonly isContinued: boolean },
): ReturnType<CsvTable['write']> {
  const columns =
    fx === undefined ? dollarColumns : dollarColumns.flatMap((each) => addCurrencyColumn(each, fx.currency))
  const lines = [
    ...(isContinued ? [] : [columns.map((column) => column.join('.'))]),
    ...data.map((row) => columns.map((column) => formatCell(column.reduce(getValue, row)))),
  ]
  return {
    body: lines.map(formatLine).join(''),
    headers: {
      'content-type': 'text/csv; charset=utf-8; header=present',
      ...(pagination === undefined ? {} : paginationHeaders(pagination)),
      ...(coverage === undefined ? {} : { 'x-coverage': coverage.complete === false ? 'partial' : 'complete' }),
      ...(counts === undefined ? {} : { 'x-counts': formatCounts(counts) }),
      ...(fx === undefined ? {} : { 'x-fx': formatMembers(fx) }),
    },
  }
}

/** Puts behind a column of US dollars that of the same in a currency. */
function addCurrencyColumn(column: Column, currency: string): readonly Column[] {
  const name = toCurrencyField(column.at(-1) ?? '', currency)
  return name === undefined ? [column] : [column, [...column.slice(0, -1), name]]
}

/** Formats numbers by their names in JSON, `totalActive=2, total=7`; of a list, how many entries it has. */
function formatCounts(counts: NonNullable<ListBody['counts']>): string {
  const numbers = Object.entries(counts).map(([name, count]) => [name, Array.isArray(count) ? count.length : count])
  return formatMembers(Object.fromEntries(numbers))
}

function formatMembers(members: Readonly<Record<string, unknown>>): string {
  return Object.entries(members)
    .map(([name, value]) => `${name}=${value}`)
    .join(', ')
}

function getValue(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined
}

/** Formats a value with every digit. Lists inside a row, and objects with arbitrary fields, become JSON. */
function formatCell(value: unknown): string {
  if (value === undefined || value === null) return ''
  const text = typeof value === 'object' ? JSON.stringify(value) : String(value)
  return FORMULA.test(text) && !FIGURE.test(text) ? `'${text}` : text
}

/** Formats the last line of a table that has not all rows: one cell that begins with `#`. */
export function formatRemark(text: string): string {
  return formatLine([`# ${text}`])
}

function formatLine(cells: readonly string[]): string {
  return `${cells.map(quoteCell).join(',')}\r\n`
}

function quoteCell(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/** Converts the pagination to headers, because a table has no field for it (`Link`, RFC 8288). */
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
