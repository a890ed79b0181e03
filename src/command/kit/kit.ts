import type { Command } from '../command.ts'
import { print } from '../print.ts'
import { composeFile, grafanaDashboard, kubernetesManifests, prometheusRules, systemdUnit } from './files.ts'
import { type KitSettings, kitSettings } from './settings.ts'

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
