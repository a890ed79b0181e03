import type { gateSettleBatch } from '../../sql/functions.ts'

/** A combination that the log stores as numbers; the path as in the rollups. */
interface Combination {
  readonly organizationId: string
  readonly apiKeyId: string
  readonly path: string
}

/** The log's numbers of combinations, as columns; empty if one of them is not cached. */
export type LogIdColumns = Pick<
  Parameters<typeof gateSettleBatch>[1],
  'logTables' | 'logOrganizations' | 'logCallers' | 'logPaths'
>

/** Numbers that the database has looked up; none if it accepted the numbers in the request. */
type NumbersRead = Pick<
  Awaited<ReturnType<typeof gateSettleBatch>>[number],
  'log_tables' | 'log_organizations' | 'log_callers' | 'log_paths'
>

interface Numbers {
  readonly organization: number
  readonly caller: number
  readonly path: number
}

const ENTRIES_MAX = 100_000
const UNKNOWN: LogIdColumns = { logTables: '', logOrganizations: [], logCallers: [], logPaths: [] }

/**
 * Creates a cache of the numbers that the log stores instead of names: their look-up takes a quarter of the time of
 * settling for many organizations. They are sent with the identity of the tables that assigned them, so that a database
 * with other tables, as after a failover or a restore, looks them up itself.
 */
export function createLogIdCache() {
  const numbersByCombination = new Map<string, Numbers>()
  let logTables = ''

  return {
    /** Finds the numbers of all these combinations; empty columns if one is not cached. */
    find(combinations: readonly Combination[]): LogIdColumns {
      const logOrganizations: number[] = []
      const logCallers: number[] = []
      const logPaths: number[] = []
      for (const combination of combinations) {
        const numbers = numbersByCombination.get(getName(combination))
        if (numbers === undefined) return UNKNOWN
        logOrganizations.push(numbers.organization)
        logCallers.push(numbers.caller)
        logPaths.push(numbers.path)
      }
      return { logTables, logOrganizations, logCallers, logPaths }
    },
    /** Adds the numbers that the database has looked up for these combinations, if any. */
    add(combinations: readonly Combination[], numbersRead: NumbersRead): void {
      if (numbersRead.log_tables !== logTables || numbersByCombination.size > ENTRIES_MAX) numbersByCombination.clear()
      logTables = numbersRead.log_tables
      for (const [index, organization] of numbersRead.log_organizations.entries()) {
        const combination = combinations[index]
        if (combination === undefined) continue
        numbersByCombination.set(getName(combination), {
          organization,
          caller: numbersRead.log_callers[index] ?? 0,
          path: numbersRead.log_paths[index] ?? 0,
        })
      }
    },
  }
}

function getName({ organizationId, apiKeyId, path }: Combination): string {
  return `${organizationId} ${apiKeyId} ${path}`
}
