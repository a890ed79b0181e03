import type { gateSettle } from '../../sql/functions.ts'

type Parameter = Parameters<typeof gateSettle>[1]
type Row = Awaited<ReturnType<typeof gateSettle>>[number]

/** Combinations of organization, key and path (as in the rollups), as columns. */
type Combinations = Pick<Parameter, 'organizations' | 'keys' | 'paths'>

/** The log's numbers of combinations, as columns that are empty if one of them is not known. */
export type LogIdColumns = Pick<Parameter, 'numbering' | 'organizationNos' | 'callerNos' | 'pathNos'>

/** Numbers that the database has looked up; none if it took those that were sent. */
type NumbersRead = Pick<Row, 'numbering' | 'organization_nos' | 'caller_nos' | 'path_nos'>

interface Numbers {
  readonly organization: number
  readonly caller: number
  readonly path: number
}

const ENTRIES_MAX = 100_000
const UNKNOWN: LogIdColumns = { numbering: '', organizationNos: [], callerNos: [], pathNos: [] }

/**
 * Remembers the numbers that the log has in place of names: looking them up takes a quarter of the time that many
 * organizations take to settle. They are sent with what names the tables that gave them, so that a database with other
 * tables, as after a failover or a restore, looks them up itself.
 */
export function createLogIdCache() {
  const known = new Map<string, Numbers>()
  let numbering = ''

  return {
    /** Numbers of all these combinations, or of none. */
    find({ organizations, keys, paths }: Combinations): LogIdColumns {
      const organizationNos: number[] = []
      const callerNos: number[] = []
      const pathNos: number[] = []
      for (const [place, organization] of organizations.entries()) {
        const numbers = known.get(`${organization} ${keys[place]} ${paths[place]}`)
        if (numbers === undefined) return UNKNOWN
        organizationNos.push(numbers.organization)
        callerNos.push(numbers.caller)
        pathNos.push(numbers.path)
      }
      return { numbering, organizationNos, callerNos, pathNos }
    },
    /** Takes in what the database has looked up for these combinations, if anything. */
    learn({ organizations, keys, paths }: Combinations, read: NumbersRead): void {
      if (read.numbering !== numbering || known.size > ENTRIES_MAX) known.clear()
      numbering = read.numbering
      for (const [place, organization] of read.organization_nos.entries()) {
        const numbers = { organization, caller: read.caller_nos[place] ?? 0, path: read.path_nos[place] ?? 0 }
        known.set(`${organizations[place]} ${keys[place]} ${paths[place]}`, numbers)
      }
    },
  }
}
