import { describe, expect, test } from 'bun:test'
import * as v from 'valibot'
import { findCsvTable } from '../../../../src/http/route/csv.ts'
import { defineRoute } from '../../../../src/http/route/route.ts'
import { createClient } from '../../../support/client.ts'
import { setCredits } from '../../../support/http/exchange/memory_gate.ts'
import { createFixture, WALLET } from '../../../support/http/fixture.ts'

const LIST = `/v1/positions/uniswap-v3?wallet=${WALLET}`
const ITEM = '/v1/positions/uniswap-v3/5'
const CSV = 'text/csv; charset=utf-8; header=present'

describe('a list as CSV', () => {
  test.each([
    ['the parameter', `${LIST}&limit=3&format=csv`, {}],
    ['the header', `${LIST}&limit=3`, { accept: 'text/csv' }],
    ['the header before others', `${LIST}&limit=3`, { accept: 'text/csv, */*;q=0.1' }],
    ['the parameter against the header', `${LIST}&format=csv&limit=3`, { accept: 'application/json' }],
  ])('asked for by %s has the same rows at the same price', async (_, path, headers) => {
    const { app, gate } = createFixture()
    const call = createClient(app.handler)
    const json = await call(`${LIST}&limit=3`, { key: 'good' })
    const csv = await call(path, { key: 'good', headers })
    expect([csv.status, csv.headers.get('content-type')]).toEqual([200, CSV])
    expect(csv.text).toBe('token_id,chain_id\r\n1,1\r\n2,1\r\n3,1\r\n')
    expect(gate.rows.map((row) => [row.status, row.creditsCharged])).toEqual([
      [200, 6],
      [200, 6],
    ])
    for (const name of ['x-as-of', 'x-credits-charged']) expect(csv.headers.get(name)).toBe(json.headers.get(name))
    expect(csv.headers.get('x-total-count')).toBe('12')
    const next = `http://test.local${LIST}&limit=3&page=2&format=csv`
    expect(csv.headers.get('link')).toBe(`<${next}>; rel="next"`)
  })

  test('is read page by page by its links', async () => {
    const call = createClient(createFixture().app.handler)
    const ids: string[] = []
    for (let path: string | undefined = `${LIST}&limit=5&format=csv`; path !== undefined; ) {
      const { text, headers } = await call(path, { key: 'good' })
      ids.push(...text.split('\r\n').slice(1, -1))
      const next = /<([^>]+)>; rel="next"/.exec(headers.get('link') ?? '')?.[1]
      path = next?.replace('http://test.local', '')
    }
    expect(ids).toEqual(Array.from({ length: 12 }, (_, index) => `${index + 1},1`))
  })

  test('without a page is the whole list, read once, and charged by its rows', async () => {
    const { app, gate, happenings } = createFixture()
    const call = createClient(app.handler)
    const { text, headers } = await call(`${LIST}&format=csv`, { key: 'good' })
    expect(text.split('\r\n').slice(1, -1)).toEqual(Array.from({ length: 12 }, (_, index) => `${index + 1},1`))
    expect([headers.get('x-total-count'), headers.get('link'), headers.get('x-as-of')]).toEqual([
      '12',
      null,
      '1:21000000,10:7',
    ])
    expect([happenings.reads, ...gate.rows.map((row) => row.creditsCharged)]).toEqual([1, 24])
    // A page named in other letters is a page.
    const page = await call(`${LIST}&%6cimit=3&format=csv`, { key: 'good' })
    expect(page.text.split('\r\n')).toHaveLength(5)
  })

  test('that costs more than the balance is 402, and no row leaves', async () => {
    const { app, gate, happenings } = createFixture()
    setCredits(gate, 23n)
    const { status, body } = await createClient(app.handler)(`${LIST}&format=csv`, { key: 'good' })
    expect([status, body.error.code, happenings.reads]).toEqual([402, 'INSUFFICIENT_CREDITS', 1])
    expect(gate.rows.map((row) => row.creditsCharged)).toEqual([0])
  })

  test('keeps every digit, quotes what it must, and lets no cell be a formula', async () => {
    const { app, happenings } = createFixture()
    const cells: [unknown, string][] = [
      ['-12.500000000000000001', '-12.500000000000000001'],
      [-3, '-3'],
      ['=1+1', "'=1+1"],
      ['+cmd|x', "'+cmd|x"],
      ['-1+1', "'-1+1"],
      ['@SUM(A1)', "'@SUM(A1)"],
      ['\t=1', "'\t=1"],
      ['\r=1', '"\'\r=1"'],
      ['＝1', "'＝1"],
      ['a "b", c', '"a ""b"", c"'],
      ['=HYPERLINK("x","y")', '"\'=HYPERLINK(""x"",""y"")"'],
      ['two\nlines', '"two\nlines"'],
      [null, ''],
      [undefined, ''],
      [true, 'true'],
      [{ deep: [1] }, '"{""deep"":[1]}"'],
    ]
    happenings.data = cells.map(([token_id]) => ({ token_id, chain_id: 1 }))
    const { text } = await createClient(app.handler)(`${LIST}&format=csv`, { key: 'good' })
    expect(text).toBe(`token_id,chain_id\r\n${cells.map(([, cell]) => `${cell},1\r\n`).join('')}`)
  })

  test('tells in headers what JSON tells beside the rows', async () => {
    const field = v.object({ data: v.array(v.object({ id: v.string() })) })
    const route = defineRoute({
      method: 'GET',
      path: '/v1/list',
      summary: 'Lists.',
      input: v.object({}),
      output: field,
      charge: { credits: 1 },
      read: async () => null,
      present: () => ({ data: [] }),
    })
    const table = findCsvTable(route, { query: 'format=csv', accept: null })
    const headers = (fields: object) => table?.write(JSON.stringify({ data: [{ id: 'a' }], ...fields })).headers
    expect(headers({})).toEqual({ 'content-type': CSV })
    expect(headers({ coverage: { complete: true, by: 'program_accounts' } })).toMatchObject({
      'x-coverage': 'complete',
    })
    expect(
      headers({ coverage: { complete: false, markets: [] }, counts: { totalActive: 2, spams: [{}, {}] } }),
    ).toEqual({
      'content-type': CSV,
      'x-coverage': 'partial',
      'x-counts': 'totalActive=2, spams=2',
    })
  })

  test('has columns in a currency behind those of US dollars, and the rate in a header', () => {
    const route = defineRoute({
      method: 'GET',
      path: '/v1/list',
      summary: 'Lists.',
      input: v.object({}),
      output: v.object({ data: v.array(v.object({ price_usd: v.string(), part: v.object({ usd: v.string() }) })) }),
      charge: { credits: 1 },
      read: async () => null,
      present: () => ({ data: [] }),
    })
    const data = [{ price_usd: '2', price_eur: '1', part: { usd: '4.000000', eur: '2.000000' } }]
    const fx = { currency: 'EUR', rate: '2', stale: false }
    const table = findCsvTable(route, { query: 'format=csv', accept: null })?.write(JSON.stringify({ data, fx }))
    expect(table?.body).toBe('price_usd,price_eur,part.usd,part.eur\r\n2,1,4.000000,2.000000\r\n')
    expect(table?.headers['x-fx']).toBe('currency=EUR, rate=2, stale=false')
  })

  test('has its head if nothing is found', async () => {
    const { app, happenings } = createFixture()
    happenings.data = []
    expect((await createClient(app.handler)(`${LIST}&format=csv`, { key: 'good' })).text).toBe('token_id,chain_id\r\n')
  })

  test('is cached separately from the JSON of the same list', async () => {
    const { app, happenings } = createFixture()
    const call = createClient(app.handler)
    happenings.untilMs = Number.POSITIVE_INFINITY
    const types: (string | null)[] = []
    for (const path of [LIST, `${LIST}&format=csv`, LIST, `${LIST}&format=json`]) {
      types.push((await call(path, { key: 'good' })).headers.get('content-type'))
    }
    expect(types).toEqual(['application/json; charset=utf-8', CSV, ...Array(2).fill('application/json; charset=utf-8')])
    // The table of the whole list is another answer, and is not kept.
    expect(happenings.reads).toBe(2)
    for (const path of [`${LIST}&limit=3&format=csv`, `${LIST}&limit=3`]) await call(path, { key: 'good' })
    expect(happenings.reads).toBe(3)
    const headers = { 'idempotency-key': 'one' }
    const kept = await call(`${LIST}&format=csv`, { key: 'good', headers })
    const again = await call(LIST, { key: 'good', headers: { ...headers, accept: 'text/csv' } })
    expect([again.text, again.headers.get('content-type')]).toEqual([kept.text, CSV])
    expect((await call(LIST, { key: 'good', headers })).status).toBe(422)
  })
})

test.each([
  ['another format', `${LIST}&format=xls`],
  ['a format twice', `${LIST}&format=csv&format=csv`],
  ['a receipt, which has no place in a table', `${LIST}&format=csv&receipt=true`],
  ['a format of what is no list', `${ITEM}?format=csv`],
])('%s is 400 in JSON, charged nothing', async (_, path) => {
  const { app, gate } = createFixture()
  const answer = await createClient(app.handler)(path, { key: 'good', headers: { accept: 'text/csv' } })
  expect([answer.status, answer.body.error.code]).toEqual([400, 'INVALID_PARAMETER'])
  expect(answer.body.error.message).toContain('"format"')
  expect(gate.rows.map((row) => row.creditsCharged)).toEqual([0])
})

test('an answer that is no list is JSON regardless of the header', async () => {
  const answer = await createClient(createFixture().app.handler)(ITEM, { key: 'good', headers: { accept: 'text/csv' } })
  expect([answer.status, answer.body.data.token_id]).toEqual([200, '5'])
})
