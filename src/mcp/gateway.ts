import type { CallToolResult } from '@modelcontextprotocol/server'
import * as v from 'valibot'
import { HttpError } from '../http/error.ts'
import { limitConcurrencyByOwner } from '../http/exchange/concurrency.ts'
import type { Invocation, SettledAnswer } from '../http/exchange/exchange.ts'
import type { Admission, KeyHolder, RefusalCode } from '../http/exchange/gate.ts'
import { emptyInput, GATEWAY_PATH, type Gateway, type Invoker } from '../http/exchange/gateway.ts'
import { readAnyJson } from '../http/request/body.ts'
import type { AccountState } from '../http/respond.ts'
import { defineRoute, type Route } from '../http/route/route.ts'
import { toRouteEndpoint } from '../http/route/route_table.ts'
import type { Clock } from '../lib/clock.ts'
import { once } from '../lib/memoize.ts'
import { createSessionBudgets, SESSION_HEADER } from './budget.ts'
import {
  getArguments,
  getEnvelope,
  getToolName,
  isInitialize,
  isToolCall,
  parseMessages,
  type RawMessage,
} from './message.ts'
import { createTools, type Tool } from './tools.ts'

/** Most concurrently read bodies of a key. */
const KEY_UNREAD_MAX = 64

/**
 * Creates the gateway for the Model Context Protocol over streamable HTTP: one tool for each route with a tool name.
 * Each tool call is its own request to the gate; all other messages of a body are one free request together. The first is
 * admitted before anything else is done: a body whose sender is refused costs no more than one request. Sessions exist
 * only with a budget, which limits what their requests are charged; where the protocol has none, what a call is. Pages of other origins than `origins` are refused:
 * the protocol requires it against DNS rebinding.
 */
export function createMcp(options: {
  readonly routes: readonly Route[]
  readonly origins: readonly string[]
  /** Creates an unguessable session id. */
  readonly sessionId: () => string
  readonly clock: Clock
}): Gateway {
  const { clock } = options
  // The first request makes them, because their schemas take a twentieth of a second.
  const getTools = once(() => createTools(options.routes))
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

  async function answerWithKey(
    request: Request,
    holder: KeyHolder,
    { admit, invoke }: Invoker,
  ): Promise<SettledAnswer> {
    const messages = await readMessages(request, holder)
    // A cancellation is dropped: what is left calls nothing.
    const isSessionless = messages.length <= 1 && messages.every((message) => getEnvelope(message) !== undefined)
    // A body of several messages starts no session: its calls would be outside the budget.
    const isStart = messages.length === 1 && messages.every(isInitialize)
    const newId = !isSessionless && isStart ? options.sessionId : undefined
    const session = sessions.resolve(request, { newId, isSessionless })
    const bindSession = (invocation: Invocation): Invocation => ({ ...invocation, ...session.bound })
    const first = bindSession(findFirst(messages, getTools()))
    let admission: Promise<Admission> | undefined = admit(first)
    if (await refusesAll(admission)) return refuseAll(messages, await invoke({ ...first, admission }))

    const settled: SettledAnswer[] = []
    let refusal: SettledAnswer | undefined
    const runOne = async (invocation: Invocation): Promise<SettledAnswer> => {
      const bound = bindSession(invocation)
      // A refusal of the protocol itself takes the admission of the call that it refuses.
      const isAdmitted = admission !== undefined && [first.endpoint, ENDPOINT].includes(invocation.endpoint)
      const admitted = isAdmitted ? { ...bound, ...(admission && { admission }) } : bound
      if (isAdmitted) admission = undefined
      const settledAnswer = await invoke(admitted)
      settled.push(settledAnswer)
      if (session.isRefused() || isRequestFailure(getErrorCode(settledAnswer), invocation)) refusal = settledAnswer
      return settledAnswer
    }
    // Loaded by the first request: it takes 20 ms and 18 MB, which a service without MCP requests saves.
    const { answerMessages, UNKNOWN_TOOL } = await import('./protocol.ts')
    const { status, body } = await answerMessages(request, messages, {
      tools: getTools(),
      call: async (tool, args) => toToolResult(await runOne(toInvocation(tool, args))),
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
    answer: (request, holder, invoker) =>
      answerWithKey(request, holder, invoker).catch((error: unknown) => invoker.invoke(toFailingInvocation(error))),
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

/** Refusals of all that an organization sends, whatever it is. */
const REFUSES_ALL: ReadonlySet<RefusalCode> = new Set([
  'RATE_LIMIT_EXCEEDED',
  'ACCOUNT_SUSPENDED',
  'ORGANIZATION_NOT_FOUND',
])

/** Returns the invocation that is admitted before the messages are read any further: the first call of a known tool. */
function findFirst(messages: readonly RawMessage[], tools: ReadonlyMap<string, Tool>): Invocation {
  for (const message of messages) {
    const tool = isToolCall(message) ? tools.get(getToolName(message) ?? '') : undefined
    if (tool !== undefined) return toInvocation(tool, getArguments(message))
  }
  return PROTOCOL
}

/** True if an admission refuses every message of its body. False if it failed, which its own invocation answers. */
async function refusesAll(admission: Promise<Admission>): Promise<boolean> {
  const result = await admission.catch(() => undefined)
  return result?.kind === 'unknown_key' || (result?.kind === 'refused' && REFUSES_ALL.has(result.code))
}

/** Answers all messages with one refusal: calls of tools as results, as models expect them, others by its status. */
function refuseAll(messages: readonly RawMessage[], refusal: SettledAnswer): SettledAnswer {
  if (getErrorCode(refusal) === 'INVALID_API_KEY' || messages.length === 0 || !messages.every(isToolCall))
    return refusal
  const result = toToolResult(refusal)
  const replies = messages.map(({ id }) => ({ jsonrpc: '2.0', id, result }))
  const body = JSON.stringify(replies.length === 1 ? replies[0] : replies)
  return { ...refusal, answer: { status: 200, body, credits: 0, headers: {} } }
}

/** Returns the invocation of a call; one of the protocol itself that fails if the arguments lead to no route. */
function toInvocation(tool: Tool, args: Readonly<Record<string, unknown>>): Invocation {
  try {
    return tool.invocation(args)
  } catch (error) {
    return toFailingInvocation(error)
  }
}

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

/**
 * Converts the answer of an endpoint to a tool result: the body, as text too, then a sentence with blocks and price,
 * because many clients show only text to their model; or the error as text, with the time to wait before a retry.
 * `_meta` repeats the data of the HTTP headers.
 */
function toToolResult(settled: SettledAnswer): CallToolResult {
  const { status, headers } = settled.answer
  // The answer to a caller that left has no body.
  const body = settled.answer.body || CALLER_LEFT
  const _meta = toMeta(settled)
  if (status === 200) {
    return {
      content: [
        { type: 'text', text: body },
        { type: 'text', text: formatCircumstances(settled) },
      ],
      structuredContent: JSON.parse(body),
      _meta,
    }
  }
  const { code, message, request_id: requestId } = JSON.parse(body).error
  const wait = headers['retry-after']
  const advice = wait === undefined ? '' : ` Try again in ${wait} s.`
  return {
    content: [
      {
        type: 'text',
        text: `${code}: ${message}${message.endsWith('?') ? '' : '.'}${advice} (request_id ${requestId})`,
      },
    ],
    isError: true,
    _meta: { ..._meta, 'walletscope/status': status, 'walletscope/code': code },
  }
}

/** Returns the code of an error; undefined for a success. */
function getErrorCode({ answer }: SettledAnswer): string | undefined {
  return answer.status < 400 || !answer.body ? undefined : JSON.parse(answer.body).error.code
}

function formatCircumstances({ answer, account }: SettledAnswer): string {
  const asOf = answer.headers['x-as-of']
  const read = asOf === undefined ? '' : `As of ${asOf.replaceAll(',', ', ')} (chain id:block). `
  const unwitnessed = answer.headers['x-unwitnessed']
  const doubt =
    unwitnessed === undefined ? '' : `Rests on the word of one endpoint: chain ${unwitnessed.replaceAll(',', ', ')}. `
  if (account === undefined) return `${read}${doubt}`.trim()
  return `${read}${doubt}Charged ${account.creditsCharged} credits, ${account.creditsRemaining} are left.`
}

const CALLER_LEFT = '{"error":{"code":"SERVICE_UNAVAILABLE","message":"The caller left","request_id":""}}'

function toMeta({ answer, account }: SettledAnswer): Record<string, unknown> {
  const { 'x-as-of': asOf, 'x-unwitnessed': unwitnessed } = answer.headers
  return {
    ...(asOf && { 'walletscope/as_of': asOf }),
    ...(unwitnessed && { 'walletscope/unwitnessed': unwitnessed }),
    ...(account && {
      'walletscope/credits_charged': account.creditsCharged,
      'walletscope/credits_remaining': String(account.creditsRemaining),
    }),
  }
}
