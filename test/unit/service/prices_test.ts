import { afterEach, expect, spyOn, test } from 'bun:test'
import { join } from 'node:path'
import { readConfig } from '../../../src/config/config.ts'
import { refuseToConnect } from '../../../src/family/contract.ts'
import { POSITION_CHARGES } from '../../../src/family/liquidity/routes/parameters.ts'
import { toParameters } from '../../../src/http/request/parameters.ts'
import { PER_CALL, priceSentence } from '../../../src/http/route/charge.ts'
import { toRouteEndpoint } from '../../../src/http/route/route_table.ts'
import { createTools } from '../../../src/mcp/tools.ts'
import { createServiceRoutes, openapiText } from '../../../src/service/routes.ts'

const config = readConfig({ RPC_URL_1: 'http://127.0.0.1:1', SOLANA_RPC_URL: 'http://127.0.0.1:1' }, () => '')
const routes = createServiceRoutes(config, refuseToConnect)
const { credits } = POSITION_CHARGES.pnl

afterEach(() => {
  POSITION_CHARGES.pnl.credits = credits
})

/** README's table of routes that cost credits; the text below it states that only a success is charged. */
function priceTable(): string {
  const priced = routes.filter((route) => route.charge.credits > 0)
  const rows = priced.map((route) => {
    const price = priceSentence(route.charge).slice(0, -1).replace(` per ${PER_CALL}`, '')
    return `| \`${toRouteEndpoint(route).name}\` | ${price} |`
  })
  return ['| Route | Price |', '|---|---|', ...rows].join('\n')
}

/** What the pages read of a document. */
async function pricesOnPages(document: string): Promise<unknown> {
  const answer = Object.assign(async () => new Response(document), { preconnect: () => {} })
  const fetched = spyOn(globalThis, 'fetch').mockImplementation(answer)
  const catalog: string = join(import.meta.dir, '../../../src/dashboard/lib/catalog.ts')
  try {
    const { credits, liquidity } = await (await import(catalog)).readCatalog()
    return { ...credits, liquidity }
  } finally {
    fetched.mockRestore()
  }
}

test('README lists the price of each route', async () => {
  const readme = await Bun.file(join(import.meta.dir, '../../../README.md')).text()
  expect(/^\| Route \|.*\n(?:\|.*\n)*/m.exec(readme)?.[0].trimEnd()).toBe(priceTable())
})

test('one number defines the charge, the document, the tool, README and the pages', async () => {
  POSITION_CHARGES.pnl.credits = 77
  const pnl = routes.find(({ operation }) => operation === 'uniswap_pnl')
  if (pnl === undefined) throw new Error('Cannot find the route')
  const accepted = await pnl.accept({
    parameters: () => toParameters(pnl.input, { id: '1' }),
    body: async () => ({ value: () => ({}) }),
  })
  expect(accepted.call().creditsMin).toBe(77)

  const sentence = '77 credits; 4 with status=inactive.'
  const document = openapiText(routes, config)
  const operation = JSON.parse(document).paths['/v1/positions/uniswap-v3/{id}/pnl'].get
  expect(operation['x-credits']).toBe(sentence)
  expect(operation['x-charge'].credits).toBe(77)
  expect(operation.responses[200].description).toContain(sentence)
  expect(createTools(routes).get('read_liquidity_pnl')?.listing.description).toContain(sentence)
  expect(priceTable()).toContain('/pnl` | 77 credits; 4 with')
  expect(await pricesOnPages(document)).toEqual({
    liquidity: [
      expect.objectContaining({
        protocol: 'orca-whirlpool',
        credits: { open: 15, closed: 1, pnl: 0, pnlOfClosed: 0, events: 0, single: 2, full: 15 },
      }),
      ...['slipstream', 'uniswap-v3', 'uniswap-v4'].map((protocol) =>
        expect.objectContaining({
          protocol,
          credits: { open: 15, closed: 1, pnl: 77, pnlOfClosed: 4, events: 1, single: 2, full: 15 },
        }),
      ),
    ],
    position: 15,
    aave: 15,
    morpho: 15,
    morphoYield: 8,
    name: 1,
    portfolio: 15,
    overview: 5,
    exit: 15,
    row: 2,
    snapshots: 2,
    days: 5,
    events: 1,
    kaminoList: 15,
    kamino: 16,
    trigger: 1,
    triggers: 1,
    webhooks: 1,
    messages: 1,
  })
})
