import type { Chain } from './chain/chain.ts'
import { CHAINS, DEFAULT_CHAIN_IDS } from './chain/chains.ts'
import { parseRpcUrl, RPC_URL_EXPECTED } from './chain/rpc_url.ts'
import { SOLANA_CHAIN_ID } from './chain/solana.ts'
import { SOLANA_RPC_URLS } from './chain/table/chains.ts'
import { chainFromRow, isHttpUrl, parseChainsFile, type SolanaRow } from './chains_file.ts'
import { parseDatabaseUrl } from './db/address.ts'
import type { AaveV3Deployment } from './family/aave_v3/deployments.ts'
import { AAVE_V3_DEPLOYMENTS } from './family/aave_v3/table/markets.ts'
import { KAMINO_MAINNET, type KaminoProgram } from './family/kamino/program.ts'
import type { MorphoBlueDeployment } from './family/morpho_blue/deployments.ts'
import { MORPHO_BLUE_DEPLOYMENTS } from './family/morpho_blue/table/morphos.ts'
import type { UniswapV3Deployment } from './family/uniswap_v3/deployments.ts'
import { UNISWAP_V3_DEPLOYMENTS } from './family/uniswap_v3/table/managers.ts'
import type { LogLevel } from './lib/log.ts'

/** Everything that an operator decides, checked. */
export interface Config {
  /** TCP port; 0 lets the system choose. */
  readonly port: number
  /** Port of `/metrics` and `/readyz`; absent: they are served on `port`. 0 lets the system choose. */
  readonly operatorPort: number | undefined
  readonly host: string
  /** Absent: the embedded PostgreSQL in `dataDir`. Holds a password: never logged. */
  readonly databaseUrl: string | undefined
  /** Directory of the embedded server and of the journal. */
  readonly dataDir: string
  /** Base of `next_page` and `prev_page`, without a trailing slash; absent: taken from each request. */
  readonly publicUrl: string | undefined
  readonly corsOrigins: readonly string[]
  readonly logLevel: LogLevel
  /** Those that are served. */
  readonly chains: readonly Chain[]
  readonly deployments: Deployments
  readonly solana: SolanaConfig
}

/** Addresses of each family by chain id, of chains that are not served too; a family is not on an absent chain. */
export interface Deployments {
  readonly uniswapV3: ReadonlyMap<number, readonly UniswapV3Deployment[]>
  readonly aaveV3: ReadonlyMap<number, readonly AaveV3Deployment[]>
  readonly morphoBlue: ReadonlyMap<number, MorphoBlueDeployment>
}

/** Where Kamino is read. The URLs may hold secrets; none where Solana is not served. */
export interface SolanaConfig {
  readonly rpcUrls: readonly string[]
  /** How far the cluster's clock may be from the wall clock in an answer. */
  readonly maxSlotAgeSec: number
  readonly program: KaminoProgram
}

/**
 * How old a slot may be: the larger of both. The clock that tells lags real time by a few seconds, as the votes that it
 * is made of do, and an honest node lags the cluster by a few more; a node that stands still is found out in a minute.
 */
const SLOT_AGE_SEC = 60
const SLOT_AGE_SLOTS = 20

/** Wrong configuration: every mistake at once, none of them showing a value that may be secret. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  readonly mistakes: readonly string[]

  constructor(mistakes: readonly string[]) {
    super(`Cannot start with this configuration: ${mistakes.join('; ')}`)
    this.mistakes = mistakes
  }
}

const PORT_EXPECTED = 'a port number from 0 to 65535'
const URLS_EXPECTED = `URLs, separated by commas, each ${RPC_URL_EXPECTED}`

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
  const port = checked('PORT', parsePort, PORT_EXPECTED) ?? 8080
  const operatorPort = checked('OPERATOR_PORT', parsePort, PORT_EXPECTED)
  if (operatorPort === port && port !== 0) mistakes.push('OPERATOR_PORT: expected another port than PORT')
  const config: Config = {
    port,
    operatorPort,
    host: given('HOST') ?? '127.0.0.1',
    databaseUrl: databaseUrl(given('DATABASE_URL'), mistakes),
    dataDir: given('DATA_DIR') ?? './data',
    publicUrl: checked(
      'PUBLIC_URL',
      parseBaseUrl,
      'an absolute http or https URL without name, password, query or fragment',
    ),
    corsOrigins:
      checked('CORS_ORIGINS', parseOrigins, 'origins such as https://app.example.org, separated by commas') ?? [],
    logLevel: checked('LOG_LEVEL', parseLogLevel, 'debug, info, warn or error') ?? 'info',
    chains,
    deployments,
    solana: {
      ...solana,
      rpcUrls: checked('SOLANA_RPC_URL', parseUrls, URLS_EXPECTED) ?? solana.rpcUrls,
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
  let solana: SolanaConfig = solanaFrom({})
  const chosen = new Set(DEFAULT_CHAIN_IDS)

  const path = given('CHAINS_FILE')
  if (path !== undefined) {
    const { rows, solana: row, mistakes: found } = parseChainsFile(readChainsFile({ path, readFile, mistakes }))
    mistakes.push(...found)
    solana = solanaFrom(row)
    for (const row of rows) {
      chosen.add(row.id)
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
    if (chain === undefined) mistakes.push(`${name}: no such chain is built in; describe it in CHAINS_FILE`)
    else if (rpcUrls === undefined) mistakes.push(`${name}: expected ${URLS_EXPECTED}`)
    else {
      chosen.add(chain.id)
      chains.set(chain.id, { ...chain, rpcUrls })
    }
  }

  const wanted = given('CHAINS')
  const ids = wanted === undefined ? [...chosen] : parseChainIds(wanted)
  if (ids === undefined) {
    mistakes.push('CHAINS: expected ids of chains in plain digits, separated by commas')
    return { chains: [], deployments, solana }
  }
  const unknown = ids.filter((id) => id !== SOLANA_CHAIN_ID && !chains.has(id))
  if (unknown.length > 0) {
    mistakes.push(`CHAINS: ${unknown.join(', ')}: no such chain is built in; describe it in CHAINS_FILE`)
  }
  const served = [...new Set(ids)].map((id) => chains.get(id)).filter((chain) => chain !== undefined)
  // Whoever names an endpoint of Solana wants it served; its public ones are only for those who leave the choice to us.
  if (wanted === undefined || ids.includes(SOLANA_CHAIN_ID) || solana.rpcUrls !== SOLANA_RPC_URLS) {
    return { chains: served, deployments, solana }
  }
  return { chains: served, deployments, solana: { ...solana, rpcUrls: [] } }
}

/** Solana as a file describes it, mainnet where it says nothing. */
function solanaFrom(row: SolanaRow): SolanaConfig {
  const { programId, scopeProgramId, slotMs: usualSlotMs } = KAMINO_MAINNET
  const slotMs = row.slotMs ?? usualSlotMs
  return {
    rpcUrls: row.rpcUrls ?? SOLANA_RPC_URLS,
    maxSlotAgeSec: row.maxSlotAgeSec ?? Math.max(SLOT_AGE_SEC, Math.ceil((SLOT_AGE_SLOTS * slotMs) / 1000)),
    program: {
      programId: row.klendProgram ?? programId,
      scopeProgramId: row.scopeProgram ?? scopeProgramId,
      slotMs,
    },
  }
}

/** Ids in plain digits, at least one; undefined for anything else. */
function parseChainIds(text: string): number[] | undefined {
  const ids = splitList(text).map(chainId)
  return ids.length > 0 && !ids.some(Number.isNaN) ? ids : undefined
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
  return urls.length > 0 && urls.every((url) => parseRpcUrl(url) !== undefined) ? urls : undefined
}

function parsePort(text: string): number | undefined {
  return /^\d{1,5}$/.test(text) && Number(text) <= 65_535 ? Number(text) : undefined
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
  if (!isHttpUrl(text) || /[?#\s]/.test(text)) return undefined
  const { username, password, href } = new URL(text)
  return username + password === '' ? href.replace(/\/+$/, '') : undefined
}

function parseOrigins(text: string): readonly string[] | undefined {
  const origins = splitList(text)
  return origins.every((origin) => isHttpUrl(origin) && new URL(origin).origin === origin) ? origins : undefined
}

function parseLogLevel(text: string): LogLevel | undefined {
  return (['debug', 'info', 'warn', 'error'] as const).find((level) => level === text)
}
