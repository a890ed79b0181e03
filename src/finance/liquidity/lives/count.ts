import { inTurns } from '../../../lib/async/turns.ts'
import type { Both } from '../../math/pnl/flow.ts'
import { type Ledger, replayInSteps } from '../../math/pnl/replay.ts'
import type { MissingPrice, PnlToken } from './flow_price.ts'
import { countedFlows, type LifeFlow, liquidityAfter, missingPrice, pendingAfter } from './life.ts'

/** What the flows of a life add up to. */
export interface Count {
  readonly liquidity: bigint
  /** Principal that was withdrawn and not collected, raw units. */
  readonly withdrawn: Both<bigint>
  /**
   * Their replay, once it is asked for, in turns with other work; it is done once. Or the first price that is missing.
   * Throws as `replay`.
   */
  ledger(): Promise<Ledger | MissingPrice>
}

/** Counts flows, going on from the count of the first `before.flows` of them. */
export function createCount(
  life: readonly LifeFlow[],
  { tokens, before }: { readonly tokens: Both<PnlToken>; readonly before?: CountBefore | undefined },
): Count {
  const rows = life.map(({ row }) => row)
  let replayed: Promise<Ledger | MissingPrice> | undefined

  async function replay(): Promise<Ledger | MissingPrice> {
    const missing = missingPrice(life)
    if (missing !== undefined) return missing
    const known = await before?.count.ledger()
    const isKnown = known !== undefined && !('because' in known)
    const rest = isKnown ? life.slice(before?.flows) : life
    return await inTurns(replayInSteps(countedFlows(rest, tokens), isKnown ? known : undefined))
  }

  return {
    liquidity: liquidityAfter(rows),
    withdrawn: pendingAfter(rows),
    ledger() {
      replayed ??= replay()
      return replayed
    },
  }
}

/** The count of some of the flows, the oldest. */
interface CountBefore {
  readonly count: Count
  readonly flows: number
}
