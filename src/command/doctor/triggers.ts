import { listServedChainIds } from '../../config/chains.ts'
import type { Config } from '../../config/config.ts'
import type { Database } from '../../db/database.ts'
import type { TriggerProgress } from '../../http/page/probes.ts'
import { type Finding, okFinding, warningFinding } from '../../lib/finding.ts'
import { readTriggerProgress } from '../../trigger/report.ts'

/** Examines whether a process evaluates the triggers. Throws `UnavailableError` if the database is unreachable. */
export async function examineTriggers(db: Database, config: Config): Promise<readonly Finding[]> {
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
