import { userInfo } from 'node:os'
import { type Actor, CLI_ACTOR } from '../../account/audit.ts'
import { escapeLine } from '../../lib/text/display_text.ts'
import type { CommandIo } from '../command.ts'

const ACCOUNT_CHARS_MAX = 64

/** Returns the author of a command's changes: the account that runs it, and the one that `sudo` was called by. */
export function findActor({ environment }: Pick<CommandIo, 'environment'>, readAccount = readOwnAccount): Actor {
  const account = readAccount()
  const caller = environment['SUDO_USER'] ?? ''
  const text = caller === '' || caller === account ? account : `${account}, sudo by ${caller}`
  return { ...CLI_ACTOR, account: escapeLine(text).slice(0, ACCOUNT_CHARS_MAX) }
}

/** The name of the account, or its number if the system has no name for it, as in a container. */
function readOwnAccount(): string {
  try {
    return userInfo().username
  } catch {
    return `uid ${process.getuid?.() ?? 'unknown'}`
  }
}
