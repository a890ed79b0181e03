import { promisify } from 'node:util'
import { brotliDecompress } from 'node:zlib'
import { hashText } from '../../lib/text/hash_text.ts'
import { htmlHeaders, type Page, type Pages, renderHtml } from './html.ts'
import {
  ASSETS_PATH,
  CACHE_IMMUTABLE,
  CACHE_REVALIDATE,
  createCompressedPage,
  createSharedPage,
  UNTIL_DRAWN,
} from './static.ts'

/** Path of the page that describes every route of callers. */
export const DOCS_PATH = '/docs'

interface Reference {
  /** Loads the renderer: a script, compressed by Brotli, in base64. It is large, so the first request loads it. */
  readonly script: () => Promise<string>
  readonly version: string
  /** A script that starts the renderer in `#app`. */
  readonly setup: string
}

const SCRIPT_HEADERS = { 'content-type': 'text/javascript; charset=utf-8', 'cache-control': CACHE_IMMUTABLE }

/**
 * Allows two scripts, and inline styles, which the renderer creates. Loads from other origins are forbidden, and
 * requests go to this service only.
 */
const HEADERS = {
  ...htmlHeaders([
    "script-src 'self'",
    "style-src 'unsafe-inline'",
    "img-src 'self' data: blob:",
    'font-src data:',
    "connect-src 'self'",
  ]),
  'cache-control': CACHE_REVALIDATE,
}

/** Creates `/docs/reference`: the rendered OpenAPI document with a console that sends requests, and its files. */
export function createReference({ script, version, setup }: Reference): Pages {
  const referencePath = `${ASSETS_PATH}/${hashText(version)}/reference.js`
  const setupPath = `${ASSETS_PATH}/${hashText(setup)}/docs.js`
  return new Map<string, Page>([
    [`${DOCS_PATH}/reference`, createCompressedPage(renderPage([referencePath, setupPath]), HEADERS)],
    [setupPath, createCompressedPage(setup, SCRIPT_HEADERS)],
    [referencePath, createSharedPage(async () => unpack(await script()), SCRIPT_HEADERS)],
  ])
}

/** Renders the page without the styles of other pages, because the renderer has its own; plain links lead back. */
function renderPage(scripts: readonly string[]): string {
  const links = Object.entries({ Explore: '../', Usage: '../usage', API: '../docs', Formulas: '../formulas' })
  const head = `<meta name="color-scheme" content="light dark">
<title>walletscope: reference</title>
<link rel="icon" href="data:,">`
  const body = `<nav aria-label="Pages" style="font: 14px/1.8 system-ui, sans-serif; padding: .25rem 1rem">
${links.map(([title, address]) => `<a href="${address}" style="margin-right: 1rem">${title}</a>`).join('\n')}
</nav>
<div id="app">${UNTIL_DRAWN}</div>
<noscript>This page is drawn by JavaScript, which is switched off. <a href="../docs">The list of operations</a> and <a href="../openapi.json">openapi.json</a> say the same.</noscript>
${scripts.map((path) => `<script src="..${path}" defer></script>`).join('\n')}`
  return renderHtml({ head, body })
}

async function unpack(script: string): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array(await promisify(brotliDecompress)(Buffer.from(script, 'base64')))
}
