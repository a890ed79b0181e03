import { type Program, runCommand } from './program.ts'
import { type KeyName, ORGANIZATIONS, type OrganizationName } from './scenarios.ts'

/** Organizations of the scenario table, made by the command line beside the running service. */
export interface Accounts {
  /** Bearer text by name; `undefined` for a request without one. */
  readonly keys: Readonly<Record<KeyName, string | undefined>>
  readonly ids: Readonly<Record<OrganizationName, string>>
}

/** Runs one command with `--json` and parses its answer. Throws with what it said when it fails. */
export async function runJson(program: Program, words: readonly string[]): Promise<ReturnType<typeof JSON.parse>> {
  const { status, stdout, stderr } = await runCommand(program, [...words, '--json'])
  if (status !== 0) throw new Error(`Cannot run "${words.join(' ')}": status ${status}, ${stderr}`)
  return JSON.parse(stdout)
}

/** Makes every organization of the table with its credits, its limit and one key. */
export async function createAccounts(program: Program): Promise<Accounts> {
  const names = Object.keys(ORGANIZATIONS) as OrganizationName[]
  const made = await Promise.all(names.map((name) => createAccount(program, name)))
  const ids = Object.fromEntries(names.map((name, index) => [name, made[index]?.id])) as Record<
    OrganizationName,
    string
  >
  const keys = Object.fromEntries(names.map((name, index) => [name, made[index]?.key]))
  const revoked = await runJson(program, ['key', 'create', ids.main, '--name', 'lost'])
  await Promise.all([
    runJson(program, ['key', 'revoke', ids.main, revoked.id]),
    runJson(program, ['org', 'suspend', ids.suspended]),
    runJson(program, ['org', 'delete', ids.deleted]),
  ])
  return {
    ids,
    keys: {
      ...(keys as Record<OrganizationName, string>),
      revoked: revoked.key,
      // Of the right form, and with a wrong check sum.
      unknown: `ws_sk_${'A'.repeat(24)}`,
      malformed: 'not-a-key',
      none: undefined,
    },
  }
}

async function createAccount(program: Program, name: OrganizationName) {
  const { credits, limit } = ORGANIZATIONS[name]
  const { id } = await runJson(program, ['org', 'create', name, '--rate-limit', String(limit)])
  await runJson(program, ['credits', 'grant', id, String(credits), '--reason', 'scenario table'])
  const { key } = await runJson(program, ['key', 'create', id, '--name', name])
  return { id: id as string, key: key as string }
}
