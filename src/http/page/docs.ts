import { promisify } from 'node:util'
import { brotliDecompress, gunzipSync, gzip } from 'node:zlib'
import { acceptsGzip } from '../encoding.ts'
import { type PreparedAnswer, successAnswer } from '../respond.ts'
import { htmlHeaders, renderHtml } from './html.ts'
import type { Page, Pages } from './page.ts'
import { ASSETS_PATH, CACHE_IMMUTABLE, CACHE_REVALIDATE, createCompressedPage, hashText } from './static.ts'

/** The page that describes every route of callers. */
export const DOCS_PATH = '/docs'

interface Reference {
  /** The renderer: a script, packed by Brotli, in base64. It is large, so it is loaded with the first request for it. */
  readonly script: () => Promise<string>
  readonly version: string
  /** A script that starts the renderer in `#app`. */
  readonly setup: string
}

const SCRIPT_HEADERS = { 'content-type': 'text/javascript; charset=utf-8', 'cache-control': CACHE_IMMUTABLE }

/**
 * Scripts are two files of ours; styles are made by the renderer while it draws, and are the one thing that is not
 * listed. Nothing is loaded from elsewhere, and requests go to this service only.
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

/** `/docs/reference`: the OpenAPI document for people, with a console that sends requests, and the files that it loads. */
export function createReference({ script, version, setup }: Reference): Pages {
  const referencePath = `${ASSETS_PATH}/${hashText(version)}/reference.js`
  const setupPath = `${ASSETS_PATH}/${hashText(setup)}/docs.js`
  return new Map<string, Page>([
    [`${DOCS_PATH}/reference`, createCompressedPage(pageText([referencePath, setupPath]), HEADERS)],
    [setupPath, createCompressedPage(setup, SCRIPT_HEADERS)],
    [referencePath, packedScript(script)],
  ])
}

/** The renderer brings styles of its own, so those of the other pages are not loaded: only their names lead back. */
function pageText(scripts: readonly string[]): string {
  const links = Object.entries({ Explore: '../', Usage: '../usage', API: '../docs', Formulas: '../formulas' })
  const head = `<meta name="color-scheme" content="light dark">
<title>walletscope: reference</title>
<link rel="icon" href="data:,">`
  const body = `<nav aria-label="Pages" style="font: 14px/1.8 system-ui, sans-serif; padding: .25rem 1rem">
${links.map(([title, address]) => `<a href="${address}" style="margin-right: 1rem">${title}</a>`).join('\n')}
</nav>
<div id="app"></div>
<noscript>This page is drawn by JavaScript, which is switched off. <a href="../docs">The list of operations</a> and <a href="../openapi.json">openapi.json</a> say the same.</noscript>
${scripts.map((path) => `<script src="..${path}" defer></script>`).join('\n')}`
  return renderHtml({ head, body })
}

/** Sends the script packed by gzip, which browsers take without TLS too; unpacked only for those who do not take it. */
function packedScript(load: () => Promise<string>): Page {
  let repacked: Promise<Uint8Array<ArrayBuffer>> | undefined
  return async (_, request): Promise<PreparedAnswer> => {
    repacked ??= load().then(repack)
    const packed = await repacked
    const headers = { ...SCRIPT_HEADERS, vary: 'accept-encoding' }
    if (!acceptsGzip(request)) return successAnswer(gunzipSync(packed).toString(), headers)
    return { ...successAnswer('', { ...headers, 'content-encoding': 'gzip' }), packed }
  }
}

async function repack(script: string): Promise<Uint8Array<ArrayBuffer>> {
  const text = await promisify(brotliDecompress)(Buffer.from(script, 'base64'))
  return new Uint8Array(await promisify(gzip)(text))
}
