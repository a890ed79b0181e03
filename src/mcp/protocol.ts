import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js'
import {
  CallToolRequestSchema,
  type CallToolResult,
  ErrorCode,
  ListToolsRequestSchema,
  McpError,
} from '@modelcontextprotocol/sdk/types.js'
import type { RawMessage } from './messages.ts'
import { INSTRUCTIONS, SERVER_INFO, type Tool } from './tools.ts'

/** What the protocol asks for. */
interface Served {
  readonly tools: ReadonlyMap<string, Tool>
  readonly call: (tool: Tool, given: Readonly<Record<string, unknown>>) => Promise<CallToolResult>
  /** Called before a tool that does not exist is refused. */
  readonly unknown: () => Promise<void>
}

/** What a caller of a tool that does not exist is told. */
export const UNKNOWN_TOOL = 'Cannot find this tool: tools/list names all of them'

/**
 * Answers the messages of one request with the SDK, which checks the head, negotiates the version and gives JSON: a
 * server and a transport of their own for each request, so that nothing is kept between requests.
 */
export async function answerMessages(
  request: Request,
  messages: readonly RawMessage[],
  served: Served,
): Promise<{ readonly status: number; readonly body: string | null }> {
  if (messages.length === 0) return { status: 202, body: null }
  const server = serverOf(served)
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true })
  await server.connect(transport)
  try {
    const parsedBody = messages.length === 1 ? messages[0] : messages
    const response = await transport.handleRequest(request, { parsedBody })
    return { status: response.status, body: (await response.text()) || null }
  } finally {
    await server.close()
  }
}

function serverOf({ tools, call, unknown }: Served): Server {
  const server = new Server(SERVER_INFO, {
    capabilities: { tools: {} },
    instructions: INSTRUCTIONS,
    jsonSchemaValidator: NO_VALIDATOR,
  })
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: [...tools.values()].map(({ listing }) => listing) }))
  server.setRequestHandler(CallToolRequestSchema, async ({ params }) => {
    const tool = tools.get(params.name)
    if (tool !== undefined) return call(tool, params.arguments ?? {})
    await unknown()
    throw new McpError(ErrorCode.InvalidParams, UNKNOWN_TOOL)
  })
  return server
}

/** Nothing is asked of the client, so none of its answers is checked. The SDK's own validator takes long to make. */
const NO_VALIDATOR = {
  getValidator(): never {
    throw new Error('Cannot validate: the server asks nothing of its clients')
  },
}
