import { expect, test } from 'bun:test'
import { readConfig } from '../../../src/config/config.ts'
import { FIRST_VARIABLES, FURTHER_VARIABLES } from '../../../src/config/variables.ts'

function findMisspelled(env: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const { misspelled } = readConfig(env, () => 'postgres://localhost/app')
  return Object.fromEntries(misspelled.map(({ name, nearest }) => [name, nearest]))
}

test('a variable that is named almost like one that is read is found, whatever its value is', () => {
  const slips = {
    RPC_URL: 'RPC_URL_<chain id>',
    RPC_URLS: 'RPC_URL_<chain id>',
    RPC_1: 'RPC_URL_<chain id>',
    PROT: 'PORT',
    port: 'PORT',
    HOSTS: 'HOST',
    DATADIR: 'DATA_DIR',
    DATABASE_URI: 'DATABASE_URL',
    DATABSE_URL: 'DATABASE_URL',
    CHAIN: 'CHAINS',
    CHAIN_FILE: 'CHAINS_FILE',
    LOGLEVEL: 'LOG_LEVEL',
    ADMIN_TOKENS: 'ADMIN_TOKEN',
    SOLANA_RPC_URLS: 'SOLANA_RPC_URL',
    WORKER: 'WORKERS',
    TRIGGER: 'TRIGGERS',
  }
  const env = Object.fromEntries(Object.keys(slips).map((name) => [name, 's3cr3t']))
  for (const [name, value] of Object.entries(env)) {
    expect(findMisspelled({ [name]: value })).toEqual({ [name]: slips[name as keyof typeof slips] })
  }
  expect(JSON.stringify(findMisspelled(env))).not.toContain('s3cr3t')
  expect(Object.keys(findMisspelled(env))).toHaveLength(10)
})

test('variables of other programs are not, nor those that are read, empty or long', () => {
  const others = `ANVIL_IP_ADDR AWS_REGION BUN_INSTALL CI COLUMNS COST CONTAINER_HOST DATABASE_HOST DATABASE_PORT DBUS_SESSION_BUS_ADDRESS
    DEBIAN_FRONTEND DISPLAY DOCKER_HOST EDITOR ETHERSCAN_API_KEY ETH_RPC_URL GOPATH GROUP HISTFILE HISTSIZE HOME HOSTNAME HOSTTYPE
    HTTPS_PROXY JAVA_HOME KUBERNETES_PORT KUBERNETES_SERVICE_HOST KUBERNETES_SERVICE_PORT LANG LC_ALL LESS LOGNAME LOG_FORMAT
    LS_COLORS MAIL MC MC_SID NODE_ENV NODE_OPTIONS NO_COLOR OLDPWD OSTYPE PAGER PATH PGDATA PGHOST PGPORT PGUSER POST PS1 PWD
    REDIS_URL SHELL SHLVL SORT SSH_AUTH_SOCK SSL_CERT_FILE TCP TERM TMPDIR TZ USER VENDOR WALLETSCOPE_PORT_8080_TCP
    WALLETSCOPE_SERVICE_HOST XDG_RUNTIME_DIR _ http_proxy npm_config_cache`
  expect(findMisspelled(Object.fromEntries(others.split(/\s+/).map((name) => [name, 'x'])))).toEqual({})
  const listed = [...FIRST_VARIABLES, ...FURTHER_VARIABLES].flatMap((each): readonly string[] => each.names)
  expect(findMisspelled(Object.fromEntries(listed.map((name) => [name, ''])))).toEqual({})
  expect(findMisspelled({ RPC_URL_1: 'http://a.test', DATABASE_URL_FILE: '/run/database' })).toEqual({})
  expect(findMisspelled({ PROT: ' ', [`RPC_URLS_${'X'.repeat(60)}`]: 'x' })).toEqual({})
})
