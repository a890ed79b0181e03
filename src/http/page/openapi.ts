import { withServerUrl } from '../openapi/document.ts'
import { successAnswer } from '../respond.ts'
import type { Page } from './page.ts'
import { CACHE_REVALIDATE, createCompressedPage } from './static.ts'

/** Addresses for which a finished page is kept: any address is answered, so callers could make up as many as they like. */
const KEPT_MAX = 4
const HEADERS = { 'cache-control': CACHE_REVALIDATE }

/**
 * `/openapi.json`, or another text that says where the service is: if the operator has not said it, it is where it was
 * asked.
 */
export function createOpenapiPage(openapi: string, headers: Readonly<Record<string, string>> = HEADERS): Page {
  const whole = createCompressedPage(openapi, headers)
  if (withServerUrl('', openapi) === openapi) return whole
  const kept = new Map<string, Page>()
  return (requestId, request) => {
    // It is there, and one that is answered, or the request was refused.
    const host = request.headers.get('host') ?? ''
    const known = kept.get(host)
    if (known !== undefined) return known(requestId, request)
    const text = withServerUrl(`http://${host}`, openapi)
    if (kept.size === KEPT_MAX) return successAnswer(text, headers)
    const page = createCompressedPage(text, headers)
    kept.set(host, page)
    return page(requestId, request)
  }
}
