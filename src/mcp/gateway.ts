import * as v from 'valibot'
import { HttpError } from '../http/error.ts'
import { limitConcurrencyByOwner } from '../http/exchange/concurrency.ts'
import type { Invocation, SettledAnswer } from '../http/exchange/exchange.ts'
import type { KeyHolder } from '../http/exchange/gate.ts'
import { emptyInput, GATEWAY_PATH, type Gateway, type Invoke } from '../http/exchange/gateway.ts'
import { createRecognizedCredentials } from '../http/plane/session_lookups.ts'
import { readAnyJson } from '../http/request/body.ts'
import type { AccountState } from '../http/respond.ts'
import { defineRoute, type Route } from '../http/route/route.ts'
import { toRouteEndpoint } from '../http/route/route_table.ts'
import { resolveSession, SESSION_HEADER } from './budget.ts'
import { isInitialize, isToolCall, parseMessages, type RawMessage } from './messages.ts'
import { getErrorCode, toToolResult } from './result.ts'
import { createTools } from './tools.ts'

/**
 * Bodies that are read at the same time. A key is looked up with the messages in its body, so strangers, who may invent
 * keys and send no body, have places of their own, and each key that was recognised lately has too.
 */
const STRANGERS_UNREAD_MAX = 256
const KEY_UNREAD_MAX = 64
const KEYS_MAX = 10_000

/**
 * Tools for agents by the Model Context Protocol, streamable HTTP: one tool for each route that names one. Each call of
 * a tool is a request of its own to the gate; all other messages of a body are one request together, for nothing. Only a
 * budget makes a session: its requests are charged only what it has left. Pages of other origins than `origins` are
 * refused, as the protocol wants against DNS rebinding.
 */
export function createMcp(options: {
  readonly routes: readonly Route[]
  readonly origins: readonly string[]
  /** Makes the id of a session, which nobody can guess. */
  readonly sessionId: () => string
}): Gateway {
  const tools = createTools(options.routes)
  const origins = new Set(options.origins)
  const recognised = createRecognizedCredentials(KEYS_MAX)
  const asStranger = limitConcurrencyByOwner(STRANGERS_UNREAD_MAX)
  const byKey = limitConcurrencyByOwner(KEY_UNREAD_MAX)

  async function messagesIn(request: Request, { hash }: KeyHolder): Promise<readonly RawMessage[]> {
    const origin = request.headers.get('origin')
    if (origin !== null && !origins.has(origin)) {
      throw new HttpError(
        'INVALID_REQUEST',
        'Cannot answer pages of this origin: CORS_ORIGINS lists those that may call',
        { status: 403 },
      )
    }
    const read = async () => parseMessages((await readAnyJson(request)).value())
    return recognised.has(hash) ? byKey(hash, read) : asStranger('', read)
  }

  async function answerKnown(request: Request, holder: KeyHolder, invoke: Invoke): Promise<SettledAnswer> {
    const messages = await messagesIn(request, holder)
    const newId = messages.some(isInitialize) ? options.sessionId : undefined
    const session = resolveSession(request, newId)
    const settled: SettledAnswer[] = []
    let refusal: SettledAnswer | undefined
    const runOne = async (invocation: Invocation): Promise<SettledAnswer> => {
      // A session begins with the message of the protocol; calls in the same body are in no bound.
      const bound = session.begun === undefined || invocation === PROTOCOL ? session.bound : {}
      const one = await invoke({ ...invocation, ...bound })
      settled.push(one)
      if (session.isRefused() || concernsAll(getErrorCode(one), invocation)) refusal = one
      return one
    }
    // Loaded by the first request: it takes 20 ms and 18 MB, and many a service never needs it.
    const { answerMessages, UNKNOWN_TOOL } = await import('./protocol.ts')
    const { status, body } = await answerMessages(request, messages, {
      tools,
      call: async (tool, given) => toToolResult(await runOne(tool.invocation(given))),
      unknown: async () => void (await runOne(failing(new HttpError('NOT_FOUND', UNKNOWN_TOOL)))),
    })
    const called = settled.length > 0
    // All other messages, and what the protocol refuses by itself, are admitted and logged together.
    if (!called || !messages.every(isToolCall)) {
      const taken = status < 400
      const seen = await runOne(taken ? PROTOCOL : failing(new HttpError('INVALID_REQUEST', UNREADABLE, { status })))
      // What was charged must leave, even if the window is full by now.
      if (!called && seen.answer.status !== (taken ? 200 : status)) return seen
    }
    const account = accountOf(settled)
    if (refusal !== undefined) return { ...refusal, ...(account && { account }) }
    const headers = session.begun !== undefined && status === 200 ? { [SESSION_HEADER]: session.begun } : {}
    return { answer: { status, body, credits: 0, headers }, ...(account && { account }) }
  }

  return {
    endpoint: ENDPOINT,
    async answer(request, holder, invoke) {
      // Without a key the answer is 401, whatever the body holds.
      if (holder === undefined) return invoke(PROTOCOL)
      const answered = await answerKnown(request, holder, invoke).catch((error: unknown) => invoke(failing(error)))
      if (answered.account !== undefined) recognised.add(holder.hash)
      return answered
    },
  }
}

const UNREADABLE = 'Cannot read the request as the protocol wants it'

/** Stands for all messages that call no tool. */
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

const PROTOCOL: Invocation = { endpoint: ENDPOINT, asked: emptyInput, path: GATEWAY_PATH, query: '' }

function failing(error: unknown): Invocation {
  return {
    ...PROTOCOL,
    asked() {
      throw error
    },
  }
}

/** The state of the organization after all messages: the charges of all, and what was left after the last of them. */
function accountOf(settled: readonly SettledAnswer[]): AccountState | undefined {
  const accounts = settled.flatMap(({ account }) => (account === undefined ? [] : [account]))
  const last = accounts.at(-1)
  if (last === undefined) return undefined
  return {
    rateLimit: last.rateLimit,
    creditsCharged: accounts.reduce((sum, { creditsCharged }) => sum + creditsCharged, 0),
    // Messages that run at the same time may be answered in another order than they were charged.
    creditsRemaining: accounts.map((each) => each.creditsRemaining).toSorted((a, b) => (a < b ? -1 : 1))[0] ?? 0n,
  }
}

/** True for failures that every message would meet, of which clients know the status: a wrong key, and `MCP=off`. */
function concernsAll(code: string | undefined, { endpoint }: Invocation): boolean {
  if (code === 'INVALID_API_KEY') return true
  return code === 'FEATURE_DISABLED' && (endpoint.route.feature ?? 'mcp') === 'mcp'
}
