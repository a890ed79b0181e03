import { expect, test } from 'bun:test'
import { composeFile } from '../../../src/command/kit/compose.ts'
import { kubernetesManifests } from '../../../src/command/kit/kubernetes.ts'
import { kitSettings } from '../../../src/command/kit/settings.ts'
import { systemdUnit } from '../../../src/command/kit/systemd.ts'
import { readConfig } from '../../../src/service/config/config.ts'

function settings(variables: Readonly<Record<string, string>> = {}) {
  return kitSettings(readConfig({ CHAINS: '1', ...variables }, () => ''))
}

test('a service that containers call by its name answers it, whatever other names are allowed', () => {
  for (const given of [{}, { ALLOWED_HOSTS: 'api.example.org' }]) {
    const hosts = [...Object.values(given), 'walletscope'].join(',')
    expect(kubernetesManifests(settings(given))).toContain(`{ name: ALLOWED_HOSTS, value: '${hosts}' }`)
    expect(composeFile(settings(given), () => 'x')).toContain(`ALLOWED_HOSTS: '${hosts}'`)
  }
})

test('the unit listens where the configuration says, and names its environment to other commands', () => {
  expect(systemdUnit(settings())).toContain('\nEnvironment=HOST=127.0.0.1\n')
  const unit = systemdUnit(settings({ HOST: '10.0.0.7', OPERATOR_PORT: '9000' }))
  expect(unit).toContain('\nEnvironment=HOST=10.0.0.7\n')
  expect(unit).toMatch(/^# {3}systemd-run .* -E OPERATOR_PORT=9000 .* walletscope login$/m)
})

test('each worker has memory, and file modes are numbers of both versions of YAML', () => {
  const read = (workers: string) => {
    const [, deployment = ''] = kubernetesManifests(
      settings({ WORKERS: workers, DATABASE_URL: 'postgres://x/y' }),
    ).split(/^---$/m)
    const { containers, volumes } = (Bun.YAML.parse(deployment) as ReturnType<typeof JSON.parse>).spec.template.spec
    return { resources: containers[0].resources, mode: volumes[0].secret.defaultMode }
  }
  expect(read('1')).toMatchObject({ resources: { requests: { memory: '256Mi' }, limits: { memory: '1024Mi' } } })
  expect(read('8')).toMatchObject({ resources: { requests: { memory: '1600Mi' }, limits: { memory: '2368Mi' } } })
  expect(read('1').mode).toBe(0o440)
})
