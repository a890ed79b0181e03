import { HttpError } from '../http/error.ts'
import type { Invocation } from '../http/exchange/exchange.ts'

/** What bounds the messages of a request, and what it made of the session. */
export interface Session {
  /** Empty if the request neither names a session nor sets a budget. */
  readonly bound: Pick<Invocation, 'session' | 'checkSession'>
  /** Id of the session that the request begins; it is known once the message that begins it was answered. */
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
export function resolveSession(request: Request, newId: (() => string) | undefined): Session {
  const { budget, sessionId } = askedOf(request)
  // A session that `initialize` names has ended: whoever still has it begins another.
  if (newId !== undefined) {
    if (budget === undefined) return NO_SESSION
    const begun = newId()
    return { ...NO_SESSION, begun, bound: { session: { id: begun, most: budget, begins: true } } }
  }
  if (budget === undefined && sessionId === undefined) return NO_SESSION
  let refused = false
  const refuse = (error: HttpError) => {
    refused = true
    return error
  }
  const isId = sessionId !== undefined && SESSION_ID.test(sessionId)
  return {
    bound: {
      ...(isId && { session: { id: sessionId, most: budget, begins: false } }),
      checkSession({ limits }) {
        if (sessionId === undefined) throw refuse(unnamed())
        if (limits.every(({ scope }) => scope !== 'session')) throw refuse(unknown())
      },
    },
    isRefused: () => refused,
  }
}

const NO_SESSION: Session = { bound: {}, isRefused: () => false }

function askedOf({ headers }: Request) {
  const text = headers.get(BUDGET_HEADER)
  if (text !== null && !CREDITS.test(text)) {
    throw new HttpError(
      'INVALID_PARAMETER',
      'Cannot read header "X-Budget-Credits": expected a whole number of credits',
    )
  }
  return { budget: text === null ? undefined : BigInt(text), sessionId: headers.get(SESSION_HEADER) ?? undefined }
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
