import { changeApply } from '../../sql/functions.ts'
import { type Database, SqlError } from '../db/database.ts'
import { CHANGE_REFUSED, type Change } from '../http/route/change.ts'

/**
 * Makes a change without a charge, for a session or the command line; returns its result. Throws the change's own error
 * if the database refuses it.
 */
export async function applyChange(db: Database, organizationId: string, change: Change): Promise<unknown> {
  const { kind, details, refuse, deadlineMs } = change
  try {
    const options = deadlineMs === undefined ? {} : { deadlineMs }
    const parameters = { kind, organization: organizationId, details: JSON.stringify(details) }
    return JSON.parse(await changeApply(db, parameters, options))
  } catch (error) {
    throw error instanceof SqlError && error.code === CHANGE_REFUSED ? refuse(error.message) : error
  }
}
