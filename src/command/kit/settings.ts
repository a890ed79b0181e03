import { resolve } from 'node:path'
import { listServedChainIds } from '../../config/chains.ts'
import type { Config } from '../../config/config.ts'
import { splitList } from '../../config/lists.ts'
import type { VariableName } from '../../config/variables.ts'

/** The part of a configuration that the files need, without values that may be secret. */
export interface KitSettings {
  /** Where a service outside a container listens. */
  readonly host: string
  readonly port: number
  readonly operatorPort: number
  /** Seconds between unready and closing. */
  readonly drainSec: number
  /** Seconds from the stop signal until a supervisor may kill the process. */
  readonly stopSec: number
  /** Plain variables that are set and are not secrets, by name. */
  readonly variables: Readonly<Record<string, string>>
  /** `ALLOWED_HOSTS` of a service that other containers call by its name, `walletscope`. */
  readonly hostsWithName: string
  readonly workers: number
  /** Files that variables name, by name, as absolute paths. */
  readonly files: Readonly<Record<string, readonly string[]>>
  /** Variables that hold the endpoints of its chains. */
  readonly endpoints: readonly string[]
}

/** Plain variables that are carried as they are set. Others are derived, or hold secrets, which users fill in. */
const PLAIN: readonly VariableName[] = [
  'HISTORY_REQUESTS_PER_SECOND',
  'CORS_ORIGINS',
  'DATABASE_TLS',
  'HISTORY',
  'LOG_LEVEL',
  'LOG_RETENTION_DAYS',
  'MCP',
  'PIPELINING',
  'SNAPSHOTS',
  'TRIGGERS',
  'TRUSTED_PROXIES',
  'WEBHOOK_ALLOWED_CIDRS',
]
/** Variables that name files. */
const FILES: readonly VariableName[] = ['CHAINS_FILE', 'TOKEN_LISTS', 'INSTANCE_KEY_FILE']
/** Where containers have the files that variables name. */
const FOLDER = '/etc/walletscope'

const OPERATOR_PORT = 8081
/** Upper bound of the stop time after the drain, with a margin. */
const STOP_SEC = 15

/** Derives the files' settings from a configuration. Defaults for absent ports and times suit a public service. */
export function kitSettings(
  { host, port, operatorPort, drainMs, publicUrl, allowedHosts, chains, solana, workers }: Config,
  environment: Readonly<Record<string, string | undefined>>,
): KitSettings {
  const getVariable = (name: string) => environment[name]?.trim() ?? ''
  const isSet = (name: string) => getVariable(name) !== ''
  const ids = chains.map(({ id }) => id)
  const hasSolana = solana.rpcUrls.length > 0
  // Ten seconds suffice for a balancer that probes every five seconds, as in Kubernetes and compose.
  const drainSec = Math.max(10, Math.ceil(drainMs / 1_000))
  return {
    host,
    workers,
    hostsWithName: [...new Set([...allowedHosts, 'walletscope'])].join(','),
    port: port === 0 ? 8_080 : port,
    operatorPort: operatorPort === undefined || operatorPort === 0 ? OPERATOR_PORT : operatorPort,
    drainSec,
    stopSec: drainSec + STOP_SEC,
    variables: {
      CHAINS: listServedChainIds({ chains, solana }).join(','),
      ...(workers === 1 ? {} : { WORKERS: String(workers) }),
      // Escape the two characters that would end or expand the value in one of the files.
      ...(publicUrl === undefined ? {} : { PUBLIC_URL: publicUrl.replaceAll("'", '%27').replaceAll('$', '%24') }),
      ...(allowedHosts.length === 0 ? {} : { ALLOWED_HOSTS: allowedHosts.join(',') }),
      ...Object.fromEntries(PLAIN.filter(isSet).map((name) => [name, splitList(getVariable(name)).join(',')])),
    },
    files: Object.fromEntries(
      FILES.filter(isSet).map((name) => [name, splitList(getVariable(name)).map((path) => resolve(path))]),
    ),
    endpoints: [...ids.map((id) => `RPC_URL_${id}`), ...(hasSolana ? ['SOLANA_RPC_URL'] : [])],
  }
}

/** Returns where a container has each file: its variable, the file's path here, and its name in the container. */
export function listMounts({ files }: Pick<KitSettings, 'files'>) {
  return Object.entries(files).flatMap(([variable, paths]) =>
    paths.map((source, index) => {
      const key = paths.length === 1 ? variable : `${variable}_${index + 1}`
      return { variable, source, key, target: `${FOLDER}/${key}` }
    }),
  )
}

/** Returns the variables that name files, as a container has them. */
export function toMountedVariables(settings: Pick<KitSettings, 'files'>): Readonly<Record<string, string>> {
  const mounts = listMounts(settings)
  return Object.fromEntries(
    Object.keys(settings.files).map((name) => [
      name,
      mounts.flatMap(({ variable, target }) => (variable === name ? target : [])).join(','),
    ]),
  )
}
