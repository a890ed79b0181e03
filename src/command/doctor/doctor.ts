import { SOLANA_CHAIN_ID } from '../../chain/solana/client.ts'
import type { Config } from '../../config/config.ts'
import { SchemaError } from '../../db/database.ts'
import type { FinanceChain } from '../../finance/chain.ts'
import { forEachLimit } from '../../lib/async/for_each_limit.ts'
import { systemClock } from '../../lib/clock.ts'
import { UnavailableError } from '../../lib/error.ts'
import { type Finding, failureFinding, warningFinding } from '../../lib/finding.ts'
import { silentLog } from '../../lib/log.ts'
import { withDatabase } from '../account_database.ts'
import { type Command, CommandError, type CommandIo } from '../command.ts'
import { print } from '../print.ts'
import { examineContracts } from './contracts.ts'
import { examineDatabase } from './database.ts'
import { type Examination, examineEvm } from './evm.ts'
import { examineNames } from './names.ts'
import { examineSolana } from './solana.ts'
import { examineTokens } from './tokens.ts'
import { examineTriggers } from './triggers.ts'

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
  summary: 'Check what the database and every endpoint can do',
  async run(args, io) {
    const config = io.config()
    const reports = [
      ...(await databaseReports(io)),
      ...(await endpointReports(io)),
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
    { part: 'database', findings: [...examineTls(config), ...examined.findings] },
    ...(examined.triggers === undefined ? [] : [{ part: 'triggers', findings: examined.triggers }]),
  ]
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
  const examine = async ([index, runCheck]: (typeof checks)[number], signal: AbortSignal) => {
    reports[index] = await runCheck(signal)
  }
  await forEachLimit(checks, AT_ONCE_MAX, examine, io.stop)
  return reports
}

/** Creates one check for each endpoint, in the order of the configuration. */
function createEndpointChecks({ chains, solana, families }: Config): ((signal: AbortSignal) => Promise<Report>)[] {
  const createCheck = (
    { chain: { id, name }, index }: { readonly chain: Pick<FinanceChain, 'id' | 'name'>; readonly index: number },
    examine: (examination: Examination) => Promise<readonly Finding[]>,
  ) => {
    return async (signal: AbortSignal): Promise<Report> => {
      const limit = systemClock.timeout(ENDPOINT_MS)
      const limitedSignal = AbortSignal.any([signal, limit])
      const examination = { clock: systemClock, log: silentLog, signal: limitedSignal }
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
