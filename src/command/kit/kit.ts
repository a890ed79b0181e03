import type { Command } from '../command.ts'
import { print } from '../print.ts'
import compose from './compose.yaml' with { type: 'text' }
import grafana from './grafana.json' with { type: 'json' }
import kubernetes from './kubernetes.yaml' with { type: 'text' }
import prometheus from './prometheus.yaml' with { type: 'text' }
import { type KitSettings, kitSettings, listMounts, toMountedVariables } from './settings.ts'
import systemd from './walletscope.service' with { type: 'text' }

/** Creates a password for the database that the printed file starts. */
type Password = () => string

const FILES: readonly {
  readonly name: string
  readonly what: string
  readonly createText: (settings: KitSettings, password: Password) => string
}[] = [
  { name: 'compose', what: 'a compose file with PostgreSQL; it holds a new password', createText: composeFile },
  { name: 'systemd', what: 'a hardened systemd unit', createText: systemdUnit },
  { name: 'kubernetes', what: 'manifests with probes and drain', createText: kubernetesManifests },
  { name: 'prometheus', what: 'alert rules', createText: prometheusRules },
  { name: 'grafana', what: 'a dashboard', createText: grafanaDashboard },
]

/** `kit`: prints deployment files for the current configuration. They contain no endpoint address. */
export const kitCommands: readonly Command[] = FILES.map(({ name, what, createText }) => ({
  name: `kit ${name}`,
  summary: `Print ${what}`,
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
