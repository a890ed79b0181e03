import { join } from 'node:path'
import { typeText } from '../src/http/openapi/client/type_text.ts'
import type { JsonSchema } from '../src/http/route/json_schema.ts'
import { readConfig } from '../src/service/config/config.ts'
import { describePlanes } from '../src/service/planes.ts'
import { describeServices } from '../src/service/routes.ts'

/**
 * `bun run page:types`: writes the types of all answers that the pages show, made like those of the typed client from the
 * three OpenAPI documents; with `--check` it tells whether they are current.
 */
const FILE = join(import.meta.dir, '../src/dashboard/answers.d.ts')
/** Names the operations whose answers the pages show. */
const SHAPES = join(import.meta.dir, '../src/dashboard/lib/shapes.d.ts')

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
}

interface Operation {
  readonly responses: Readonly<
    Record<string, { readonly content?: { readonly 'application/json'?: { readonly schema: JsonSchema } } }>
  >
}

function answersOf(text: string, shown: ReadonlySet<string>): string[] {
  const { paths } = JSON.parse(text) as Document
  return Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).flatMap(([method, { responses }]) => {
      const name = `${method.toUpperCase()} ${path}`
      const schema = (responses['200'] ?? responses['201'])?.content?.['application/json']?.schema
      if (schema === undefined || !shown.has(name)) return []
      return [`  '${name}': ${withoutComments(typeText(schema, 1))}`]
    }),
  )
}

function withoutComments(text: string): string {
  return text.replaceAll(/^ *\/\*\*.*\*\/\n/gm, '')
}

const config = readConfig({}, () => {
  throw new Error('Expected no file')
})
const { operator, organization } = describePlanes(config)
const shapes = await Bun.file(SHAPES).text()
const shown = new Set(Array.from(shapes.matchAll(/Answers\['(.+?)'\]/g), ([, name]) => name ?? ''))
const types = [describeServices(config), operator, organization].flatMap((text) => answersOf(text, shown))
const text = `// Written by \`bun run page:types\`: do not edit.

/** Bodies of successes by operation, of all that the pages show. */
export interface Answers {
${types.join('\n')}
}
`
if (!process.argv.includes('--check')) await Bun.write(FILE, text)
else if ((await Bun.file(FILE).text()) !== text) {
  console.error(`${FILE} is out of date: run \`bun run page:types\``)
  process.exitCode = 1
}
