import { type Address, encodeFunctionData, erc20Abi } from 'viem'
import { databaseExamine } from '../../../sql/queries.ts'
import { type ReturnData, readMulticall } from '../../chain/call/many/multicall.ts'
import { createChainClient } from '../../chain/evm/evm_client.ts'
import { UNUSED_ADDRESS } from '../../chain/past/state_canary.ts'
import { ContractUnresponsiveError } from '../../chain/rpc/client.ts'
import { SOLANA_CHAIN_ID } from '../../chain/solana/client.ts'
import { listServedChainIds } from '../../config/chains.ts'
import { type Config, hostNames } from '../../config/config.ts'
import { CONNECTIONS_MAX } from '../../db/connection/pool.ts'
import { type Database, SchemaError, SERVER_VERSION_MIN } from '../../db/database.ts'
import { hasEmbeddedDatabase } from '../../db/embedded/embedded.ts'
import { checkServable } from '../../db/schema.ts'
import type { FinanceChain } from '../../finance/chain.ts'
import type { TriggerProgress } from '../../http/page/probes.ts'
import { ANY_HOST } from '../../http/request/host.ts'
import { forEachLimit } from '../../lib/async/parallel.ts'
import { createWork, limitWork, type Work } from '../../lib/async/work.ts'
import { type Clock, systemClock } from '../../lib/clock.ts'
import { UnavailableError } from '../../lib/error.ts'
import { type Finding, failureFinding, okFinding, warningFinding } from '../../lib/finding.ts'
import { silentLog } from '../../lib/log.ts'
import { isLoopback } from '../../lib/text/network.ts'
import { readFreeBytes } from '../../service/disk.ts'
import { readTriggerProgress } from '../../trigger/report.ts'
import { withDatabase } from '../account_database.ts'
import { type Command, CommandError, type CommandIo } from '../command.ts'
import { print } from '../print.ts'
import { examineDisk } from './disk.ts'
import { type Examination, examineEvm, examineSolana, formatReason } from './evm.ts'

/** Findings of one examined part. Endpoints are numbered, because their addresses may hold secrets. */
interface Report {
  /** `database`, `triggers`, or `chain 1 (Ethereum), endpoint 2`. */
  readonly part: string
  /** The endpoint's chain: another endpoint of the chain can replace an unusable one. */
  readonly chainId?: number
  readonly findings: readonly Finding[]
}

/** Endpoints examined at the same time: public endpoints count requests by client address. */
const AT_ONCE_MAX = 4
/** Time limit for all checks of one endpoint, milliseconds. */
const ENDPOINT_MS = 60_000
const SOLANA = { id: SOLANA_CHAIN_ID, name: 'Solana' }

/** `doctor`: checks the database and every endpoint, and prints what each missing ability costs. */
export const doctorCommand: Command = {
  name: 'doctor',
  summary: 'Check what the database and every endpoint can do, and say what to set',
  async run(args, io) {
    const config = io.config()
    const reports = [
      ...(await databaseReports(io)),
      ...(await endpointReports(io)),
      ...environmentReports(config),
      ...chainsFileReports(config),
      listenerReport(config),
    ]
    const useless = listUnusable(reports)
    print({ usable: useless.length === 0, reports }, { args, io, text: reports.map(formatReport).join('\n\n') })
    if (useless.length > 0) throw new CommandError(`Cannot serve everything: nothing usable for ${useless.join(', ')}`)
  },
}

/** Examines the database and, if it is usable, whether triggers are evaluated. */
async function databaseReports(io: CommandIo): Promise<readonly Report[]> {
  const config = io.config()
  const examined = await withDatabase(io, async (db) => {
    const findings = await examineDatabase(db, systemClock)
    const isUsable = findings.every(isNotFailed)
    return { findings, triggers: isUsable ? await examineTriggers(db, config) : undefined }
  }).catch((error: unknown) => {
    const isDatabaseError = error instanceof UnavailableError || error instanceof SchemaError
    if (!(isDatabaseError || error instanceof CommandError)) throw error
    const cost = 'no request can be charged or answered'
    return { findings: [failureFinding('answers', error.message, cost)], triggers: undefined }
  })
  return [
    { part: 'database', findings: [...examineTls(config), ...examined.findings, ...(await diskFindings(config))] },
    ...(examined.triggers === undefined ? [] : [{ part: 'triggers', findings: examined.triggers }]),
  ]
}

/** No finding if the system does not tell. */
async function diskFindings(config: Config): Promise<readonly Finding[]> {
  const freeBytes = await readFreeBytes(config.dataDir).catch(() => undefined)
  if (freeBytes === undefined) return []
  return [examineDisk(config, { freeBytes, hasDatabase: await hasEmbeddedDatabase(config.dataDir) })]
}

/** No finding for a local database or a verified certificate. */
function examineTls({ databaseUrl, databaseTls }: Config): readonly Finding[] {
  if (databaseUrl === undefined || databaseTls === 'verify') return []
  const cost = databaseTls === 'off' ? 'read' : 'read and change'
  return [warningFinding('DATABASE_TLS', databaseTls, `anyone on the network path can ${cost} everything`)]
}

/** Examines the host names of the configuration; needs no request. */
function listenerReport(config: Config): Report {
  return { part: 'listener', findings: [examineNames(config)] }
}

/** Names variables that are set, not read, and probably meant as one that is. */
function environmentReports({ misspelled }: Config): readonly Report[] {
  if (misspelled.length === 0) return []
  const findings = misspelled.map(({ name, nearest }) =>
    warningFinding(name, 'not read', `if it is meant for this service, its name is ${nearest}`),
  )
  return [{ part: 'environment', findings }]
}

/** Names what rows of `CHAINS_FILE` leave out of built-in chains. */
function chainsFileReports({ omissions }: Config): readonly Report[] {
  if (omissions.length === 0) return []
  const cost = 'no sum has it; lists under "add" are joined to the built-in ones'
  const findings = omissions.map(({ chainId, omitted }) =>
    warningFinding(`chain ${chainId}`, `without ${omitted.join(', ')}`, cost),
  )
  return [{ part: 'CHAINS_FILE', findings }]
}

async function endpointReports(io: CommandIo): Promise<readonly Report[]> {
  const reports: Report[] = []
  const checks = [...createEndpointChecks(io.config()).entries()]
  const examine = async ([index, runCheck]: (typeof checks)[number], work: Work) => {
    reports[index] = await runCheck(work)
  }
  await forEachLimit(checks, AT_ONCE_MAX, examine, createWork(io.stop))
  return reports
}

/** Creates one check for each endpoint, in the order of the configuration. */
function createEndpointChecks({ chains, solana, families }: Config): ((work: Work) => Promise<Report>)[] {
  const createCheck = (
    { chain: { id, name }, index }: { readonly chain: Pick<FinanceChain, 'id' | 'name'>; readonly index: number },
    examine: (examination: Examination) => Promise<readonly Finding[]>,
  ) => {
    return async (work: Work): Promise<Report> => {
      const limit = systemClock.timeout(ENDPOINT_MS)
      const examination = { clock: systemClock, log: silentLog, work: limitWork(work, limit) }
      const findings = await examine(examination).catch((error: unknown) => {
        if (!limit.aborted) throw error
        return [failureFinding('answers', `not finished after ${ENDPOINT_MS / 1_000} s`, 'no further checks')]
      })
      return { part: `chain ${id} (${name}), endpoint ${index + 1}`, chainId: id, findings }
    }
  }
  return [
    ...chains.flatMap((chain) =>
      chain.rpcUrls.map((_, index) =>
        createCheck({ chain, index }, async (asked) => {
          const findings = await examineEvm(chain, index, asked)
          if (findings.some(({ verdict }) => verdict === 'failed')) return findings
          const contracts = await examineContracts(chain, { index, families }, asked)
          return [...findings, ...contracts, ...(await examineTokens(chain, { index }, asked))]
        }),
      ),
    ),
    ...solana.rpcUrls.map((_, index) =>
      createCheck({ chain: SOLANA, index }, (asked) => examineSolana(solana, index, asked)),
    ),
  ]
}

/** Lists the database if it is unusable, and chains without a usable endpoint. */
function listUnusable(reports: readonly Report[]): readonly string[] {
  const usable = new Set(reports.filter(isUsable).map(formatName))
  return [...new Set(reports.map(formatName))].filter((name) => !usable.has(name))
}

function isUsable({ findings }: Report): boolean {
  return findings.every(isNotFailed)
}

function isNotFailed({ verdict }: Finding): boolean {
  return verdict !== 'failed'
}

function formatName({ part, chainId }: Report): string {
  return chainId === undefined ? `the ${part}` : `chain ${chainId}`
}

const MARKS = { good: 'ok', lack: '--', failed: 'NO' } as const

function formatReport({ part, findings }: Report): string {
  const width = Math.max(...findings.map(({ check }) => check.length))
  const lines = findings.map(({ check, verdict, found, cost }) => {
    const line = `  ${MARKS[verdict]}  ${check.padEnd(width)}  ${found}`
    return cost === undefined ? line : `${line}: ${cost}`
  })
  return [part, ...lines].join('\n')
}

const DEADLINE_MS = 5_000
/** Acceptable difference of two clocks, milliseconds. */
const SKEW_MAX_MS = 2_000
const SLOW_MS = 20
const LOSS_COST = 'a crash of its machine can lose charges of delivered answers'

/** Settings that sessions request themselves, unless a pooler prevents it. */
const GIVE_UP_SETTINGS =
  "alter role … set statement_timeout = '11min'; alter role … set client_connection_check_interval = '250ms'"

/** Examines the database and its settings. Throws `UnavailableError` if it is unreachable. */
export async function examineDatabase(db: Database, clock: Clock): Promise<readonly Finding[]> {
  // The first statement also connects.
  await databaseExamine(db, {}, { deadlineMs: DEADLINE_MS })
  const startedMs = clock.monotonicMs()
  const [row] = await databaseExamine(db, {}, { deadlineMs: DEADLINE_MS })
  const tookMs = clock.monotonicMs() - startedMs
  if (row === undefined) throw new Error('Cannot examine the database: it returned no row')
  const skewMs = Number(row.now_ms) - (clock.now() - tookMs / 2)
  return [
    examineVersion(row),
    row.is_standby
      ? failureFinding('role', 'a standby', 'a standby is read-only: no request can be charged or answered')
      : okFinding('role', 'primary'),
    tookMs > SLOW_MS
      ? warningFinding('answers', `in ${tookMs.toFixed(0)} ms`, 'every request waits for the database twice')
      : okFinding('answers', `in ${tookMs.toFixed(1)} ms`),
    Math.abs(skewMs) > SKEW_MAX_MS
      ? warningFinding(
          'clock',
          `${(skewMs / 1_000).toFixed(1)} s apart from this machine's`,
          'times in the log are those of the database',
        )
      : okFinding('clock', 'as this machine'),
    await examineSchema(db),
    row.fsync ? okFinding('fsync', 'on') : warningFinding('fsync', 'off', LOSS_COST),
    row.full_page_writes ? okFinding('full_page_writes', 'on') : warningFinding('full_page_writes', 'off', LOSS_COST),
    row.synchronous_commit === 'off'
      ? warningFinding('synchronous_commit', 'off', LOSS_COST)
      : okFinding('synchronous_commit', row.synchronous_commit),
    row.connections_max < CONNECTIONS_MAX
      ? warningFinding('connections', `at most ${row.connections_max}`, `a process uses up to ${CONNECTIONS_MAX}`)
      : okFinding('connections', `at most ${row.connections_max}; a process uses up to ${CONNECTIONS_MAX}`),
    row.gives_up
      ? okFinding('abandoned statements', 'end')
      : warningFinding('abandoned statements', 'keep running behind the pooler', `to end them: ${GIVE_UP_SETTINGS}`),
    okFinding('size', `${(Number(row.bytes) / 1e6).toFixed(1)} MB`),
  ]
}

function examineVersion({
  version,
  version_no: no,
}: {
  readonly version: string
  readonly version_no: number
}): Finding {
  if (no >= SERVER_VERSION_MIN) return okFinding('version', `PostgreSQL ${version}`)
  return failureFinding('version', `PostgreSQL ${version}`, 'expected 15 or later')
}

async function examineSchema(db: Database): Promise<Finding> {
  try {
    const release = await checkServable(db)
    return okFinding('tables', release === 'own' ? 'up to date' : 'newer, compatible')
  } catch (error) {
    if (!(error instanceof SchemaError)) throw error
    return failureFinding('tables', error.message, 'this program cannot serve from it')
  }
}

const NAMES_CHECK = 'names'

/** Examines the host names that requests may use, and whether a name is probably missing. */
function examineNames(config: Config): Finding {
  const names = hostNames(config)
  if (names.includes(ANY_HOST)) {
    return warningFinding(
      NAMES_CHECK,
      'answers under any name (ALLOWED_HOSTS)',
      'any site can point a name of its own here and read the answers (DNS rebinding)',
    )
  }
  const found = `answers under addresses, ${['localhost', ...names].join(', ')}`
  if (names.length > 0 || isLoopback(config.host)) return okFinding(NAMES_CHECK, found)
  return warningFinding(NAMES_CHECK, found, 'requests for any other name are refused: set PUBLIC_URL or ALLOWED_HOSTS')
}

/** Examines whether a process evaluates the triggers. Throws `UnavailableError` if the database is unreachable. */
async function examineTriggers(db: Database, config: Config): Promise<readonly Finding[]> {
  if (config.featuresOff.includes('triggers')) return [okFinding('feature', 'off (TRIGGERS)')]
  const lines = await readTriggerProgress(db)
  if (lines.length === 0) return [okFinding('to evaluate', 'none')]
  const served = listServedChainIds(config)
  return lines.map((line) => toFinding(line, served.includes(line.chain_id)))
}

function toFinding(line: TriggerProgress, isServed: boolean): Finding {
  const { chain_id: id, finality, holder, block, age_sec: ageSec, blind_since: blindSince } = line
  const check = `chain ${id}, ${finality}`
  const progress = block === null ? 'not evaluated yet' : `block ${block}, ${ageSec ?? 0} s ago`
  if (blindSince === null && holder !== null) return okFinding(check, `${progress}, by ${holder}`)
  const since = blindSince === null ? '' : `, blind since ${blindSince}`
  const reason = !isServed
    ? 'CHAINS lacks it'
    : holder === null
      ? 'no process evaluates'
      : 'its endpoints do not answer'
  return warningFinding(check, `${progress}${since}; ${reason}`, 'no messages are sent for this chain')
}

const CONTRACTS_CHECK = 'contracts'
const CONTRACTS_COST = 'requests that do not exclude it with a parameter are 503'

/**
 * Examines whether the endpoint at position `index` of a chain can read every contract that answers need, and lists
 * those that fail.
 */
export async function examineContracts(
  chain: FinanceChain,
  { index, families }: { readonly index: number; readonly families: Config['families'] },
  { work, ...shared }: Examination,
): Promise<readonly Finding[]> {
  const endpointChain: FinanceChain = { ...chain, rpcUrls: chain.rpcUrls.slice(index, index + 1) }
  const client = createChainClient({ chain: endpointChain, ...shared })
  try {
    const clients = new Map([[chain.id, client]])
    const contracts = families.flatMap((family) => family.contracts({ clients, clock: shared.clock }))
    if (contracts.length === 0) return []
    const failures: string[] = []
    for (const contract of contracts) {
      try {
        await contract.read(UNUSED_ADDRESS, work)
      } catch (error) {
        if (!(error instanceof UnavailableError)) throw error
        failures.push(error.cause instanceof ContractUnresponsiveError ? error.cause.message : formatReason(error))
      }
    }
    if (failures.length === 0)
      return [okFinding(CONTRACTS_CHECK, contracts.length === 1 ? 'answers' : `all ${contracts.length} answer`)]
    return [warningFinding(CONTRACTS_CHECK, failures.join(', '), CONTRACTS_COST)]
  } finally {
    client.close()
  }
}

const TOKENS_CHECK = 'tokens'
const TOKENS_COST = 'they do not appear in portfolios'
/** Maximum tokens to check: one call, if the endpoint supports state override. */
const CHECKED_MAX = 150
/** Maximum tokens to name; the others are counted. */
const NAMED_MAX = 5
const WORD_CHARS = 66

/**
 * Counts the tokens of a chain's list and finds those added by the operator that have no contract or do not answer,
 * through the endpoint at position `index`. Built-in tokens are checked when the list is created.
 */
export async function examineTokens(
  chain: FinanceChain,
  { index }: { readonly index: number },
  { work, ...shared }: Examination,
): Promise<readonly Finding[]> {
  const listed = `${chain.tokens.addresses.length} listed`
  const addedTokens = [...new Set(chain.tokens.added.flatMap(({ addresses }) => addresses))]
  if (addedTokens.length === 0) return [okFinding(TOKENS_CHECK, listed)]
  const checkedTokens = addedTokens.slice(0, CHECKED_MAX)
  const client = createChainClient({ chain: { ...chain, rpcUrls: chain.rpcUrls.slice(index, index + 1) }, ...shared })
  const data = encodeFunctionData({ abi: erc20Abi, functionName: 'balanceOf', args: [UNUSED_ADDRESS] })
  try {
    const { results } = await client.read(
      (endpoint, within) => {
        const calls = checkedTokens.map((to) => ({ to, data }))
        return readMulticall(endpoint, { calls, block: { chainId: chain.id }, clock: shared.clock }, within)
      },
      { work },
    )
    const failures = checkedTokens.flatMap((token, at) => describeFailure(token, results[at]) ?? [])
    const subset = checkedTokens.length < addedTokens.length ? `the first ${checkedTokens.length} of ` : ''
    const summary = `${listed}; of ${subset}${addedTokens.length} in TOKEN_LISTS and CHAINS_FILE`
    if (failures.length === 0) return [okFinding(TOKENS_CHECK, `${summary} all answer`)]
    const remainder = failures.length > NAMED_MAX ? [`and ${failures.length - NAMED_MAX} more`] : []
    return [
      warningFinding(
        TOKENS_CHECK,
        `${summary} ${failures.length} do not: ${[...failures.slice(0, NAMED_MAX), ...remainder].join(', ')}`,
        TOKENS_COST,
      ),
    ]
  } catch (error) {
    if (!(error instanceof UnavailableError)) throw error
    return [warningFinding(TOKENS_CHECK, `${listed}; ${formatReason(error)}`, 'unknown which of them answer')]
  } finally {
    client.close()
  }
}

function describeFailure(token: Address, answer: ReturnData): string | undefined {
  if (answer === '0x') return `${token} (no contract)`
  return answer === undefined || answer.length < WORD_CHARS ? `${token} (no balance)` : undefined
}
