import { afterAll, beforeAll, expect, test } from 'bun:test'
import { settleBatch } from '../../../src/account/gate/settle.ts'
import { createLogIdCache } from '../../../src/account/log_ids.ts'
import { openDatabase } from '../../../src/db/connection/pool.ts'
import type { Database, Param } from '../../../src/db/database.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { createAccount, readBooks, settlement } from '../../support/account/scene.ts'
import { testDatabase } from '../../support/database.ts'
import { slowClock } from '../../support/test_clock.ts'

/** Name of the tables, and the numbers of organizations, callers and paths. */
const NUMBER_PARAMETERS = 4
const NONE = [[], [], []]

let db: Database

beforeAll(async () => {
  db = openDatabase({ url: (await testDatabase()).url, clock: slowClock, log: silentLog })
}, 60_000)

afterAll(() => db.close(), 60_000)

/** The database; what `change` makes of the numbers that are sent is sent instead. */
function changed(change: (sent: readonly Param[]) => readonly Param[]): Database {
  return {
    ...db,
    run(text, params, options) {
      const others = params.slice(0, -NUMBER_PARAMETERS)
      return db.run(text, [...others, ...change(params.slice(-NUMBER_PARAMETERS))], options)
    },
  }
}

/** The numbers that the log has for an organization's requests: one row each for organization, caller and path. */
async function readNumbers(organizationId: string): Promise<readonly (readonly [number, number, number])[]> {
  const rows = await db.run<{ organization_no: number; caller_no: number; path_no: number }>(
    `select distinct l.organization_no, l.caller_no, l.path_no from request_log l
     where l.caller_no in (select no from request_caller where organization_id = $1)`,
    [organizationId],
  )
  return rows.map((row) => [row.organization_no, row.caller_no, row.path_no])
}

test('numbers of the log are looked up once, and again for a combination that is new', async () => {
  const { caller, organizationId } = await createAccount(db)
  const numbers = createLogIdCache()
  const sent: (readonly Param[])[] = []
  const heard = changed((each) => {
    sent.push(each)
    return each
  })
  await settleBatch(heard, [settlement(caller)], numbers)
  await settleBatch(heard, [settlement(caller), settlement(caller)], numbers)
  const [[organization, key, path] = []] = await readNumbers(organizationId)
  const name = expect.stringContaining('base/')
  expect(sent).toEqual([
    ['', ...NONE],
    [name, [organization], [key], [path]],
  ])

  const other = settlement({ ...caller, apiKeyId: 'key_other' })
  await settleBatch(heard, [settlement(caller), other], numbers)
  await settleBatch(
    heard,
    [other, settlement(caller)].map((each, at) => ({ ...each, settlementId: `again${at}` })),
    numbers,
  )
  expect(sent.slice(2)).toEqual([
    ['', ...NONE],
    [name, [organization, organization], [expect.any(Number), key], [path, path]],
  ])
  expect(await readBooks(db, organizationId)).toMatchObject({ logged: 7, charged: 7 })
})

test('numbers of other tables are not used: another server, or a table that was refilled', async () => {
  const { caller, organizationId } = await createAccount(db)
  const numbers = createLogIdCache()
  const elsewhere = changed(() => ['another server', [1], [1], [1]])
  await settleBatch(elsewhere, [settlement(caller)], numbers)
  const known = await readNumbers(organizationId)
  expect(known).toHaveLength(1)

  await db.run('vacuum full request_caller', [])
  const wrong = changed(([name]) => [name ?? '', [1], [1], [1]])
  await settleBatch(wrong, [settlement(caller)], numbers)
  expect(await readNumbers(organizationId)).toEqual(known)
  expect(await readBooks(db, organizationId)).toMatchObject({ logged: 2, charged: 2 })

  // The new name is cached by now: wrong numbers are used, and the log no longer matches the charges.
  await settleBatch(wrong, [settlement(caller)], numbers)
  await expect(readBooks(db, organizationId)).rejects.toThrow('Credits are lost')
})
