/** A request to a node. */
interface Question {
  readonly id: number
  readonly method: string
  readonly params: readonly unknown[]
}

type Error = { readonly code: number; readonly message: string }

const HEADERS = { 'content-type': 'application/json' }

/** The same node without the state of all but the newest block, like a full node for old blocks. */
export function withoutPast(url: string) {
  return endpoint(url, async ({ method, params: [, at] }) => {
    if (method !== 'eth_call') return undefined
    const newest = (await ask(url, { id: 0, method: 'eth_getBlockByNumber', params: ['latest', false] })) as {
      readonly result: { readonly number: string; readonly hash: string }
    }
    const { number, hash } = newest.result
    if (at === 'latest' || at === number || JSON.stringify(at).includes(hash)) return undefined
    return { code: -32_000, message: 'missing trie node 00 (path ) state 0x00 is not available' }
  })
}

/** The same node with a limit on the blocks of one request for logs. */
export function withShortRanges(url: string, blocks: number) {
  let longest = 0
  const served = endpoint(url, async ({ method, params: [filter] }) => {
    const { fromBlock, toBlock } = (filter ?? {}) as { readonly fromBlock?: string; readonly toBlock?: string }
    if (method !== 'eth_getLogs' || fromBlock === undefined || toBlock === undefined) return undefined
    const length = Number(toBlock) - Number(fromBlock) + 1
    if (length > blocks) return { code: -32_602, message: `query exceeds max block range ${blocks}` }
    longest = Math.max(longest, length)
    return undefined
  })
  return { ...served, longest: () => longest }
}

/** The node behind a gate that refuses some requests. */
function endpoint(url: string, refuse: (question: Question) => Promise<Error | undefined>) {
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const question = (await request.json()) as Question
      const error = await refuse(question)
      if (error !== undefined) return Response.json({ jsonrpc: '2.0', id: question.id, error })
      return Response.json(await ask(url, question))
    },
  })
  return { server, rpcUrl: `http://127.0.0.1:${server.port}` }
}

async function ask(url: string, question: Question): Promise<object> {
  const body = JSON.stringify({ jsonrpc: '2.0', ...question })
  return (await (await fetch(url, { method: 'POST', headers: HEADERS, body })).json()) as object
}
