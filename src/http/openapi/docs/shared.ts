import type { JsonSchema } from '../json_schema.ts'
import { type DescribedAnswer, type OpenapiDocument, resolved } from './document.ts'
import { type Content, type Html, html, joined, prose } from './html.ts'
import { fieldTree, valueLine } from './schema.ts'

/** The failures that operations share, and the shape of their body. */
export function errorSection(document: OpenapiDocument): Html {
  const { schemas = {}, responses = {} } = document.components ?? {}
  const error = schemas['Error']
  return html`<h2 id="errors">Errors</h2>
<p>A failure has a code for programs and a message that says what would mend the request. Give <code>request_id</code> when you ask somebody about it.</p>
${error === undefined ? '' : fieldTree(withoutCodes(error), document)}
<table class="answers"><thead><tr><th scope="col">Status</th><th scope="col">Meaning and codes</th></tr></thead><tbody>${Object.entries(
    responses,
  ).map(([name, response]) => errorRow({ name, response }, document))}</tbody></table>`
}

/** The headers that answers carry. */
export function headerSection(document: OpenapiDocument): Html {
  const headers = Object.entries(document.components?.headers ?? {})
  return html`<h2 id="headers">Headers</h2>
<p>What answers say besides their body. All to a recognised key carry <code>X-RateLimit-*</code> and <code>X-Credits-*</code>.</p>
<table class="headers"><thead><tr><th scope="col">Name</th><th scope="col">Value</th></tr></thead><tbody>${headers.map(
    ([name, { schema = {}, description }]) =>
      html`<tr><th scope="row"><code class="name">${name}</code></th><td>${valueLine(schema, document, description)}</td></tr>`,
  )}</tbody></table>`
}

function errorRow(
  { name, response }: { readonly name: string; readonly response: DescribedAnswer },
  document: OpenapiDocument,
) {
  const { description = '', headers = {}, content = {} } = response
  const codes = Object.values(content).flatMap(({ schema = {} }) => codesIn(schema, document))
  const own = Object.keys(headers).filter((header) => !header.startsWith('X-'))
  return html`<tr><th scope="row" id="${name}"><span class="status">${name.replace(/^Error/, '')}</span></th><td><p>${prose(description)}</p>${line(codes, '')}${line(own, 'With ')}</td></tr>`
}

function line(names: readonly string[], before: string): Content {
  if (names.length === 0) return ''
  const listed = names.map((name) => html`<code>${name}</code>`)
  return html`<p class="codes">${before}${joined(listed, ', ')}</p>`
}

/** Codes that the second part of an answer's schema narrows `Error` to. */
function codesIn(schema: JsonSchema, document: OpenapiDocument): readonly string[] {
  const narrowed = (schema['allOf'] as readonly JsonSchema[] | undefined)?.[1]
  const code = narrowed === undefined ? undefined : codeOf(resolved(narrowed, document))
  return (code?.['enum'] ?? []) as readonly string[]
}

function codeOf(schema: JsonSchema): JsonSchema | undefined {
  const error = propertiesOf(schema)['error']
  return error === undefined ? undefined : propertiesOf(error)['code']
}

/** The schema of errors without the list of all codes, which the table shows by status. */
function withoutCodes(schema: JsonSchema): JsonSchema {
  const { error, ...others } = propertiesOf(schema)
  if (error === undefined) return schema
  const { code: _, ...rest } = propertiesOf(error)
  const properties = { code: { type: 'string', description: 'One of the codes below.' }, ...rest }
  return { ...schema, properties: { error: { ...error, properties }, ...others } }
}

function propertiesOf(schema: JsonSchema): Readonly<Record<string, JsonSchema>> {
  return (schema['properties'] ?? {}) as Readonly<Record<string, JsonSchema>>
}
