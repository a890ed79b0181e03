/** The ceiling: `Bun.serve` with a constant answer of the size that the metered route gives. */
const body = JSON.stringify({ data: { ok: true }, request_id: 'req_00000000000000000000000000' })

const server = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  fetch: () => new Response(body, { headers: { 'content-type': 'application/json; charset=utf-8' } }),
})
console.log(JSON.stringify({ port: server.port }))
