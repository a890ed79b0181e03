import { expect, test } from 'bun:test'
import { gunzipSync } from 'node:zlib'
import { readConfig } from '../../../../src/config/config.ts'
import { createServicePages } from '../../../../src/service/mod.ts'
import { describeServices } from '../../../../src/service/routes.ts'
import { askPage } from '../../../support/page.ts'
import { createFixedClock } from '../../../support/test_clock.ts'

const openapi = describeServices(
  readConfig({}, () => {
    throw new Error('Expected no file')
  }),
)
const pages = createServicePages(() => openapi, createFixedClock()).callers
/** What the first screen of the reference may weigh. */
const BYTES_MAX = 400_000

async function got(path: string): Promise<{ text: string; bytes: number }> {
  const { bytes } = await askPage(pages.get(path), { host: 'api.example:8080', 'accept-encoding': 'gzip' })
  return { text: gunzipSync(bytes).toString(), bytes: bytes.length }
}

test('lists every operation with its price, and how to call the first', async () => {
  const { text } = await got('/docs')
  for (const [path, methods] of Object.entries<object>(JSON.parse(openapi).paths)) {
    for (const method of Object.keys(methods)) expect(text).toContain(`<code>${method.toUpperCase()} ${path}</code>`)
  }
  expect(text).toContain('1 credit per successful call.')
  expect(text).toContain('&#34;http://api.example:8080/v1/portfolio/balance?')
  expect(text).toContain('<strong>Retry</strong> 429 and 503 after <code>Retry-After</code>')
  expect(text).toContain('<a href="formulas">How every figure is calculated</a>')
})

test('is small with everything that it loads', async () => {
  const { text, bytes } = await got('/docs')
  expect(text).not.toContain('<script')
  const loaded = [...text.matchAll(/<link rel="\w+" href="([^"]+)"/g)].map(([, address]) => `/${address}`)
  expect(loaded.length).toBeGreaterThan(3)
  const weights = await Promise.all(loaded.map(async (path) => (await got(path)).bytes))
  const total = weights.reduce((sum, each) => sum + each, bytes)
  expect(total).toBeLessThan(BYTES_MAX)
  console.log(`/docs: ${total} bytes`)
})
