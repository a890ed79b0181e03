import {
  type CallToolResult,
  createMcpHandler,
  isLegacyRequest,
  ProtocolError,
  ProtocolErrorCode,
  Server,
  specTypeSchemas,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server'
import { SHOWN_VALUE_LENGTH_MAX } from '../http/limits.ts'
import { getArguments, getEnvelope, type RawMessage } from './message.ts'
import { INSTRUCTIONS, SERVER_INFO, type Tool } from './tools.ts'

interface ServedTools {
  readonly tools: ReadonlyMap<string, Tool>
  readonly call: (tool: Tool, args: Readonly<Record<string, unknown>>) => Promise<CallToolResult>
  /** Called before a call of an unknown tool is refused. */
  readonly onUnknownTool: () => Promise<void>
}

/** SDK schemas of the supported requests, checked here first: the SDK would answer with its validator's text. */
const SCHEMAS = new Map<unknown, (typeof specTypeSchemas)[keyof typeof specTypeSchemas]>([
  ['initialize', specTypeSchemas.InitializeRequest],
  ['ping', specTypeSchemas.PingRequest],
  ['tools/list', specTypeSchemas.ListToolsRequest],
  ['tools/call', specTypeSchemas.CallToolRequest],
])
/** Method that replaces that of a request with wrong parameters. */
const MISREAD = 'misread'
/** Subscriptions would hold the connection, and nothing here ever changes: the method is as one that does not exist. */
const LISTEN = 'subscriptions/listen'

/** Error message for an unknown tool. */
export const UNKNOWN_TOOL = 'Cannot find this tool: tools/list names all of them'

/**
 * Answers the messages of one request with the SDK, which checks the headers, negotiates the version and returns JSON:
 * of the versions with a handshake, and of 2026-07-28 and later, whose every message names its version. Each request
 * has its own server and transport, so no state is shared between requests.
 */
export async function answerMessages(
  request: Request,
  messages: readonly RawMessage[],
  handlers: ServedTools,
): Promise<{ readonly status: number; readonly body: string | null }> {
  if (messages.length === 0) return { status: 202, body: null }
  const faults = new Map<unknown, string>()
  const checkedMessages = messages.map((message) => {
    const fault = findFault(message)
    if (fault === undefined && message.method !== LISTEN) return message
    if (fault !== undefined) faults.set(message.id, fault)
    const envelope = getEnvelope(message)
    return { ...message, method: MISREAD, params: envelope === undefined ? {} : { _meta: envelope } }
  })
  const argumentsById = new Map(messages.map((message) => [message.id, getArguments(message)]))
  const extras = { faults, argumentsById }
  const parsedBody = checkedMessages.length === 1 ? checkedMessages[0] : checkedMessages
  const sdkRequest = toSdkRequest(request, { isReplaced: checkedMessages[0]?.method === MISREAD, from: messages[0] })
  const isLegacy = await isLegacyRequest(sdkRequest, parsedBody)
  const response = isLegacy
    ? await answerHandshaken(sdkRequest, parsedBody, createServer(handlers, { ...extras, isLegacy }))
    : await createMcpHandler(() => createServer(handlers, { ...extras, isLegacy }), { legacy: 'reject' }).fetch(
        sdkRequest,
        { parsedBody },
      )
  return { status: response.status, body: (await response.text()) || null }
}

/** Answers messages of a version with a handshake. The SDK's own way for these would stream the answer. */
async function answerHandshaken(request: Request, parsedBody: unknown, server: Server): Promise<Response> {
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true })
  await server.connect(transport)
  try {
    return await transport.handleRequest(request, { parsedBody })
  } finally {
    await server.close()
  }
}

/**
 * Every answer is JSON, so a client that accepts JSON need not accept streams of events too, which the SDK asks for. A
 * replaced method is replaced in the header that repeats it.
 */
function toSdkRequest(
  { url, method, headers: sentHeaders }: Request,
  { isReplaced, from }: { readonly isReplaced: boolean; readonly from: RawMessage | undefined },
): Request {
  const headers = new Headers(sentHeaders)
  if (JSON_ACCEPTED.test(headers.get('accept') || '*/*')) headers.set('accept', 'application/json, text/event-stream')
  if (isReplaced && headers.get(METHOD_HEADER) === from?.method) headers.set(METHOD_HEADER, MISREAD)
  return new Request(url, { method, headers })
}

const METHOD_HEADER = 'mcp-method'
const JSON_ACCEPTED =
  /(?:^|[\s,])(?:application\/json|application\/\*|\*\/\*)\s*(?:,|;\s*(?!q=0(?:\.0*)?\s*(?:,|$))|$)/i

/** Data of the messages that the SDK does not pass on, by message id. */
interface MessageExtras {
  readonly faults: ReadonlyMap<unknown, string>
  /**
   * Unmodified arguments: the SDK drops some names, such as `__proto__`, which must be refused like other unknown
   * names.
   */
  readonly argumentsById: ReadonlyMap<unknown, Readonly<Record<string, unknown>>>
  readonly isLegacy: boolean
}

function createServer(
  { tools, call, onUnknownTool }: ServedTools,
  { faults, argumentsById, isLegacy }: MessageExtras,
): Server {
  const server = new Server(SERVER_INFO, {
    capabilities: { tools: {} },
    instructions: INSTRUCTIONS,
    jsonSchemaValidator: NO_VALIDATOR,
    cacheHints: { 'tools/list': UNCHANGING, 'server/discover': UNCHANGING },
  })
  server.setRequestHandler('tools/list', () => ({ tools: [...tools.values()].map(({ listing }) => listing) }))
  server.setRequestHandler('tools/call', async ({ params }, { mcpReq }) => {
    const tool = tools.get(params.name)
    if (tool !== undefined) return call(tool, argumentsById.get(mcpReq.id) ?? {})
    await onUnknownTool()
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, UNKNOWN_TOOL)
  })
  // Since 2026-07-28 an unknown method is 404, which the SDK answers only where nothing else handles it.
  if (!isLegacy && faults.size === 0) return server
  server.fallbackRequestHandler = async ({ id }) => {
    const fault = faults.get(id)
    if (fault !== undefined) throw new ProtocolError(ProtocolErrorCode.InvalidParams, fault)
    throw new ProtocolError(
      ProtocolErrorCode.MethodNotFound,
      'Cannot find this method: expected tools/list or tools/call',
    )
  }
  return server
}

/** How long clients since 2026-07-28 may keep the list of tools, which only an update or the configuration changes. */
const UNCHANGING = { ttlMs: 300_000, cacheScope: 'private' } as const

/** Finds a mistake in the parameters of a supported request; undefined if there is none. */
function findFault(message: RawMessage): string | undefined {
  const { id, method } = message
  const schema = id === undefined ? undefined : SCHEMAS.get(method)
  const [issue] = schema?.['~standard'].validate(message).issues ?? []
  if (issue === undefined) return undefined
  // The first path segment is `params`, which may itself be missing.
  const names = (issue.path ?? []).map((each) => String(typeof each === 'object' ? each.key : each))
  const field = names.slice(1).join('.') || 'params'
  return `Cannot read the parameters of "${method}": "${field.slice(0, SHOWN_VALUE_LENGTH_MAX)}" is missing or wrong`
}

/**
 * The server sends no requests to the client, so it has no answers to validate. The SDK's own validator starts slowly.
 */
const NO_VALIDATOR = {
  getValidator(): never {
    throw new Error('Cannot validate: the server asks nothing of its clients')
  },
}
