import type { AccountGate } from '../../account/gate/gate.ts'
import { SOLANA_CHAIN_ID } from '../../chain/solana/client.ts'
import type { DatabasePool, LaneShortage } from '../../db/connection/pool.ts'
import { type Database, SchemaError } from '../../db/database.ts'
import { checkServable, isReadOnly } from '../../db/schema.ts'
import { KAMINO_MAINNET } from '../../finance/price/table/kamino.ts'
import type { Readiness } from '../../http/openapi/readiness.ts'
import type { Probe } from '../../http/page/probes.ts'
import type { Log } from '../../lib/log.ts'
import type { Clients } from '../clients.ts'

/** Throws `SchemaError` if the database is reachable and unusable; logs if it is unreachable. */
export async function checkSchemaIfReachable(db: Database, log: Log): Promise<void> {
  try {
    await checkServable(db)
  } catch (error) {
    if (error instanceof SchemaError) throw error
    log.warn({
      msg: 'The database is unreachable at the start: not ready until it answers',
      reason: formatReason(error),
    })
  }
}

/** Returns why the database does not answer: the driver's message, if any. */
function formatReason(error: unknown): string {
  return error instanceof Error && error.cause instanceof Error ? error.cause.message : String(error)
}

/** Creates a probe of the schema: true, or the reason why this program cannot serve. Logs each new reason once. */
function schemaProbe(db: Database, log: Log): Probe {
  let loggedMessage = ''
  const logOnce = (message: string, writeLog: () => void): void => {
    if (message === loggedMessage) return
    loggedMessage = message
    writeLog()
  }
  return async () => {
    try {
      const release = await checkServable(db)
      logOnce(release, () => {
        if (release === 'newer') log.info({ msg: 'The schema is newer and compatible; continuing' })
      })
      return (await isReadOnly(db)) ? 'it accepts no charges: it is read-only' : true
    } catch (error) {
      if (!(error instanceof SchemaError)) return hideNames(formatReason(error))
      const { message } = error
      logOnce(message, () => log.error({ msg: 'The database is not usable', reason: message }))
      return message
    }
  }
}

/**
 * Creates a probe of all that a request needs: the schema, a connection of each lane, and writes, which a standby or a
 * server with a full disk refuses although it answers reads.
 */
export function databaseProbe(
  db: Database & Pick<DatabasePool, 'findShortages'>,
  gate: Pick<AccountGate, 'findTrouble'>,
  log: Log,
): Probe {
  const schema = schemaProbe(db, log)
  return async (work) => {
    const answer = await schema(work)
    if (answer !== true) return answer
    const shortage = (await db.findShortages()).find(({ lane }) => lane !== 'background')
    if (shortage !== undefined) return formatShortage(shortage)
    const trouble = await gate.findTrouble()
    return trouble === undefined ? true : `it accepts no charges: ${hideNames(trouble)}`
  }
}

/**
 * Creates a reader of what is missing for work in the background. Readiness does not depend on it: other processes may
 * do the work, while this one answers.
 */
export function backgroundProbe(db: Pick<DatabasePool, 'findShortages'>): () => Promise<Readiness['reasons']> {
  return async () => {
    const shortages = (await db.findShortages()).filter(({ lane }) => lane === 'background')
    return shortages.map((shortage) => ({ part: 'database', reason: formatShortage(shortage) }))
  }
}

function formatShortage({ lane, reason }: LaneShortage): string {
  return `it gives no connection for lane ${lane}: ${hideNames(reason)}`
}

/** Strips quoted names: database errors name users and databases. */
function hideNames(reason: string): string {
  return reason.replace(/"[^"]*"/g, '…')
}

/** Creates a probe for each served chain. */
export function chainProbes({ evm, solana }: Clients): ReadonlyMap<number, Probe> {
  const probes = new Map<number, Probe>([...evm].map(([id, client]) => [id, (work) => client.ready(work)]))
  if (solana !== undefined) probes.set(SOLANA_CHAIN_ID, (work) => solana.ready(work))
  return probes
}

/** Lists the observed abilities of Solana endpoints, in the order of the configuration. */
export function listSolanaCapabilities({ solana }: Clients) {
  return (solana?.getCapabilities(KAMINO_MAINNET.programId) ?? []).map(({ listsTokenAccounts, searchesProgram }) => ({
    lists_token_accounts: listsTokenAccounts ?? null,
    searches_programs: searchesProgram ?? null,
  }))
}
