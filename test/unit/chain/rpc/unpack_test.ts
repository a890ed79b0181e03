import { afterAll, beforeAll, expect, spyOn, test } from 'bun:test'
import { Readable } from 'node:stream'
import { brotliCompressSync, constants, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { BODY_BYTES_MAX } from '../../../../src/chain/rpc/http_client.ts'
import { createTransport } from '../../../../src/chain/rpc/transport.ts'
import { systemClock } from '../../../../src/lib/clock.ts'
import { caseCount } from '../../../support/cases.ts'

const never = new AbortController().signal
const BOMB_BYTES = 64 * 1024 * 1024
/** What a decoder writes at once. */
const CHUNK_BYTES = 64 * 1024
/** Larger bodies wait for one another, as they come and as they are unpacked. */
const SMALL_BYTES_MAX = 256 * 1024

type Pack = (bytes: Buffer) => Uint8Array

/** Nothing but packing takes longer with more effort: all are unpacked alike. */
const packBrotli: Pack = (bytes) => brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } })

interface Packed {
  readonly coding: string
  readonly body: Uint8Array
}

let answer: (id: number) => Packed = () => ({ coding: '', body: Buffer.alloc(0) })
let server: ReturnType<typeof Bun.serve>
beforeAll(() => {
  server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const { coding, body } = answer(((await request.json()) as { readonly id: number }).id)
      return new Response(Buffer.from(body), { headers: { 'content-encoding': coding } })
    },
  })
})
afterAll(() => server.stop(true))

/** Sends a request to an endpoint that answers with this body; resolves to the result, or to the error. */
async function read(coding: string, body: Uint8Array): Promise<unknown> {
  answer = () => ({ coding, body })
  const transport = createTransport({ url: server.url.href, timeoutMs: 20_000, clock: systemClock })
  return await transport
    .send({ method: 'eth_call', params: [], parse: (result) => result }, never)
    .catch((error: unknown) => error)
}

/** Counts what all decoders of this process give while `work` runs, bytes, and how many work at the same time. */
async function watchDecoders(work: () => Promise<unknown>) {
  const seen = { bytes: 0, atOnce: 0 }
  const open = new Set<Readable>()
  const push = Readable.prototype.push
  const spied = spyOn(Readable.prototype, 'push').mockImplementation(function (this: Readable, chunk, ...rest) {
    if (/^(Gunzip|Inflate|InflateRaw|BrotliDecompress|ZstdDecompress)$/.test(this.constructor.name)) {
      seen.bytes += (chunk as Uint8Array | null)?.byteLength ?? 0
      open.add(this)
      seen.atOnce = Math.max(seen.atOnce, [...open].filter((one) => !one.destroyed && !one.readableEnded).length)
    }
    return push.call(this, chunk, ...rest)
  })
  await work().finally(() => spied.mockRestore())
  return seen
}

test.each([
  ['gzip', gzipSync],
  ['br', packBrotli],
  ['zstd', zstdCompressSync],
  ['deflate', deflateSync],
  ['deflate', deflateRawSync],
  ['gzip, br', (bytes) => packBrotli(gzipSync(bytes))],
] as [string, Pack][])('a bomb of %s is unpacked up to the limit and refused', async (coding, pack) => {
  const bomb = pack(Buffer.alloc(BOMB_BYTES, 0x20))
  expect(bomb.length).toBeLessThan(BODY_BYTES_MAX / 100)
  let outcome: unknown
  const { bytes } = await watchDecoders(async () => {
    outcome = await read(coding, bomb)
  })
  expect(outcome).toMatchObject({ fault: 'too_large' })
  expect(bytes).toBeGreaterThan(BODY_BYTES_MAX / 2)
  expect(bytes).toBeLessThan(BODY_BYTES_MAX + bomb.length + 2 * CHUNK_BYTES)
})

test('an endpoint has one body unpacked at a time, and each is read or refused', async () => {
  const transport = createTransport({ url: server.url.href, timeoutMs: 60_000, clock: systemClock })
  const sendMany = (count: number) =>
    Promise.all(
      Array.from({ length: count }, () =>
        transport
          .send({ method: 'eth_call', params: [], parse: (result) => String(result).length }, never)
          .catch((error: unknown) => error),
      ),
    )
  const bomb = packBrotli(Buffer.alloc(BOMB_BYTES, 0x20))
  answer = () => ({ coding: 'br', body: bomb })
  let outcomes: unknown[] = []
  const refused = await watchDecoders(async () => {
    outcomes = await sendMany(caseCount(20, 4))
  })
  for (const outcome of outcomes) expect(outcome).toMatchObject({ fault: 'too_large' })
  expect(refused.atOnce).toBe(1)

  // More than comes at once.
  const result = 'ab'.repeat(8 * SMALL_BYTES_MAX)
  answer = (id) => {
    const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id, result }))
    // Half of them come as they are.
    return id % 2 === 0 ? { coding: 'gzip', body: gzipSync(body) } : { coding: 'identity', body }
  }
  expect(await sendMany(20)).toEqual(Array.from({ length: 20 }, () => result.length))
})

const ANSWER = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, result: `0x${'ab'.repeat(300)}` }))

test.each([
  ['gzip', gzipSync],
  ['gzip', (bytes) => Buffer.concat([gzipSync(bytes.subarray(0, 50)), gzipSync(bytes.subarray(50))])],
  ['x-gzip', gzipSync],
  ['GZIP', gzipSync],
  ['deflate', deflateSync],
  ['deflate', deflateRawSync],
  ['br', brotliCompressSync],
  ['zstd', zstdCompressSync],
  ['identity', (bytes) => bytes],
  ['gzip, gzip', (bytes) => gzipSync(gzipSync(bytes))],
] as [string, Pack][])('an answer packed by %s is read (%#)', async (coding, pack) => {
  expect(await read(coding, pack(ANSWER))).toBe(`0x${'ab'.repeat(300)}`)
})

test.each([
  ['gzip', gzipSync(ANSWER).subarray(0, -9), 'The answer cannot be unpacked, or was cut off'],
  ['gzip', ANSWER, 'The answer cannot be unpacked, or was cut off'],
  ['compress', ANSWER, 'The answer is packed in an unknown way'],
  ['br, br, br, br', ANSWER, 'The answer is packed too often'],
])('a body that is not what %s says is refused (%#)', async (coding, body, message) => {
  expect(await read(coding, body)).toMatchObject({ name: 'UpstreamError', message })
})
