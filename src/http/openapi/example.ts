import type { JsonSchema } from '../route/json_schema.ts'

/** A request and its answer, both real. */
export interface Example {
  /** Path and query. */
  readonly target: string
  readonly body?: object
  readonly answer: unknown
}

/** Values of an example's path and query by name, as text. */
export function getExampleParameters(template: string, { target }: Example): ReadonlyMap<string, string> {
  const [path = '', query = ''] = target.split('?')
  const segments = path.split('/').map(decodeURIComponent)
  const inPath = template.split('/').flatMap((segment, index): [string, string][] => {
    const name = /^\{(.*)\}$/.exec(segment)?.[1]
    return name === undefined ? [] : [[name, segments[index] ?? '']]
  })
  return new Map([...inPath, ...new URLSearchParams(query)])
}

/**
 * A parameter's example as a document has it. A console that is drawn from the document sends all that it is given: what
 * the real request did not ask, it shows and leaves off.
 */
export function toParameterExample(value: unknown, { isAsked }: { readonly isAsked: boolean }): JsonSchema {
  return isAsked ? { example: value } : { examples: { default: { value, 'x-disabled': true } } }
}

/** Values that were asked for at the paths of a family, by name. */
export function getFamilyParameters(
  template: string,
  examples: Readonly<Record<string, Example>>,
): ReadonlyMap<string, string> {
  const family = template.split('/', FAMILY_SEGMENTS).join('/')
  const near = Object.entries(examples).map(([name, example]) => [name.split(' ')[1] ?? '', example] as const)
  return new Map(
    near.filter(([path]) => path.startsWith(family)).flatMap(([path, each]) => [...getExampleParameters(path, each)]),
  )
}

/** `/v1/lending/kamino`, with the empty one before the first slash. */
const FAMILY_SEGMENTS = 4

/** A value to begin with: the one that was asked for, or one that the schema names. */
export function getExampleValue({ type, examples, default: usual, enum: words }: JsonSchema, asked?: string): unknown {
  if (asked !== undefined) return type === 'string' || type === undefined ? asked : JSON.parse(asked)
  if (Array.isArray(examples)) return examples[0]
  if (type === 'boolean') return true
  return usual ?? (Array.isArray(words) ? words[0] : undefined)
}
