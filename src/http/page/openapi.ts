import type { Clock } from '../../lib/clock.ts'
import { withServerUrl } from '../openapi/document.ts'
import type { Page } from './html.ts'
import { CACHE_REVALIDATE, createCompressedPage } from './static.ts'

/** Most hosts with a page of their own: any address is answered, so callers can invent any number of hosts. */
const PAGES_MAX = 4
/** A host that is not asked for this long gives its place to another. */
const UNUSED_MS = 60_000
/** Address in the page of all hosts without a place. */
const ANY_URL = 'http://HOST'
const HEADERS = { 'cache-control': CACHE_REVALIDATE }

interface HostPage {
  readonly show: Page
  usedMs: number
}

/**
 * Creates `/openapi.json`, or another text with the service's address: without a configured one, that of the request's
 * `Host` header. Few hosts have a page of their own, and only those in use: all others share one.
 */
export function createOpenapiPage(
  openapi: string,
  { clock, headers = HEADERS }: { readonly clock: Clock; readonly headers?: Readonly<Record<string, string>> },
): Page {
  const anyPage = createCompressedPage(withServerUrl(ANY_URL, openapi), headers)
  if (withServerUrl('', openapi) === openapi) return anyPage
  const pagesByHost = new Map<string, HostPage>()

  /** True if there is a place for one more host. */
  function hasPlace(nowMs: number): boolean {
    for (const [host, { usedMs }] of pagesByHost) if (nowMs - usedMs > UNUSED_MS) pagesByHost.delete(host)
    return pagesByHost.size < PAGES_MAX
  }

  return (requestId, request) => {
    // The header is present and allowed; other requests were refused before.
    const host = request.headers.get('host') ?? ''
    const nowMs = clock.monotonicMs()
    let page = pagesByHost.get(host)
    if (page === undefined) {
      if (!hasPlace(nowMs)) return anyPage(requestId, request)
      page = { show: createCompressedPage(withServerUrl(`http://${host}`, openapi), headers), usedMs: nowMs }
      pagesByHost.set(host, page)
    }
    page.usedMs = nowMs
    return page.show(requestId, request)
  }
}
