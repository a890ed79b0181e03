import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Hex } from 'viem'
import { FUNCTIONS, MIGRATIONS } from '../../../sql/files.ts'
import { SqlError } from '../../../src/db/database.ts'
import { migrate } from '../../../src/db/migrate.ts'
import { checkServable } from '../../../src/db/schema.ts'
import {
  LENDING_EVENT_TYPES,
  LENDING_EVENTS,
  type LendingEvent,
  readLendingEvents,
} from '../../../src/family/lending/lending_event.ts'
import { createRowTable, toHexDigits } from '../../../src/history/stored_part.ts'
import { type TestDatabase, testDatabase } from '../../support/database.ts'

const POOL: Hex = `0x${'aa'.repeat(20)}`
const ALICE: Hex = `0x${'a1'.repeat(20)}`
const STREAM = 'lending'
/** The function that release 0.4.0 stores lending events with. */
const EARLIER = {
  name: 'lending_event_store',
  text: readFileSync(join(import.meta.dir, 'earlier/lending_event_store.sql'), 'utf8'),
}

let database: TestDatabase
let chains = 0
let target = { chainId: 0, contract: POOL, startBlock: 100 }

beforeAll(async () => {
  database = await testDatabase()
  await database.db.run(
    `create table note (
       wallet bytea not null, log_index integer not null, "the text" text, primary key (wallet, place, block, log_index)
     ) inherits (history_row)`,
    [],
  )
  await database.db.run(
    'create table loose (wallet bytea, place integer, block bigint, primary key (wallet, block))',
    [],
  )
}, 60_000)
beforeEach(() => {
  target = { chainId: ++chains, contract: POOL, startBlock: 100 }
})
afterAll(() => database.close(), 60_000)

interface Note {
  readonly wallet: Hex
  readonly block: number
  readonly text: string | null
}

const columns = {
  wallet: ({ wallet }: Note) => toHexDigits(wallet),
  block: ({ block }: Note) => block,
  log_index: () => 0,
  'the text': ({ text }: Note) => text,
}
const wallets = { toSubject: ({ wallet }: Note) => wallet, subjectColumn: 'wallet' }
const NOTES = createRowTable<Note>({ ...wallets, name: 'note', columns })

function toPart<Row>(rows: readonly Row[], changes: { readonly witnesses?: number; readonly epoch?: number } = {}) {
  const blocks = { fromBlock: 100, toBlock: 200 }
  return { target, stream: STREAM, subjects: [ALICE], ...blocks, witnesses: 1, epoch: 0, rows, ...changes }
}

async function readTexts() {
  return await database.db.run<{ readonly block: string; readonly text: string | null }>(
    `select n.block, n."the text" as text from note n join history_place p on p.id = n.place
     where p.chain_id = $1 order by n.block`,
    [target.chainId],
  )
}

test('rows of a table that no function names are stored as they are, whatever their texts', async () => {
  const texts = [
    '',
    'null',
    'NULL',
    null,
    'a,b',
    '{}',
    'say "no"',
    'back\\slash',
    ' spaced ',
    "it's",
    'ø',
    'plain',
    '\n',
  ]
  await NOTES.store(database.db, toPart(texts.map((text, index) => ({ wallet: ALICE, block: 100 + index, text }))))
  expect(await readTexts()).toEqual(texts.map((text, index) => ({ block: String(100 + index), text })))
})

// Each row compared with each would take minutes.
test('thousands of rows of one endpoint are compared with those of two in one pass', async () => {
  const rows = Array.from({ length: 16_000 }, (_, index) => ({ wallet: ALICE, block: 100 + index, text: `${index}` }))
  const part = { ...toPart(rows), toBlock: 100 + rows.length }
  for (let other = 0; other < 3; other++) {
    await NOTES.store(database.db, part)
    target = { ...target, chainId: ++chains }
    part.target = target
  }
  // The planner knows nothing of the next place.
  await database.db.run('analyze note', [], { lane: 'background' })
  await NOTES.store(database.db, part)
  await NOTES.store(database.db, { ...part, witnesses: 2, rows: rows.slice(1) })
  expect((await readTexts()).length).toBe(rows.length - 1)
}, 30_000)

test('a row of a table with a column that may be null stays if two endpoints give it again, and else goes', async () => {
  const rows = [
    { wallet: ALICE, block: 110, text: null },
    { wallet: ALICE, block: 120, text: 'a' },
    { wallet: ALICE, block: 130, text: 'b' },
  ]
  await NOTES.store(database.db, toPart(rows))
  const count = async () =>
    await database.db.run<{ block: string; xmin: string }>(
      'select block, xmin from note where place = (select max(place) from note) order by block',
      [],
    )
  const [kept] = await count()
  await NOTES.store(database.db, toPart([rows[0], { ...rows[1], text: null }] as Note[], { witnesses: 2 }))
  expect(await readTexts()).toEqual([
    { block: '110', text: null },
    { block: '120', text: null },
  ])
  const [still, replaced] = await count()
  expect(still).toEqual(kept as NonNullable<typeof kept>)
  expect(replaced?.xmin).not.toBe(kept?.xmin)
  // Two endpoints agreed that there is no row.
  await NOTES.store(database.db, toPart(rows))
  expect(await readTexts()).toHaveLength(2)
})

test('a table that the history cannot take back is refused, and nothing is stored', async () => {
  const { wallet, block } = columns
  const loose = createRowTable<Note>({ ...wallets, name: 'loose', columns: { wallet, block } })
  const stored = loose.store(database.db, toPart([{ wallet: ALICE, block: 100, text: '' }]))
  await expect(stored).rejects.toThrow(SqlError)
  await expect(stored).rejects.toThrow('it must inherit history_row')
  expect(await database.db.run('select from history_place where chain_id = $1', [target.chainId])).toEqual([])
  const strange = createRowTable<Note>({ ...wallets, name: 'note', columns: { ...columns, other: () => 1 } })
  await expect(strange.store(database.db, toPart([{ wallet: ALICE, block: 100, text: '' }]))).rejects.toThrow(SqlError)
})

function event(changes: Partial<LendingEvent> = {}): LendingEvent {
  return {
    wallet: ALICE,
    market: null,
    block: 120,
    logIndex: 3,
    leg: 0,
    kind: 'supply',
    asset: POOL,
    amount: 2n ** 256n - 1n,
    counterparty: null,
    transactionHash: `0x${'12'.repeat(32)}`,
    timestampSec: null,
    indexRay: null,
    ...changes,
  }
}

/** Stores an event as release 0.4.0 does, with its own function. */
async function storeEarlier(block: number, toBlock: number): Promise<void> {
  const [wallet, pool] = [ALICE, POOL].map(toHexDigits) as [string, string]
  const part = [target.chainId, pool, STREAM, [wallet], 100, toBlock, 1]
  const row = [[wallet], [''], [block], [3], [0], ['supply'], [pool], ['7'], [''], ['12'.repeat(32)], [-1], ['-1']]
  const values = [...part, ...row, 0]
  const rows = await database.db.run(
    `select lending_event_store(${values.map((_, index) => `$${index + 1}`)}) as is_stored`,
    values,
  )
  expect(rows).toEqual([{ is_stored: true }])
}

test('an earlier release stays ready beside this one, and both store one history', async () => {
  const others = FUNCTIONS.filter(({ name }) => name !== 'history_row_store')
  const earlier = { migrations: MIGRATIONS, functions: [...others, EARLIER] }
  expect((await migrate(database.db, earlier)).applied).toEqual([EARLIER.name])
  expect((await migrate(database.db)).applied).toEqual([])
  expect(await checkServable(database.db, earlier)).toBe('own')

  await storeEarlier(110, 150)
  await LENDING_EVENTS.store(database.db, { ...toPart([event({ block: 170 })]), fromBlock: 151 })
  const read = () =>
    readLendingEvents(database.db, {
      target,
      stream: STREAM,
      wallet: ALICE,
      toBlock: 200,
      kinds: LENDING_EVENT_TYPES,
      skip: 0,
      max: 10,
    })
  expect((await read())?.events).toEqual([event({ block: 170 }), event({ block: 110, amount: 7n })])
  // What two endpoints agreed on replaces the row of the earlier release, which cannot bring it back.
  await LENDING_EVENTS.store(database.db, toPart([event({ block: 120 })], { witnesses: 2 }))
  await storeEarlier(110, 200)
  expect((await read())?.events).toEqual([event({ block: 120 })])
})
