import { forEachLimit } from '../../../lib/async/parallel.ts'
import type { Work } from '../../../lib/async/work.ts'
import { type Endpoint, RevertError, RpcRefusedError } from '../../rpc/client.ts'
import { type ExitQuery, listParties, toCallBlock, type UnitOutcome } from './execute.ts'
import { type ExitUnit, STEP_GAS, type StepOutcome, toReason } from './step.ts'

/** Calls that run at a time. */
const CALLS_RUNNING = 4

/**
 * Asks protocols' own contracts, each in one call of the wallet, what their units would pay: any endpoint answers that. A
 * unit without such a call is `unsupported`, and `too_costly` is one whose call takes more gas than its steps may. Throws
 * as `Endpoint.call`.
 */
export async function callUnits(
  endpoint: Endpoint,
  { wallet, units, block, clock, untilMs }: ExitQuery,
  work: Work,
): Promise<readonly UnitOutcome[]> {
  const outcomes: UnitOutcome[] = units.map(() => ({ kind: 'unsupported' }))
  const callOne = async ({ unit, place }: { readonly unit: ExitUnit; readonly place: number }, shared: Work) => {
    const { ownCall } = unit
    if (ownCall === undefined || listParties(unit).has(wallet.toLowerCase())) return
    outcomes[place] =
      clock.monotonicMs() >= untilMs
        ? { kind: 'too_costly', isLate: true }
        : await readOwnCall(endpoint, { unit, ownCall }, shared)
  }
  const readOwnCall = async (
    asked: Endpoint,
    { unit, ownCall }: { readonly unit: ExitUnit; readonly ownCall: NonNullable<ExitUnit['ownCall']> },
    shared: Work,
  ): Promise<UnitOutcome> => {
    const { to, encode, decode } = ownCall
    const run = (steps: readonly StepOutcome[]): UnitOutcome => ({ kind: 'run', made: new Set(), steps })
    const gas = STEP_GAS * unit.steps.length
    try {
      return run(decode(await asked.call({ from: wallet, to, data: encode(), block: toCallBlock(block), gas }, shared)))
    } catch (error) {
      if (error instanceof RpcRefusedError && error.reason === 'size') return { kind: 'too_costly' }
      if (!(error instanceof RevertError)) throw error
      const reverted = { kind: 'reverted', reason: toReason(error.data) } as const
      return run(unit.steps.map(({ isFallback }) => (isFallback ? { kind: 'skipped' } : reverted)))
    }
  }
  await forEachLimit(
    units.map((unit, place) => ({ unit, place })),
    CALLS_RUNNING,
    callOne,
    work,
  )
  return outcomes
}
