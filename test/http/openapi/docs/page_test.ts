import { describe, expect, test } from 'bun:test'
import { createHash } from 'node:crypto'
import { parseArgs } from 'node:util'
import { type OpenapiDocument, type Operation, resolved } from '../../../../src/http/openapi/docs/document.ts'
import { docsPage } from '../../../../src/http/openapi/docs/page.ts'
import { openapiDocument } from '../../../../src/http/openapi/document.ts'
import { readConfig } from '../../../../src/service/config.ts'
import { describeServices } from '../../../../src/service/routes.ts'
import { createClient } from '../../../support/client.ts'
import { createFixture, fixtureRoutes } from '../../fixture.ts'

const BYTES_MAX = 120 * 1024
const config = readConfig({}, () => {
  throw new Error('Expected no file')
})
/** What the service describes without any configuration. */
const whole: OpenapiDocument = JSON.parse(describeServices(config))
const wholeBody = docsPage(whole).body

const routes = fixtureRoutes({ reads: 0, held: undefined, instead: undefined, data: undefined })
const small: OpenapiDocument = JSON.parse(openapiDocument({ routes }))

describe('docsPage()', () => {
  test('holds every operation: address, summary, price, parameters, answers', () => {
    const operations = operationsOf(whole)
    expect(operations.length).toBeGreaterThan(10)
    for (const { path, method, operation } of operations) {
      const said = articleOf(wholeBody, operation)
      const text = textOf(said)
      expect(text).toContain(`${method.toUpperCase()} ${path}`)
      expect(text).toContain(plain(operation.summary))
      expect(text).toContain(plain(operation['x-credits']))
      const rows = [...said.matchAll(/<tr><th scope="row">(.*?)<\/tr>/g)].map((row) => textOf(row[1] ?? ''))
      const { parameters = [] } = operation
      expect(rows.length).toBe(parameters.length)
      for (const [index, { name, in: place, required, schema = {} }] of parameters.entries()) {
        const row = rows[index] ?? ''
        expect(row).toStartWith(`${name}${place}, ${required === true ? 'required' : 'optional'}`)
        for (const value of [...((schema['enum'] ?? []) as readonly unknown[]), schema['default'] ?? '']) {
          expect(row).toContain(String(value))
        }
        for (const limit of ['minimum', 'maximum', 'exclusiveMinimum', 'maxLength']) {
          if (limit in schema) expect([limit, row.replaceAll(',', '')]).toEqual([limit, mentions(schema[limit])])
        }
        expect(row).toContain(String(schema['description'] ?? ''))
      }
      for (const [status, answer] of Object.entries(operation.responses ?? {})) {
        if (answer.$ref === undefined) expect(said).toContain(`<span class="status">${status}</span>`)
        else expect(said).toContain(`<a href="#Error${status}">${status}</a>`)
      }
    }
  })

  test('shows the fields of each body and answer nested as they are, with type, null and description', () => {
    let count = 0
    for (const { operation } of operationsOf(whole)) {
      const media = [operation.requestBody?.content, ...Object.values(operation.responses ?? {}).map((a) => a.content)]
      const expected = media.flatMap((content) =>
        Object.values(content ?? {}).flatMap(({ schema = {} }) => fieldsOf(schema, '')),
      )
      expect(fieldsShown(articleOf(wholeBody, operation))).toEqual(expected)
      count += expected.length
    }
    expect(count).toBeGreaterThan(150)
  })

  test('names lists, maps, alternatives, null, constants and limits', () => {
    const [text] = withSchema({
      type: 'object',
      required: ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i'],
      properties: {
        a: { type: 'array', items: { type: 'string', maxLength: 1 }, minItems: 1 },
        b: { type: 'object', additionalProperties: { type: 'boolean' } },
        c: { type: ['string', 'null'], description: 'Said `so`' },
        d: { anyOf: [{ type: 'string', enum: ['x', 'y'] }, { type: 'null' }] },
        e: { const: 'z' },
        f: { type: 'integer', minimum: 1, maximum: 25_000_000, default: 10 },
        g: { type: 'string', pattern: '^[a<b]+$' },
        h: { type: 'number', exclusiveMinimum: 1, exclusiveMaximum: 3 },
        i: { type: 'string', pattern: '^x$', 'x-format': 'decimal, 6 digits after the point, may be negative' },
        j: {},
      },
    })
    for (const line of [
      'a string[] at least 1 item · at most 1 character',
      'b map of boolean',
      'c string or nullSaid so',
      'd string or null one of x, y',
      'e string only z',
      'f integer 1 to 25,000,000 · default 10',
      'g string ^[a<b]+$',
      'h number above 1 · below 3',
      'i string decimal, 6 digits after the point, may be negative',
      'j any optional',
    ]) {
      expect(text).toContain(line)
    }
  })

  test('ends if a schema refers to itself', () => {
    const node = { $ref: '#/components/schemas/Node' }
    const again = { type: 'object', properties: { next: node } }
    const document = { paths: { '/x': { get: { responses: { 200: answerOf(node) } } } } }
    const { body } = docsPage({ ...document, components: { schemas: { Node: again } } })
    expect(body.match(/class="name">next</g)?.length).toBeWithin(2, 50)
  })

  test('every example does what it shows, in a real shell', async () => {
    const { body } = docsPage(small)
    const call = createClient(createFixture().app.handler)
    for (const { path, method, operation } of operationsOf(small)) {
      const sent = requestOf(exampleOf(body, operation))
      expect(sent.url).toStartWith('http://h.test/')
      const answer = await call(sent.url.slice('http://h.test'.length), sent)
      expect([method, path, answer.status]).toEqual([sent.method.toLowerCase(), path, 200])
    }
  })

  test('examples of the whole service carry what is required, in the form that is required', () => {
    for (const { operation } of operationsOf(whole)) {
      const { url } = requestOf(exampleOf(wholeBody, operation))
      const { searchParams } = new URL(url)
      for (const { name, in: place, required, schema = {} } of operation.parameters ?? []) {
        if (required !== true || place !== 'query') continue
        expect(searchParams.get(name)).toMatch(new RegExp(String(schema['pattern'] ?? '.')))
      }
      expect(url).not.toMatch(/[{}]|%7B/)
    }
  })

  test('the address is that of the document, whatever it holds, as one word of the shell', () => {
    for (const url of ['https://api.example/base', 'https://x/\'$(id)`id`"</style><script>&amp;']) {
      const { body } = docsPage({ ...small, servers: [{ url }] })
      const block = decoded(/<pre><code>(export [^<]*)<\/code>/.exec(body)?.[1] ?? '')
      const ran = Bun.spawnSync(['sh', '-c', `${block}\nprintf %s "$WALLETSCOPE_URL"`])
      expect(ran.stdout.toString()).toBe(url)
    }
  })

  test('text of the document never becomes markup', () => {
    const hostile = '</style><script>alert(1)</script>--><img src=x onerror="a" title=\'b\'>&lt;'
    const strange = docsPage(marked(whole, hostile)).body
    expect(tagsOf(strange)).toEqual(tagsOf(docsPage(marked(whole, hostile.replace(/[<>"'&]/g, 'x'))).body))
    expect(strange).not.toMatch(/<script|<img|<\/style>(?!\s*<\/head>)/i)
    expect(strange.split('&lt;/style&gt;&lt;script&gt;').length).toBeGreaterThan(300)
    expect(textOf(strange)).toContain(hostile)
  })

  test.each([
    ['the whole service', wholeBody],
    ['a few routes', docsPage(small).body],
    ['nothing', docsPage({}).body],
  ])('is well-formed for %s: tags balanced, ids unique, links that lead somewhere, headings in order', (_, body) => {
    expect(body).toStartWith('<!doctype html>\n<html lang="en">')
    expect(unbalanced(body)).toEqual([])
    const ids = [...body.matchAll(/ id="([^"]*)"/g)].map(([, id]) => id)
    expect(new Set(ids).size).toBe(ids.length)
    if (body !== docsPage({}).body) {
      const targets = [...body.matchAll(/ href="#([^"]*)"/g)].map(([, id]) => id)
      expect(targets.filter((target) => !ids.includes(target))).toEqual([])
      expect(targets.length).toBeGreaterThan(20)
    }
    const levels = [...body.matchAll(/<h([1-6])[ >]/g)].map(([, level]) => Number(level))
    expect(levels.filter((level) => level === 1)).toEqual([1])
    expect(levels.filter((level, index) => level > (levels[index - 1] ?? 0) + 1)).toEqual([])
    expect(body.match(/<th(?![a-z])(?! scope=)/g)).toBeNull()
    for (const landmark of ['header', 'nav', 'main', 'footer']) {
      expect(body.split(`<${landmark}>`).length + body.split(`<${landmark} `).length).toBe(3)
    }
  })

  test('loads nothing, runs nothing, and names its one style by hash', () => {
    const { headers } = docsPage(whole)
    const styles = [...wholeBody.matchAll(/<style>(.*?)<\/style>/gs)].map(([, style]) => style ?? '')
    expect(styles.length).toBe(1)
    const digest = createHash('sha256')
      .update(styles[0] ?? '')
      .digest('base64')
    const policy = headers['content-security-policy'] ?? ''
    expect(policy.split('; ')).toContain("default-src 'none'")
    expect(policy.split('; ')).toContain(`style-src 'sha256-${digest}'`)
    expect(policy).not.toContain('unsafe')
    expect(wholeBody).not.toMatch(
      /<(script|link|img|iframe|object|embed|form|base)\b| style=| src=| on\w+="|@import|url\(/,
    )
    expect(wholeBody).not.toMatch(/href="(?!#|openapi\.json")/)
  })

  test('stays small', () => {
    expect(Buffer.byteLength(wholeBody)).toBeWithin(20_000, BYTES_MAX)
  })

  test('is the same text for the same document', () => {
    expect(docsPage(JSON.parse(JSON.stringify(whole))).body).toBe(wholeBody)
  })
})

interface Located {
  readonly path: string
  readonly method: string
  readonly operation: Operation
}

function operationsOf({ paths = {} }: OpenapiDocument): readonly Located[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  )
}

function articleOf(body: string, { operationId }: Operation): string {
  const articles = body.split('<article ').filter((part) => part.includes(`aria-labelledby="${operationId}"`))
  expect(articles.length).toBe(1)
  return articles[0]?.split('</article>')[0] ?? ''
}

function exampleOf(body: string, operation: Operation): string {
  return decoded(/<pre><code>(.*?)<\/code>/s.exec(articleOf(body, operation))?.[1] ?? '')
}

interface Sent {
  readonly url: string
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
}

/** What `curl` sends when a shell reads the example. */
function requestOf(example: string): Sent {
  const env = { WALLETSCOPE_URL: 'http://h.test', WALLETSCOPE_KEY: 'good' }
  const ran = Bun.spawnSync(['/bin/sh', '-c', `curl() { printf '%s\\0' "$@"; }\n${example}`], { env })
  expect(ran.exitCode).toBe(0)
  const { values, positionals } = parseArgs({
    args: ran.stdout.toString().split('\0').slice(0, -1),
    options: {
      get: { type: 'boolean', short: 'G', default: false },
      header: { type: 'string', short: 'H', multiple: true, default: [] },
      data: { type: 'string', short: 'd', multiple: true, default: [] },
    },
    allowPositionals: true,
  })
  expect(positionals.length).toBe(1)
  const data = values.data.join('&')
  const headers = Object.fromEntries(values.header.map((line) => line.split(': ') as [string, string]))
  const url = positionals[0] ?? ''
  if (values.get) return { url: `${url}?${data}`, method: 'GET', headers }
  return data === '' ? { url, method: 'GET', headers } : { url, method: 'POST', headers, body: data }
}

function withSchema(schema: object): readonly [string] {
  return [textOf(docsPage({ paths: { '/x': { get: { responses: { 200: answerOf(schema) } } } } }).body)]
}

function answerOf(schema: object) {
  return { description: 'Answered.', content: { 'application/json': { schema: schema as Record<string, unknown> } } }
}

/** Path of every field in the order of the schema, with what marks it. */
function fieldsOf(given: Readonly<Record<string, unknown>>, above: string): readonly string[] {
  const schema = resolved(given, whole)
  const required = (schema['required'] ?? []) as readonly string[]
  const own = Object.entries((schema['properties'] ?? {}) as Record<string, Record<string, unknown>>)
  const inner = [schema['items'], schema['additionalProperties']].filter((each) => typeof each === 'object')
  return [
    ...own.flatMap(([name, field]) => [
      `${above}/${name}${required.includes(name) ? '' : '?'}${isNullable(field) ? ' null' : ''} ${field['description'] ?? ''}`,
      ...fieldsOf(field, `${above}/${name}`),
    ]),
    ...inner.flatMap((each) => fieldsOf(each as Record<string, unknown>, above)),
  ]
}

function isNullable({ type, anyOf }: Readonly<Record<string, unknown>>): boolean {
  return JSON.stringify([type, anyOf]).includes('"null"')
}

/** The same, read off the page. */
function fieldsShown(article: string): readonly string[] {
  const shown: string[] = []
  const names: string[] = []
  for (const [, tag] of article.matchAll(/(<ul class="fields">|<\/ul>|<li>.*?(?=<ul|<\/li>))/gs)) {
    if (tag === '</ul>') names.pop()
    else if (tag?.startsWith('<ul')) names.push('')
    else if (tag !== undefined) {
      const name = textOf(/class="name">(.*?)<\/code>/.exec(tag)?.[1] ?? '')
      names[names.length - 1] = name
      const type = textOf(/class="type">(.*?)<\/span>/.exec(tag)?.[1] ?? '')
      const words = textOf(/<p>(.*?)<\/p>/s.exec(tag)?.[1] ?? '')
      const optional = tag.includes('class="optional"') ? '?' : ''
      shown.push(`/${names.join('/')}${optional}${/\bnull\b/.test(type) ? ' null' : ''} ${words}`)
    }
  }
  return shown
}

/** The document with `mark` in every text that a person or an operator may have written. */
function marked(document: OpenapiDocument, mark: string): OpenapiDocument {
  const texts = new Set(['title', 'version', 'description', 'summary', 'x-credits', 'url', 'name', 'default', 'const'])
  const visit = (node: unknown, key: string): unknown => {
    if (typeof node === 'string') return texts.has(key) || key === 'enum' ? `${mark} ${node}` : node
    if (Array.isArray(node)) return node.map((each) => visit(each, key))
    if (typeof node !== 'object' || node === null) return node
    const named = ['properties', 'headers', 'content', 'paths'].includes(key)
    return Object.fromEntries(
      Object.entries(node).map(([name, value]) => [named ? `${mark} ${name}` : name, visit(value, named ? '' : name)]),
    )
  }
  return visit(document, '') as OpenapiDocument
}

/** Tags in their order with the names of their attributes, values left out. */
function tagsOf(body: string): readonly string[] {
  return [...body.matchAll(/<[/a-z!](?:"[^"]*"|[^">])*>/gi)].map(([tag]) => tag.replace(/"[^"]*"/g, '""'))
}

/** Tags that are closed out of turn or not at all. */
function unbalanced(body: string): readonly string[] {
  const open: string[] = []
  const wrong: string[] = []
  for (const tag of tagsOf(body.replace(/<style>.*?<\/style>/s, '<style></style>'))) {
    const name = /[a-z0-9]+/.exec(tag)?.[0] ?? ''
    if (['doctype', 'meta', 'wbr'].includes(name)) continue
    if (!tag.startsWith('</')) open.push(name)
    else if (open.pop() !== name) wrong.push(tag)
  }
  return [...wrong, ...open]
}

function textOf(markup: string): string {
  return decoded(markup.replace(/<style>.*?<\/style>/s, '').replace(/<[^>]*>/g, ''))
}

function decoded(text: string): string {
  const letters: Readonly<Record<string, string>> = { lt: '<', gt: '>', quot: '"', '#39': "'", amp: '&' }
  return text.replace(/&(lt|gt|quot|#39|amp);/g, (_, name: string) => letters[name] ?? '')
}

function plain(text = ''): string {
  return text.replaceAll('`', '')
}

function mentions(value: unknown): string {
  return expect.stringMatching(new RegExp(`\\b${value}\\b`)) as unknown as string
}
