import { resolve } from 'node:path'
import { listServedChainIds } from '../../config/chains.ts'
import type { Config } from '../../config/config.ts'
import { splitList } from '../../config/lists.ts'
import type { VariableName } from '../../config/variables.ts'
import type { Command } from '../command.ts'
import { print } from '../print.ts'
import compose from './compose.yaml' with { type: 'text' }
import grafana from './grafana.json' with { type: 'json' }
import kubernetes from './kubernetes.yaml' with { type: 'text' }
import prometheus from './prometheus.yaml' with { type: 'text' }
import systemd from './walletscope.service' with { type: 'text' }

/** Creates a password for the database that the printed file starts. */
type Password = () => string

const FILES: readonly {
  readonly name: string
  readonly file: string
  readonly what: string
  readonly createText: (settings: KitSettings, password: Password) => string
}[] = [
  {
    name: 'compose',
    file: 'compose.yaml',
    what: 'a compose file with PostgreSQL; it holds a new password',
    createText: composeFile,
  },
  { name: 'systemd', file: 'walletscope.service', what: 'a hardened systemd unit', createText: systemdUnit },
  {
    name: 'kubernetes',
    file: 'walletscope.yaml',
    what: 'manifests with probes and drain',
    createText: kubernetesManifests,
  },
  { name: 'prometheus', file: 'alerts.yaml', what: 'alert rules', createText: prometheusRules },
  { name: 'grafana', file: 'dashboard.json', what: 'a dashboard', createText: grafanaDashboard },
]

/** `kit`: prints deployment files for the current configuration. They contain no endpoint address. */
export const kitCommands: readonly Command[] = FILES.map(({ name, file: fileName, what, createText }) => ({
  name: `kit ${name}`,
  summary: `Print ${what}`,
  more: () => 'The file is for the variables that are set where this is run.',
  example: `kit ${name} > ${fileName}`,
  json: 'the file as { "file" }',
  async run(args, io) {
    const file = createText(kitSettings(io.config(), io.environment), () => crypto.randomUUID().replaceAll('-', ''))
    print({ file }, { args, io, text: file.trimEnd() })
  },
}))

/** Memory of each further worker process, MiB: what one takes, and some. */
const WORKER_MI = 192
const MEMORY_MI = 256
const MEMORY_MAX_MI = 1_024

/** Creates a compose file that starts PostgreSQL, migrates it and serves; it exposes only the service. */
export function composeFile(settings: KitSettings, createPassword: () => string): string {
  // The network of the database has no way out, so it needs no TLS.
  const { DATABASE_TLS: _, ...variables } = toContainerVariables(settings)
  const set = Object.entries(variables).map(([name, value]) => `    ${name}: '${value}'`)
  // A variable without a value takes it from .env or the shell, and stays unset if they have none.
  const passed = [...settings.endpoints, 'ADMIN_TOKEN'].map((name) => `    ${name}:`)
  const mounts = listMounts(settings).map(({ source, target }) => `, '${escapeComposePath(source)}:${target}:ro'`)
  return fillHoles(compose, {
    ...settings,
    password: createPassword(),
    variables: [...set, ...passed].join('\n'),
    mounts: mounts.join(''),
  })
}

/** Creates a unit for `/usr/local/bin/walletscope`; its user `walletscope` can write only to its own directory. */
export function systemdUnit(settings: KitSettings): string {
  const paths = Object.entries(settings.files).map(([name, sources]) => [name, sources.join(',')] as const)
  const variables = [...Object.entries(settings.variables), ...paths].map(
    ([name, value]) => `Environment=${quoteIfSpaced(`${name}=${value.replaceAll('%', '%%')}`)}`,
  )
  return fillHoles(systemd, { ...settings, variables: variables.join('\n') })
}

/** Creates a secret, a deployment of two processes, each migrating first, a service and a disruption budget. */
export function kubernetesManifests(settings: KitSettings): string {
  const variables = Object.entries(toContainerVariables(settings)).map(
    ([name, value]) => `            - { name: ${name}, value: '${value}' }`,
  )
  const files = listMounts(settings).map(({ key, source }) => `\n  # The text of ${source}.\n  ${key}: '…'`)
  const furtherMi = (settings.workers - 1) * WORKER_MI
  return fillHoles(kubernetes, {
    ...settings,
    variables: variables.join('\n'),
    files: files.join(''),
    memoryMi: MEMORY_MI + furtherMi,
    memoryMaxMi: MEMORY_MAX_MI + furtherMi,
  })
}

/** Returns alert rules for Prometheus, whose job for this service must be called `walletscope`. */
function prometheusRules(): string {
  return prometheus
}

/** Returns a dashboard for Grafana 9 or later; the import asks for its data source. */
function grafanaDashboard(): string {
  return `${JSON.stringify(grafana, null, 2)}\n`
}

/** Puts values into the holes of a text: `{{port}}`. Throws for a hole without a value. */
function fillHoles(text: string, values: Readonly<Record<string, unknown>>): string {
  return text.replace(/\{\{(\w+)\}\}/g, (_, name: string) => {
    const value = values[name]
    if (typeof value !== 'string' && typeof value !== 'number') throw new Error(`Cannot fill the hole ${name}`)
    return String(value)
  })
}

/** Plain variables as a container has them; other containers call it by its name. */
function toContainerVariables(settings: KitSettings): Readonly<Record<string, string>> {
  return { ...settings.variables, ...toMountedVariables(settings), ALLOWED_HOSTS: settings.hostsWithName }
}

/** Escapes what would end or expand a path in a compose file. */
function escapeComposePath(path: string): string {
  return path.replaceAll("'", "''").replaceAll('$', '$$$$')
}

/** Quotes an assignment with a space, which would end it. */
function quoteIfSpaced(assignment: string): string {
  return assignment.includes(' ') ? `"${assignment.replaceAll('"', '\\"')}"` : assignment
}

/** The part of a configuration that the files need, without values that may be secret. */
interface KitSettings {
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
  'ACCESS_LOG',
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
const FILE_VARIABLES: readonly VariableName[] = ['CHAINS_FILE', 'TOKEN_LISTS', 'INSTANCE_KEY_FILE']
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
      FILE_VARIABLES.filter(isSet).map((name) => [name, splitList(getVariable(name)).map((path) => resolve(path))]),
    ),
    endpoints: [...ids.map((id) => `RPC_URL_${id}`), ...(hasSolana ? ['SOLANA_RPC_URL'] : [])],
  }
}

/** Returns where a container has each file: its variable, the file's path here, and its name in the container. */
function listMounts({ files }: Pick<KitSettings, 'files'>) {
  return Object.entries(files).flatMap(([variable, paths]) =>
    paths.map((source, index) => {
      const key = paths.length === 1 ? variable : `${variable}_${index + 1}`
      return { variable, source, key, target: `${FOLDER}/${key}` }
    }),
  )
}

/** Returns the variables that name files, as a container has them. */
function toMountedVariables(settings: Pick<KitSettings, 'files'>): Readonly<Record<string, string>> {
  const mounts = listMounts(settings)
  return Object.fromEntries(
    Object.keys(settings.files).map((name) => [
      name,
      mounts.flatMap(({ variable, target }) => (variable === name ? target : [])).join(','),
    ]),
  )
}
