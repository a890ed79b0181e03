import * as v from 'valibot'
import { HttpError } from '../http/error.ts'
import { limitConcurrencyByOwner } from '../http/exchange/concurrency.ts'
import type { Invocation, SettledAnswer } from '../http/exchange/exchange.ts'
import type { KeyHolder } from '../http/exchange/gate.ts'
import { emptyInput, GATEWAY_PATH, type Gateway, type Invoke } from '../http/exchange/gateway.ts'
import { readAnyJson } from '../http/request/body.ts'
import type { AccountState } from '../http/respond.ts'
import { defineRoute, type Route } from '../http/route/route.ts'
import { toRouteEndpoint } from '../http/route/route_table.ts'
import type { Clock } from '../lib/clock.ts'
import { createSessionBudgets, SESSION_HEADER } from './budget.ts'
import { isInitialize, isToolCall, parseMessages, type RawMessage } from './messages.ts'
import { getErrorCode, toToolResult } from './result.ts'
import { createTools } from './tools.ts'

/** Most concurrently read bodies of a key. */
const KEY_UNREAD_MAX = 64

/**
 * Creates the gateway for the Model Context Protocol over streamable HTTP: one tool for each route with a tool name.
 * Each tool call is its own request to the gate; all other messages of a body are one free request together. Sessions
 * exist only with a budget, which limits what their requests are charged. Pages of other origins than `origins` are
 * refused: the protocol requires it against DNS rebinding.
 */
export function createMcp(options: {
  readonly routes: readonly Route[]
  readonly origins: readonly string[]
  /** Creates an unguessable session id. */
  readonly sessionId: () => string
  readonly clock: Clock
}): Gateway {
  const { clock } = options
  const tools = createTools(options.routes)
  const origins = new Set(options.origins)
  const sessions = createSessionBudgets()
  const limitByKey = limitConcurrencyByOwner(KEY_UNREAD_MAX)

  async function readMessages(request: Request, { hash }: KeyHolder): Promise<readonly RawMessage[]> {
    const origin = request.headers.get('origin')
    if (origin !== null && !origins.has(origin)) {
      throw new HttpError(
        'INVALID_REQUEST',
        'Cannot answer pages of this origin: CORS_ORIGINS lists those that may call',
        { status: 403 },
      )
    }
    return limitByKey(hash, async () => parseMessages((await readAnyJson(request, clock)).value()))
  }

  async function answerWithKey(request: Request, holder: KeyHolder, invoke: Invoke): Promise<SettledAnswer> {
    const messages = await readMessages(request, holder)
    const newId = messages.some(isInitialize) ? options.sessionId : undefined
    const session = sessions.resolve(request, newId)
    const settled: SettledAnswer[] = []
    let refusal: SettledAnswer | undefined
    const runOne = async (invocation: Invocation): Promise<SettledAnswer> => {
      // The session starts with the protocol message; tool calls in the same body are outside the budget.
      const bound = session.newSessionId === undefined || invocation === PROTOCOL ? session.bound : {}
      const settledAnswer = await invoke({ ...invocation, ...bound })
      settled.push(settledAnswer)
      if (session.isRefused() || isRequestFailure(getErrorCode(settledAnswer), invocation)) refusal = settledAnswer
      return settledAnswer
    }
    // Loaded by the first request: it takes 20 ms and 18 MB, which a service without MCP requests saves.
    const { answerMessages, UNKNOWN_TOOL } = await import('./protocol.ts')
    const { status, body } = await answerMessages(request, messages, {
      tools,
      call: async (tool, args) => toToolResult(await runOne(tool.invocation(args))),
      onUnknownTool: async () => void (await runOne(toFailingInvocation(new HttpError('NOT_FOUND', UNKNOWN_TOOL)))),
    })
    const hasCalls = settled.length > 0
    // All other messages, and requests that the SDK refuses, are admitted and logged as one.
    if (!hasCalls || !messages.every(isToolCall)) {
      const isAccepted = status < 400
      const protocolAnswer = await runOne(
        isAccepted ? PROTOCOL : toFailingInvocation(new HttpError('INVALID_REQUEST', UNREADABLE, { status })),
      )
      // Charged answers are sent even if the rate window is full by now.
      if (!hasCalls && protocolAnswer.answer.status !== (isAccepted ? 200 : status)) return protocolAnswer
    }
    const account = mergeAccounts(settled)
    if (refusal !== undefined) return { ...refusal, ...(account && { account }) }
    const headers =
      session.newSessionId !== undefined && status === 200 ? { [SESSION_HEADER]: session.newSessionId } : {}
    return { answer: { status, body, credits: 0, headers }, ...(account && { account }) }
  }

  return {
    endpoint: ENDPOINT,
    answer: (request, holder, invoke) =>
      answerWithKey(request, holder, invoke).catch((error: unknown) => invoke(toFailingInvocation(error))),
  }
}

const UNREADABLE = 'Cannot read the request as the protocol wants it'

/** Endpoint of all messages that call no tool. */
const ENDPOINT = toRouteEndpoint(
  defineRoute({
    method: 'POST',
    path: GATEWAY_PATH,
    summary: 'Messages of the Model Context Protocol.',
    input: v.object({}),
    output: v.object({ data: v.null() }),
    asOf: false,
    feature: 'mcp',
    charge: { credits: 0 },
    read: async () => null,
    present: () => ({ data: null }),
  }),
)

const PROTOCOL: Invocation = { endpoint: ENDPOINT, getRequest: emptyInput, path: GATEWAY_PATH, query: '' }

function toFailingInvocation(error: unknown): Invocation {
  return {
    ...PROTOCOL,
    getRequest() {
      throw error
    },
  }
}

/** Merges the account states of all messages: the sum of the charges and the lowest balance. */
function mergeAccounts(settled: readonly SettledAnswer[]): AccountState | undefined {
  const accounts = settled.flatMap(({ account }) => (account === undefined ? [] : [account]))
  const last = accounts.at(-1)
  if (last === undefined) return undefined
  return {
    rateLimit: last.rateLimit,
    creditsCharged: accounts.reduce((sum, { creditsCharged }) => sum + creditsCharged, 0),
    // Concurrent messages may be answered in another order than they were charged.
    creditsRemaining: accounts.map((each) => each.creditsRemaining).toSorted((a, b) => (a < b ? -1 : 1))[0] ?? 0n,
  }
}

/**
 * True for failures that affect every message and that clients expect as an HTTP status: a wrong key, and `MCP=off`.
 */
function isRequestFailure(code: string | undefined, { endpoint }: Invocation): boolean {
  if (code === 'INVALID_API_KEY') return true
  return code === 'FEATURE_DISABLED' && (endpoint.route.feature ?? 'mcp') === 'mcp'
}
