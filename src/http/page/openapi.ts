import { withServerUrl } from '../openapi/document.ts'
import { successAnswer } from '../respond.ts'
import type { Page } from './page.ts'
import { CACHE_REVALIDATE, createCompressedPage } from './static.ts'

/** Most hosts with a cached page: any address is answered, so callers can invent any number of hosts. */
const PAGES_MAX = 4
const HEADERS = { 'cache-control': CACHE_REVALIDATE }

/**
 * Creates `/openapi.json`, or another text with the service's address: without a configured one, that of the request's
 * `Host` header.
 */
export function createOpenapiPage(openapi: string, headers: Readonly<Record<string, string>> = HEADERS): Page {
  const staticPage = createCompressedPage(openapi, headers)
  if (withServerUrl('', openapi) === openapi) return staticPage
  const pagesByHost = new Map<string, Page>()
  return (requestId, request) => {
    // The header is present and allowed; other requests were refused before.
    const host = request.headers.get('host') ?? ''
    const cachedPage = pagesByHost.get(host)
    if (cachedPage !== undefined) return cachedPage(requestId, request)
    const text = withServerUrl(`http://${host}`, openapi)
    if (pagesByHost.size === PAGES_MAX) return successAnswer(text, headers)
    const page = createCompressedPage(text, headers)
    pagesByHost.set(host, page)
    return page(requestId, request)
  }
}
