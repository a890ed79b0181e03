import { expect, test } from 'bun:test'
import { composeFile, kitSettings, kubernetesManifests, systemdUnit } from '../../../../src/command/kit/kit.ts'
import { readConfig } from '../../../../src/config/config.ts'
import { FIRST_VARIABLES, FURTHER_VARIABLES } from '../../../../src/config/variables.ts'

/** Every variable, with a value that is not its default. */
const SET: Readonly<Record<string, string>> = {
  PORT: '9090',
  HOST: '0.0.0.0',
  DATABASE_URL: 'postgres://me:db-secret@localhost/app',
  DATABASE_READ_URL: 'postgres://me:read-secret@localhost/app',
  DATA_DIR: '/data',
  OPERATOR_PORT: '9091',
  ADMIN_TOKEN: 'admin-secret-of-16',
  PUBLIC_URL: 'https://api.example.org',
  CHAINS: '1,101',
  RPC_URL_1: 'https://rpc-secret.example',
  SOLANA_RPC_URL: 'https://solana-secret.example',
  CHAINS_FILE: '/srv/its chains.json',
  SNAPSHOTS: 'off',
  MCP: 'off',
  HISTORY: 'off',
  TRIGGERS: 'off',
  LOG_LEVEL: 'warn',
  WORKERS: '2',
  DRAIN_SECONDS: '20',
  DATABASE_TLS: 'unverified',
  TRUSTED_PROXIES: '10.0.0.1, 10.1.0.0/16',
  ALLOWED_HOSTS: 'api',
  WEBHOOK_ALLOWED_CIDRS: '10.2.0.0/16',
  LOG_RETENTION_DAYS: '120',
  TOKEN_LISTS: '/srv/a.json,/srv/b.json',
  HISTORY_REQUESTS_PER_SECOND: '7',
  CORS_ORIGINS: 'https://app.example.org',
  ACCESS_LOG: 'on',
  PIPELINING: 'off',
  INSTANCE_KEY_FILE: '/srv/key.pem',
}
/** Where the service runs decides these, or users fill them in: they are secrets. */
const NOT_CARRIED = [
  'HOST',
  'DATA_DIR',
  'DATABASE_URL',
  'DATABASE_READ_URL',
  'ADMIN_TOKEN',
  'RPC_URL_1',
  'SOLANA_RPC_URL',
]

const { CHAINS_FILE, TOKEN_LISTS, INSTANCE_KEY_FILE, ...withoutFiles } = SET
const settings = kitSettings(
  readConfig(withoutFiles, () => ''),
  SET,
)
const files = {
  compose: composeFile(settings, () => 'password'),
  systemd: systemdUnit(settings),
  kubernetes: kubernetesManifests(settings),
}

test('the variables of this test are all that there are', () => {
  const names = [...FIRST_VARIABLES, ...FURTHER_VARIABLES].flatMap((each): readonly string[] => each.names)
  expect(Object.keys(SET).toSorted()).toEqual(names.map((name) => name.replace('<chain id>', '1')).toSorted())
})

test.each(Object.entries(files))('kit %s carries every variable that is set, and no secret', (name, file) => {
  const carried = Object.keys(SET).filter((each) => !NOT_CARRIED.includes(each))
  expect(carried.filter((each) => !file.includes(each))).toEqual([])
  expect(file).not.toMatch(/-secret/)
  for (const value of ['10.0.0.1,10.1.0.0/16', '10.2.0.0/16', '120', 'warn']) expect(file).toContain(value)
  for (const path of ['/srv/its chains.json', '/srv/a.json', '/srv/key.pem']) expect(file).toContain(path)
  if (name !== 'systemd') expect(file).toContain('/etc/walletscope/TOKEN_LISTS_1,/etc/walletscope/TOKEN_LISTS_2')
})

test('the files are YAML, and mount what variables name', () => {
  const { services } = Bun.YAML.parse(files.compose) as { services: { walletscope: { volumes: string[] } } }
  expect(services.walletscope.volumes).toContain('/srv/its chains.json:/etc/walletscope/CHAINS_FILE:ro')
  const [secret = ''] = files.kubernetes.split(/^---$/m)
  expect(Bun.YAML.parse(secret)).toMatchObject({ stringData: { CHAINS_FILE: '…', TOKEN_LISTS_2: '…' } })
  expect(files.systemd).toContain('Environment="CHAINS_FILE=/srv/its chains.json"')
})

function createSettings(variables: Readonly<Record<string, string>> = {}) {
  const environment = { CHAINS: '1', ...variables }
  return kitSettings(
    readConfig(environment, () => ''),
    environment,
  )
}

test('a service that containers call by its name answers it, whatever other names are allowed', () => {
  for (const given of [{}, { ALLOWED_HOSTS: 'api.example.org' }]) {
    const hosts = [...Object.values(given), 'walletscope'].join(',')
    expect(kubernetesManifests(createSettings(given))).toContain(`{ name: ALLOWED_HOSTS, value: '${hosts}' }`)
    expect(composeFile(createSettings(given), () => 'x')).toContain(`ALLOWED_HOSTS: '${hosts}'`)
  }
})

test('the unit listens where the configuration says, and names its environment to other commands', () => {
  expect(systemdUnit(createSettings())).toContain('\nEnvironment=HOST=127.0.0.1\n')
  const unit = systemdUnit(createSettings({ HOST: '10.0.0.7', OPERATOR_PORT: '9000' }))
  expect(unit).toContain('\nEnvironment=HOST=10.0.0.7\n')
  expect(unit).toMatch(/^# {3}systemd-run .* -E OPERATOR_PORT=9000 .* walletscope login$/m)
})

test('each worker has memory, and file modes are numbers of both versions of YAML', () => {
  const read = (workers: string) => {
    const [, deployment = ''] = kubernetesManifests(
      createSettings({ WORKERS: workers, DATABASE_URL: 'postgres://x/y' }),
    ).split(/^---$/m)
    const { containers, volumes } = (Bun.YAML.parse(deployment) as ReturnType<typeof JSON.parse>).spec.template.spec
    return { resources: containers[0].resources, mode: volumes[0].secret.defaultMode }
  }
  expect(read('1')).toMatchObject({ resources: { requests: { memory: '256Mi' }, limits: { memory: '1024Mi' } } })
  expect(read('8')).toMatchObject({ resources: { requests: { memory: '1600Mi' }, limits: { memory: '2368Mi' } } })
  expect(read('1').mode).toBe(0o440)
})
