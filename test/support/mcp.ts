import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js'

/** The SDK's own client, connected; it checks each result against the schema that the tool has announced. */
export async function connectMcp(options: {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly fetch?: (url: string | URL, init?: RequestInit) => Promise<Response>
}): Promise<Client> {
  const client = new Client({ name: 'test', version: '1.0.0' })
  const transport = new StreamableHTTPClientTransport(new URL(options.url), {
    requestInit: { headers: options.headers },
    ...(options.fetch === undefined ? {} : { fetch: options.fetch }),
  })
  await client.connect(transport as Parameters<Client['connect']>[0])
  return client
}

/** Calls a tool; its text, and its data if it succeeded. */
export async function callTool(client: Client, name: string, given: Record<string, unknown> = {}) {
  const result = (await client.callTool({ name, arguments: given })) as CallToolResult
  const [content] = result.content
  if (content?.type !== 'text') throw new Error('Expected text')
  return {
    text: content.text,
    isError: result.isError === true,
    // biome-ignore lint/suspicious/noExplicitAny: tests look into results of every shape.
    data: result.structuredContent as any,
    meta: result._meta ?? {},
  }
}
