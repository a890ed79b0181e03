import { isIP } from 'node:net'
import { resolve } from 'node:path'
import { RETENTION_DAYS_MIN } from '../account/retention.ts'
import { type DatabaseTls, parseDatabaseUrl } from '../db/address.ts'
import type { Family } from '../family/contract.ts'
import { FAMILIES } from '../family/mod.ts'
import { ANY_HOST } from '../http/request/host.ts'
import { FEATURES, type Feature } from '../http/route/route.ts'
import { isSigningKey } from '../lib/dsse.ts'
import { LOG_LEVELS, type LogLevel } from '../lib/log.ts'
import { type Network, parseNetwork } from '../lib/text/network.ts'
import { isRpcVariable, readChains, type ServedChains } from './chains.ts'
import { isHttpUrl } from './chains_file.ts'
import { parseUrls, splitList, URLS_EXPECTED } from './lists.ts'
import { findMisspelledVariables, type MisspelledVariable } from './misspelled.ts'
import { describeReadError } from './read_file.ts'
import type { FileSources } from './token_lists.ts'
import { LISTED_NAMES, type VariableName } from './variables.ts'

/** The validated configuration. */
export interface Config extends ServedChains {
  /** Number of worker processes. */
  readonly workers: number
  /** TCP port; 0 lets the system choose. */
  readonly port: number
  /** Port of `/metrics` and `/readyz`; absent: they are served on `port`. 0 lets the system choose. */
  readonly operatorPort: number | undefined
  readonly host: string
  /** Absent: the embedded PostgreSQL in `dataDir`. Holds a password: never logged. */
  readonly databaseUrl: string | undefined
  /** A standby of `databaseUrl` for long reads. Holds a password: never logged. */
  readonly databaseReadUrl: string | undefined
  /** TLS policy for `databaseUrl` if it is not on this machine. */
  readonly databaseTls: DatabaseTls
  /**
   * Directory of the embedded server and of the journal. Absolute, because the working directory may be deleted, and
   * Node then retries endlessly to create a relative one.
   */
  readonly dataDir: string
  /** Base of `next_page` and `prev_page`, without a trailing slash; absent: taken from each request. */
  readonly publicUrl: string | undefined
  /** Additional host names of the service, lowercase; `*` for any. */
  readonly allowedHosts: readonly string[]
  /** Retention of the request log, days; 0: unlimited. */
  readonly logRetentionDays: number
  /** Bearer token of `/admin/v1`; absent: only sessions open it. A secret: never logged. */
  readonly adminToken: string | undefined
  /** Text of `INSTANCE_KEY_FILE`; absent: the key is in the database. A secret: never logged. */
  readonly instanceKey: string | undefined
  /** Features that are off regardless of the operator's switches. */
  readonly featuresOff: readonly Feature[]
  /** Background requests per second to all endpoints of a chain; 0: no limit. */
  readonly historyRequestsPerSecond: number
  /** Proxies trusted for the client's address. */
  readonly trustedProxies: readonly Network[]
  /** Private networks that webhooks may reach. */
  readonly webhookNetworks: readonly Network[]
  readonly corsOrigins: readonly string[]
  /** How long requests are still accepted after readiness turns off, milliseconds. */
  readonly drainMs: number
  /** True if pipelined requests are answered; Node answers them in any case. */
  readonly pipelining: boolean
  readonly logLevel: LogLevel
  /** True if each answered request has a line in the log. */
  readonly accessLog: boolean
  /** Variables that are set and not read, but probably meant. */
  readonly misspelled: readonly MisspelledVariable[]
}

/** Invalid configuration: all mistakes at once, a line each if they are several, without values, which may be secret. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  readonly mistakes: readonly string[]

  constructor(mistakes: readonly string[]) {
    const lines = mistakes.map((mistake) => mistake.replaceAll('\n', ' '))
    super(['Cannot start with this configuration:', ...lines].join(lines.length === 1 ? ' ' : '\n  '))
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

/** Public endpoints allow ten to a hundred requests per second, and callers have priority. */
const REQUESTS_PER_SECOND = 50
const REQUESTS_PER_SECOND_MAX = 10_000
const REQUESTS_EXPECTED = `a whole number of requests, ${REQUESTS_PER_SECOND_MAX} at most, or 0 for no limit`

const DRAIN_SECONDS_MAX = 600
const SECONDS_EXPECTED = `a number of seconds, ${DRAIN_SECONDS_MAX} at most`

/** Minimum length of a token: shorter tokens can be guessed. */
const TOKEN_LENGTH_MIN = 16
const TOKEN_EXPECTED = `${TOKEN_LENGTH_MIN} to 256 printable characters without spaces`

/**
 * Reads the environment, and the files that it names through `readFile`. An empty variable counts as absent. Throws
 * `ConfigError`.
 */
export function readConfig(
  environment: Readonly<Record<string, string | undefined>>,
  readFile: (path: string) => string,
  families: readonly Family[] = FAMILIES,
): Config {
  const { env, mistakes } = resolveValueFiles(environment, readFile)
  const getVariable = (name: VariableName): string | undefined => env[name]?.trim() || undefined
  const parseVariable = <T>(
    name: VariableName,
    parse: (text: string) => T | undefined,
    expected: string,
  ): T | undefined => {
    const text = getVariable(name)
    const value = text === undefined ? undefined : parse(text)
    if (text !== undefined && value === undefined) mistakes.push(`${name}: expected ${expected}`)
    return value
  }

  const { solana, ...served } = readChains({ getVariable, readFile, mistakes, families, names: Object.keys(env) })
  const databaseTls =
    parseVariable('DATABASE_TLS', createChoiceParser(TLS_POLICIES), TLS_POLICIES.join(', ')) ?? 'verify'
  const port = parseVariable('PORT', parsePort, PORT_EXPECTED) ?? 8080
  const operatorPort = parseVariable('OPERATOR_PORT', parsePort, PORT_EXPECTED)
  if (operatorPort === port && port !== 0) mistakes.push('OPERATOR_PORT: expected another port than PORT')
  const config: Config = {
    workers: parseVariable('WORKERS', createIntegerParser(1, WORKERS_MAX), WORKERS_EXPECTED) ?? 1,
    port,
    operatorPort,
    host: getVariable('HOST') ?? '127.0.0.1',
    databaseUrl: readDatabaseUrl('DATABASE_URL', { getVariable, databaseTls, mistakes }),
    databaseReadUrl: readDatabaseUrl('DATABASE_READ_URL', { getVariable, databaseTls, mistakes }),
    databaseTls,
    dataDir: resolve(getVariable('DATA_DIR') ?? 'data'),
    publicUrl: parseVariable('PUBLIC_URL', parseBaseUrl, BASE_URL_EXPECTED),
    allowedHosts: parseVariable('ALLOWED_HOSTS', parseHosts, HOSTS_EXPECTED) ?? [],
    logRetentionDays: parseVariable('LOG_RETENTION_DAYS', parseRetentionDays, DAYS_EXPECTED) ?? RETENTION_DAYS_MIN,
    adminToken: parseVariable('ADMIN_TOKEN', parseToken, TOKEN_EXPECTED),
    instanceKey: readInstanceKey(getVariable('INSTANCE_KEY_FILE'), { readFile, mistakes }),
    featuresOff: FEATURES.filter((name) => parseVariable(SWITCHES[name], parseSwitch, 'on or off') === 'off'),
    historyRequestsPerSecond:
      parseVariable(
        'HISTORY_REQUESTS_PER_SECOND',
        createIntegerParser(0, REQUESTS_PER_SECOND_MAX),
        REQUESTS_EXPECTED,
      ) ?? REQUESTS_PER_SECOND,
    trustedProxies: parseVariable('TRUSTED_PROXIES', parseNetworks, NETWORKS_EXPECTED) ?? [],
    webhookNetworks: parseVariable('WEBHOOK_ALLOWED_CIDRS', parseNetworks, NETWORKS_EXPECTED) ?? [],
    corsOrigins: parseVariable('CORS_ORIGINS', parseOrigins, ORIGINS_EXPECTED) ?? [],
    drainMs: Math.round((parseVariable('DRAIN_SECONDS', parseDrainSeconds, SECONDS_EXPECTED) ?? 0) * 1_000),
    pipelining: parseVariable('PIPELINING', parseSwitch, 'on or off') === 'on',
    logLevel: parseVariable('LOG_LEVEL', createChoiceParser(LOG_LEVELS), 'debug, info, warn or error') ?? 'info',
    accessLog: parseVariable('ACCESS_LOG', parseSwitch, 'on or off') === 'on',
    misspelled: findMisspelledVariables(environment, isKnownVariable),
    ...served,
    solana: { ...solana, rpcUrls: parseVariable('SOLANA_RPC_URL', parseUrls, URLS_EXPECTED) ?? solana.rpcUrls },
  }
  if (config.workers > 1 && config.pipelining) mistakes.push('WORKERS: expected 1, as PIPELINING is on')
  if (mistakes.length > 0) throw new ConfigError(mistakes)
  return config
}

/** Creates a parser of whole numbers with at most as many digits as `max`. */
function createIntegerParser(min: number, max: number): (text: string) => number | undefined {
  return (text) => {
    const value = /^\d+$/.test(text) && text.length <= String(max).length ? Number(text) : Number.NaN
    return value >= min && value <= max ? value : undefined
  }
}

/** Creates a parser that accepts only these words. */
function createChoiceParser<Word extends string>(words: readonly Word[]): (text: string) => Word | undefined {
  return (text) => words.find((word) => word === text)
}

const parsePort = createIntegerParser(0, 65_535)
const parseSwitch = createChoiceParser(['on', 'off'])

function parseRetentionDays(text: string): number | undefined {
  const days = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN
  return days === 0 || days >= RETENTION_DAYS_MIN ? days : undefined
}

function parseDrainSeconds(text: string): number | undefined {
  return /^\d{1,3}(\.\d)?$/.test(text) && Number(text) <= DRAIN_SECONDS_MAX ? Number(text) : undefined
}

/** Checks the URL without `URL`, which rejects a socket's empty host: `postgres://user@/database?host=/directory`. */
function readDatabaseUrl(
  name: 'DATABASE_URL' | 'DATABASE_READ_URL',
  { getVariable, databaseTls, mistakes }: Pick<Config, 'databaseTls'> & Pick<FileSources, 'getVariable' | 'mistakes'>,
): string | undefined {
  const text = getVariable(name)
  if (text === undefined) return undefined
  try {
    const { listeners } = parseDatabaseUrl(text, databaseTls)
    if (name === 'DATABASE_URL') return text
    if (listeners.length > 1) mistakes.push(`${name}: expected one host`)
    if (getVariable('DATABASE_URL') === undefined) mistakes.push(`${name}: expected DATABASE_URL as well, its primary`)
  } catch (error) {
    const message = error instanceof Error ? error.message : 'cannot be used'
    mistakes.push(`${name}: ${message.replace(/^Cannot \w+ DATABASE_URL: /, '')}`)
  }
  return text
}

function readInstanceKey(
  path: string | undefined,
  { readFile, mistakes }: Pick<FileSources, 'readFile' | 'mistakes'>,
): string | undefined {
  if (path === undefined) return undefined
  try {
    const text = readFile(path)
    if (!isSigningKey(text)) mistakes.push(`INSTANCE_KEY_FILE: ${describeUnusableKey(text)}`)
    return text
  } catch (error) {
    mistakes.push(`INSTANCE_KEY_FILE: ${describeReadError(error)}`)
    return undefined
  }
}

/** The beginning of the DER of a private key in PKCS #8, and the version that RFC 5958 gives to one with a public key. */
const PKCS8_VERSION_2 = /^30(?:[0-7].|8[12](?:..){1,2})020101/

function describeUnusableKey(pem: string): string {
  const expected = 'expected a private key of Ed25519 in PEM (PKCS #8)'
  const [, base64 = ''] = /-----BEGIN PRIVATE KEY-----([^-]+)-/.exec(pem) ?? []
  if (!PKCS8_VERSION_2.test(Buffer.from(base64, 'base64').toString('hex'))) return expected
  return `${expected} version 1, got version 2, which holds the public key as well; write the private key alone`
}

function parseBaseUrl(text: string): string | undefined {
  if (!isHttpUrl(text) || /[?#\s]/.test(text)) return undefined
  const { username, password, href } = new URL(text)
  return username + password === '' ? href.replace(/\/+$/, '') : undefined
}

function parseHosts(text: string): readonly string[] | undefined {
  const names = splitList(text).map((name) => (name === ANY_HOST ? name : parseHostName(name)))
  return names.length > 0 && names.every((name) => name !== undefined) ? names : undefined
}

/** Normalizes a host name as browsers send it; undefined for an address, which is always accepted, or anything else. */
function parseHostName(text: string): string | undefined {
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

type Environment = Readonly<Record<string, string | undefined>>

/** Variables with secrets and URLs: `NAME_FILE` may name a file with the value. */
const FROM_FILES = /^(?:ADMIN_TOKEN|DATABASE_(?:READ_)?URL|PUBLIC_URL|RPC_URL_[^_]+|SOLANA_RPC_URL)$/
const SUFFIX = '_FILE'

/** True for a listed variable and for one that names its file. Names of endpoints are checked where they are read. */
function isKnownVariable(name: string): boolean {
  const isFile = name.endsWith(SUFFIX) && FROM_FILES.test(name.slice(0, -SUFFIX.length))
  return isFile || isRpcVariable(name) || LISTED_NAMES.includes(name)
}

/**
 * Replaces each `_FILE` variable by the text of its file, as Docker and Kubernetes mount secrets. Lines of a file with
 * endpoints become the parts of the list. An empty variable counts as absent.
 */
function resolveValueFiles(
  environment: Environment,
  readFile: (path: string) => string,
): { readonly env: Environment; readonly mistakes: string[] } {
  const env = { ...environment }
  const mistakes: string[] = []
  for (const [name, path] of Object.entries(environment)) {
    const variable = name.slice(0, -SUFFIX.length)
    if (!name.endsWith(SUFFIX) || !FROM_FILES.test(variable)) continue
    delete env[name]
    if (path === undefined || path.trim() === '') continue
    if (environment[variable]?.trim()) mistakes.push(`${name}: expected either it or ${variable}`)
    try {
      const lines = readFile(path.trim())
        .trim()
        .split(/\s*\n\s*/)
      env[variable] = lines.join(',')
      if (env[variable] === '') mistakes.push(`${name}: the file is empty`)
      if (lines.length > 1 && !variable.includes('RPC_URL')) mistakes.push(`${name}: expected a file of one line`)
    } catch (error) {
      mistakes.push(`${name}: ${describeReadError(error)}`)
    }
  }
  return { env, mistakes }
}

/** Lists the host names of the service, besides addresses and `localhost`. */
export function hostNames({
  host,
  publicUrl,
  allowedHosts,
}: Pick<Config, 'host' | 'publicUrl' | 'allowedHosts'>): readonly string[] {
  const own = isIP(host.replace(/^\[|\]$/g, '')) === 0 ? [host] : []
  return [...new Set([...own, ...(publicUrl === undefined ? [] : [new URL(publicUrl).hostname]), ...allowedHosts])]
}
