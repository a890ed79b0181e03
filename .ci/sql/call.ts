/** What typed calls of functions and of queries have in common: the headers of their files, and how they are written. */
import { sqlNames, sqlText } from './files.ts'

/** The comment that a `.sql` file begins with. */
export interface Header {
  /** Its first sentence: why the statement exists. */
  readonly title: string
  readonly lane: string
  /** What follows the lane: parameters of a query, and which parameters and columns may be null; without `-- `. */
  readonly declared: readonly string[]
}

/** What a call sends and gets. */
interface Call {
  /** In snake case, as its file. */
  readonly name: string
  readonly params: readonly Field[]
  /** True if each item of the last parameter is sent as a parameter. */
  readonly isVariadic?: boolean
  /** Its TypeScript type. */
  readonly result: string
  /** What makes the call: a function of `src/db/query.ts`. */
  readonly maker: string
  /** First argument of the binding: the statement's text, or the function's name. */
  readonly source: string
  readonly columns?: readonly { readonly name: string }[]
}

/** A parameter or a column with its TypeScript type. */
export interface Field {
  readonly name: string
  readonly type: string
}

/** What `read` makes of each file of a folder, in order. Throws with every mistake that it finds. */
export async function ofEach<Found>(
  folder: 'functions' | 'queries',
  read: (name: string, text: string) => Promise<Found>,
): Promise<readonly Found[]> {
  const found: Found[] = []
  const mistakes: string[] = []
  for (const name of sqlNames(folder)) {
    try {
      found.push(await read(name, sqlText(folder, name)))
    } catch (error) {
      mistakes.push(`sql/${folder}/${name}.sql: ${error instanceof Error ? error.message : error}`)
    }
  }
  if (mistakes.length > 0) throw new Error(mistakes.join('\n'))
  return found
}

/** Reads the header of a file; undefined if it is not prose and then a lane. */
export function readHeader(text: string): Header | undefined {
  const found = /^((?:--.*\n)+)-- lane (gate|read|copy|background)\n((?:--.*\n)*)/.exec(text)
  if (found === null) return undefined
  const [, prose = '', lane = '', declared = ''] = found
  const [title = ''] = toLines(prose)
    .join(' ')
    .split(/(?<=\.)\s/)
  return { title, lane, declared: toLines(declared) }
}

function toLines(comment: string): string[] {
  return [...comment.matchAll(/^-- ?(.*)$/gm)].map(([, line = '']) => line)
}

/** Text of a typed call with its docstring. */
export function writeCall(
  { title, lane }: Header,
  { name, params, isVariadic, result, maker, source, columns }: Call,
): string {
  const named = params.map((each) => ({ ...each, name: camelCase(each.name) }))
  const rest = [columns && `, columns: ${quoted(columns)}`, isVariadic && ', isVariadic: true'].filter(Boolean).join('')
  return [
    `/** ${title} */`,
    `export const ${camelCase(name)} = ${maker}<`,
    `  ${formatType(named)},`,
    `  ${result}`,
    `>('${lane}', { ${source}, params: ${quoted(named)}${rest} })`,
    '',
  ].join('\n')
}

/** Type of an object with these fields. */
export function formatType(fields: readonly Field[]): string {
  const texts = fields.map(({ name, type }) => `${name}: ${type}`)
  return texts.length === 0 ? 'Record<never, never>' : `{ ${texts.join('; ')} }`
}

function quoted(fields: readonly { readonly name: string }[]): string {
  return `[${fields.map(({ name }) => `'${name}'`).join(', ')}]`
}

/** `requestedAtMs` of `p_requested_at_ms`. */
export function camelCase(name: string): string {
  return name.replace(/^p_/, '').replaceAll(/_(.)/g, (_, letter: string) => letter.toUpperCase())
}
