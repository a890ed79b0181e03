import { afterAll, beforeAll, expect, test } from 'bun:test'
import { createKey } from '../../../src/account/api_key.ts'
import { CLI_ACTOR } from '../../../src/account/audit.ts'
import { createOrganization, setOrganizationState, updateOrganization } from '../../../src/account/organization.ts'
import { openSession } from '../../../src/db/connection/session.ts'
import type { Database } from '../../../src/db/database.ts'
import { CodedError } from '../../../src/lib/error.ts'
import { createAccount } from '../../support/account/scene.ts'
import { type TestDatabase, testDatabase } from '../../support/database.ts'
import { waitForLockWaits } from '../../support/lock_waits.ts'
import { slowClock } from '../../support/test_clock.ts'

let database: TestDatabase

beforeAll(async () => {
  database = await testDatabase()
}, 60_000)
afterAll(() => database.close(), 60_000)

test.each([
  ['limited', (db: Database, id: string) => updateOrganization(db, { by: CLI_ACTOR, id, rateLimit: 7 })],
  ['suspended', (db: Database, id: string) => setOrganizationState(db, 'suspend', { by: CLI_ACTOR, id })],
])(
  'an organization that is %s while one of its keys is replaced waits for that, and that not for it',
  async (_, act) => {
    const { db, url } = database
    const { organizationId } = await createAccount(db)
    const key = await createKey(db, { by: CLI_ACTOR, organizationId, name: 'old' })
    // Sessions: a pool would send the victim of a deadlock again.
    const open = () => openSession({ url, applicationName: 'session', clock: slowClock })
    const [session, other] = await Promise.all([open(), open()])
    // As `rerollKey` in one statement, slowly.
    await session.run('begin', [])
    await session.run('update api_key set expires_at = now() where id = $1', [key.id])
    const acted = act(other, organizationId)
    // For the number of the change.
    await waitForLockWaits(db)
    await session.run(
      `insert into api_key (organization_id, id, name, hash, last4)
       values ($1, 'key_new', 'new', decode(repeat('00', 32), 'hex'), 'abcd')`,
      [organizationId],
    )
    await session.run('rollback', [])
    expect((await acted).id).toBe(organizationId)
    await Promise.all([session.close(), other.close()])
  },
)

test('of two organizations that take a name at once, the later waits for the earlier, and is refused', async () => {
  const { db, url } = database
  const { organizationId: id } = await createAccount(db)
  const session = await openSession({ url, applicationName: 'session', clock: slowClock })
  await session.run('begin', [])
  await createOrganization(session, { by: CLI_ACTOR, name: 'Wanted' })
  const later = Promise.allSettled([
    createOrganization(db, { by: CLI_ACTOR, name: 'Wanted' }),
    updateOrganization(db, { by: CLI_ACTOR, id, name: 'Wanted' }),
  ])
  await waitForLockWaits(db, 2)
  await session.run('commit', [])
  const refusal = {
    reason: new CodedError('INVALID_PARAMETER', 'Cannot call an organization "Wanted": another one has that name'),
  }
  expect(await later).toMatchObject([refusal, refusal])
  await session.close()
})
