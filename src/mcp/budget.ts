import { HttpError } from '../http/error.ts'
import type { Invocation } from '../http/exchange/exchange.ts'

/** Limits of the messages of a request by a session's budget. */
export interface Session {
  /**
   * Session and its check, added to each invocation. Empty if the request neither names a session nor sets a budget.
   */
  readonly bound: Pick<Invocation, 'session' | 'checkSession'>
  /** Id of the session that the request starts; the session exists once its `initialize` message was answered. */
  readonly newSessionId?: string
  /** True once a message was refused because of the session; the whole request is then refused. */
  readonly isRefused: () => boolean
}

const BUDGET_HEADER = 'x-budget-credits'
/** The protocol's session header, which clients return unchanged. */
export const SESSION_HEADER = 'mcp-session-id'
const SESSION_ID = /^[A-Za-z0-9._~-]{8,128}$/
const CREDITS = /^[0-9]{1,15}$/

/**
 * Resolves the session of a request. Only sessions with a budget exist: `initialize` starts one, and every later
 * request names it. `newId` is given if the request contains `initialize`. Throws `HttpError` INVALID_PARAMETER for a
 * malformed budget.
 */
export function resolveSession(request: Request, newId: (() => string) | undefined): Session {
  const { budget, sessionId } = readSessionHeaders(request)
  // An `initialize` that names a session starts another one; the named session is ignored.
  if (newId !== undefined) {
    if (budget === undefined) return NO_SESSION
    const newSessionId = newId()
    return { ...NO_SESSION, newSessionId, bound: { session: { id: newSessionId, creditsMax: budget, isNew: true } } }
  }
  if (budget === undefined && sessionId === undefined) return NO_SESSION
  let wasRefused = false
  const refuse = (error: HttpError) => {
    wasRefused = true
    return error
  }
  const isId = sessionId !== undefined && SESSION_ID.test(sessionId)
  return {
    bound: {
      ...(isId && { session: { id: sessionId, creditsMax: budget, isNew: false } }),
      checkSession({ limits }) {
        if (sessionId === undefined) throw refuse(missingSessionError())
        if (limits.every(({ scope }) => scope !== 'session')) throw refuse(unknownSessionError())
      },
    },
    isRefused: () => wasRefused,
  }
}

const NO_SESSION: Session = { bound: {}, isRefused: () => false }

function readSessionHeaders({ headers }: Request) {
  const text = headers.get(BUDGET_HEADER)
  if (text !== null && !CREDITS.test(text)) {
    throw new HttpError(
      'INVALID_PARAMETER',
      'Cannot read header "X-Budget-Credits": expected a whole number of credits',
    )
  }
  return { budget: text === null ? undefined : BigInt(text), sessionId: headers.get(SESSION_HEADER) ?? undefined }
}

/** 400, as the protocol prescribes for a missing session id. */
function missingSessionError(): HttpError {
  return new HttpError(
    'INVALID_REQUEST',
    'Cannot keep the budget: expected the header Mcp-Session-Id as the answer to "initialize" gave it',
  )
}

/** 404, after which clients start a new session. */
function unknownSessionError(): HttpError {
  return new HttpError(
    'NOT_FOUND',
    'Cannot find the session that Mcp-Session-Id names: begin one with "initialize", with a budget, or leave the header out',
  )
}
