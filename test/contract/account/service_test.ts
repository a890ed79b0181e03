import { beforeAll, expect, test } from 'bun:test'
import { createKey, listKeys, rerollKey, revokeKey } from '../../../src/account/api_key.ts'
import { CLI_ACTOR } from '../../../src/account/audit.ts'
import { grantCredits, listGrants, readCredits } from '../../../src/account/credit.ts'
import { hashKey, isWellFormedKey } from '../../../src/account/key.ts'
import {
  createOrganization,
  ensureDefaultOrganization,
  listOrganizations,
  readOrganization,
  resolveOrganizationId,
  setOrganizationState,
  updateOrganization,
} from '../../../src/account/organization.ts'
import type { Database } from '../../../src/db/database.ts'
import { CodedError } from '../../../src/lib/error.ts'
import { createAccount } from '../../support/account/scene.ts'
import { testDatabase } from '../../support/database.ts'

let db: Database
beforeAll(async () => {
  db = (await testDatabase()).db
}, 60_000)

const ALL = { page: 1, limit: 1_000 }

async function readErrorCode(promise: Promise<unknown>): Promise<string> {
  try {
    await promise
  } catch (error) {
    if (error instanceof CodedError) return error.code
    throw error
  }
  return 'no error'
}

test('createOrganization() starts at 5 requests a second, without credits', async () => {
  const organization = await createOrganization(db, { by: CLI_ACTOR, name: '  Äpfel & Söhne ' })
  expect(organization).toMatchObject({ name: 'Äpfel & Söhne', rate_limit: 5, suspended_at: null, deleted_at: null })
  expect(organization.id).toMatch(/^org_[0-9A-Za-z]{20}$/)
  expect(await readCredits(db, organization.id)).toEqual({
    organization_id: organization.id,
    balance: '0',
    granted: '0',
  })
  expect(await listGrants(db, { ...ALL, organizationId: organization.id })).toEqual({ items: [], total: 0 })
})

test('createOrganization() and updateOrganization() refuse bad names and limits', async () => {
  for (const name of ['', '   ', 'a'.repeat(101), 'a\nb', 'a\0b', '\u202eabc']) {
    expect(await readErrorCode(createOrganization(db, { by: CLI_ACTOR, name }))).toBe('INVALID_PARAMETER')
  }
  for (const rateLimit of [0, -1, 1.5, 100_001, Number.NaN]) {
    expect(await readErrorCode(createOrganization(db, { by: CLI_ACTOR, name: 'x', rateLimit }))).toBe(
      'INVALID_PARAMETER',
    )
  }
  const { id } = await createOrganization(db, { by: CLI_ACTOR, name: 'x' })
  expect(await readErrorCode(updateOrganization(db, { by: CLI_ACTOR, id, rateLimit: 0 }))).toBe('INVALID_PARAMETER')
  expect((await updateOrganization(db, { by: CLI_ACTOR, id, rateLimit: 50 })).rate_limit).toBe(50)
  for (const triggerLimit of [-1, 1.5, 100_001, Number.NaN]) {
    expect(await readErrorCode(createOrganization(db, { by: CLI_ACTOR, name: 'x', triggerLimit }))).toBe(
      'INVALID_PARAMETER',
    )
    expect(await readErrorCode(updateOrganization(db, { by: CLI_ACTOR, id, triggerLimit }))).toBe('INVALID_PARAMETER')
  }
  const limited = { rate_limit: 50, trigger_limit: 7 }
  expect(await updateOrganization(db, { by: CLI_ACTOR, id, triggerLimit: 7 })).toMatchObject(limited)
  expect(await updateOrganization(db, { by: CLI_ACTOR, id, name: 'Kerne' })).toMatchObject(limited)
  expect(await readErrorCode(updateOrganization(db, { by: CLI_ACTOR, id: 'org_none', rateLimit: 5 }))).toBe(
    'ORGANIZATION_NOT_FOUND',
  )
})

test('a name belongs to one organization until it is deleted', async () => {
  const create = (name: string) => createOrganization(db, { by: CLI_ACTOR, name })
  const rename = (id: string, name: string) => updateOrganization(db, { by: CLI_ACTOR, id, name })
  const refusal = 'Cannot call an organization "Wanted": another one has that name'
  const { id } = await create('Wanted')
  await expect(create(' Wanted ')).rejects.toThrow(refusal)
  const { id: otherId } = await create('Other')
  await expect(rename(otherId, 'Wanted')).rejects.toThrow(refusal)
  expect(await rename(id, 'Wanted')).toMatchObject({ name: 'Wanted' })
  await setOrganizationState(db, 'delete', { id, by: CLI_ACTOR })
  expect(await rename(otherId, 'Wanted')).toMatchObject({ name: 'Wanted' })
})

test('names that differ only in case or in the writing of their letters are one name', async () => {
  const create = (name: string) => createOrganization(db, { by: CLI_ACTOR, name })
  const [cafe, other] = [await create('Caf\u00e9 Noir'), await create('Caf\u00e9 Blanc')]
  // Decomposed, upper case where every locale knows it, full width, no-break space.
  for (const same of ['Cafe\u0301 Noir', 'CAF\u00e9 NOIR', '\uff23af\u00e9 Noir', ' caf\u00e9\u00a0noir ']) {
    await expect(create(same)).rejects.toThrow('another one has that name')
    const renamed = updateOrganization(db, { by: CLI_ACTOR, id: other.id, name: same })
    await expect(renamed).rejects.toThrow('another one has that name')
    expect(await updateOrganization(db, { by: CLI_ACTOR, id: cafe.id, name: same })).toMatchObject({
      name: same.trim(),
    })
  }
  expect(await create('Cafe Noir')).toMatchObject({ name: 'Cafe Noir' })
})

test('no name looks like an id, because it could not be found', async () => {
  const refusal = 'Cannot use this name: expected one that does not look like an id'
  const { id } = await createOrganization(db, { by: CLI_ACTOR, name: 'org_' })
  for (const name of [id, ' org_1 ']) {
    await expect(createOrganization(db, { by: CLI_ACTOR, name })).rejects.toThrow(refusal)
    await expect(updateOrganization(db, { by: CLI_ACTOR, id, name })).rejects.toThrow(refusal)
  }
  expect(await resolveOrganizationId(db, 'org_')).toBe(id)
})

test('organizations that had one name before it was refused stay usable, and one of them can be renamed', async () => {
  const ids = [await createAccount(db), await createAccount(db)].map(({ organizationId }) => organizationId)
  await db.run(`update organization set name = 'Twin' where id = any($1::text[])`, [ids])
  const [first = '', second = ''] = ids
  expect(await updateOrganization(db, { by: CLI_ACTOR, id: first, name: 'Twin', rateLimit: 9 })).toMatchObject({
    name: 'Twin',
    rate_limit: 9,
  })
  await expect(resolveOrganizationId(db, 'Twin')).rejects.toThrow('several are called "Twin"')
  await updateOrganization(db, { by: CLI_ACTOR, id: second, name: 'Not the twin' })
  expect(await resolveOrganizationId(db, 'Twin')).toBe(first)
})

test('a deleted organization is absent from the list and for every other function', async () => {
  const { organizationId: id } = await createAccount(db)
  expect((await listOrganizations(db, ALL)).items.map((each) => each.id)).toContain(id)
  await setOrganizationState(db, 'delete', { id, by: CLI_ACTOR })
  expect((await listOrganizations(db, ALL)).items.map((each) => each.id)).not.toContain(id)
  for (const refused of [
    () => readOrganization(db, id),
    () => setOrganizationState(db, 'delete', { id, by: CLI_ACTOR }),
    () => setOrganizationState(db, 'suspend', { id, by: CLI_ACTOR }),
    () => setOrganizationState(db, 'restore', { id, by: CLI_ACTOR }),
    () => createKey(db, { by: CLI_ACTOR, organizationId: id, name: 'k' }),
    () => listKeys(db, { ...ALL, organizationId: id }),
    () => readCredits(db, id),
    () => grantCredits(db, { by: CLI_ACTOR, organizationId: id, credits: 1, reason: 'r' }),
  ]) {
    expect(await readErrorCode(refused())).toBe('ORGANIZATION_NOT_FOUND')
  }
})

test('a suspended organization may not have another key until it is restored', async () => {
  const { organizationId, apiKeyId } = await createAccount(db)
  await setOrganizationState(db, 'suspend', { id: organizationId, by: CLI_ACTOR })
  expect(await readErrorCode(createKey(db, { by: CLI_ACTOR, organizationId, name: 'k' }))).toBe('ACCOUNT_SUSPENDED')
  expect(await readErrorCode(rerollKey(db, { by: CLI_ACTOR, organizationId, keyId: apiKeyId }))).toBe(
    'ACCOUNT_SUSPENDED',
  )
  await setOrganizationState(db, 'restore', { id: organizationId, by: CLI_ACTOR })
  expect((await createKey(db, { by: CLI_ACTOR, organizationId, name: 'k' })).name).toBe('k')
})

test('a key is stored as a hash only, and never shown again', async () => {
  const { organizationId, key } = await createAccount(db)
  const [stored] = await db.run<{ hash: string; text: string }>(
    `select encode(hash, 'hex') as hash, k::text as text from api_key k where organization_id = $1`,
    [organizationId],
  )
  expect(stored?.hash).toBe(hashKey(key))
  expect(stored?.text).not.toContain(key.slice(6))
  expect(JSON.stringify(await listKeys(db, { ...ALL, organizationId }))).not.toContain(key.slice(6, -4))
})

test('revokeKey() keeps the first time and finds only keys of its organization', async () => {
  const { organizationId, apiKeyId } = await createAccount(db)
  const other = await createAccount(db)
  expect(
    await readErrorCode(revokeKey(db, { by: CLI_ACTOR, organizationId: other.organizationId, keyId: apiKeyId })),
  ).toBe('NOT_FOUND')
  const first = await revokeKey(db, { by: CLI_ACTOR, organizationId, keyId: apiKeyId })
  expect(await revokeKey(db, { by: CLI_ACTOR, organizationId, keyId: apiKeyId })).toEqual(first)
  expect((await listKeys(db, { ...ALL, organizationId })).items.map((key) => key.revoked_at)).toEqual([
    first.revoked_at,
  ])
})

test('rerollKey() makes a new key and lets the old one expire, never later than it would have', async () => {
  const { organizationId, apiKeyId, key } = await createAccount(db)
  const next = await rerollKey(db, { by: CLI_ACTOR, organizationId, keyId: apiKeyId, graceSec: 3_600 })
  expect(next.key).not.toBe(key)
  expect(isWellFormedKey(next.key)).toBe(true)
  const expiry = async () =>
    (await listKeys(db, { ...ALL, organizationId })).items.find((each) => each.id === apiKeyId)?.expires_at
  const first = (await expiry())?.getTime() ?? 0
  expect(Math.abs(first - Date.now() - 3_600_000)).toBeLessThan(60_000)
  await rerollKey(db, { by: CLI_ACTOR, organizationId, keyId: apiKeyId, graceSec: 86_400 })
  expect((await expiry())?.getTime()).toBe(first)
  await revokeKey(db, { by: CLI_ACTOR, organizationId, keyId: apiKeyId })
  expect(await readErrorCode(rerollKey(db, { by: CLI_ACTOR, organizationId, keyId: apiKeyId }))).toBe('NOT_FOUND')
})

test('rerollKey() copies every limit of the key, its expiry too', async () => {
  const { organizationId } = await createAccount(db)
  const expiresAt = new Date(Date.now() + 7 * 86_400_000)
  const limits = { networks: ['10.0.0.0/8'], endpoints: ['GET /v1/usage/logs'], creditsPerDay: 7 }
  const old = await createKey(db, { by: CLI_ACTOR, organizationId, name: 'week', expiresAt, limits })
  const next = await rerollKey(db, { by: CLI_ACTOR, organizationId, keyId: old.id, graceSec: 60 })
  const { id, key, last4, created_at, ...copied } = old
  expect(next).toMatchObject(copied)
  expect(next.expires_at).toEqual(expiresAt)
})

test('grantCredits() records its reason and never takes the balance below zero', async () => {
  const { organizationId } = await createAccount(db, { credits: 100 })
  expect(await grantCredits(db, { by: CLI_ACTOR, organizationId, credits: -40, reason: 'Billed twice' })).toMatchObject(
    {
      balance: '60',
      granted: '60',
    },
  )
  expect(await readErrorCode(grantCredits(db, { by: CLI_ACTOR, organizationId, credits: -61, reason: 'r' }))).toBe(
    'INVALID_PARAMETER',
  )
  expect(await readErrorCode(grantCredits(db, { by: CLI_ACTOR, organizationId, credits: 0, reason: 'r' }))).toBe(
    'INVALID_PARAMETER',
  )
  expect(await readErrorCode(grantCredits(db, { by: CLI_ACTOR, organizationId, credits: 5, reason: '' }))).toBe(
    'INVALID_PARAMETER',
  )
  const credits = await readCredits(db, organizationId)
  expect(credits.balance).toBe('60')
  const grants = await listGrants(db, { ...ALL, organizationId })
  expect(grants.items.map((grant) => [grant.credits, grant.reason])).toEqual([
    ['-40', 'Billed twice'],
    ['100', 'Test'],
  ])
  expect(await listGrants(db, { organizationId, page: 2, limit: 1 })).toEqual({
    items: grants.items.slice(1),
    total: 2,
  })
})

test('grantCredits() that run at the same time never take back more than there is', async () => {
  const { organizationId } = await createAccount(db, { credits: 10 })
  const taken = await Promise.allSettled(
    Array.from({ length: 30 }, () => grantCredits(db, { by: CLI_ACTOR, organizationId, credits: -1, reason: 'r' })),
  )
  expect(taken.filter((each) => each.status === 'fulfilled')).toHaveLength(10)
  expect((await readCredits(db, organizationId)).balance).toBe('0')
})

test('ensureDefaultOrganization() returns one key once, even if many processes start at the same time', async () => {
  const empty = await testDatabase()
  const starts = await Promise.all(Array.from({ length: 8 }, () => ensureDefaultOrganization(empty.db)))
  const [made, ...others] = starts.filter((each) => each !== undefined)
  expect(others).toEqual([])
  expect(made?.credits).toBe(1_000_000)
  expect(await ensureDefaultOrganization(empty.db)).toBeUndefined()
  expect((await listOrganizations(empty.db, ALL)).items).toMatchObject([
    { id: made?.organizationId, name: 'default', balance: '1000000' },
  ])
  expect(await listKeys(empty.db, { ...ALL, organizationId: made?.organizationId ?? '' })).toMatchObject({
    items: [{ last4: made?.key.slice(-4) }],
  })
  await empty.close()
})
