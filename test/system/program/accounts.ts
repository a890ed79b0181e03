import { join } from 'node:path'
import { createKey, revokeKey } from '../../../src/account/api_key.ts'
import { CLI_ACTOR } from '../../../src/account/audit.ts'
import { grantCredits } from '../../../src/account/credit.ts'
import { createOrganization, setOrganizationState } from '../../../src/account/organization.ts'
import { openDatabase } from '../../../src/db/connection/pool.ts'
import type { Database } from '../../../src/db/database.ts'
import { findRunningEmbedded } from '../../../src/db/embedded/embedded.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { type Program, runCommand } from './program.ts'
import { type KeyName, ORGANIZATIONS, type OrganizationName } from './scenarios.ts'

/** Organizations of the scenario table, made in the database of the running service. */
export interface Accounts {
  /** Bearer text by name; `undefined` for a request without one. */
  readonly keys: Readonly<Record<KeyName, string | undefined>>
  readonly ids: Readonly<Record<OrganizationName, string>>
}

/** Runs one command with `--json` and parses its answer. Throws with its output when it fails. */
export async function runJson(program: Program, words: readonly string[]): Promise<ReturnType<typeof JSON.parse>> {
  const { status, stdout, stderr } = await runCommand(program, [...words, '--json'])
  if (status !== 0) throw new Error(`Cannot run "${words.join(' ')}": status ${status}, ${stderr}`)
  return JSON.parse(stdout)
}

/** Makes an organization with its credits and a key. */
export function openAccount(
  program: Program,
  { name, credits, rateLimit }: { readonly name: string; readonly credits: number; readonly rateLimit: number },
): Promise<{ readonly id: string; readonly key: string }> {
  const given = ['--credits', String(credits), '--rate-limit', String(rateLimit)]
  return runJson(program, ['org', 'create', name, ...given, '--key'])
}

/** Makes every organization of the table with its credits, its limit and one key. */
export function createAccounts(program: Program): Promise<Accounts> {
  return withDatabase(program, createAll)
}

/** Runs `work` on the database of a running service: that of its `DATABASE_URL`, else the embedded one. */
export async function withDatabase<T>(program: Program, work: (db: Database) => Promise<T>): Promise<T> {
  const running = await findRunningEmbedded(join(program.directory, 'data'))
  const url = running?.url ?? program.env['DATABASE_URL'] ?? ''
  const db = openDatabase({ url, clock: systemClock, log: silentLog, max: 1 })
  try {
    return await work(db)
  } finally {
    await db.close()
    await running?.close()
  }
}

async function createAll(db: Database): Promise<Accounts> {
  const ids = {} as Record<OrganizationName, string>
  const keys = {} as Record<OrganizationName, string>
  for (const name of Object.keys(ORGANIZATIONS) as OrganizationName[]) {
    const { credits, limit } = ORGANIZATIONS[name]
    const { id } = await createOrganization(db, { by: CLI_ACTOR, name, rateLimit: limit })
    await grantCredits(db, { by: CLI_ACTOR, organizationId: id, credits, reason: 'scenario table' })
    keys[name] = (await createKey(db, { by: CLI_ACTOR, organizationId: id, name })).key
    ids[name] = id
  }
  const revoked = await createKey(db, { by: CLI_ACTOR, organizationId: ids.main, name: 'lost' })
  await revokeKey(db, { by: CLI_ACTOR, organizationId: ids.main, keyId: revoked.id })
  await setOrganizationState(db, 'suspend', { by: CLI_ACTOR, id: ids.suspended })
  await setOrganizationState(db, 'delete', { by: CLI_ACTOR, id: ids.deleted })
  return {
    ids,
    keys: {
      ...keys,
      revoked: revoked.key,
      // Of the right form, and with a wrong check sum.
      unknown: `ws_sk_${'A'.repeat(24)}`,
      malformed: 'not-a-key',
      none: undefined,
    },
  }
}
