import { HttpError } from '../http/error.ts'
import type { Invocation } from '../http/exchange/exchange.ts'
import { createLru } from '../lib/lru.ts'

/** Limits of the messages of a request by a session's budget. */
export interface Session {
  /**
   * Session and its check, or the budget of a single call, added to each invocation. Empty if the request neither names
   * a session nor sets a budget.
   */
  readonly bound: Pick<Invocation, 'session' | 'checkSession' | 'creditsMax'>
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

/** Budget at the end of a session's id. An id with another budget than the one that was issued names no session. */
const ISSUED = /\.([0-9]{1,15})$/
/** Most sessions whose budget was lowered after their start. */
const LOWERED_MAX = 10_000

/**
 * Creates the budgets of sessions. Only sessions with a budget exist: `initialize` starts one. Every later request that
 * names it keeps to the least budget that was ever named, whether it repeats the header or not: the first one is part of
 * the id, so that all processes know it; a lower one later binds its request, and the session in this process. Since
 * version 2026-07-28 the protocol has no sessions: a budget binds the one call of its request.
 */
export function createSessionBudgets() {
  const lowered = createLru<bigint>({ entriesMax: LOWERED_MAX })

  /** Creates the limits of a request that names a session or a budget. */
  function bindRequest(sessionId: string | undefined, budget: bigint | undefined): Session {
    let wasRefused = false
    const refuse = (error: HttpError) => {
      wasRefused = true
      return error
    }
    const id = sessionId !== undefined && SESSION_ID.test(sessionId) ? sessionId : undefined
    const issued = ISSUED.exec(id ?? '')?.[1]
    const getKept = () => getLeast([issued === undefined ? undefined : BigInt(issued), lowered.get(id ?? '')])
    const creditsMax = getLeast([budget, getKept()])
    return {
      bound: {
        ...(id !== undefined && { session: { id, creditsMax, isNew: false } }),
        checkSession({ limits }) {
          if (sessionId === undefined) throw refuse(missingSessionError())
          if (limits.every(({ scope }) => scope !== 'session')) throw refuse(unknownSessionError())
          // Now the session is known to be the caller's own.
          const kept = getKept()
          if (budget !== undefined && (kept === undefined || budget < kept)) lowered.set(sessionId, budget)
        },
      },
      isRefused: () => wasRefused,
    }
  }

  return {
    /**
     * Resolves the session of a request. `newId` is given if the request contains `initialize`, `isSessionless` if its
     * version of the protocol has no sessions. Throws `HttpError` INVALID_PARAMETER for a malformed budget.
     */
    resolve(
      request: Request,
      { newId, isSessionless }: { readonly newId: (() => string) | undefined; readonly isSessionless: boolean },
    ): Session {
      const { budget, sessionId } = readSessionHeaders(request)
      // A session that is named all the same binds, too: no budget is ever ignored.
      if (isSessionless && sessionId === undefined)
        return budget === undefined ? NO_SESSION : { ...NO_SESSION, bound: { creditsMax: budget } }
      if (newId === undefined)
        return budget === undefined && sessionId === undefined ? NO_SESSION : bindRequest(sessionId, budget)
      // An `initialize` that names a session starts another one; the named session is ignored.
      if (budget === undefined) return NO_SESSION
      const newSessionId = `${newId()}.${budget}`
      return { ...NO_SESSION, newSessionId, bound: { session: { id: newSessionId, creditsMax: budget, isNew: true } } }
    },
  }
}

function getLeast(budgets: readonly (bigint | undefined)[]): bigint | undefined {
  return budgets.reduce((least, each) => (least === undefined || (each !== undefined && each < least) ? each : least))
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
