/** A quick receiver of webhooks: takes every post at once. One command a line on stdin, one line of JSON back. */

/** Reply to every command: posts since the previous command, and the time from the first to the last. */
export interface ReceiverCounts {
  readonly posts: number
  readonly ms: number
}

let posts = 0
let firstMs = 0
let lastMs = 0

const server = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  idleTimeout: 0,
  async fetch(request) {
    await request.arrayBuffer()
    lastMs = performance.now()
    if (posts++ === 0) firstMs = lastMs
    return new Response(null, { status: 204 })
  },
})
console.log(JSON.stringify({ url: `http://127.0.0.1:${server.port}` }))

for await (const line of console) {
  if (line === '') continue
  console.log(JSON.stringify({ posts, ms: lastMs - firstMs } satisfies ReceiverCounts))
  posts = 0
}
