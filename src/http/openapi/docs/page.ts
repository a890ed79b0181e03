import { hash } from 'node:crypto'
import { KEY_VARIABLE, shellQuoted, URL_VARIABLE } from './curl.ts'
import { type AddressedOperation, anchorOf, endpointsOf, isKeyless, type OpenapiDocument } from './document.ts'
import { type Content, type Html, html, prose } from './html.ts'
import { address, operationSection } from './operation.ts'
import { errorSection, headerSection } from './shared.ts'
import { DOCS_STYLE } from './style.ts'

/** A page as it is sent. */
interface DocsPage {
  readonly body: string
  readonly headers: Readonly<Record<string, string>>
}

/** Address shown if the service has no public one. */
const USUAL_URL = 'http://127.0.0.1:8080'

/** The page may load, run, send and frame nothing; its one style is allowed by its hash. */
const HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': [
    "default-src 'none'",
    `style-src 'sha256-${hash('sha256', DOCS_STYLE, 'base64')}'`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
  'referrer-policy': 'no-referrer',
}

/**
 * The page of an OpenAPI document for people: one self-contained HTML text without script. All text of the document is
 * escaped. The same document gives the same page.
 */
export function docsPage(document: OpenapiDocument): DocsPage {
  const endpoints = endpointsOf(document)
  const groups = groupsOf(endpoints.filter((endpoint) => !isKeyless(endpoint)))
  const keyless = endpoints.filter(isKeyless)
  const { title = 'API', version = '' } = document.info ?? {}
  const { markup } = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} ${version}: the API</title>
<style>${{ markup: DOCS_STYLE }}</style>
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
${pageHeader(document)}
${contents(groups, keyless)}
<main id="content">
${authentication(document)}
${credits(groups)}
${errorSection(document)}
${headerSection(document)}
${groups.map(
  ({ name, members }) =>
    html`<h2 id="${groupAnchor(name)}">${titled(name)}</h2>${members.map((each) => operationSection(each, document))}`,
)}
<h2 id="keyless">Without a key</h2>
<p>These are free, cost no place in the rate limit, and are meant for operators and tools.</p>
${keyless.map((each) => operationSection(each, document))}
</main>
<footer>Made from <a href="openapi.json">openapi.json</a>, which has the same for programs.</footer>
</body>
</html>
`
  return { body: markup, headers: HEADERS }
}

interface Group {
  readonly name: string
  readonly members: readonly AddressedOperation[]
}

/** Operations by their first tag. */
function groupsOf(endpoints: readonly AddressedOperation[]): readonly Group[] {
  const groups = new Map<string, AddressedOperation[]>()
  for (const endpoint of endpoints) {
    const name = endpoint.operation.tags?.[0] ?? 'other'
    const members = groups.get(name)
    if (members === undefined) groups.set(name, [endpoint])
    else members.push(endpoint)
  }
  return [...groups].map(([name, members]) => ({ name, members }))
}

function groupAnchor(name: string): string {
  return `group-${anchorOf(name)}`
}

function titled(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1)
}

function lowered(sentence: string): string {
  return sentence.charAt(0).toLowerCase() + sentence.slice(1)
}

function pageHeader({ info = {} }: OpenapiDocument): Html {
  const { title = 'API', version = '', description = '' } = info
  const [, lead = description, rest = ''] = /^(.*?\.)\s+(.*)$/s.exec(description) ?? []
  return html`<header>
<h1>${title} <span class="version">${version}</span></h1>
<p class="lead">${prose(lead)} It reads the chains when it is asked and says at which blocks.</p>
${rest === '' ? '' : html`<p>${prose(rest)}</p>`}
</header>`
}

function contents(groups: readonly Group[], keyless: readonly AddressedOperation[]): Html {
  const lists = [...groups, { name: 'without a key', members: keyless }].map(
    ({ name, members }) =>
      html`<p class="group">${titled(name)}</p><ul>${members.map((each) => item(each.anchor, shortAddress(each)))}</ul>`,
  )
  return html`<nav aria-labelledby="contents"><div>
<h2 id="contents">Contents</h2>
<ul class="pages">${item('authentication', 'Authentication')}${item('credits', 'Credits')}${item('errors', 'Errors')}${item('headers', 'Headers')}</ul>
${lists}
</div></nav>`
}

function item(anchor: string, content: Content): Html {
  return html`<li><a href="#${anchor}">${content}</a></li>`
}

/** Without the version, which all paths share. */
function shortAddress(endpoint: AddressedOperation): Html {
  return address({ ...endpoint, path: endpoint.path.replace(/^\/v1\//, '/') })
}

function authentication({ servers = [], components = {} }: OpenapiDocument): Html {
  const url = servers[0]?.url ?? '/'
  const schemes = Object.values(components.securitySchemes ?? {})
  const variables = [
    `export ${URL_VARIABLE}=${shellQuoted(url === '/' ? USUAL_URL : url.replace(/\/+$/, ''))}`,
    `export ${KEY_VARIABLE}='ws_sk_…'`,
  ]
  return html`<h2 id="authentication">Authentication</h2>
<p>Every call carries the header <code>Authorization: Bearer ws_sk_…</code>: ${schemes.map(({ description = '' }) => prose(lowered(description)))} Without one, or with a wrong one, the answer is <a href="#Error401">401</a>.</p>
<p>The examples read the address of the service and the key from two variables. Addresses and ids in them have the right form; put yours in their place.</p>
<pre><code>${variables.join('\n')}</code></pre>`
}

function credits(groups: readonly Group[]): Html {
  const rows = groups.flatMap(({ members }) => members)
  return html`<h2 id="credits">Credits</h2>
<p>An answer has a price, and only a success is charged: an error costs nothing. <code>X-Credits-Charged</code> says what was paid and <code>X-Credits-Remaining</code> what is left; a balance that cannot pay gets <a href="#Error402">402</a> and no data.</p>
<table class="prices"><thead><tr><th scope="col">Endpoint</th><th scope="col">Price</th></tr></thead><tbody>${rows.map(
    (each) =>
      html`<tr><th scope="row"><a href="#${each.anchor}">${address(each)}</a></th><td>${prose(each.operation['x-credits'] ?? '')}</td></tr>`,
  )}</tbody></table>`
}
