import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { createChainsFile } from '../../devnet/chain.ts'
import { type Devnet, sharedDevnet } from '../../devnet/mod.ts'
import { type TestDatabase, testDatabase } from '../../support/database.ts'
import { BROWSER, openPage, type Watched } from '../browser/browser.ts'
import { openAccount } from './accounts.ts'
import { buildWhatIsStale } from './builds.ts'
import { executableProgram, type Program, type Service, startService } from './program.ts'

const LIMIT = { timeout: 20_000 }

let devnet: Devnet
let database: TestDatabase
let program: Program
let service: Service
let watched: Watched
let page: Page
let key: string

describe.skipIf(BROWSER === undefined)('pages of the documentation', () => {
  beforeAll(async () => {
    await buildWhatIsStale()
    devnet = await sharedDevnet()
    database = await testDatabase()
    program = executableProgram({ CHAINS: '1', CHAINS_FILE: '../chains.json', DATABASE_URL: database.url })
    writeFileSync(join(program.directory, '../chains.json'), createChainsFile(devnet.rpcUrl))
    service = await startService(program)
    key = (await openAccount(program, { name: 'readers', credits: 100, rateLimit: 1_000 })).key
    watched = await openPage()
    page = watched.page
  }, 240_000)

  afterAll(async () => {
    await watched?.close()
    await service?.stop()
    program?.remove()
    await database?.close()
  }, 30_000)

  test('the API reference shows every operation of the document', async () => {
    const origin = `http://127.0.0.1:${service.port}`
    await page.goto(`${origin}/docs/reference`)
    const contents = page.locator('aside')
    await contents.getByText('usage', { exact: true }).first().waitFor(LIMIT)
    for (let closed = 1; closed > 0; ) {
      const groups = page.getByRole('button', { name: /^Open Group - (?!Models)/ })
      if ((await groups.count()) > 0) await groups.first().click(LIMIT)
      closed = await groups.count()
    }
    const response = await fetch(`${origin}/openapi.json`)
    const { paths } = (await response.json()) as { readonly paths: Readonly<Record<string, object>> }
    for (const path of Object.keys(paths)) await contents.getByText(path, { exact: true }).first().waitFor(LIMIT)
  }, 60_000)

  test('the first call of the introduction works as it stands', async () => {
    const [, url = ''] =
      /curl -H "[^"]+" "([^"]+)"/.exec((await page.getByText('curl -H').first().textContent()) ?? '') ?? []
    expect(url).toStartWith(`http://127.0.0.1:${service.port}/v1/portfolio/balance?`)
    // This chain has no Aave.
    expect((await fetch(`${url}&allow_partial=true`, { headers: { authorization: `Bearer ${key}` } })).status).toBe(200)
  }, 60_000)

  test('its console sends a request to this service with the key that the reader gives', async () => {
    await page.getByPlaceholder('Token').first().fill(key)
    await page.locator('aside').getByText('/v1/usage/logs', { exact: true }).click(LIMIT)
    await page.getByRole('button', { name: 'Test Request (get /v1/usage/logs)' }).click(LIMIT)
    const answered = page.waitForResponse((each) => each.url().includes('/v1/'), LIMIT).catch(() => undefined)
    await page.getByRole('button', { name: /^Send/ }).first().click(LIMIT)
    const response = await answered
    expect(response?.status()).toBe(200)
    expect(await response?.request().headerValue('authorization')).toBe(`Bearer ${key}`)
  }, 60_000)

  test('the request of an operation works as it stands, filled in with examples of the demo', async () => {
    await page.getByRole('button', { name: 'Close Client' }).first().click(LIMIT)
    await page.locator('aside').getByText('/v1/positions/uniswap-v3', { exact: true }).click(LIMIT)
    await page.getByRole('button', { name: 'Test Request (get /v1/positions/uniswap-v3)' }).click(LIMIT)
    const answered = page.waitForResponse((each) => each.url().includes('/v1/positions'), LIMIT)
    await page.getByRole('button', { name: /^Send/ }).first().click(LIMIT)
    const response = await answered
    const { data } = await response.json()
    expect([response.status(), data.length > 0]).toEqual([200, true])
    expect(new URL(response.url()).searchParams.get('wallet')).toBe(devnet.wallets.provider)
    // Optional ones are shown and not sent: a second request with the same key would be refused.
    expect(await response.request().headerValue('idempotency-key')).toBeNull()
  }, 60_000)

  test('the pages request no other server, and the policy blocks nothing', () => {
    const origin = `http://127.0.0.1:${service.port}/`
    const { requests, complaints } = watched
    expect(requests.filter((address) => !address.startsWith(origin) && !/^(data|blob):/.test(address))).toEqual([])
    expect(requests.length).toBeGreaterThan(3)
    expect(complaints).toEqual([])
  })
})
