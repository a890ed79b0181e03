import { afterAll, describe, expect, test } from 'bun:test'
import { readConfig } from '../../../src/service/config/config.ts'
import { createServicePages } from '../../../src/service/pages.ts'
import { describeServices } from '../../../src/service/routes.ts'
import { createFixedClock } from '../../support/test_clock.ts'
import { audit, BROWSER, openPage, overflow } from './browser.ts'

describe.skipIf(BROWSER === undefined)('pages of text', () => {
  const openapi = describeServices(
    readConfig({}, () => {
      throw new Error('Expected no file')
    }),
  )
  const pages = createServicePages(openapi, createFixedClock()).callers
  const server = Bun.serve({
    port: 0,
    async fetch(request) {
      const answer = await pages.get(new URL(request.url).pathname)?.('req_1', request)
      return new Response(answer?.shared ?? answer?.body, { ...answer, status: answer?.status ?? 404 })
    },
  })
  afterAll(() => server.stop(true))

  test('are accessible: in light and dark, by keyboard, on a phone', async () => {
    const { page, complaints, close } = await openPage()
    // Third-party code renders the reference.
    const addresses = [...pages.keys()].filter((path) => path.startsWith('/docs/') && path !== '/docs/reference')
    expect(addresses.length).toBeGreaterThan(5)
    for (const address of [...addresses, '/docs', '/formulas']) {
      await page.goto(new URL(address, server.url).href)
      expect({ address, found: await audit(page, { dark: true }) }).toEqual({ address, found: [] })
      expect({ address, over: await overflow(page) }).toEqual({ address, over: [0, 0] })
    }
    expect(complaints).toEqual([])
    await close()
  })
})
