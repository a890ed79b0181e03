import { CodedError } from '../../lib/error.ts'
import type { Caller, LimitScope } from './gate.ts'

/** Throws 402 before the work if a limit cannot pay the minimum price of an answer. Changes nothing. */
export function checkCredits(caller: Caller, creditsMin: number): void {
  const { credits, limits } = caller
  if (creditsMin > credits) throw insufficientCreditsError(caller, 'organization', formatShortage(creditsMin, credits))
  for (const { scope, spent, most } of limits) {
    if (most === undefined || BigInt(creditsMin) <= most - spent) continue
    throw insufficientCreditsError(caller, scope, formatShortage(creditsMin, spent < most ? most - spent : 0n))
  }
}

/**
 * Creates the 402 of a limit. `price` is absent if the charge failed: the message must then hide the price, which would
 * reveal what a wallet holds.
 */
export function insufficientCreditsError({ limits }: Caller, scope: LimitScope, price?: string): CodedError {
  const messagesByScope = {
    organization: () => `Cannot pay for this request: ${price ?? 'the balance does not suffice'}`,
    key: () => {
      const most = limits.find((limit) => limit.scope === 'key')?.most
      return `Cannot pay for this request: this key may spend ${most} credits a day (UTC), and too few of them are left`
    },
    session: () => `Cannot pay for this call from the budget of the session: ${price ?? 'it does not suffice'}`,
  }
  return new CodedError('INSUFFICIENT_CREDITS', messagesByScope[scope]())
}

function formatShortage(creditsMin: number, left: bigint): string {
  return `it costs at least ${creditsMin} credits, ${left} are left`
}
