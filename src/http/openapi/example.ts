import type { JsonSchema } from '../route/json_schema.ts'

/** A real request and its answer. */
export interface Example {
  /** Path and query. */
  readonly target: string
  readonly body?: object
  readonly answer: unknown
}

/** Returns the values of an example's path and query by name, as text. */
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
 * Converts a parameter's example value for the document. A console sends all plain examples, so a value that the real
 * request did not send is marked as disabled.
 */
export function toParameterExample(value: unknown, { isRequested }: { readonly isRequested: boolean }): JsonSchema {
  return isRequested ? { example: value } : { examples: { default: { value, 'x-disabled': true } } }
}

/** Returns the example values on the paths of a family, by parameter name. */
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

/** Segments of `/v1/lending/kamino`, with the empty one before the first slash. */
const FAMILY_SEGMENTS = 4

/** Returns the requested value, converted to the schema's type, or else a value that the schema names. */
export function getExampleValue(
  { type, examples, default: usual, enum: words }: JsonSchema,
  requested?: string,
): unknown {
  if (requested !== undefined) return type === 'string' || type === undefined ? requested : JSON.parse(requested)
  if (Array.isArray(examples)) return examples[0]
  if (type === 'boolean') return true
  return usual ?? (Array.isArray(words) ? words[0] : undefined)
}
