import { hash } from 'node:crypto'
import { Webhook } from 'standardwebhooks'

/** A share of all messages is refused once. */
const REFUSED_IN_TEN = 1

/** Starts a receiver of webhooks that checks what it gets as its owner would. `secret` is set once it is known. */
export function startChecker(random: () => number) {
  const bodies = new Map<string, string>()
  const refused = new Set<string>()
  const seen = { secret: '', posts: 0, wrongSignatures: 0, otherBodies: 0 }
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    idleTimeout: 0,
    async fetch(request) {
      const text = await request.text()
      const id = request.headers.get('webhook-id') ?? ''
      seen.posts++
      try {
        new Webhook(seen.secret).verify(text, Object.fromEntries(request.headers))
      } catch {
        seen.wrongSignatures++
        return new Response(null, { status: 401 })
      }
      const body = hash('sha256', text)
      if ((bodies.get(id) ?? body) !== body) seen.otherBodies++
      bodies.set(id, body)
      if (!refused.has(id) && random() * 10 < REFUSED_IN_TEN) {
        refused.add(id)
        return new Response(null, { status: 500 })
      }
      return new Response(null, { status: 204 })
    },
  })
  return { seen, bodies, url: `http://127.0.0.1:${server.port}`, stop: () => server.stop(true) }
}
