import type { AccountGate } from '../../account/gate/gate.ts'
import { SOLANA_CHAIN_ID } from '../../chain/solana/client.ts'
import { type Database, SchemaError } from '../../db/database.ts'
import { checkServable } from '../../db/schema.ts'
import { KAMINO_MAINNET } from '../../finance/price/table/kamino.ts'
import type { Probe } from '../../http/page/probes.ts'
import type { Log } from '../../lib/log.ts'
import type { Clients } from '../clients.ts'

/** Throws `SchemaError` if the database is there and is not one to serve from. */
export async function checkSchemaIfReachable(db: Database, log: Log): Promise<void> {
  try {
    await checkServable(db)
  } catch (error) {
    if (error instanceof SchemaError) throw error
    log.warn({ msg: 'Started without the database: not ready until it answers', reason: reasonOf(error) })
  }
}

/** Why the database does not answer: the driver's words, if there are any. */
function reasonOf(error: unknown): string {
  return error instanceof Error && error.cause instanceof Error ? error.cause.message : String(error)
}

/** True if this program can serve from the database, or why not. Each new reason is logged once. */
function schemaProbe(db: Database, log: Log): Probe {
  let logged = ''
  const say = (message: string, tell: () => void): void => {
    if (message === logged) return
    logged = message
    tell()
  }
  return async () => {
    try {
      const release = await checkServable(db)
      say(release, () => {
        if (release === 'newer') log.info({ msg: 'Serves on, from tables of a newer release that it still runs on' })
      })
      return true
    } catch (error) {
      if (!(error instanceof SchemaError)) return withoutNames(reasonOf(error))
      const { message } = error
      say(message, () => log.error({ msg: 'Found the database unfit to serve', reason: message }))
      return message
    }
  }
}

/** True if the database is fit, and requests can be charged there: one whose disk is full answers questions. */
export function databaseProbe(db: Database, gate: Pick<AccountGate, 'trouble'>, log: Log): Probe {
  const schema = schemaProbe(db, log)
  return async (signal) => {
    const answer = await schema(signal)
    const { trouble } = gate
    return answer !== true || trouble === undefined ? answer : `it takes no charges: ${withoutNames(trouble)}`
  }
}

/** A reason for everybody: servers quote names of users and databases. */
function withoutNames(reason: string): string {
  return reason.replace(/"[^"]*"/g, '…')
}

/** Whether each chain that is served answers. */
export function chainProbes({ evm, solana }: Clients): ReadonlyMap<number, Probe> {
  const probes = new Map<number, Probe>([...evm].map(([id, client]) => [id, (signal) => client.ready(signal)]))
  if (solana !== undefined) probes.set(SOLANA_CHAIN_ID, (signal) => solana.ready(signal))
  return probes
}

/** What endpoints of Solana have shown, in the order of the configuration. */
export function listSolanaCapabilities({ solana }: Clients) {
  return (solana?.abilities(KAMINO_MAINNET.programId) ?? []).map(({ listsTokenAccounts, searchesProgram }) => ({
    lists_token_accounts: listsTokenAccounts ?? null,
    searches_programs: searchesProgram ?? null,
  }))
}
