import { switchList, switchUpdate } from '../../sql/queries.ts'
import { type Actor, toAuditParams } from '../account/audit.ts'
import type { Database } from '../db/database.ts'
import { FEATURES, type Feature } from '../http/route/route.ts'
import { CodedError } from '../lib/error.ts'

export interface Switch {
  readonly kind: 'endpoint' | 'feature'
  /** `GET /v1/lending/aave-v3`, as OpenAPI names it, or a feature. */
  readonly name: string
  readonly on: boolean
  /** What switched it off: the environment overrides the operator. */
  readonly off_by: 'environment' | 'operator' | null
  readonly off_at: Date | null
}

/** The endpoints that this program can switch, and the features that the environment has switched off. */
export interface Switchboard {
  readonly endpoints: readonly string[]
  readonly featuresOff: readonly Feature[]
}

/** More switches than any version of the program has. */
const LIST_MAX = 10_000

/** Lists every switch; also endpoints of other versions, as long as they are off. */
export async function listSwitches(db: Database, board: Switchboard): Promise<readonly Switch[]> {
  const rows = await switchList(db, { max: LIST_MAX })
  const off = new Map(rows.map((row) => [row.name, row.off_at]))
  const endpointsOff = rows.filter(({ kind }) => kind === 'endpoint').map(({ name }) => name)
  const endpoints = [...new Set([...board.endpoints, ...endpointsOff])].sort()
  return [
    ...FEATURES.map((name) => ({ kind: 'feature' as const, name })),
    ...endpoints.map((name) => ({ kind: 'endpoint' as const, name })),
  ].map(({ kind, name }) => {
    const offAt = off.get(name) ?? null
    const byEnvironment = board.featuresOff.some((feature) => feature === name)
    const offBy = byEnvironment ? 'environment' : offAt === null ? null : 'operator'
    return { kind, name, on: offBy === null, off_by: offBy, off_at: offAt }
  })
}

/**
 * Switches an endpoint or a feature; takes effect with the next request in every process. Idempotent. Throws
 * `CodedError` INVALID_PARAMETER if there is no such switch; a switch that is off can always be switched on.
 */
export async function setSwitch(
  db: Database,
  options: { readonly name: string; readonly on: boolean; readonly board: Switchboard; readonly by: Actor },
): Promise<Switch> {
  const { name, on, board, by } = options
  const current = (await listSwitches(db, board)).find((each) => each.name === name)
  if (current === undefined) {
    throw new CodedError(
      'INVALID_PARAMETER',
      `Cannot find switch "${name.slice(0, 64)}": expected ${FEATURES.join(', ')}, or an endpoint such as ` +
        '"GET /v1/lending/aave-v3"',
    )
  }
  await switchUpdate(db, { kind: current.kind, name, isOn: on, ...toAuditParams(by) })
  const after = (await listSwitches(db, board)).find((each) => each.name === name)
  return after ?? { ...current, on: true, off_by: null, off_at: null }
}

/** Requires names of endpoints of this configuration. Throws `CodedError` INVALID_PARAMETER for any other. */
export function requireEndpoints({ endpoints }: Switchboard, names: readonly string[]): void {
  const unknown = names.find((name) => !endpoints.includes(name))
  if (unknown === undefined) return
  throw new CodedError(
    'INVALID_PARAMETER',
    `Cannot find endpoint "${unknown.slice(0, 64)}": expected one such as "GET /v1/lending/aave-v3"`,
  )
}
