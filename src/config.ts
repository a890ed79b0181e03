import { RETENTION_DAYS_MIN } from './account/retention.ts'
import type { Chain } from './chain/chain.ts'
import { CHAINS } from './chain/chains.ts'
import { SOLANA_CHAIN_ID } from './chain/solana.ts'
import { chainFromRow, isHttpUrl, parseChainsFile } from './chains_file.ts'
import { parseDatabaseUrl } from './db/address.ts'
import { AAVE_V3_DEPLOYMENTS, type AaveV3Deployment } from './family/aave_v3/deployments.ts'
import { KAMINO_MAINNET, type KaminoProgram } from './family/kamino/program.ts'
import { MORPHO_BLUE_DEPLOYMENTS, type MorphoBlueDeployment } from './family/morpho_blue/deployments.ts'
import { UNISWAP_V3_DEPLOYMENTS, type UniswapV3Deployment } from './family/uniswap_v3/deployments.ts'
import type { LogLevel } from './lib/log.ts'

/** Everything that an operator decides, checked. */
export interface Config {
  /** TCP port; 0 lets the system choose. */
  readonly port: number
  readonly host: string
  /** Absent: the embedded PostgreSQL in `dataDir`. Holds a password: never logged. */
  readonly databaseUrl: string | undefined
  /** Directory of the embedded server and of the journal. */
  readonly dataDir: string
  /** Base of `next_page` and `prev_page`, without a trailing slash; absent: taken from each request. */
  readonly publicUrl: string | undefined
  /** Days that the request log is kept at least; 0 for ever. */
  readonly logRetentionDays: number
  readonly corsOrigins: readonly string[]
  readonly logLevel: LogLevel
  readonly chains: readonly Chain[]
  readonly deployments: Deployments
  readonly solana: SolanaConfig
}

/** Addresses of each family by chain id; an absent chain is not served by it. */
export interface Deployments {
  readonly uniswapV3: ReadonlyMap<number, readonly UniswapV3Deployment[]>
  readonly aaveV3: ReadonlyMap<number, readonly AaveV3Deployment[]>
  readonly morphoBlue: ReadonlyMap<number, MorphoBlueDeployment>
}

/** Where Kamino is read. The URLs may hold secrets; none where Solana is not served. */
export interface SolanaConfig {
  readonly rpcUrls: readonly string[]
  readonly program: KaminoProgram
}

const SOLANA_PUBLIC_URLS: readonly string[] = ['https://api.mainnet-beta.solana.com']

/** Wrong configuration: every mistake at once, none of them showing a value that may be secret. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  readonly mistakes: readonly string[]

  constructor(mistakes: readonly string[]) {
    super(`Cannot start with this configuration: ${mistakes.join('; ')}`)
    this.mistakes = mistakes
  }
}

type Environment = Readonly<Record<string, string | undefined>>

/**
 * Reads the environment, and the file that `CHAINS_FILE` names through `readFile`.
 * An empty variable counts as absent. Throws `ConfigError`.
 */
export function readConfig(env: Environment, readFile: (path: string) => string): Config {
  const mistakes: string[] = []
  const given = (name: string): string | undefined => env[name]?.trim() || undefined
  const checked = <T>(name: string, parse: (text: string) => T | undefined, expected: string): T | undefined => {
    const text = given(name)
    const value = text === undefined ? undefined : parse(text)
    if (text !== undefined && value === undefined) mistakes.push(`${name}: expected ${expected}`)
    return value
  }

  const { chains, deployments, solana } = readChains({ given, readFile, mistakes, names: Object.keys(env) })
  const config: Config = {
    port: checked('PORT', parsePort, 'a port number from 0 to 65535') ?? 8080,
    host: given('HOST') ?? '127.0.0.1',
    databaseUrl: databaseUrl(given('DATABASE_URL'), mistakes),
    dataDir: given('DATA_DIR') ?? './data',
    publicUrl: checked('PUBLIC_URL', parseBaseUrl, 'an absolute http or https URL without query or fragment'),
    logRetentionDays:
      checked(
        'LOG_RETENTION_DAYS',
        parseRetentionDays,
        `a whole number of days, ${RETENTION_DAYS_MIN} or more, or 0 for ever`,
      ) ?? RETENTION_DAYS_MIN,
    corsOrigins:
      checked('CORS_ORIGINS', parseOrigins, 'origins such as https://app.example.org, separated by commas') ?? [],
    logLevel: checked('LOG_LEVEL', parseLogLevel, 'debug, info, warn or error') ?? 'info',
    chains,
    deployments,
    solana: {
      ...solana,
      rpcUrls: checked('SOLANA_RPC_URL', parseUrls, 'http or https URLs, separated by commas') ?? solana.rpcUrls,
    },
  }
  if (mistakes.length > 0) throw new ConfigError(mistakes)
  return config
}

interface ChainSources {
  readonly given: (name: string) => string | undefined
  readonly readFile: (path: string) => string
  readonly mistakes: string[]
  /** Names of all variables that are set. */
  readonly names: readonly string[]
}

function readChains({
  given,
  readFile,
  mistakes,
  names,
}: ChainSources): Pick<Config, 'chains' | 'deployments' | 'solana'> {
  const chains = new Map(CHAINS.map((chain) => [chain.id, chain]))
  const deployments = {
    uniswapV3: new Map(UNISWAP_V3_DEPLOYMENTS),
    aaveV3: new Map(AAVE_V3_DEPLOYMENTS),
    morphoBlue: new Map(MORPHO_BLUE_DEPLOYMENTS),
  }
  let solana: SolanaConfig = { rpcUrls: SOLANA_PUBLIC_URLS, program: KAMINO_MAINNET }

  const path = given('CHAINS_FILE')
  if (path !== undefined) {
    const { rows, solana: row, mistakes: found } = parseChainsFile(readChainsFile({ path, readFile, mistakes }))
    mistakes.push(...found)
    const { programId, slotMs } = KAMINO_MAINNET
    solana = {
      rpcUrls: row.rpcUrls ?? solana.rpcUrls,
      program: { programId: row.klendProgram ?? programId, slotMs: row.slotMs ?? slotMs },
    }
    for (const row of rows) {
      chains.set(row.id, chainFromRow(row, chains.get(row.id)))
      if (row.uniswapV3 !== undefined) deployments.uniswapV3.set(row.id, row.uniswapV3)
      if (row.aaveV3 !== undefined) deployments.aaveV3.set(row.id, row.aaveV3)
      if (row.morphoBlue !== undefined) deployments.morphoBlue.set(row.id, row.morphoBlue)
    }
  }

  for (const name of names.filter((each) => each.startsWith('RPC_URL_'))) {
    const text = given(name)
    if (text === undefined) continue
    const chain = chains.get(chainId(name.slice('RPC_URL_'.length)))
    const rpcUrls = parseUrls(text)
    if (chain === undefined) mistakes.push(`${name}: no such chain; describe it in CHAINS_FILE`)
    else if (rpcUrls === undefined) mistakes.push(`${name}: expected http or https URLs, separated by commas`)
    else chains.set(chain.id, { ...chain, rpcUrls })
  }

  const wanted = given('CHAINS')
  if (wanted === undefined) return { chains: [...chains.values()], deployments, solana }
  const ids = splitList(wanted).map(chainId)
  const known = [...chains.keys(), SOLANA_CHAIN_ID]
  if (ids.length === 0 || !ids.every((id) => known.includes(id))) {
    mistakes.push(`CHAINS: expected ids of configured chains (${known.join(', ')}), separated by commas`)
  }
  const served = [...new Set(ids)].map((id) => chains.get(id)).filter((chain) => chain !== undefined)
  // Whoever names an endpoint of Solana wants it served; its public one is only for those who leave the choice to us.
  if (ids.includes(SOLANA_CHAIN_ID) || solana.rpcUrls !== SOLANA_PUBLIC_URLS) {
    return { chains: served, deployments, solana }
  }
  return { chains: served, deployments, solana: { ...solana, rpcUrls: [] } }
}

/** The number that plain digits stand for; `0x1`, `1e0` and the like name no chain. */
function chainId(text: string): number {
  return /^[1-9]\d{0,15}$/.test(text) ? Number(text) : Number.NaN
}

function readChainsFile(options: {
  readonly path: string
  readonly readFile: (path: string) => string
  readonly mistakes: string[]
}): string {
  try {
    return options.readFile(options.path)
  } catch {
    options.mistakes.push('CHAINS_FILE: cannot read the file')
    return '{}'
  }
}

function splitList(text: string): string[] {
  return text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
}

function parseUrls(text: string): readonly string[] | undefined {
  const urls = splitList(text)
  return urls.length > 0 && urls.every(isHttpUrl) ? urls : undefined
}

function parsePort(text: string): number | undefined {
  return /^\d{1,5}$/.test(text) && Number(text) <= 65_535 ? Number(text) : undefined
}

function parseRetentionDays(text: string): number | undefined {
  const days = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN
  return days === 0 || days >= RETENTION_DAYS_MIN ? days : undefined
}

/** Not by `URL`, which refuses an empty host: `postgres://user@/database?host=/directory` names a socket. */
function databaseUrl(text: string | undefined, mistakes: string[]): string | undefined {
  if (text === undefined) return undefined
  try {
    parseDatabaseUrl(text)
  } catch (error) {
    const message = error instanceof Error ? error.message : 'cannot be used'
    mistakes.push(`DATABASE_URL: ${message.replace(/^Cannot \w+ DATABASE_URL: /, '')}`)
  }
  return text
}

function parseBaseUrl(text: string): string | undefined {
  if (!isHttpUrl(text)) return undefined
  const url = new URL(text)
  return url.search === '' && url.hash === '' ? url.href.replace(/\/+$/, '') : undefined
}

function parseOrigins(text: string): readonly string[] | undefined {
  const origins = splitList(text)
  return origins.every((origin) => isHttpUrl(origin) && new URL(origin).origin === origin) ? origins : undefined
}

function parseLogLevel(text: string): LogLevel | undefined {
  return (['debug', 'info', 'warn', 'error'] as const).find((level) => level === text)
}
