import type { Clock } from '../lib/clock.ts'
import type { Log } from '../lib/log.ts'
import { answerTo, answerToStranger, type Exchange, explained, type Recognised, tooPoor } from './answer.ts'
import type { Deadlines } from './deadline.ts'
import type { Admission, Gate, Settled } from './gate.ts'
import { bearerKey } from './key.ts'
import { LOGGED_PATH_LENGTH_MAX } from './limits.ts'
import type { OrganizationSlots } from './organization_slots.ts'
import { type AccountState, failure, type Outcome } from './respond.ts'
import { templateOf } from './route_table.ts'

/** What metering needs. */
export interface MeterServices {
  readonly gate: Gate
  readonly clock: Clock
  readonly log: Log
  readonly deadlines: Deadlines
  readonly slots: OrganizationSlots
}

/** A finished answer, and what its organization is told of itself; strangers are told nothing. */
export interface Ending {
  readonly outcome: Outcome
  readonly account?: AccountState | undefined
}

/** Admit, answer, settle: after this the answer is paid for and logged, and only has to be sent. Never throws. */
export async function meter(exchange: Exchange, services: MeterServices): Promise<Ending> {
  const { request, found } = exchange
  const key = bearerKey(request.headers.get('authorization'))
  if (key === undefined) return { outcome: answerToStranger(exchange) }
  let admission: Admission
  try {
    admission = await services.gate.admit({ key, endpoint: found.kind === 'endpoint' ? found.endpoint.name : null })
  } catch (error) {
    return { outcome: explained(error, exchange, services.log) }
  }
  if (admission.kind === 'unknown_key') return { outcome: answerToStranger(exchange) }
  const outcome = await answerTo(admission, exchange, services)
  return settle(outcome, admission, { exchange, services })
}

/** Charges and logs; what cannot be paid, or cannot be settled, does not leave. */
async function settle(
  outcome: Outcome,
  admission: Recognised,
  { exchange, services }: { readonly exchange: Exchange; readonly services: MeterServices },
): Promise<Ending> {
  const { caller, rateLimit, requestedAtMs } = admission
  const template = templateOf(exchange.found)
  let settled: Settled
  try {
    settled = await services.gate.settle({
      settlementId: exchange.settlementId,
      requestId: exchange.requestId,
      caller,
      admitted: admission.kind === 'admitted',
      requestedAtMs,
      method: exchange.method,
      path: template ?? exchange.path.slice(0, LOGGED_PATH_LENGTH_MAX),
      routed: template !== undefined,
      status: outcome.status,
      credits: outcome.credits,
      latencyMs: Math.max(0, Math.round(services.clock.monotonicMs() - exchange.startedMs)),
    })
  } catch (error) {
    const account = { rateLimit, creditsCharged: 0, creditsRemaining: caller.credits }
    return { outcome: explained(error, exchange, services.log), account }
  }
  const account = { rateLimit, creditsCharged: settled.creditsCharged, creditsRemaining: settled.creditsRemaining }
  if (settled.paid) return { outcome, account }
  // Not what it costs: that would tell how much a wallet holds to somebody who does not pay for it.
  return { outcome: failure(tooPoor('the balance does not suffice'), exchange.requestId), account }
}
