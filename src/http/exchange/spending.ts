import { CodedError } from '../../lib/error.ts'
import type { Caller, LimitScope } from './gate.ts'

/** 402 before the work: throws if a limit cannot pay the least that an answer may cost. Changes nothing. */
export function checkCredits(caller: Caller, creditsMin: number): void {
  const { credits, limits } = caller
  if (creditsMin > credits) throw insufficientCreditsError(caller, 'organization', least(creditsMin, credits))
  for (const { scope, spent, most } of limits) {
    if (most === undefined || BigInt(creditsMin) <= most - spent) continue
    throw insufficientCreditsError(caller, scope, least(creditsMin, spent < most ? most - spent : 0n))
  }
}

/**
 * 402, with why a limit refused. Without `price` it is refused at the charge, and must hide what the answer costs: that
 * tells what a wallet holds.
 */
export function insufficientCreditsError({ limits }: Caller, scope: LimitScope, price?: string): CodedError {
  const why = {
    organization: () => `Cannot pay for this request: ${price ?? 'the balance does not suffice'}`,
    key: () => {
      const most = limits.find((limit) => limit.scope === 'key')?.most
      return `Cannot pay for this request: this key may spend ${most} credits a day (UTC), and too few of them are left`
    },
    session: () => `Cannot pay for this call from the budget of the session: ${price ?? 'it does not suffice'}`,
  }
  return new CodedError('INSUFFICIENT_CREDITS', why[scope]())
}

function least(creditsMin: number, left: bigint): string {
  return `it costs at least ${creditsMin} credits, ${left} are left`
}
