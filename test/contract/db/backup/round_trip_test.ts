import { afterAll, beforeAll, expect, test } from 'bun:test'
import { MIGRATIONS } from '../../../../sql/files.ts'
import { createGate } from '../../../../src/account/gate/gate.ts'
import { checkBackup } from '../../../../src/db/backup/read.ts'
import { BACKUP_TABLES } from '../../../../src/db/backup/tables.ts'
import { type WriteOptions, writeBackup } from '../../../../src/db/backup/write.ts'
import { openSession } from '../../../../src/db/connection/session.ts'
import { SchemaError } from '../../../../src/db/database.ts'
import { migrate } from '../../../../src/db/migrate.ts'
import type { Migration } from '../../../../src/db/schema.ts'
import { silentLog } from '../../../../src/lib/log.ts'
import { admitKey, admitted, createAccount, readBooks, settlement } from '../../../support/account/scene.ts'
import { type TestDatabase, temporaryDirectory, testDatabase } from '../../../support/database.ts'
import { slowClock } from '../../../support/test_clock.ts'
import { waitFor } from '../../../support/wait_for.ts'
import { createBackup, packed, readContent, restoreInto, streamBytes, withEmpty } from './scene.ts'

/** Texts that a format might trip over. */
const ODD = [
  ...['null', 'NULL', '\\N', '\\.', '"', "'", '\\', '\\"', '{}', '{"table":"organization"}', '["a"]', '[', ',', ' '],
  ...[
    'a\nb',
    'a\r\nb',
    '\t',
    '\u0001\u0002\u001f',
    '\u007f',
    '\u2028',
    'ÄÖÜ',
    '日本',
    '😀',
    '\ufeff',
    'e\u0301',
    '<script>',
  ],
]
let database: TestDatabase

beforeAll(async () => {
  database = await testDatabase()
}, 60_000)
afterAll(() => database.close(), 60_000)

test('a restored database has every row of every table as it was, odd texts, nulls, bytes and microseconds included', async () => {
  const { db } = database
  const gate = await createGate({ db, clock: slowClock, log: silentLog, journalDir: temporaryDirectory() })
  const accounts = await Promise.all(Array.from({ length: 5 }, () => createAccount(db, { credits: 60 })))
  await Promise.all(
    accounts.flatMap(({ key, caller }, number) =>
      ODD.map(async (text, index) => {
        await admitKey(gate, { key, endpoint: null })
        const requestedAtMs = Date.now() - index * 10_000_000
        await gate.settle(settlement(caller, { path: `/${text}`, credits: number, requestedAtMs }))
      }),
    ),
  )
  await gate.close(1_000)
  // What sums up requests may still be under way, and would take a row of ours.
  await waitFor('nothing to run', async () => {
    const others = `select from pg_stat_activity
      where datname = current_database() and state = 'active' and pid <> pg_backend_pid()`
    return (await db.run(others, [])).length === 0
  })
  for (const [index, text] of ODD.entries()) {
    await db.run('insert into organization (id, name, suspended_at) values ($1, $2, $3)', [
      ...[`odd_${index}`, text],
      index % 2 ? '2024-02-29 23:59:59.999999+00' : null,
    ])
    await db.run('insert into spending_limit (organization_id, most) values ($1, $2)', [
      ...[`odd_${index}`, '9007199254740993'],
    ])
  }
  await db.run(
    `update organization set deleted_at = 'infinity', created_at = '0044-03-15 12:00:00.000001 BC' where id = 'odd_0'`,
    [],
  )
  await db.run(`insert into endpoint_disabled (endpoint) values ('GET /v1/off')`, [])
  for (const limit of [`'key', 20000, 9007199254740993`, `'session', 0, 7`]) {
    await db.run(`insert into spending_limit (organization_id, scope, period, spent) values ('odd_0', ${limit})`, [])
  }
  await db.run(`insert into feature_disabled (feature) values ('mcp')`, [])
  await db.run(
    `insert into audit_entry (actor, action, subject, detail) values ('cli', 'switch.off', 'mcp', '{"a": [1, null]}')`,
    [],
  )
  await db.run('select request_rollup_fold()', [])
  await db.run(
    `insert into request_rollup_pending (hour, organizations, callers, paths, statuses, requests, credits)
     values (473000, '{999999}', '{999999}', '{0}', '{404}', '{1}', '{0}')`,
    [],
  )
  await db.run(`insert into request_log_dropped values ('odd_0', 7, 21, '2024-01-01 00:00:00+00')`, [])
  for (const statement of [
    `insert into instance_key values ('0123456789abcdef', sha256('key'), '\\x00ff', '2024-02-29 23:59:59.999999+00', null)`,
    `insert into idempotency_record (organization_id, idempotency_key, request_hash, settlement_id) values ('odd_0', '😀', 'h', 's')`,
    `insert into idempotency_use values ('odd_0', 9007199254740993)`,
    `insert into instance_secret values (true, sha256('secret'))`,
    `insert into webhook (organization_id, id, url, name) values ('odd_0', 'whk_1', 'https://hook.test/', '😀')`,
    `insert into watch (organization_id, id, chain_id, family, subject, clause, clear, webhook_id, api_key_id)
     values ('odd_0', 'trg_1', 1, 'aave-v3', '{"wallet": "0x"}', '{"event": ["odd"]}', 1e-18, 'whk_1', 'key')`,
    `insert into watch_state (organization_id, id, value) values ('odd_0', 'trg_1', '😀')`,
    `insert into watch_told values ('odd_0', 'trg_1', 1, 1, 'safe', 0, 2, '😀')`,
    `insert into watch_hour values ('odd_0', 473000)`,
    `insert into watch_owed (organization_id, id, api_key_id) values ('odd_0', 'trg_0', 'key')`,
    `insert into watch_cursor values (1, 'safe', 0, 'holder', 9007199254740993, 'infinity', 1, '\\x', now())`,
    `insert into watch_sight values (1, 'safe', 0, 'aave-v3', 2, now())`,
    `insert into watch_blind values ('odd_0', 1, 'safe', 0, '', null, now())`,
    `insert into watch_blind_trigger values ('odd_0', 'trg_1', 1, 'safe', 0, null, now())`,
    `insert into watch_unseen values ('odd_0', 'trg_1', 9007199254740993, now())`,
    `insert into watch_block values (1, 'safe', 0, 2, '\\x00ff')`,
    `select message_add('{odd_0}', '{trg_1}', '{1}', '{trigger.fired}', '{"{}"}', '{whk_1}')`,
    `insert into message_try values ('odd_0', 1, 1, now(), null, 'tls', 7)`,
    `insert into history_chain (chain_id, anchor_number, anchor_hash) values (1, 9007199254740993, '\\x00ff')`,
    `insert into history_place (chain_id, contract) values (1, '\\x00ff')`,
    `insert into history_coverage values ('\\x', 1, 'odd', '{[1,5),[7,9007199254740993)}', '{[1,5)}', 2, 8)`,
    `insert into lending_event values (1, 2, '\\x01', '\\x07', 3, 4, 'supply', '\\x02', ${2n ** 256n - 1n}, null, '\\x03', null, 1)`,
    `insert into custody_event values (1, 2, '\\x05', ${2n ** 256n - 1n}, 3, 'reward', '\\x06', 4, '\\x03', null)`,
    `insert into vault_flow values (1, 2, '\\x01', 3, 'receive', ${2n ** 256n - 1n}, null, '\\x02', '\\x03', null)`,
    `insert into position_flow values (1, 2, ${2n ** 256n - 1n}, 3, 'collect', 4, 5, 6, '\\x03', null)`,
    `insert into liquidity_change values (1, 2, 9, 4, '\\x05', -887272, 887272, -${2n ** 127n}, '\\x03', null, ${2n ** 256n - 1n})`,
    `insert into wallet_entry values (1, 2, '\\x01', '\\x07')`,
    `insert into price_at values (1, 'stablecoin', '\\x02', 3, 1, 0, 'stablecoin', 'state')`,
    `insert into first_block values (1, '\\x05', 'getPool()', 7)`,
    `insert into midnight values (1, 20000, 2, '\\x03', '\\x04', 5, false)`,
    `insert into snapshot_series values ('\\x01', 1, null, 0)`,
    `insert into lending_snapshot values ('\\x01', 1, 20000, 0.000000000000000001, -1, 1e60, null)`,
    `insert into portfolio_snapshot values ('\\x01', 1, 20000, -1, 0.000001, 1e60, 4, 5, 6, 7, 8)`,
  ]) {
    await db.run(statement, [])
  }
  const before = await readContent(db)
  for (const [table, rows] of Object.entries(before))
    expect({ table, rows: rows.length }).not.toEqual({ table, rows: 0 })

  const bytes = await createBackup(database.url)
  await withEmpty(async (target) => {
    const { end, migrated } = await restoreInto(target.url, bytes)
    expect(await readContent(target.db)).toEqual(before)
    expect(migrated).toEqual([])
    expect(end.rows['request_log']).toBe(accounts.length * ODD.length)
    for (const { organizationId } of accounts) await readBooks(target.db, organizationId)
    // What was restored goes on: the same key is admitted, and its window is primed anew.
    const again = await createGate({
      db: target.db,
      clock: slowClock,
      log: silentLog,
      journalDir: temporaryDirectory(),
    })
    const { caller } = admitted(await admitKey(again, { key: accounts[0]?.key ?? '', endpoint: null }))
    expect((await again.settle(settlement(caller))).creditsRemaining).toBe(59n)
    await again.close(1_000)
    expect((await migrate(target.db)).applied).toEqual([])
  })
}, 60_000)

test('a backup that is made while requests are charged holds credits that add up, and stops none of them', async () => {
  const source = await testDatabase()
  const { db } = source
  const accounts = await Promise.all(Array.from({ length: 8 }, () => createAccount(db, { credits: 100_000 })))
  const gate = await createGate({ db, clock: slowClock, log: silentLog, journalDir: temporaryDirectory() })
  let charged = 0
  let done = false
  const clients = accounts.map(async ({ caller }) => {
    while (!done) {
      await gate.settle(settlement(caller, { credits: 3 }))
      charged++
    }
  })
  await waitFor('some charges', () => charged > 200)

  const session = await openSession({ url: source.url, applicationName: 'walletscope backup', clock: slowClock })
  const writer = writeBackup(session, { program: 'test', stop: new AbortController().signal })
  const texts: string[] = []
  for await (const text of writer) {
    texts.push(text)
    // Time passes between any two parts.
    const sofar = charged
    await waitFor('more charges', () => charged > sofar + 50)
  }
  done = true
  await Promise.all(clients)
  await gate.close(1_000)
  await session.close()
  expect(texts.length).toBeGreaterThan(BACKUP_TABLES.length)

  const bytes = packed(texts.join('').trimEnd().split('\n'))
  const { end } = await checkBackup(streamBytes(bytes))
  expect(end.ledger.odd).toBe(0)
  expect(Number(end.ledger.granted)).toBe(Number(end.ledger.balance) + Number(end.ledger.charged))
  expect(Number(end.ledger.charged)).toBe(3 * (end.rows['request_log'] ?? 0))
  await withEmpty(async (target) => {
    await restoreInto(target.url, bytes)
    for (const { organizationId } of accounts) await readBooks(target.db, organizationId)
  })
  await source.close()
}, 60_000)

test('a slow reader slows a backup down, and memory does not grow', async () => {
  const source = await testDatabase()
  await source.db.run(
    `insert into request_log select now() + i * interval '1 ms', 1, 1, 0, 1, 200, 1, true, i::text, md5(i::text), 'GET', ''
     from generate_series(1, 300000) i`,
    [],
    { lane: 'background', deadlineMs: 60_000 },
  )
  const session = await openSession({ url: source.url, applicationName: 'walletscope backup', clock: slowClock })
  let read = 0
  let taken = 0
  const released = Promise.withResolvers<void>()
  const options: WriteOptions = {
    program: 'test',
    stop: new AbortController().signal,
    onProgress: (_table, rows) => {
      read = rows
    },
  }
  const { compressBackup } = await import('../../../../src/db/backup/write.ts')
  const packing = compressBackup(session, {
    ...options,
    append: async (bytes) => {
      taken += bytes.length
      if (taken > 100_000) await released.promise
    },
  })
  await waitFor('the reader to be full', () => taken > 100_000)
  let last = -1
  await waitFor('reading to stop', async () => {
    const same = last === read
    last = read
    await Bun.sleep(300)
    return same
  })
  expect(read).toBeLessThan(150_000)
  released.resolve()
  expect((await packing).end.rows['request_log']).toBe(300_000)
  await session.close()
  await source.close()
}, 60_000)

/** Tables as later versions may have them. */
const LATER: Migration = {
  version: MIGRATIONS.length + 1,
  name: '0099_later',
  text: `create table oddity (
      id bigint generated always as identity primary key, counter serial, "Odd ""name""" text, twice integer
        generated always as (counter * 2) stored,
      big numeric, small real, large double precision, document jsonb, texts text[], bounds integer[], letters char(3),
      span interval, day date, flag boolean, unique_id uuid, raw bytea[], range int4range, address inet
    );
    create table harvest (wallet bytea primary key) inherits (history_row);
    create table parted (at timestamptz not null, n integer, primary key (at, n)) partition by range (at);
    create table parted_2024 partition of parted for values from ('2024-01-01') to ('2025-01-01');
    create table parted_rest partition of parted default;
    alter table organization add column motto text not null default 'none';`,
}
const LATER_TABLES = [...BACKUP_TABLES, 'oddity', 'parted']

test(
  'every type of column, identities, generated columns and partitions come back as they were',
  () =>
    withEmpty(async (source) => {
      const migrations = [...MIGRATIONS, LATER]
      await migrate(source.db, { migrations })
      await source.db.run(
        `insert into oddity ("Odd ""name""", big, small, large, document, texts, bounds, letters, span, day, flag, unique_id,
         raw, range, address)
       values ('x', 123456789012345678901234567890.123456789, 0.1, 0.30000000000000004, 'null', array['a', null, 'NULL', '"'],
         '[5:6]={7,8}', 'a', '1 year -3 days 04:05:06.000007', '-infinity', true, gen_random_uuid(),
         array['\\x00ff'::bytea, null], '[1,5)', '10.0.0.1/8'),
       (null, 'NaN', '-infinity', 'NaN', '{"a": [1e400, "\\u00e9"]}', '{}', null, '', '0', '4713-01-01 BC', null, null, '{}',
         'empty', '::1')`,
        [],
      )
      await source.db.run('delete from oddity where id = 2', [])
      await source.db.run(
        `insert into parted select t, n from generate_series(1, 3) n,
         unnest(array['2023-05-05', '2024-06-06 01:02:03.000004', 'infinity']::timestamptz[]) t`,
        [],
      )
      await source.db.run(`insert into harvest values (1, 2, '\\x03')`, [])
      const before = await readContent(source.db, LATER_TABLES)
      expect(before['oddity']).toHaveLength(1)
      expect(before['harvest']).toEqual(['(1,2,"\\\\x03")'])
      const bytes = await createBackup(source.url, { migrations, tables: LATER_TABLES })
      await withEmpty(async (target) => {
        await restoreInto(target.url, bytes, { migrations })
        expect(await readContent(target.db, LATER_TABLES)).toEqual(before)
        expect(await target.db.run('select n from only parted_2024 order by n', [])).toEqual([
          { n: 1 },
          { n: 2 },
          { n: 3 },
        ])
        // A used number is never given again, even if its row is gone.
        expect(await target.db.run('insert into oddity default values returning id, counter', [])).toEqual([
          { id: '3', counter: 3 },
        ])
      })
    }),
  60_000,
)

test(
  'a backup of an older version is restored into its own tables, which are then migrated',
  () =>
    withEmpty(async (target) => {
      const bytes = await createBackup(database.url)
      const { migrated } = await restoreInto(target.url, bytes, { migrations: [...MIGRATIONS, LATER] })
      expect(migrated).toEqual([LATER.name])
      const [row] = await target.db.run<{ mottos: number }>(
        `select count(*)::integer as mottos from organization where motto = 'none'`,
        [],
      )
      expect(row?.mottos).toBe((await readContent(database.db))['organization']?.length)
    }),
  60_000,
)

test('a database of another version than this program is not backed up', () =>
  withEmpty(async (source) => {
    await migrate(source.db, { migrations: MIGRATIONS.slice(0, 1) })
    await expect(createBackup(source.url)).rejects.toBeInstanceOf(SchemaError)
  }))
