import { runCooperatively } from '../../../lib/async/cooperative.ts'
import type { Both } from '../../math/pnl/flow.ts'
import { type Ledger, replayInSteps } from '../../math/pnl/replay.ts'
import type { MissingPrice } from './flow_price.ts'
import { countedFlows, type LifeFlow, liquidityAfter, missingPrice, type PnlSubject, pendingAfter } from './life.ts'

/** Flows of a position, oldest first, with what they add up to. */
export interface CountedLife {
  readonly flows: readonly LifeFlow[]
  readonly subject: PnlSubject
  readonly liquidity: bigint
  /** Principal that was withdrawn and not collected, raw units. */
  readonly withdrawn: Both<bigint>
  /**
   * Their replay, once it is asked for, in turns with other work; it is done once. Or the first price that is missing.
   * Throws as `replayInSteps`.
   */
  ledger(): Promise<Ledger | MissingPrice>
}

/** Counts flows; `before` are the oldest of them, which are not replayed again. */
export function countLife(
  flows: readonly LifeFlow[],
  { subject, before }: { readonly subject: PnlSubject; readonly before?: CountedLife | undefined },
): CountedLife {
  const rows = flows.map(({ row }) => row)
  let replayed: Promise<Ledger | MissingPrice> | undefined

  async function replay(): Promise<Ledger | MissingPrice> {
    const missing = missingPrice(flows)
    if (missing !== undefined) return missing
    const known = await before?.ledger()
    const isKnown = known !== undefined && !('because' in known)
    const rest = isKnown ? flows.slice(before?.flows.length) : flows
    return await runCooperatively(replayInSteps(countedFlows(rest, subject.tokens), isKnown ? known : undefined))
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
