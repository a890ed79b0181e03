import type { Pair } from '../../../finance/math/pnl/flow.ts'
import { type PnlLedger, replayInSteps } from '../../../finance/math/pnl/replay.ts'
import { runCooperatively } from '../../../lib/async/cooperative.ts'
import type { MissingPrice } from './flow_price.ts'
import {
  liquidityAfter,
  missingPrice,
  type PnlSubject,
  pendingAfter,
  toPnlFlows,
  type ValuedFlow,
} from './valued_flows.ts'

/** Flows of a position, oldest first, with what they add up to. */
export interface ReplayedHistory {
  readonly flows: readonly ValuedFlow[]
  readonly subject: PnlSubject
  readonly liquidity: bigint
  /** Withdrawn and uncollected principal, raw units. */
  readonly withdrawn: Pair<bigint>
  /**
   * Replays the flows cooperatively on the first call and returns that result afterwards; the first missing price if
   * there is one. Throws as `replayInSteps`.
   */
  ledger(): Promise<PnlLedger | MissingPrice>
}

/** Creates the replay of flows; `before` is the replay of the oldest ones, which are not replayed again. */
export function replayHistory(
  flows: readonly ValuedFlow[],
  { subject, before }: { readonly subject: PnlSubject; readonly before?: ReplayedHistory | undefined },
): ReplayedHistory {
  const rows = flows.map(({ row }) => row)
  let replayed: Promise<PnlLedger | MissingPrice> | undefined

  async function replay(): Promise<PnlLedger | MissingPrice> {
    const missing = missingPrice(flows)
    if (missing !== undefined) return missing
    const ledgerBefore = await before?.ledger()
    const hasLedgerBefore = ledgerBefore !== undefined && !('because' in ledgerBefore)
    const newFlows = hasLedgerBefore ? flows.slice(before?.flows.length) : flows
    return await runCooperatively(
      replayInSteps(toPnlFlows(newFlows, subject.tokens), hasLedgerBefore ? ledgerBefore : undefined),
    )
  }

  return {
    flows,
    subject,
    liquidity: liquidityAfter(rows),
    withdrawn: pendingAfter(rows),
    ledger() {
      replayed ??= replay()
      return replayed
    },
  }
}
