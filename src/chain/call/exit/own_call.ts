import type { Address } from 'viem'
import { forEachLimit } from '../../../lib/async/parallel.ts'
import type { Work } from '../../../lib/async/work.ts'
import { type Endpoint, RevertError } from '../../rpc/client.ts'
import { type ExitQuery, listParties, toCallBlock, type UnitOutcome } from './execute.ts'
import type { ExitUnit } from './step.ts'

/** Calls that run at a time. */
const CALLS_RUNNING = 4

/**
 * Asks protocols' own contracts, each in one call of the wallet, what their units would pay: any endpoint answers that. A
 * unit without such a call is `unsupported`. Throws as `Endpoint.call`.
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
        ? { kind: 'too_costly', untried: 'late' }
        : { kind: 'run', made: new Set<Address>(), steps: await readOwnCall(endpoint, { unit, ownCall }, shared) }
  }
  const readOwnCall = async (
    asked: Endpoint,
    { unit, ownCall }: { readonly unit: ExitUnit; readonly ownCall: NonNullable<ExitUnit['ownCall']> },
    shared: Work,
  ) => {
    const { to, data, decode } = ownCall
    try {
      return decode(await asked.call({ from: wallet, to, data, block: toCallBlock(block) }, shared))
    } catch (error) {
      if (!(error instanceof RevertError)) throw error
      const reverted = { kind: 'reverted', reason: error.data } as const
      return unit.steps.map(({ isFallback }) => (isFallback ? ({ kind: 'skipped' } as const) : reverted))
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
