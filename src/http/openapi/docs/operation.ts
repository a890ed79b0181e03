import { curlExample } from './curl.ts'
import {
  type AddressedOperation,
  type DescribedAnswer,
  isKeyless,
  type OpenapiDocument,
  type Parameter,
  referenceName,
} from './document.ts'
import { type Content, type Html, html, joined, prose } from './html.ts'
import { fieldTree, valueLine } from './schema.ts'

/** One operation: price, parameters, body, example, its own answers, and links to the shared ones. */
export function operationSection(endpoint: AddressedOperation, document: OpenapiDocument): Html {
  const { anchor, operation } = endpoint
  const { summary = '', parameters = [], responses = {} } = operation
  const price = operation['x-credits']
  const body = Object.entries(operation.requestBody?.content ?? {})
  const answers = Object.entries(responses)
  return html`<article class="operation" aria-labelledby="${anchor}">
<h3 id="${anchor}"><a href="#${anchor}">${address(endpoint)}</a></h3>
<p>${prose(summary)}</p>
${price === undefined ? '' : html`<p class="price"><strong>Price</strong> ${prose(price)}</p>`}
${parameters.length === 0 ? '' : parameterTable(parameters, document)}
${body.map(([type, { schema = {} }]) => html`<h4>Body <span class="media">${type}</span></h4>${fieldTree(schema, document)}`)}
<h4>Example</h4>
<pre><code>${curlExample(endpoint, document)}</code></pre>
<h4>Answers</h4>
${answers.filter(([, { $ref }]) => $ref === undefined).map((each) => ownAnswer(each, { endpoint, document }))}
${sharedAnswers(answers)}
</article>`
}

/** Method and path; a path that is too long for its line breaks after a slash. */
export function address({ method, path }: AddressedOperation): Html {
  return html`<span class="method ${method === 'GET' ? 'get' : 'other'}">${method}</span> <code>${breakable(path, '/')}</code>`
}

/** Text that may break after each `sign`; search and copy still see it whole. */
function breakable(text: string, sign: string): Content {
  const pieces = text.split(sign)
  return pieces.map((piece, index) => (index + 1 < pieces.length ? html`${piece}${sign}<wbr>` : piece))
}

function parameterTable(parameters: readonly Parameter[], document: OpenapiDocument): Html {
  return html`<h4>Parameters</h4>
<table class="parameters"><thead><tr><th scope="col">Name</th><th scope="col">Value</th></tr></thead><tbody>${parameters.map(
    ({ name, in: place, required, schema = {}, description }) =>
      html`<tr><th scope="row"><code class="name">${breakable(name, '_')}</code><span class="place">${place}, ${required === true ? html`<span class="required">required</span>` : 'optional'}</span></th><td>${valueLine(schema, document, description)}</td></tr>`,
  )}</tbody></table>`
}

function ownAnswer(
  [status, { description = '', headers = {}, content = {} }]: readonly [string, DescribedAnswer],
  { endpoint, document }: { readonly endpoint: AddressedOperation; readonly document: OpenapiDocument },
): Html {
  // The price is shown above.
  const words = isKeyless(endpoint) ? description : (/^.*?\.(?=\s)/s.exec(description)?.[0] ?? description)
  const media = Object.entries(content)
  return html`<details open class="answer"><summary><span class="status">${status}</span> ${prose(words)} <span class="media">${joined(
    media.map(([type]) => type),
    ', ',
  )}</span></summary>
${media.map(([, { schema = {} }]) => fieldTree(schema, document))}
${headerLine(Object.keys(headers))}</details>`
}

function headerLine(names: readonly string[]): Content {
  if (names.length === 0) return ''
  const links = names.map((name) => html`<code>${name}</code>`)
  return html`<p class="also"><a href="#headers">Headers</a>: ${joined(links, ', ')}</p>`
}

function sharedAnswers(answers: readonly (readonly [string, DescribedAnswer])[]): Content {
  const shared = answers.filter(([, { $ref }]) => $ref !== undefined)
  if (shared.length === 0) return ''
  const links = shared.map(([status, answer]) => html`<a href="#${referenceName(answer)}">${status}</a>`)
  return html`<p class="also">Errors: ${joined(links, ', ')}</p>`
}
