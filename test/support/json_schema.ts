/** A JSON Schema or an OpenAPI object: whatever `JSON.parse` gives. */
// biome-ignore lint/suspicious/noExplicitAny: documents are walked by the words that they themselves name.
type Node = any

/** Keywords that restrict no values. */
const ANNOTATIONS = new Set([
  'x-format',
  'x-unit',
  'externalDocs',
  'description',
  'default',
  'title',
  'examples',
  'x-chain-ids',
  'x-deployed-chain-ids',
])

/** Places where a value does not fit the schema, as `data[0].id: expected …`; empty if all do. */
export function findMismatches(schema: Node, value: unknown, document: Node, place = ''): string[] {
  if (schema.$ref !== undefined) return findMismatches(resolve(document, schema.$ref), value, document, place)
  return Object.entries<Node>(schema).flatMap(([keyword, rule]) => {
    const check = KEYWORDS[keyword]
    if (check === undefined && !ANNOTATIONS.has(keyword)) throw new Error(`Cannot check keyword "${keyword}"`)
    return check?.(rule, { value, schema, document, place }) ?? []
  })
}

/** The target of a reference in the document. Throws if there is none. */
export function resolve(document: Node, reference: string): Node {
  const found = reference
    .replace(/^#\//, '')
    .split('/')
    .reduce((node: Node, key) => node?.[key], document)
  if (found === undefined) throw new Error(`Cannot resolve "${reference}"`)
  return found
}

interface Seen {
  readonly value: unknown
  readonly schema: Node
  readonly document: Node
  readonly place: string
}

type Check = (rule: Node, seen: Seen) => string[]

const KEYWORDS: Readonly<Record<string, Check>> = {
  type: (rule, { value, place }) =>
    said(
      [rule].flat().some((type) => matchesType(type, value)),
      place,
      `type ${rule}`,
    ),
  const: (rule, { value, place }) => said(value === rule, place, JSON.stringify(rule)),
  enum: (rule, { value, place }) => said(rule.includes(value), place, `one of ${rule}`),
  pattern: (rule, { value, place }) =>
    said(typeof value !== 'string' || new RegExp(rule, 'u').test(value), place, `pattern ${rule}`),
  minimum: (rule, { value, place }) => said(typeof value !== 'number' || value >= rule, place, `at least ${rule}`),
  maximum: (rule, { value, place }) => said(typeof value !== 'number' || value <= rule, place, `at most ${rule}`),
  exclusiveMinimum: (rule, { value, place }) => said(typeof value !== 'number' || value > rule, place, `over ${rule}`),
  minLength: (rule, { value, place }) => said(typeof value !== 'string' || value.length >= rule, place, `${rule} long`),
  maxLength: (rule, { value, place }) =>
    said(typeof value !== 'string' || value.length <= rule, place, `${rule} short`),
  minItems: (rule, { value, place }) => said(!Array.isArray(value) || value.length >= rule, place, `${rule} items`),
  maxItems: (rule, { value, place }) => said(!Array.isArray(value) || value.length <= rule, place, `≤ ${rule} items`),
  items: (rule, { value, document, place }) =>
    Array.isArray(value)
      ? value.flatMap((item, index) => findMismatches(rule, item, document, `${place}[${index}]`))
      : [],
  required: (rule, { value, place }) =>
    isObject(value) ? rule.flatMap((name: string) => said(Object.hasOwn(value, name), place, `field ${name}`)) : [],
  properties: (rule, { value, document, place }) =>
    isObject(value)
      ? Object.entries(rule).flatMap(([name, schema]) =>
          Object.hasOwn(value, name) ? findMismatches(schema, value[name], document, `${place}.${name}`) : [],
        )
      : [],
  patternProperties: (rule, { value, document, place }) =>
    isObject(value)
      ? Object.entries(rule).flatMap(([pattern, schema]) =>
          Object.keys(value)
            .filter((name) => new RegExp(pattern, 'u').test(name))
            .flatMap((name) => findMismatches(schema, value[name], document, `${place}.${name}`)),
        )
      : [],
  additionalProperties: (rule, { value, schema, document, place }) => {
    if (!isObject(value)) return []
    const patterns = Object.keys(schema.patternProperties ?? {}).map((each) => new RegExp(each, 'u'))
    const others = Object.keys(value).filter(
      (name) => schema.properties?.[name] === undefined && !patterns.some((each) => each.test(name)),
    )
    if (rule === false) return others.map((name) => `${place || 'body'}: unknown field ${name}`)
    return others.flatMap((name) => findMismatches(rule, value[name], document, `${place}.${name}`))
  },
  allOf: (rule, { value, document, place }) =>
    rule.flatMap((schema: Node) => findMismatches(schema, value, document, place)),
  // The document's are of texts that no other fits.
  oneOf: (rule, seen) => KEYWORDS['anyOf']?.(rule, seen) ?? [],
  anyOf: (rule, { value, document, place }) =>
    said(
      rule.some((schema: Node) => findMismatches(schema, value, document, place).length === 0),
      place,
      'one of several schemas',
    ),
}

function said(right: boolean, place: string, expected: string): string[] {
  return right ? [] : [`${place || 'body'}: expected ${expected}`]
}

function matchesType(type: string, value: unknown): boolean {
  if (type === 'null') return value === null
  if (type === 'array') return Array.isArray(value)
  if (type === 'object') return isObject(value)
  if (type === 'integer') return Number.isSafeInteger(value)
  return typeof value === type
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
