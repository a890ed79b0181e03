import { join } from 'node:path'
import { readConfig } from '../src/config/config.ts'
import { typeText } from '../src/http/openapi/client.ts'
import type { JsonSchema } from '../src/http/route/json_schema.ts'
import { describePlanes } from '../src/service/planes.ts'
import { describeServices } from '../src/service/routes.ts'

/**
 * `bun run page:types`: writes the types of what the pages show of answers, made like those of the typed client from the
 * three OpenAPI documents; with `--check` it fails unless they are current.
 */
const FILE = join(import.meta.dir, '../src/dashboard/answers.d.ts')
/** Names the operations whose answers the pages show, and which parts of them. */
const SHAPES = join(import.meta.dir, '../src/dashboard/lib/shapes.d.ts')

interface Document {
  readonly components: { readonly schemas: Readonly<Record<string, JsonSchema>> }
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
}

interface Operation {
  readonly responses: Readonly<
    Record<string, { readonly content?: { readonly 'application/json'?: { readonly schema: JsonSchema } } }>
  >
}

/** Keys that lead to a part of an answer; of the items of a list the key is `number`. */
type Path = readonly string[]

function listAnswers(text: string, shown: ReadonlyMap<string, readonly Path[]>): string[] {
  const { paths, components } = JSON.parse(text) as Document
  const inline = (node: unknown): unknown => {
    if (Array.isArray(node)) return node.map(inline)
    if (typeof node !== 'object' || node === null) return node
    const shared = '$ref' in node ? components.schemas[String(node.$ref).split('/').at(-1) ?? ''] : undefined
    return Object.fromEntries(Object.entries(shared ?? node).map(([key, value]) => [key, inline(value)]))
  }
  return Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).flatMap(([method, { responses }]) => {
      const name = `${method.toUpperCase()} ${path}`
      const answer = (responses['200'] ?? responses['201'])?.content?.['application/json']
      const schema = answer && (inline(answer.schema) as JsonSchema)
      const parts = shown.get(name)
      if (schema === undefined || parts === undefined) return []
      return [`  '${name}': ${withoutComments(typeText(reached(schema, parts), 1))}`]
    }),
  )
}

/** As much of a schema as these paths lead to. */
function reached(schema: JsonSchema, paths: readonly Path[]): JsonSchema {
  if (paths.some(({ length }) => length === 0)) return schema
  const from = (key: string) => paths.filter(([first]) => first === key).map(([, ...rest]) => rest)
  const { anyOf, items, properties = {} } = schema
  if (Array.isArray(anyOf)) return { ...schema, anyOf: anyOf.map((each: JsonSchema) => reached(each, paths)) }
  if (items !== undefined) return { ...schema, items: reached(items as JsonSchema, from('number')) }
  const kept = Object.entries(properties as Readonly<Record<string, JsonSchema>>).flatMap(([name, each]) =>
    from(name).length === 0 ? [] : [[name, reached(each, from(name))]],
  )
  return { ...schema, properties: Object.fromEntries(kept) }
}

function withoutComments(text: string): string {
  return text.replaceAll(/^ *\/\*\*.*\*\/\n/gm, '')
}

const config = readConfig({}, () => {
  throw new Error('Expected no file')
})
const { operator, organization } = describePlanes(config)
const shapes = await Bun.file(SHAPES).text()
const shown = new Map<string, Path[]>()
for (const [, name = '', keys = ''] of shapes.matchAll(/Answers\['(.+?)'\]((?:\[(?:'\w+'|number)\])*)/g)) {
  shown.set(name, [...(shown.get(name) ?? []), Array.from(keys.matchAll(/\w+/g), String)])
}
const types = [describeServices(config), operator, organization].flatMap((text) => listAnswers(text, shown))
const text = `// Written by \`bun run page:types\`: do not edit.

/** Bodies of successes by operation: what the pages show of them. */
export interface Answers {
${types.join('\n')}
}
`
if (!process.argv.includes('--check')) await Bun.write(FILE, text)
else if ((await Bun.file(FILE).text()) !== text) {
  console.error(`${FILE} is out of date: run \`bun run page:types\``)
  process.exitCode = 1
}
