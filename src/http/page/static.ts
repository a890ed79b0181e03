import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { yieldToEventLoop } from '../../lib/async/cooperative.ts'
import { once } from '../../lib/memoize.ts'
import { hashText } from '../../lib/text/hash_text.ts'
import { acceptsGzip, createSharedBody, type PreparedAnswer, successAnswer } from '../respond.ts'
import { htmlHeaders, type Page, renderHtml } from './html.ts'

interface StaticFile {
  /** Below the folder of all files. */
  readonly path: string
  readonly text: string
}

interface StaticPage {
  readonly title: string
  /** Path of the script that renders the page. */
  readonly script: string
}

/** Folder of the files' addresses. A hash of all files follows it, so that browsers may cache each file forever. */
export const ASSETS_PATH = '/assets'

const TYPES: Readonly<Record<string, string>> = {
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
}
/** Cache header of an address that contains a hash of its content. */
export const CACHE_IMMUTABLE = 'public, max-age=31536000, immutable'
/** Cache header of a page that is revalidated at every visit. */
export const CACHE_REVALIDATE = 'no-cache'

/**
 * Creates pages that the browser renders, and their files. Addresses are relative to the page, so that they work behind
 * a proxy that adds a path prefix. Loads from other origins are forbidden, and only the files may run.
 */
export function createStaticPages({
  pages,
  files,
}: {
  readonly pages: Readonly<Record<string, StaticPage>>
  readonly files: readonly StaticFile[]
}) {
  const version = hashText(files.map(({ path, text }) => `${path}\n${text}`).join('\n'))
  const folder = `${ASSETS_PATH}/${version}`
  const styles = files.map(({ path }) => path).filter((path) => path.endsWith('.css'))
  return {
    /** Folder of the files' addresses, from the root. */
    folder: folder.slice(1),
    pages: new Map<string, Page>(
      Object.entries(pages).map(([path, page]) => [path, createPage(page, { styles, folder: folder.slice(1) })]),
    ),
    files: new Map<string, Page>(
      files.map(({ path, text }) => {
        const type = TYPES[path.slice(path.lastIndexOf('.') + 1)]
        if (type === undefined) throw new Error(`Cannot serve the file "${path}": its type is not known`)
        return [
          `${folder}/${path}`,
          createCompressedPage(text, { 'content-type': type, 'cache-control': CACHE_IMMUTABLE }),
        ]
      }),
    ),
  }
}

/**
 * Stands in a page until its script draws it: a process of another release has no file of that address. Text alone, because
 * the renderer of the reference takes elements for a page that was drawn before.
 */
export const UNTIL_DRAWN = 'If this page stays empty, reload it: it may be older than the service.'

/** Creates a page that may run its own files only. */
function createPage(
  { title, script }: StaticPage,
  { styles, folder }: { readonly styles: readonly string[]; readonly folder: string },
) {
  const toAddress = (path: string) => `${folder}/${path}`
  const head = `<meta name="color-scheme" content="light dark">
<title>${title}</title>
<link rel="icon" href="${toAddress('icon.svg')}" type="image/svg+xml">
${styles.map((path) => `<link rel="stylesheet" href="${toAddress(path)}">`).join('\n')}
<script type="module" src="${toAddress(script)}"></script>`
  const body = `<div id="app">${UNTIL_DRAWN}</div>
<noscript>This page is drawn by JavaScript, which is switched off. Everything it shows is also answered as JSON: see <a href="docs">the API</a>.</noscript>`
  const headers = htmlHeaders(["script-src 'self'", "style-src 'self'", "img-src 'self'", "connect-src 'self'"])
  return createCompressedPage(renderHtml({ head, body }), {
    ...headers,
    'cache-control': CACHE_REVALIDATE,
    'cross-origin-opener-policy': 'same-origin',
  })
}

/** Creates a page of a text: compressed if the browser accepts gzip, and 304 if it has the same version. */
export function createCompressedPage(text: string, headers: Readonly<Record<string, string>>): Page {
  const etag = `"${hashText(text)}"`
  const taggedHeaders = { ...headers, etag }
  const show = createSharedPage(async () => Buffer.from(text), taggedHeaders)
  return (requestId, request) => {
    const etags = request.headers.get('if-none-match') ?? ''
    if (!etags.includes(etag)) return show(requestId, request)
    return { status: 304, body: null, credits: 0, headers: { ...taggedHeaders, vary: 'accept-encoding' } }
  }
}

/** Handing a larger body to the system takes milliseconds, so each waits for a turn of the event loop. */
const LARGE_BYTES = 65_536

/**
 * Creates a page of bytes that never change, which the first request loads: compressed if the browser accepts gzip. All
 * readers share one copy, and none is made or compressed for a request of its own.
 */
export function createSharedPage(
  load: () => Promise<Uint8Array<ArrayBuffer>>,
  headers: Readonly<Record<string, string>>,
): Page {
  const plain = once(async () => createSharedBody(await load()))
  const packed = once(async () => createSharedBody(new Uint8Array(await promisify(gzip)(await load(), { level: 9 }))))
  const commonHeaders = { ...headers, vary: 'accept-encoding' }
  const packedHeaders = { ...commonHeaders, 'content-encoding': 'gzip' }
  return async (_, request): Promise<PreparedAnswer> => {
    const isPacked = acceptsGzip(request)
    const shared = await (isPacked ? packed() : plain())
    if (shared.bytes.length > LARGE_BYTES) await yieldToEventLoop()
    return { ...successAnswer('', isPacked ? packedHeaders : commonHeaders), shared }
  }
}
