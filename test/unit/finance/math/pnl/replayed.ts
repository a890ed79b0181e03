import type { Flow } from '../../../../../src/finance/math/pnl/flow.ts'
import { type PnlLedger, replayInSteps } from '../../../../../src/finance/math/pnl/replay.ts'

/** The ledger of flows, in one go. */
export function replay(flows: readonly Flow[]): PnlLedger {
  const steps = replayInSteps(flows)
  for (;;) {
    const step = steps.next()
    if (step.done === true) return step.value
  }
}
