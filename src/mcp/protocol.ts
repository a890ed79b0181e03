import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js'
import {
  CallToolRequestSchema,
  type CallToolResult,
  ErrorCode,
  InitializeRequestSchema,
  ListToolsRequestSchema,
  PingRequestSchema,
} from '@modelcontextprotocol/sdk/types.js'
import { SHOWN_VALUE_LENGTH_MAX } from '../http/limits.ts'
import { getArguments, type RawMessage } from './messages.ts'
import { INSTRUCTIONS, SERVER_INFO, type Tool } from './tools.ts'

interface ServedTools {
  readonly tools: ReadonlyMap<string, Tool>
  readonly call: (tool: Tool, args: Readonly<Record<string, unknown>>) => Promise<CallToolResult>
  /** Called before a call of an unknown tool is refused. */
  readonly onUnknownTool: () => Promise<void>
}

/** A JSON-RPC error. The SDK's own class adds a prefix to the message. */
class RpcError extends Error {
  override readonly name = 'RpcError'
  readonly code: ErrorCode

  constructor(code: ErrorCode, message: string) {
    super(message)
    this.code = code
  }
}

/** SDK schemas of the supported requests, checked here first: the SDK would answer with its validator's text. */
const SCHEMAS = new Map(
  [InitializeRequestSchema, PingRequestSchema, ListToolsRequestSchema, CallToolRequestSchema].map((schema) => [
    schema.shape.method.value as string,
    schema,
  ]),
)
/** Method that replaces that of a request with wrong parameters. */
const MISREAD = 'misread'

/** Error message for an unknown tool. */
export const UNKNOWN_TOOL = 'Cannot find this tool: tools/list names all of them'

/**
 * Answers the messages of one request with the SDK, which checks the headers, negotiates the version and returns JSON.
 * Each request has its own server and transport, so no state is shared between requests.
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
    if (fault === undefined) return message
    faults.set(message.id, fault)
    return { ...message, method: MISREAD, params: {} }
  })
  const argumentsById = new Map(messages.map((message) => [message.id, getArguments(message)]))
  const server = createServer(handlers, { faults, argumentsById })
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true })
  await server.connect(transport)
  try {
    const parsedBody = checkedMessages.length === 1 ? checkedMessages[0] : checkedMessages
    const response = await transport.handleRequest(toSdkRequest(request), { parsedBody })
    return { status: response.status, body: (await response.text()) || null }
  } finally {
    await server.close()
  }
}

/** Every answer is JSON, so a client that accepts JSON need not accept streams of events too, which the SDK asks for. */
function toSdkRequest({ url, method, headers: sentHeaders }: Request): Request {
  const headers = new Headers(sentHeaders)
  if (JSON_ACCEPTED.test(headers.get('accept') || '*/*')) headers.set('accept', 'application/json, text/event-stream')
  return new Request(url, { method, headers })
}

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
}

function createServer({ tools, call, onUnknownTool }: ServedTools, { faults, argumentsById }: MessageExtras): Server {
  const server = new Server(SERVER_INFO, {
    capabilities: { tools: {} },
    instructions: INSTRUCTIONS,
    jsonSchemaValidator: NO_VALIDATOR,
  })
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: [...tools.values()].map(({ listing }) => listing) }))
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, { requestId }) => {
    const tool = tools.get(params.name)
    if (tool !== undefined) return call(tool, argumentsById.get(requestId) ?? {})
    await onUnknownTool()
    throw new RpcError(ErrorCode.InvalidParams, UNKNOWN_TOOL)
  })
  server.fallbackRequestHandler = async ({ id }) => {
    const fault = faults.get(id)
    if (fault !== undefined) throw new RpcError(ErrorCode.InvalidParams, fault)
    throw new RpcError(ErrorCode.MethodNotFound, 'Cannot find this method: expected tools/list or tools/call')
  }
  return server
}

/** Finds a mistake in the parameters of a supported request; undefined if there is none. */
function findFault(message: RawMessage): string | undefined {
  const { id, method } = message
  const schema = typeof method === 'string' && id !== undefined ? SCHEMAS.get(method) : undefined
  const result = schema?.safeParse(message)
  if (result === undefined || result.success) return undefined
  const [issue] = result.error.issues
  // The first path segment is `params`, which may itself be missing.
  const field = issue?.path.slice(1).join('.') || 'params'
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
