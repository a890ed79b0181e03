import { systemClock } from '../../../../src/lib/clock.ts'
import { createPost, type PostResult } from '../../../../src/trigger/deliver/post.ts'

import { parseNetworks } from '../../../support/networks.ts'

/** What one post is to come to. `url` has `PORT` in place of the receiver's port. */
export interface PostCase {
  readonly title: string
  readonly url: string
  readonly outcome: Partial<PostResult>
}

const path = (name: string) => `https://hook.test:PORT/${name}`

export const POST_CASES: readonly PostCase[] = [
  { title: 'an answer', url: path('ok'), outcome: { statusCode: 200, failure: null, retryAfterSec: null } },
  { title: 'the same connection', url: path('ok?again'), outcome: { statusCode: 200 } },
  { title: 'no content', url: path('status/204'), outcome: { statusCode: 204 } },
  { title: 'an error', url: path('status/500'), outcome: { statusCode: 500 } },
  { title: 'a receiver that is gone', url: path('status/410'), outcome: { statusCode: 410 } },
  { title: 'a redirect, which is not followed', url: path('redirect'), outcome: { statusCode: 302, failure: null } },
  { title: 'Retry-After in seconds', url: path('later/7'), outcome: { statusCode: 503, retryAfterSec: 7 } },
  { title: 'Retry-After without end', url: path('later/999999999'), outcome: { retryAfterSec: 86_400 } },
  { title: 'Retry-After that is no time', url: path('later/soon'), outcome: { statusCode: 503, retryAfterSec: null } },
  {
    title: 'Retry-After in the past',
    url: path(`later/${encodeURIComponent('Thu, 01 Jan 2026 00:00:00 GMT')}`),
    outcome: { retryAfterSec: 0 },
  },
  { title: 'an endless answer', url: path('endless'), outcome: { statusCode: 200, failure: null } },
  { title: 'an answer that never ends', url: path('dribble'), outcome: { statusCode: 200, failure: null } },
  { title: 'huge headers', url: path('headers'), outcome: { statusCode: null, failure: 'protocol' } },
  { title: 'a closed connection', url: path('closed'), outcome: { statusCode: null, failure: 'closed' } },
  { title: 'no answer', url: path('hang'), outcome: { statusCode: null, failure: 'timeout' } },
  { title: 'TLS of another name', url: 'https://other.test:PORT/ok', outcome: { statusCode: null, failure: 'tls' } },
  { title: 'an address in place of a name', url: 'https://127.0.0.1:PORT/ok', outcome: { statusCode: 200 } },
  { title: 'plain http to TLS', url: 'http://hook.test:PORT/ok', outcome: { statusCode: null } },
  { title: 'a closed port', url: 'https://hook.test:1/ok', outcome: { statusCode: null, failure: 'connect' } },
  { title: 'a name without addresses', url: 'https://none.test/ok', outcome: { statusCode: null, failure: 'dns' } },
  {
    title: 'a name that never resolves',
    url: 'https://slow.test/ok',
    outcome: { statusCode: null, failure: 'timeout' },
  },
  {
    title: 'a private address',
    url: 'https://private.test:PORT/ok',
    outcome: { statusCode: null, failure: 'address' },
  },
  { title: 'a private address beside', url: 'https://both.test:PORT/ok', outcome: { failure: 'address' } },
]

const NAMES: Readonly<Record<string, readonly string[]>> = {
  'hook.test': ['127.0.0.1'],
  'other.test': ['127.0.0.1'],
  'private.test': ['10.0.0.1'],
  'both.test': ['127.0.0.1', '10.0.0.1'],
  'none.test': [],
}

/** Posts all of them, in their order, to the receiver on `port`. */
export async function postAll({ port, ca }: { readonly port: number; readonly ca: string }): Promise<PostResult[]> {
  const allowed = parseNetworks('127.0.0.0/8')
  const resolve = (name: string) => {
    const found = NAMES[name]
    return found === undefined ? new Promise<never>(() => undefined) : Promise.resolve(found)
  }
  const post = createPost({ rules: { allowed, resolve }, clock: systemClock, ca, timeoutMs: 1_000 })
  const posted: PostResult[] = []
  for (const { url } of POST_CASES) {
    const headers = { 'content-type': 'application/json', 'webhook-id': 'x' }
    posted.push(await post(url.replace('PORT', String(port)), { headers, body: '{"é":1}', no: 0, nowMs: Date.now() }))
  }
  post.close()
  return posted
}
