import { ERROR_CODES } from '../../lib/error.ts'
import { STATUS_BY_CODE } from '../error.ts'
import { CODE_DESCRIPTIONS, DESCRIPTIONS_BY_STATUS } from '../openapi/responses.ts'
import { DOCS_PATH } from './docs.ts'
import { escapeHtml, type Pages } from './html.ts'
import { createTextPage, type PageAssets } from './text_page.ts'

/** Path of the page that describes every code of an error; `#<code>` is the place of one. */
export const ERRORS_PATH = `${DOCS_PATH}/errors`

/** Creates `/docs/errors`: every code of an error with its status and what it means, which `Link` of errors leads to. */
export function createErrorsPage(assets: PageAssets): Pages {
  const sections = ERROR_CODES.map((code) => {
    const words = [CODE_DESCRIPTIONS[code], ...(code === 'INVALID_REQUEST' ? listStatuses() : [])]
    return `<h2 id="${code}"><code>${code}</code></h2>
<p>Status ${STATUS_BY_CODE[code]}. ${renderWords(words[0] ?? '')}</p>${words.slice(1).join('')}`
  })
  const body = `<h1>Errors</h1>
<p>The body of every error is <code>error</code> with <code>code</code>, for programs, <code>message</code>, which says what to change, and <code>request_id</code>. <code>X-Error-Param</code> names the one parameter or field that a 400 is about. No error is charged.</p>
${sections.join('\n')}`
  return new Map([
    [ERRORS_PATH, createTextPage({ title: 'errors', body, page: 'API', isPage: false, assets, root: '../' })],
  ])
}

/** Renders what the statuses that share one code mean. */
function listStatuses(): readonly string[] {
  const items = Object.entries(DESCRIPTIONS_BY_STATUS).map(([status, words]) => {
    return `<li>Status ${status}. ${renderWords(words)}</li>`
  })
  return [`\n<ul>\n${items.join('\n')}\n</ul>`]
}

function renderWords(words: string): string {
  return escapeHtml(words).replace(/`([^`]*)`/g, '<code>$1</code>')
}
