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
import type { RawMessage } from './messages.ts'
import { INSTRUCTIONS, SERVER_INFO, type Tool } from './tools.ts'

interface ServedTools {
  readonly tools: ReadonlyMap<string, Tool>
  readonly call: (tool: Tool, given: Readonly<Record<string, unknown>>) => Promise<CallToolResult>
  /** Called before a tool that does not exist is refused. */
  readonly unknown: () => Promise<void>
}

/** An error of JSON-RPC. The SDK's own class puts words before the message. */
class RpcError extends Error {
  override readonly name = 'RpcError'
  readonly code: ErrorCode

  constructor(code: ErrorCode, message: string) {
    super(message)
    this.code = code
  }
}

/** Requests that are answered, with the schemas by which the SDK checks them: it would answer with its validator's text. */
const SCHEMAS = new Map(
  [InitializeRequestSchema, PingRequestSchema, ListToolsRequestSchema, CallToolRequestSchema].map((schema) => [
    schema.shape.method.value as string,
    schema,
  ]),
)
/** Method in place of that of a request whose parameters are wrong. */
const MISREAD = 'misread'

/** What a caller of a tool that does not exist is told. */
export const UNKNOWN_TOOL = 'Cannot find this tool: tools/list names all of them'

/**
 * Answers the messages of one request with the SDK, which checks the head, negotiates the version and gives JSON: a
 * server and a transport of their own for each request, so that nothing is kept between requests.
 */
export async function answerMessages(
  request: Request,
  messages: readonly RawMessage[],
  served: ServedTools,
): Promise<{ readonly status: number; readonly body: string | null }> {
  if (messages.length === 0) return { status: 202, body: null }
  const faults = new Map<unknown, string>()
  const read = messages.map((message) => {
    const fault = faultOf(message)
    if (fault === undefined) return message
    faults.set(message.id, fault)
    return { ...message, method: MISREAD, params: {} }
  })
  const given = new Map(messages.map((message) => [message.id, argumentsOf(message)]))
  const server = serverOf(served, { faults, given })
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true })
  await server.connect(transport)
  try {
    const parsedBody = read.length === 1 ? read[0] : read
    const response = await transport.handleRequest(request, { parsedBody })
    return { status: response.status, body: (await response.text()) || null }
  } finally {
    await server.close()
  }
}

/** What the messages of a request hold besides what the SDK reads of them, by id. */
interface MessageExtras {
  readonly faults: ReadonlyMap<unknown, string>
  /** Arguments as they came: the SDK drops some names, such as `__proto__`, which must be refused like others. */
  readonly given: ReadonlyMap<unknown, Readonly<Record<string, unknown>>>
}

function serverOf({ tools, call, unknown }: ServedTools, { faults, given }: MessageExtras): Server {
  const server = new Server(SERVER_INFO, {
    capabilities: { tools: {} },
    instructions: INSTRUCTIONS,
    jsonSchemaValidator: NO_VALIDATOR,
  })
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: [...tools.values()].map(({ listing }) => listing) }))
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, { requestId }) => {
    const tool = tools.get(params.name)
    if (tool !== undefined) return call(tool, given.get(requestId) ?? {})
    await unknown()
    throw new RpcError(ErrorCode.InvalidParams, UNKNOWN_TOOL)
  })
  server.fallbackRequestHandler = async ({ id }) => {
    const fault = faults.get(id)
    if (fault !== undefined) throw new RpcError(ErrorCode.InvalidParams, fault)
    throw new RpcError(ErrorCode.MethodNotFound, 'Cannot find this method: expected tools/list or tools/call')
  }
  return server
}

/** What is wrong with the parameters of a request that is answered; undefined if nothing is. */
function faultOf(message: RawMessage): string | undefined {
  const { id, method } = message
  const schema = typeof method === 'string' && id !== undefined ? SCHEMAS.get(method) : undefined
  const checked = schema?.safeParse(message)
  if (checked === undefined || checked.success) return undefined
  const [issue] = checked.error.issues
  // Its first step is `params`, which may be absent altogether.
  const field = issue?.path.slice(1).join('.') || 'params'
  return `Cannot read the parameters of "${method}": "${field.slice(0, SHOWN_VALUE_LENGTH_MAX)}" is missing or wrong`
}

function argumentsOf({ params }: RawMessage): Readonly<Record<string, unknown>> {
  const given = isObject(params) && 'arguments' in params ? params.arguments : undefined
  return isObject(given) ? { ...given } : {}
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

/** Nothing is asked of the client, so none of its answers is checked. The SDK's own validator takes long to make. */
const NO_VALIDATOR = {
  getValidator(): never {
    throw new Error('Cannot validate: the server asks nothing of its clients')
  },
}
