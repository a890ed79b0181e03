import type { gateSettle } from '../../sql/functions.ts'

type Parameter = Parameters<typeof gateSettle>[1]
type Row = Awaited<ReturnType<typeof gateSettle>>[number]

/** Combinations of organization, key and path (as in the rollups), as columns. */
type Combinations = Pick<Parameter, 'organizations' | 'keys' | 'paths'>

/** The log's numbers of combinations, as columns; empty if one of them is not cached. */
export type LogIdColumns = Pick<Parameter, 'numbering' | 'organizationNos' | 'callerNos' | 'pathNos'>

/** Numbers that the database has looked up; none if it accepted the numbers in the request. */
type NumbersRead = Pick<Row, 'numbering' | 'organization_nos' | 'caller_nos' | 'path_nos'>

interface Numbers {
  readonly organization: number
  readonly caller: number
  readonly path: number
}

const ENTRIES_MAX = 100_000
const UNKNOWN: LogIdColumns = { numbering: '', organizationNos: [], callerNos: [], pathNos: [] }

/**
 * Creates a cache of the numbers that the log stores instead of names: their look-up takes a quarter of the time of
 * settling for many organizations. They are sent with `numbering`, the id of the tables that assigned them, so that a
 * database with other tables, as after a failover or a restore, looks them up itself.
 */
export function createLogIdCache() {
  const numbersByCombination = new Map<string, Numbers>()
  let numbering = ''

  return {
    /** Finds the numbers of all these combinations; empty columns if one is not cached. */
    find({ organizations, keys, paths }: Combinations): LogIdColumns {
      const organizationNos: number[] = []
      const callerNos: number[] = []
      const pathNos: number[] = []
      for (const [index, organization] of organizations.entries()) {
        const numbers = numbersByCombination.get(`${organization} ${keys[index]} ${paths[index]}`)
        if (numbers === undefined) return UNKNOWN
        organizationNos.push(numbers.organization)
        callerNos.push(numbers.caller)
        pathNos.push(numbers.path)
      }
      return { numbering, organizationNos, callerNos, pathNos }
    },
    /** Adds the numbers that the database has looked up for these combinations, if any. */
    add({ organizations, keys, paths }: Combinations, numbersRead: NumbersRead): void {
      if (numbersRead.numbering !== numbering || numbersByCombination.size > ENTRIES_MAX) numbersByCombination.clear()
      numbering = numbersRead.numbering
      for (const [index, organization] of numbersRead.organization_nos.entries()) {
        const numbers = {
          organization,
          caller: numbersRead.caller_nos[index] ?? 0,
          path: numbersRead.path_nos[index] ?? 0,
        }
        numbersByCombination.set(`${organizations[index]} ${keys[index]} ${paths[index]}`, numbers)
      }
    },
  }
}
