import type { SessionSpending } from '../account/gate/session_spending.ts'
import { HttpError } from '../http/error.ts'
import type { Purse } from '../http/exchange/purse.ts'

/** What a request says of its session. */
interface Asked {
  /** What the whole session may spend; undefined for no limit. */
  readonly budget: number | undefined
  /** The session that it belongs to; undefined if it names none. */
  readonly sessionId: string | undefined
}

/** The purse of each message of a request, and what it made of the session. */
export interface Session {
  /** Absent if the request neither names a session nor sets a budget. */
  readonly purse?: () => Purse
  /** Id of the session that the request begins; it exists once a message was admitted. */
  readonly begun?: string
  /** True once a message was refused because of the session, as all of the request are. */
  readonly isRefused: () => boolean
}

const BUDGET_HEADER = 'x-budget-credits'
/** The protocol's own header, which clients send back as they got it. */
export const SESSION_HEADER = 'mcp-session-id'
const SESSION_ID = /^[A-Za-z0-9._~-]{8,128}$/
const CREDITS = /^[0-9]{1,15}$/

/**
 * The session of a request. Only those with a budget have one: they begin with `initialize`, and every other request of
 * theirs names them. `newId` is given if the request begins one. Throws `HttpError` INVALID_PARAMETER for a budget that
 * is none.
 */
export function sessionOf(
  request: Request,
  { spending, newId }: { readonly spending: SessionSpending; readonly newId: (() => string) | undefined },
): Session {
  const asked = askedOf(request)
  const { budget } = asked
  // A session that `initialize` names has ended: whoever still has it begins another.
  if (newId !== undefined) {
    if (budget === undefined) return NO_SESSION
    const begun = newId()
    return { ...NO_SESSION, begun, purse: () => beginning(begun, spending) }
  }
  if (budget === undefined && asked.sessionId === undefined) return NO_SESSION
  let refused = false
  const refuse = (error: HttpError) => {
    refused = true
    return error
  }
  return { purse: () => purseOf(asked, { spending, refuse }), isRefused: () => refused }
}

const NO_SESSION: Session = { isRefused: () => false }

function askedOf({ headers }: Request): Asked {
  const text = headers.get(BUDGET_HEADER)
  if (text !== null && !CREDITS.test(text)) {
    throw new HttpError(
      'INVALID_PARAMETER',
      'Cannot read header "X-Budget-Credits": expected a whole number of credits',
    )
  }
  return { budget: text === null ? undefined : Number(text), sessionId: headers.get(SESSION_HEADER) ?? undefined }
}

/** Of the message that begins a session: it is paid for by nobody, because it costs nothing. */
function beginning(sessionId: string, spending: SessionSpending): Purse {
  return {
    check: (organizationId) => spending.open({ organizationId, sessionId }),
    take: async () => {},
    close: async () => {},
  }
}

function purseOf(
  { budget = Number.POSITIVE_INFINITY, sessionId }: Asked,
  { spending, refuse }: { readonly spending: SessionSpending; readonly refuse: (error: HttpError) => HttpError },
): Purse {
  let taken: { readonly organizationId: string; readonly credits: number } | undefined
  return {
    async check(organizationId, creditsMin) {
      if (sessionId === undefined) throw refuse(unnamed())
      const spent = SESSION_ID.test(sessionId) ? await spending.spent({ organizationId, sessionId }) : undefined
      if (spent === undefined) throw refuse(unknown())
      const left = budget - spent
      if (creditsMin > left) throw tooLittle(`it costs at least ${creditsMin} credits, ${Math.max(0, left)} are left`)
    },
    async take(organizationId, credits) {
      if (credits === 0 || sessionId === undefined || !Number.isFinite(budget)) return
      if (!(await spending.take({ organizationId, sessionId }, { credits, budget }))) {
        throw tooLittle('it does not suffice')
      }
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

/** As the protocol wants it of servers that need a session. */
function unnamed(): HttpError {
  return new HttpError(
    'INVALID_REQUEST',
    'Cannot keep the budget: expected the header Mcp-Session-Id as the answer to "initialize" gave it',
  )
}

/** 404, on which clients begin another session. */
function unknown(): HttpError {
  return new HttpError(
    'NOT_FOUND',
    'Cannot find the session that Mcp-Session-Id names: begin one with "initialize", with a budget, or leave the header out',
  )
}

function tooLittle(detail: string): HttpError {
  return new HttpError('INSUFFICIENT_CREDITS', `Cannot pay for this call from the budget of the session: ${detail}`)
}
