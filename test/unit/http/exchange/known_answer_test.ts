import { expect, test } from 'bun:test'
import { createClient } from '../../../support/client.ts'
import { createFixture, WALLET } from '../../../support/http/fixture.ts'

const LIST = `/v1/positions/uniswap-v3?wallet=${WALLET}`

/** A caller that has the answer of the list, and names it. */
async function createReader() {
  const { app, gate, happenings } = createFixture()
  const call = createClient(app.handler)
  const first = await call(LIST, { key: 'good' })
  const tag = first.headers.get('etag') ?? ''
  const again = (path = LIST, more: { readonly headers?: Readonly<Record<string, string>> } = {}) =>
    call(path, { key: 'good', ...more, headers: { 'if-none-match': tag, ...more.headers } })
  return { call, gate, happenings, first, tag, again }
}

test('an answer that the caller has is neither sent nor charged again', async () => {
  const { gate, first, tag, again } = await createReader()
  const second = await again()
  expect([first.status, second.status, second.text]).toEqual([200, 304, ''])
  expect(second.headers.get('etag')).toBe(tag)
  expect(second.headers.get('x-as-of')).toBe(first.headers.get('x-as-of'))
  expect(second.headers.get('x-credits-charged')).toBe('0')
  expect(second.headers.get('x-credits-remaining')).toBe(first.headers.get('x-credits-remaining'))
  expect(gate.rows.map((row) => [row.status, row.creditsCharged])).toEqual([
    [200, 20],
    [304, 0],
  ])
})

test('another answer is sent and charged, and so is the same as a table or to an idempotency key', async () => {
  const { call, happenings, tag, again } = await createReader()
  expect((await again(`${LIST}&page=2`)).status).toBe(200)
  expect((await again(LIST, { headers: { accept: 'text/csv' } })).headers.get('etag')).toBeNull()
  expect((await again(LIST, { headers: { 'idempotency-key': 'one' } })).status).toBe(200)
  happenings.data = []
  const changed = await again()
  expect(changed.status).toBe(200)
  expect(changed.headers.get('etag')).not.toBe(tag)
  expect((await call(LIST, { key: 'bad', headers: { 'if-none-match': tag } })).status).toBe(401)
})

test('a change has no tag', async () => {
  const { call } = await createReader()
  const body = JSON.stringify({ wallets: [WALLET] })
  const answer = await call('/v1/lending/aave-v3/batch', { key: 'good', method: 'POST', body })
  expect([answer.status, answer.headers.get('etag')]).toEqual([200, null])
})

test('the same answer to another question, or to another organization, is sent and charged', async () => {
  const { call, gate, happenings, first, again } = await createReader()
  Object.assign(happenings, { data: [], total: 0 })
  const empty = await call(LIST, { key: 'good' })
  const tag = empty.headers.get('etag') ?? ''
  const other = LIST.replace(WALLET, '0x00000000219ab540356cBB839Cbe05303d7705Fa')
  const asked = await call(other, { key: 'good', headers: { 'if-none-match': tag } })
  expect([first.status, asked.status, (await again()).status]).toEqual([200, 200, 200])
  expect((await call(LIST, { key: 'good', headers: { 'if-none-match': tag } })).status).toBe(304)
  expect((await call(LIST, { key: 'slow', headers: { 'if-none-match': tag } })).status).toBe(200)
  expect(gate.rows.map(({ status }) => status)).toEqual([200, 200, 200, 200, 304, 200])
})
