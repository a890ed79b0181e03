import type { SessionSpending } from '../account/gate/session_spending.ts'
import { HttpError } from '../http/error.ts'
import type { Purse } from '../http/plane/purse.ts'

/** What one session may spend, as its caller says with each request. */
interface Budget {
  readonly credits: number
  /** Absent before the session has begun. */
  readonly sessionId: string | undefined
}

const BUDGET_HEADER = 'x-budget-credits'
/** The protocol's own header, which clients send back as they got it. */
export const SESSION_HEADER = 'mcp-session-id'
const SESSION_ID = /^[A-Za-z0-9._~-]{8,128}$/
const CREDITS = /^[0-9]{1,15}$/

/** The budget of a request; undefined if it sets none. Throws `HttpError` INVALID_PARAMETER for a header that is wrong. */
export function budgetOf({ headers }: Request): Budget | undefined {
  const text = headers.get(BUDGET_HEADER)
  if (text === null) return undefined
  if (!CREDITS.test(text)) throw wrong('X-Budget-Credits', 'expected a whole number of credits')
  const sessionId = headers.get(SESSION_HEADER) ?? undefined
  if (sessionId !== undefined && !SESSION_ID.test(sessionId)) {
    throw wrong('Mcp-Session-Id', 'expected 8 to 128 of A-Z a-z 0-9 . _ ~ and -')
  }
  return { credits: Number(text), sessionId }
}

/** The purse of one call within a budget. Its session must have begun. */
export function purseOf({ credits: budget, sessionId }: Budget, spending: SessionSpending): Purse {
  let taken: { readonly organizationId: string; readonly credits: number } | undefined
  return {
    async check(organizationId, creditsMin) {
      if (sessionId === undefined) {
        throw new HttpError(
          'INVALID_REQUEST',
          'Cannot keep the budget: expected the header Mcp-Session-Id as the answer to "initialize" gave it',
        )
      }
      const left = budget - (await spending.spent({ organizationId, sessionId }))
      if (creditsMin > left) throw spent(`it costs at least ${creditsMin} credits, ${Math.max(0, left)} are left`)
    },
    async take(organizationId, credits) {
      if (credits === 0 || sessionId === undefined) return
      if (!(await spending.take({ organizationId, sessionId }, { credits, budget }))) throw spent('it does not suffice')
      taken = { organizationId, credits }
    },
    async close(creditsCharged) {
      if (taken === undefined || sessionId === undefined || taken.credits <= creditsCharged) return
      const { organizationId, credits } = taken
      // The database is away, as it was for the charge: the bound holds, the session can only spend less.
      await spending.putBack({ organizationId, sessionId }, credits - creditsCharged).catch(() => undefined)
    },
  }
}

function spent(detail: string): HttpError {
  return new HttpError('INSUFFICIENT_CREDITS', `Cannot pay for this call from the budget of the session: ${detail}`)
}

function wrong(header: string, detail: string): HttpError {
  return new HttpError('INVALID_PARAMETER', `Cannot read header "${header}": ${detail}`)
}
