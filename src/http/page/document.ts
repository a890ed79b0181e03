import { documentAt } from '../openapi/document.ts'
import { answered } from '../respond.ts'
import type { Page } from './page.ts'
import { ASK_AGAIN, sent } from './static.ts'

/** Addresses for which a finished page is kept: any address is answered, so callers could make up as many as they like. */
const KEPT_MAX = 4
const HEADERS = { 'cache-control': ASK_AGAIN }

/**
 * `/openapi.json`, or another text that says where the service is: if the operator has not said it, it is where it was
 * asked.
 */
export function createDocument(openapi: string, headers: Readonly<Record<string, string>> = HEADERS): Page {
  const whole = sent(openapi, headers)
  if (documentAt('', openapi) === openapi) return whole
  const kept = new Map<string, Page>()
  return (requestId, request) => {
    // It is there, and one that is answered, or the request was refused.
    const host = request.headers.get('host') ?? ''
    const known = kept.get(host)
    if (known !== undefined) return known(requestId, request)
    const text = documentAt(`http://${host}`, openapi)
    if (kept.size === KEPT_MAX) return answered(text, headers)
    const page = sent(text, headers)
    kept.set(host, page)
    return page(requestId, request)
  }
}
