import { describe, expect, test } from 'bun:test'
import { createGunzip } from 'node:zlib'
import { TABLE_MS_MAX, TABLE_PIECE_ROWS, TABLE_ROWS_MAX } from '../../../../src/http/limits.ts'
import { noteUnwitnessed } from '../../../../src/lib/async/work.ts'
import { UnavailableError } from '../../../../src/lib/error.ts'
import { createClient } from '../../../support/client.ts'
import { setCredits } from '../../../support/http/exchange/memory_gate.ts'
import { createFixture, type Fixture, WALLET } from '../../../support/http/fixture.ts'
import { settle } from '../../../support/test_clock.ts'

const LIST = `/v1/positions/uniswap-v3?wallet=${WALLET}`
const TABLE = `${LIST}&format=csv`
/** Of three pieces, the last one short. */
const TOTAL = 2 * TABLE_PIECE_ROWS + 30
const ROW_CREDITS = 2

function createLongFixture(total = TOTAL): Fixture {
  const fixture = createFixture()
  fixture.happenings.total = total
  setCredits(fixture.gate, BigInt(ROW_CREDITS * total))
  return fixture
}

/** Opens a table whose body is read by the test. */
async function openTable({ app }: Fixture, { key = 'good', headers = {}, signal }: TableRequest = {}) {
  const request = new Request(`http://test.local${TABLE}`, {
    headers: { host: 'test.local', authorization: `Bearer ${key}`, ...headers },
    ...(signal && { signal }),
  })
  const context = { request, ip: '127.0.0.1', platform: {}, env: () => undefined, passThrough() {}, waitUntil() {} }
  const { headers: head, body } = await app.handler(context)
  if (body === null) throw new Error('Cannot read a table without a body')
  return { head, reader: body.getReader() }
}

interface TableRequest {
  readonly key?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
}

/** Lists the ids of rows. */
function listIds(text: string): number[] {
  return text
    .split('\r\n')
    .filter((line) => /^\d/.test(line))
    .map((line) => Number(line.split(',')[0]))
}

const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => from + index)

function findRemark(text: string): string | undefined {
  return /(?:^|\r\n)"?# ([^\r]*?)"?\r\n$/.exec(text)?.[1]
}

/** Path at which a remark says that its table goes on. */
function findNextPath(text: string): string {
  return /Go on at http:\/\/test\.local(\S+)$/.exec(findRemark(text) ?? '')?.[1] ?? ''
}

describe('the table of a whole list', () => {
  test('has every row once, under one line of names, and is charged piece by piece under one request id', async () => {
    const { app, gate } = createLongFixture()
    const { status, text, headers } = await createClient(app.handler)(TABLE, { key: 'good' })
    expect([status, listIds(text), findRemark(text)]).toEqual([200, range(1, TOTAL), undefined])
    expect(text.split('\r\n').filter((line) => !/^\d/.test(line))).toEqual(['token_id,chain_id', ''])
    expect([headers.get('x-total-count'), headers.get('link')]).toEqual([String(TOTAL), null])
    expect(gate.rows.map((row) => row.creditsCharged)).toEqual([2_000, 2_000, 60])
    expect(new Set(gate.rows.map((row) => row.requestId))).toEqual(new Set([headers.get('x-request-id') ?? '']))
    expect(new Set(gate.rows.map((row) => row.settlementId)).size).toBe(3)
    expect(app.inFlight()).toBe(0)
  })

  test('is charged for no piece before the one before is taken, nor once its reader has left', async () => {
    const fixture = createLongFixture()
    const { reader } = await openTable(fixture)
    await settle()
    expect([fixture.gate.rows.length, fixture.happenings.reads]).toEqual([1, 1])
    const first = await reader.read()
    expect(listIds(new TextDecoder().decode(first.value))).toEqual(range(1, TABLE_PIECE_ROWS))
    await settle()
    expect(fixture.gate.rows).toHaveLength(1)
    await reader.read()
    await reader.cancel()
    await settle()
    expect([fixture.gate.rows.map(({ creditsCharged }) => creditsCharged), fixture.happenings.reads]).toEqual([
      [2_000, 2_000],
      2,
    ])
  })

  test('is not charged for a piece during whose read its caller leaves', async () => {
    const fixture = createLongFixture()
    const caller = new AbortController()
    const { reader } = await openTable(fixture, { signal: caller.signal })
    await reader.read()
    fixture.happenings.instead = (work) =>
      new Promise((_, reject) => {
        work.signal.addEventListener('abort', () => reject(work.signal.reason))
        caller.abort()
      })
    expect((await reader.read()).done).toBe(true)
    expect(fixture.gate.rows.map(({ status, creditsCharged }) => [status, creditsCharged])).toEqual([
      [200, 2_000],
      [499, 0],
    ])
  })

  test('that cannot be paid to its end says so in its last line, and goes on from there once it can', async () => {
    const { app, gate } = createLongFixture()
    const call = createClient(app.handler)
    setCredits(gate, 2_100n)
    const cut = await call(TABLE, { key: 'good' })
    expect(findRemark(cut.text)).toStartWith(
      `Ends after ${TABLE_PIECE_ROWS} of ${TOTAL} rows. Cannot pay for this request: the balance does not suffice. Go on at`,
    )
    expect(listIds(cut.text)).toEqual(range(1, TABLE_PIECE_ROWS))
    expect(gate.rows.map(({ status, creditsCharged }) => [status, creditsCharged])).toEqual([
      [200, 2_000],
      [402, 0],
    ])
    setCredits(gate, 10_000n)
    const ids: number[] = []
    for (let path: string | undefined = findNextPath(cut.text); path !== undefined; ) {
      const { status, text, headers } = await call(path, { key: 'good' })
      expect(status).toBe(200)
      ids.push(...listIds(text))
      path = /<http:\/\/test\.local([^>]+)>; rel="next"/.exec(headers.get('link') ?? '')?.[1]
    }
    expect(ids).toEqual(range(TABLE_PIECE_ROWS + 1, TOTAL))
  })

  test.each([
    ['its list gets longer', 'the list has changed', ({ happenings }: Fixture) => void happenings.total++],
    [
      'rows rest on one word of which its head says nothing',
      'the list has changed',
      ({ happenings }: Fixture) => {
        happenings.instead = async (work) => noteUnwitnessed(work, [10])
      },
    ],
    [
      'a read fails',
      'Cannot read chain 1',
      ({ happenings }: Fixture) => {
        happenings.instead = async () => {
          throw new UnavailableError('Cannot read chain 1')
        }
      },
    ],
    [
      'its reader takes too long',
      'No table takes more than 30 minutes',
      ({ clock }: Fixture) => clock.advance(TABLE_MS_MAX),
    ],
    ['the service stops', 'The service stops', ({ app }: Fixture) => app.drain()],
    [
      'its organization is suspended',
      'the organization is suspended',
      ({ gate }: Fixture) => Object.assign(gate.organizations.get('good') ?? {}, { state: 'suspended' }),
    ],
    [
      'the gate fails',
      'Cannot reach the database',
      ({ gate }: Fixture) => {
        gate.failAdmit = new UnavailableError('Cannot reach the database')
      },
    ],
  ])('ends, charged for nothing more, when %s', async (_, says, happen) => {
    const fixture = createLongFixture()
    const { reader } = await openTable(fixture)
    await reader.read()
    await happen(fixture)
    const text = new TextDecoder().decode((await reader.read()).value)
    expect(findRemark(text)).toStartWith(`Ends after ${TABLE_PIECE_ROWS} of ${TOTAL} rows. `)
    expect(findRemark(text)).toContain(says)
    expect(findNextPath(text)).toContain('&cursor=')
    expect((await reader.read()).done).toBe(true)
    expect(fixture.gate.rows.reduce((sum, { creditsCharged }) => sum + creditsCharged, 0)).toBe(2_000)
  })

  test('waits for its places in the rate window', async () => {
    const fixture = createLongFixture()
    const { gate, time, clock } = fixture
    Object.assign(gate.organizations.get('slow') ?? {}, { credits: 10_000n })
    const { reader } = await openTable(fixture, { key: 'slow' })
    await reader.read()
    await reader.read()
    const third = reader.read()
    await settle()
    expect([gate.rows.length, clock.pending > 0]).toEqual([2, true])
    time.ms += 1_000
    await clock.advance(1_000)
    expect(listIds(new TextDecoder().decode((await third).value))).toEqual(range(2 * TABLE_PIECE_ROWS + 1, TOTAL))
    // The wait is no latency of the service.
    expect(gate.rows.at(-1)?.latencyMs).toBe(0)
  })

  test('waits no longer once its caller has left, and logs nothing of it', async () => {
    const fixture = createLongFixture()
    const { gate, clock, lines } = fixture
    Object.assign(gate.organizations.get('slow') ?? {}, { credits: 10_000n })
    const caller = new AbortController()
    const { reader } = await openTable(fixture, { key: 'slow', signal: caller.signal })
    await reader.read()
    await reader.read()
    const third = reader.read()
    await settle()
    const [waiting, logged] = [clock.pending, lines.length]
    caller.abort()
    expect((await third).done).toBe(true)
    expect([gate.rows.length, lines.length - logged, waiting - clock.pending]).toEqual([2, 0, 1])
  })

  test('waits no longer once the service stops, and is charged for nothing more', async () => {
    const fixture = createLongFixture()
    const { app, gate, time, clock } = fixture
    Object.assign(gate.organizations.get('slow') ?? {}, { credits: 10_000n })
    const { reader } = await openTable(fixture, { key: 'slow' })
    await reader.read()
    await reader.read()
    const third = reader.read()
    await settle()
    app.drain()
    time.ms += 1_000
    await clock.advance(1_000)
    const text = new TextDecoder().decode((await third).value)
    expect(findRemark(text)).toStartWith(`Ends after ${2 * TABLE_PIECE_ROWS} of ${TOTAL} rows. `)
    expect(gate.rows.map(({ status, creditsCharged }) => [status, creditsCharged])).toEqual([
      [200, 2_000],
      [200, 2_000],
      [429, 0],
    ])
  })

  test('ends at its first piece with an idempotency key, repeated as it was, and leads on by a cursor', async () => {
    const { app, gate } = createLongFixture()
    const call = createClient(app.handler)
    const headers = { 'idempotency-key': 'one' }
    const first = await call(TABLE, { key: 'good', headers })
    expect(listIds(first.text)).toEqual(range(1, TABLE_PIECE_ROWS))
    expect(first.headers.get('link')).toMatch(/&limit=25&cursor=[\w-]+&format=csv>; rel="next"$/)
    const again = await call(TABLE, { key: 'good', headers })
    expect([again.text, again.headers.get('link')]).toEqual([first.text, first.headers.get('link')])
    expect(gate.rows.map((row) => row.creditsCharged)).toEqual([2_000, 0])
  })

  test('is not read further for HEAD', async () => {
    const { app, gate, happenings } = createLongFixture()
    await createClient(app.handler)(TABLE, { key: 'good', method: 'HEAD' })
    expect([happenings.reads, ...gate.rows.map((row) => row.creditsCharged)]).toEqual([1, 2_000])
  })

  test('is compressed by gzip, each piece readable before the next is there', async () => {
    const fixture = createLongFixture()
    const { head, reader } = await openTable(fixture, { headers: { 'accept-encoding': 'zstd, gzip' } })
    expect([head.get('content-encoding'), head.get('vary')]).toEqual(['gzip', 'accept-encoding'])
    const gunzip = createGunzip()
    let text = ''
    gunzip.on('data', (chunk) => {
      text += chunk
    })
    const found: number[] = []
    for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
      await new Promise<void>((resolve) => gunzip.write(piece.value, () => resolve()))
      found.push(listIds(text).length)
    }
    // The last bytes end the stream of gzip.
    expect(found).toEqual([TABLE_PIECE_ROWS, 2 * TABLE_PIECE_ROWS, TOTAL, TOTAL])
    expect(listIds(text)).toEqual(range(1, TOTAL))
  })

  test('has a last row whatever its list has', async () => {
    const { app, gate } = createLongFixture(TABLE_ROWS_MAX + 5)
    const { text } = await createClient(app.handler)(TABLE, { key: 'good' })
    expect(listIds(text)).toEqual(range(1, TABLE_ROWS_MAX))
    expect(findRemark(text)).toStartWith(
      `Ends after ${TABLE_ROWS_MAX} of ${TABLE_ROWS_MAX + 5} rows. No table has more than ${TABLE_ROWS_MAX}. Go on at`,
    )
    const { text: last } = await createClient(app.handler)(findNextPath(text), { key: 'good' })
    expect(listIds(last)).toEqual(range(TABLE_ROWS_MAX + 1, TABLE_ROWS_MAX + 5))
    expect(gate.rows).toHaveLength(TABLE_ROWS_MAX / TABLE_PIECE_ROWS + 1)
  })
})
