import type { Command } from '../command.ts'
import { print } from '../print.ts'
import { composeFile } from './compose.ts'
import { grafanaDashboard } from './grafana.ts'
import { kubernetesManifests } from './kubernetes.ts'
import { prometheusRules } from './prometheus.ts'
import { type KitSettings, kitSettings } from './settings.ts'
import { systemdUnit } from './systemd.ts'

/** Makes a password for a database that the printed file starts. */
type Password = () => string

const FILES: readonly {
  readonly name: string
  readonly what: string
  readonly text: (settings: KitSettings, password: Password) => string
}[] = [
  { name: 'compose', what: 'a compose file with PostgreSQL; it holds a new password', text: composeFile },
  { name: 'systemd', what: 'a hardened unit of systemd', text: systemdUnit },
  { name: 'kubernetes', what: 'manifests with probes and drain', text: kubernetesManifests },
  { name: 'prometheus', what: 'alert rules', text: prometheusRules },
  { name: 'grafana', what: 'a dashboard', text: grafanaDashboard },
]

/** `kit`: files to run it with, made for the configuration that is set. They name no address of an endpoint. */
export const kitCommands: readonly Command[] = FILES.map(({ name, what, text }) => ({
  name: `kit ${name}`,
  summary: `Print ${what}`,
  json: 'the file as { "file" }',
  async run(args, io) {
    const file = text(kitSettings(io.config()), () => crypto.randomUUID().replaceAll('-', ''))
    print({ file }, { args, io, text: file.trimEnd() })
  },
}))
