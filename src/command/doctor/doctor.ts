import { SOLANA_CHAIN_ID } from '../../chain/solana/client.ts'
import { SchemaError } from '../../db/database.ts'
import type { FinanceChain } from '../../finance/chain.ts'
import { timeoutSignal } from '../../lib/async/abort.ts'
import { forEachLimit } from '../../lib/async/for_each_limit.ts'
import { systemClock } from '../../lib/clock.ts'
import { UnavailableError } from '../../lib/error.ts'
import { type Finding, failureFinding, warningFinding } from '../../lib/finding.ts'
import { silentLog } from '../../lib/log.ts'
import type { Config } from '../../service/config/config.ts'
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

/** What was examined. Endpoints are counted, as their addresses may hold secrets. */
interface Report {
  /** `database`, `triggers`, or `chain 1 (Ethereum), endpoint 2`. */
  readonly part: string
  /** The chain of an endpoint, which others of that chain can stand in for. */
  readonly chainId?: number
  readonly findings: readonly Finding[]
}

/** Endpoints that are asked at the same time: public ones count requests by address. */
const AT_ONCE_MAX = 4
/** Time limit of everything that one endpoint is asked, milliseconds. */
const ENDPOINT_MS = 60_000
const SOLANA = { id: SOLANA_CHAIN_ID, name: 'Solana' }

/** `doctor`: asks the database and every endpoint what they can do, and says what each lack costs. */
export const doctorCommand: Command = {
  name: 'doctor',
  summary: 'Ask the database and every endpoint what they can do',
  async run(args, io) {
    const reports = [...(await databaseReports(io)), ...(await endpointReports(io)), listenerReport(io.config())]
    const useless = listUnusable(reports)
    print({ usable: useless.length === 0, reports }, { args, io, text: reports.map(reportText).join('\n\n') })
    if (useless.length > 0) throw new CommandError(`Cannot serve everything: nothing usable for ${useless.join(', ')}`)
  },
}

/** The database, and whether triggers are evaluated if it can be used. */
async function databaseReports(io: CommandIo): Promise<readonly Report[]> {
  const config = io.config()
  const found = await withDatabase(io, async (db) => {
    const findings = await examineDatabase(db, systemClock)
    const isUsable = findings.every(isNotFailed)
    return { findings, triggers: isUsable ? await examineTriggers(db, config) : undefined }
  }).catch((error: unknown) => {
    const isOfDatabase = error instanceof UnavailableError || error instanceof SchemaError
    if (!(isOfDatabase || error instanceof CommandError)) throw error
    const cost = 'nothing can be charged or logged, so nothing is answered'
    return { findings: [failureFinding('answers', error.message, cost)], triggers: undefined }
  })
  return [
    { part: 'database', findings: [...tlsOf(config), ...found.findings] },
    ...(found.triggers === undefined ? [] : [{ part: 'triggers', findings: found.triggers }]),
  ]
}

/** Nothing to say of a database on this machine, or of one whose certificate is checked. */
function tlsOf({ databaseUrl, databaseTls }: Config): readonly Finding[] {
  if (databaseUrl === undefined || databaseTls === 'verify') return []
  const cost = databaseTls === 'off' ? 'read' : 'read and change'
  return [warningFinding('DATABASE_TLS', databaseTls, `whoever is on the network between can ${cost} everything`)]
}

/** Nothing is asked: the names that a request may give come from the configuration. */
function listenerReport(config: Config): Report {
  return { part: 'listener', findings: [examineNames(config)] }
}

async function endpointReports(io: CommandIo): Promise<readonly Report[]> {
  const reports: Report[] = []
  const questions = [...createEndpointChecks(io.config()).entries()]
  const examine = async ([index, ask]: (typeof questions)[number], signal: AbortSignal) => {
    reports[index] = await ask(signal)
  }
  await forEachLimit(questions, AT_ONCE_MAX, examine, io.stop)
  return reports
}

/** One question for each endpoint, in the order of the configuration. */
function createEndpointChecks({ chains, solana, families }: Config): ((signal: AbortSignal) => Promise<Report>)[] {
  const question = (
    { chain: { id, name }, index }: { readonly chain: Pick<FinanceChain, 'id' | 'name'>; readonly index: number },
    examine: (examination: Examination) => Promise<readonly Finding[]>,
  ) => {
    return async (signal: AbortSignal): Promise<Report> => {
      const limit = timeoutSignal(ENDPOINT_MS)
      const within = AbortSignal.any([signal, limit])
      const asked = { clock: systemClock, fetch: globalThis.fetch, log: silentLog, signal: within }
      const findings = await examine(asked).catch((error: unknown) => {
        if (!limit.aborted) throw error
        return [failureFinding('answers', `it is not done after ${ENDPOINT_MS / 1_000} s`, 'nothing more was asked')]
      })
      return { part: `chain ${id} (${name}), endpoint ${index + 1}`, chainId: id, findings }
    }
  }
  return [
    ...chains.flatMap((chain) =>
      chain.rpcUrls.map((_, index) =>
        question({ chain, index }, async (asked) => {
          const findings = await examineEvm(chain, index, asked)
          if (findings.some(({ verdict }) => verdict === 'failed')) return findings
          const contracts = await examineContracts(chain, { index, families }, asked)
          return [...findings, ...contracts, ...(await examineTokens(chain, { index }, asked))]
        }),
      ),
    ),
    ...solana.rpcUrls.map((_, index) =>
      question({ chain: SOLANA, index }, (asked) => examineSolana(solana, index, asked)),
    ),
  ]
}

/** The database if it cannot be used, and chains without an endpoint that can. */
function listUnusable(reports: readonly Report[]): readonly string[] {
  const usable = new Set(reports.filter(isUsable).map(nameOf))
  return [...new Set(reports.map(nameOf))].filter((name) => !usable.has(name))
}

function isUsable({ findings }: Report): boolean {
  return findings.every(isNotFailed)
}

function isNotFailed({ verdict }: Finding): boolean {
  return verdict !== 'failed'
}

function nameOf({ part, chainId }: Report): string {
  return chainId === undefined ? `the ${part}` : `chain ${chainId}`
}

const MARKS = { good: 'ok', lack: '--', failed: 'NO' } as const

function reportText({ part, findings }: Report): string {
  const width = Math.max(...findings.map(({ check }) => check.length))
  const lines = findings.map(({ check, verdict, found, cost }) => {
    const line = `  ${MARKS[verdict]}  ${check.padEnd(width)}  ${found}`
    return cost === undefined ? line : `${line}: ${cost}`
  })
  return [part, ...lines].join('\n')
}
