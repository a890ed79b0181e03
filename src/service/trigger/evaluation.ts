import { SOLANA_CHAIN_ID } from '../../chain/solana/client.ts'
import type { FamilyServices } from '../../family/family.ts'
import type { JobOptions } from '../../job/job.ts'
import type { Metrics } from '../../lib/metrics.ts'
import { startTriggers } from '../../trigger/mod.ts'
import type { Config } from '../config/config.ts'
import { watchedOf } from '../routes.ts'

/** Evaluates triggers and charges for them until it is stopped, unless the feature is off. */
export function startEvaluation(
  config: Config,
  options: {
    readonly services: FamilyServices
    readonly metrics: Metrics
    readonly jobs: JobOptions
    /** Called when there are new messages. */
    readonly told: () => void
  },
): { stop(): void } {
  if (config.featuresOff.includes('triggers')) return { stop() {} }
  const { services, metrics, jobs, told } = options
  const { db, holder, clients, solana, clock, log } = services
  return startTriggers({
    db,
    holder,
    clients,
    solanaChainId: solana === undefined ? undefined : SOLANA_CHAIN_ID,
    families: watchedOf(config, () => services),
    publicUrl: config.publicUrl,
    clock,
    log,
    metrics,
    jobs,
    told,
  })
}
