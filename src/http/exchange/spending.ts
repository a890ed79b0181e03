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
 * Throws 402 if a call costs more than its own budget. As for the limits below, only the least price is told: the price
 * of an answer would reveal what a wallet holds.
 */
export function checkPrice(
  { creditsMax }: { readonly creditsMax?: bigint },
  price: { readonly creditsMin: number } | { readonly credits: number },
): void {
  if (creditsMax === undefined) return
  if ('credits' in price) {
    if (BigInt(price.credits) > creditsMax) throw budgetError('it does not suffice')
  } else if (BigInt(price.creditsMin) > creditsMax) {
    throw budgetError(`it costs at least ${price.creditsMin} credits, ${creditsMax} are allowed`)
  }
}

function budgetError(reason: string): CodedError {
  return new CodedError('INSUFFICIENT_CREDITS', `Cannot pay for this call from its budget: ${reason}`)
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
