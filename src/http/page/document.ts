import { documentAt } from '../openapi/document.ts'
import { answered } from '../respond.ts'
import type { Page } from './page.ts'
import { ASK_AGAIN, sent } from './static.ts'

/** Addresses for which a finished page is kept: any address is answered, so callers could make up as many as they like. */
const KEPT_MAX = 4
const HEADERS = { 'cache-control': ASK_AGAIN }

/** `/openapi.json`: if the operator has not said where the service is, it is where it was asked. */
export function createDocument(openapi: string): Page {
  const whole = sent(openapi, HEADERS)
  if (documentAt('', openapi) === openapi) return whole
  const kept = new Map<string, Page>()
  return (requestId, request) => {
    // It is there, and one that is answered, or the request was refused.
    const host = request.headers.get('host') ?? ''
    const known = kept.get(host)
    if (known !== undefined) return known(requestId, request)
    const text = documentAt(`http://${host}`, openapi)
    if (kept.size === KEPT_MAX) return answered(text, HEADERS)
    const page = sent(text, HEADERS)
    kept.set(host, page)
    return page(requestId, request)
  }
}
