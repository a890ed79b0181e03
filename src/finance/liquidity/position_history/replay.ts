import { runCooperatively } from '../../../lib/async/cooperative.ts'
import type { Pair } from '../../math/pnl/flow.ts'
import { type PnlLedger, replayInSteps } from '../../math/pnl/replay.ts'
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
  /** Principal that was withdrawn and not collected, raw units. */
  readonly withdrawn: Pair<bigint>
  /**
   * Their replay, once it is asked for, in turns with other work; it is done once. Or the first price that is missing.
   * Throws as `replayInSteps`.
   */
  ledger(): Promise<PnlLedger | MissingPrice>
}

/** Counts flows; `before` are the oldest of them, which are not replayed again. */
export function replayHistory(
  flows: readonly ValuedFlow[],
  { subject, before }: { readonly subject: PnlSubject; readonly before?: ReplayedHistory | undefined },
): ReplayedHistory {
  const rows = flows.map(({ row }) => row)
  let replayed: Promise<PnlLedger | MissingPrice> | undefined

  async function replay(): Promise<PnlLedger | MissingPrice> {
    const missing = missingPrice(flows)
    if (missing !== undefined) return missing
    const known = await before?.ledger()
    const isKnown = known !== undefined && !('because' in known)
    const rest = isKnown ? flows.slice(before?.flows.length) : flows
    return await runCooperatively(replayInSteps(toPnlFlows(rest, subject.tokens), isKnown ? known : undefined))
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
