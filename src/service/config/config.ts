import { isIP } from 'node:net'
import { resolve } from 'node:path'
import { RETENTION_DAYS_MIN } from '../../account/retention.ts'
import { isSigningKey } from '../../chain/receipt/envelope.ts'
import { type DatabaseTls, parseDatabaseUrl } from '../../db/address.ts'
import type { Family } from '../../family/family.ts'
import { FAMILIES } from '../../family/mod.ts'
import { ANY_HOST } from '../../http/request/host.ts'
import { FEATURES, type Feature } from '../../http/route/route.ts'
import { LOG_LEVELS, type LogLevel } from '../../lib/log.ts'
import { type Network, parseNetwork } from '../../lib/text/network.ts'
import { readChains, type ServedChains } from './chains.ts'
import { isHttpUrl } from './chains_file.ts'
import { parseUrls, splitList, URLS_EXPECTED } from './lists.ts'
import { describeReadError } from './read_file.ts'
import type { FileSources } from './token_lists.ts'
import { resolveValueFiles } from './value_file.ts'
import type { VariableName } from './variables.ts'

/** Everything that an operator decides, checked. */
export interface Config extends ServedChains {
  /** Processes that serve as one. */
  readonly workers: number
  /** TCP port; 0 lets the system choose. */
  readonly port: number
  /** Port of `/metrics` and `/readyz`; absent: they are served on `port`. 0 lets the system choose. */
  readonly operatorPort: number | undefined
  readonly host: string
  /** Absent: the embedded PostgreSQL in `dataDir`. Holds a password: never logged. */
  readonly databaseUrl: string | undefined
  /** A standby of it that answers long reads. Holds a password: never logged. */
  readonly databaseReadUrl: string | undefined
  /** How `databaseUrl` is reached if it is not on this machine. */
  readonly databaseTls: DatabaseTls
  /**
   * Directory of the embedded server and of the journal. Absolute: the working directory may be deleted, and Node then
   * tries for ever to make a relative one.
   */
  readonly dataDir: string
  /** Base of `next_page` and `prev_page`, without a trailing slash; absent: taken from each request. */
  readonly publicUrl: string | undefined
  /** Further names under which the service answers, in small letters; `*` for any. */
  readonly allowedHosts: readonly string[]
  /** Days that the request log is kept; 0: always. */
  readonly logRetentionDays: number
  /** Bearer token of `/admin/v1`; absent: only sessions open it. A secret: never logged. */
  readonly adminToken: string | undefined
  /** Text of `INSTANCE_KEY_FILE`; absent: the key is in the database. A secret: never logged. */
  readonly instanceKey: string | undefined
  /** Features that are off whatever the operator switches. */
  readonly featuresOff: readonly Feature[]
  /** Requests a second in the background, to all endpoints of a chain; 0: no limit. */
  readonly historyRequestsPerSecond: number
  /** Proxies whose word on the address of a client is taken. */
  readonly trustedProxies: readonly Network[]
  /** Private networks that webhooks may reach. */
  readonly webhookNetworks: readonly Network[]
  readonly corsOrigins: readonly string[]
  /** How long requests are still taken after readiness has gone, milliseconds. */
  readonly drainMs: number
  /** True if requests that come before the answer to the last one are answered; Node does that in any case. */
  readonly pipelining: boolean
  readonly logLevel: LogLevel
}

/** Wrong configuration: every mistake at once, without values, which may be secret. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  readonly mistakes: readonly string[]

  constructor(mistakes: readonly string[]) {
    super(`Cannot start with this configuration: ${mistakes.join('; ')}`)
    this.mistakes = mistakes
  }
}

const TLS_POLICIES = ['verify', 'unverified', 'off'] as const

const SWITCHES: Readonly<Record<Feature, VariableName>> = {
  snapshots: 'SNAPSHOTS',
  mcp: 'MCP',
  history: 'HISTORY',
  triggers: 'TRIGGERS',
}

const WORKERS_MAX = 64
const WORKERS_EXPECTED = `a whole number from 1 to ${WORKERS_MAX}`

const PORT_EXPECTED = 'a port number from 0 to 65535'

const BASE_URL_EXPECTED = 'an absolute http or https URL without name, password, query or fragment'
const HOSTS_EXPECTED = 'names of hosts without ports, separated by commas, or *'
const NETWORKS_EXPECTED = 'addresses or networks such as 10.0.0.0/8, separated by commas'
const ORIGINS_EXPECTED = 'origins such as https://app.example.org, separated by commas'
const DAYS_EXPECTED = `a whole number of days, ${RETENTION_DAYS_MIN} or more, or 0 for ever`

/** Public endpoints allow some ten to a hundred requests a second, and callers come first. */
const REQUESTS_PER_SECOND = 50
const REQUESTS_PER_SECOND_MAX = 10_000
const REQUESTS_EXPECTED = `a whole number of requests, ${REQUESTS_PER_SECOND_MAX} at most, or 0 for no limit`

const DRAIN_SECONDS_MAX = 600
const SECONDS_EXPECTED = `a number of seconds, ${DRAIN_SECONDS_MAX} at most`

/** Shorter tokens can be guessed. */
const TOKEN_LENGTH_MIN = 16
const TOKEN_EXPECTED = `${TOKEN_LENGTH_MIN} to 256 printable characters without spaces`

/**
 * Reads the environment, and the files that it names through `readFile`.
 * An empty variable counts as absent. Throws `ConfigError`.
 */
export function readConfig(
  environment: Readonly<Record<string, string | undefined>>,
  readFile: (path: string) => string,
  families: readonly Family[] = FAMILIES,
): Config {
  const { env, mistakes } = resolveValueFiles(environment, readFile)
  const given = (name: VariableName): string | undefined => env[name]?.trim() || undefined
  const checked = <T>(name: VariableName, parse: (text: string) => T | undefined, expected: string): T | undefined => {
    const text = given(name)
    const value = text === undefined ? undefined : parse(text)
    if (text !== undefined && value === undefined) mistakes.push(`${name}: expected ${expected}`)
    return value
  }

  const { solana, ...served } = readChains({ given, readFile, mistakes, families, names: Object.keys(env) })
  const databaseTls = checked('DATABASE_TLS', oneOf(TLS_POLICIES), TLS_POLICIES.join(', ')) ?? 'verify'
  const port = checked('PORT', parsePort, PORT_EXPECTED) ?? 8080
  const operatorPort = checked('OPERATOR_PORT', parsePort, PORT_EXPECTED)
  if (operatorPort === port && port !== 0) mistakes.push('OPERATOR_PORT: expected another port than PORT')
  const config: Config = {
    workers: checked('WORKERS', wholeFrom(1, WORKERS_MAX), WORKERS_EXPECTED) ?? 1,
    port,
    operatorPort,
    host: given('HOST') ?? '127.0.0.1',
    databaseUrl: databaseUrl('DATABASE_URL', { given, databaseTls, mistakes }),
    databaseReadUrl: databaseUrl('DATABASE_READ_URL', { given, databaseTls, mistakes }),
    databaseTls,
    dataDir: resolve(given('DATA_DIR') ?? 'data'),
    publicUrl: checked('PUBLIC_URL', parseBaseUrl, BASE_URL_EXPECTED),
    allowedHosts: checked('ALLOWED_HOSTS', parseHosts, HOSTS_EXPECTED) ?? [],
    logRetentionDays: checked('LOG_RETENTION_DAYS', parseRetentionDays, DAYS_EXPECTED) ?? RETENTION_DAYS_MIN,
    adminToken: checked('ADMIN_TOKEN', parseToken, TOKEN_EXPECTED),
    instanceKey: instanceKey(given('INSTANCE_KEY_FILE'), { readFile, mistakes }),
    featuresOff: FEATURES.filter((name) => checked(SWITCHES[name], parseSwitch, 'on or off') === 'off'),
    historyRequestsPerSecond:
      checked('HISTORY_REQUESTS_PER_SECOND', wholeFrom(0, REQUESTS_PER_SECOND_MAX), REQUESTS_EXPECTED) ??
      REQUESTS_PER_SECOND,
    trustedProxies: checked('TRUSTED_PROXIES', parseNetworks, NETWORKS_EXPECTED) ?? [],
    webhookNetworks: checked('WEBHOOK_ALLOWED_CIDRS', parseNetworks, NETWORKS_EXPECTED) ?? [],
    corsOrigins: checked('CORS_ORIGINS', parseOrigins, ORIGINS_EXPECTED) ?? [],
    drainMs: Math.round((checked('DRAIN_SECONDS', parseDrainSeconds, SECONDS_EXPECTED) ?? 0) * 1_000),
    pipelining: checked('PIPELINING', parseSwitch, 'on or off') === 'on',
    logLevel: checked('LOG_LEVEL', oneOf(LOG_LEVELS), 'debug, info, warn or error') ?? 'info',
    ...served,
    solana: { ...solana, rpcUrls: checked('SOLANA_RPC_URL', parseUrls, URLS_EXPECTED) ?? solana.rpcUrls },
  }
  if (config.workers > 1 && config.pipelining) mistakes.push('WORKERS: expected 1, as PIPELINING is on')
  if (mistakes.length > 0) throw new ConfigError(mistakes)
  return config
}

/** Parses a whole number in no more digits than the highest has. */
function wholeFrom(min: number, max: number): (text: string) => number | undefined {
  return (text) => {
    const value = /^\d+$/.test(text) && text.length <= String(max).length ? Number(text) : Number.NaN
    return value >= min && value <= max ? value : undefined
  }
}

/** Parses one of these words. */
function oneOf<Word extends string>(words: readonly Word[]): (text: string) => Word | undefined {
  return (text) => words.find((word) => word === text)
}

const parsePort = wholeFrom(0, 65_535)
const parseSwitch = oneOf(['on', 'off'])

function parseRetentionDays(text: string): number | undefined {
  const days = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN
  return days === 0 || days >= RETENTION_DAYS_MIN ? days : undefined
}

function parseDrainSeconds(text: string): number | undefined {
  return /^\d{1,3}(\.\d)?$/.test(text) && Number(text) <= DRAIN_SECONDS_MAX ? Number(text) : undefined
}

/** Checked without `URL`, which refuses the empty host of a socket: `postgres://user@/database?host=/directory`. */
function databaseUrl(
  name: 'DATABASE_URL' | 'DATABASE_READ_URL',
  { given, databaseTls, mistakes }: Pick<Config, 'databaseTls'> & Pick<FileSources, 'given' | 'mistakes'>,
): string | undefined {
  const text = given(name)
  if (text === undefined) return undefined
  try {
    const { listeners } = parseDatabaseUrl(text, databaseTls)
    if (name === 'DATABASE_URL') return text
    if (listeners.length > 1) mistakes.push(`${name}: expected one host`)
    if (given('DATABASE_URL') === undefined) mistakes.push(`${name}: expected DATABASE_URL as well, its primary`)
  } catch (error) {
    const message = error instanceof Error ? error.message : 'cannot be used'
    mistakes.push(`${name}: ${message.replace(/^Cannot \w+ DATABASE_URL: /, '')}`)
  }
  return text
}

function instanceKey(
  path: string | undefined,
  { readFile, mistakes }: Pick<FileSources, 'readFile' | 'mistakes'>,
): string | undefined {
  if (path === undefined) return undefined
  try {
    const text = readFile(path)
    if (!isSigningKey(text)) mistakes.push('INSTANCE_KEY_FILE: expected a private key of Ed25519 in PEM (PKCS #8)')
    return text
  } catch (error) {
    mistakes.push(`INSTANCE_KEY_FILE: ${describeReadError(error)}`)
    return undefined
  }
}

function parseBaseUrl(text: string): string | undefined {
  if (!isHttpUrl(text) || /[?#\s]/.test(text)) return undefined
  const { username, password, href } = new URL(text)
  return username + password === '' ? href.replace(/\/+$/, '') : undefined
}

function parseHosts(text: string): readonly string[] | undefined {
  const names = splitList(text).map((name) => (name === ANY_HOST ? name : hostName(name)))
  return names.length > 0 && names.every((name) => name !== undefined) ? names : undefined
}

/** The name as browsers send it; undefined for an address, which needs no mention, and for anything else. */
function hostName(text: string): string | undefined {
  if (!/^[^\s/:@?#*[\]\\%]+$/.test(text) || !URL.canParse(`http://${text}`)) return undefined
  const { hostname } = new URL(`http://${text}`)
  return isIP(hostname) === 0 ? hostname.replace(/\.$/, '') : undefined
}

function parseNetworks(text: string): readonly Network[] | undefined {
  const networks = splitList(text).map(parseNetwork)
  return networks.every((network) => network !== undefined) ? networks : undefined
}

function parseOrigins(text: string): readonly string[] | undefined {
  const origins = splitList(text)
  return origins.every((origin) => isHttpUrl(origin) && new URL(origin).origin === origin) ? origins : undefined
}

function parseToken(text: string): string | undefined {
  return text.length >= TOKEN_LENGTH_MIN && /^[\x21-\x7e]{1,256}$/.test(text) ? text : undefined
}
