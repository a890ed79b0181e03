import { type Actor, CLI_ACTOR } from '../../account/audit.ts'
import { readOwnUser } from '../../db/embedded/user.ts'
import { escapeLine } from '../../lib/text/display_text.ts'
import type { CommandIo } from '../command.ts'

const ACCOUNT_CHARS_MAX = 64

/**
 * Returns the author of a command's changes: number and name of the account that runs it, neither from the environment.
 * For root also who called `sudo`, as a claim, because root can set the variable.
 */
export async function findActor(
  { environment }: Pick<CommandIo, 'environment'>,
  readUser = readOwnUser,
): Promise<Actor> {
  const { uid, name } = await readUser()
  const account = name === undefined ? `uid ${uid}` : `uid ${uid} (${name})`
  const claim = uid === 0 ? (environment['SUDO_USER'] ?? '') : ''
  const text = claim === '' || claim === name ? account : `${account}, claims sudo by ${claim}`
  return { ...CLI_ACTOR, account: escapeLine(text).slice(0, ACCOUNT_CHARS_MAX) }
}
