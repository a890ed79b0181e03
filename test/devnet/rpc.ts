const BATCH_MAX = 500

export interface RpcCall {
  readonly method: string
  readonly params: readonly unknown[]
}

/** A failed JSON-RPC call, with the revert data if the node gave any. */
class RpcError extends Error {
  override readonly name = 'RpcError'
  readonly data: unknown

  constructor(method: string, { message, data }: { message: string; data?: unknown }) {
    super(`Cannot ${method}: ${message}`)
    this.data = data
  }
}

/** JSON-RPC to the devnet's own node: plain, trusting, and quick because it asks for many things at once. */
export interface Rpc {
  readonly url: string
  call<T>(method: string, ...params: readonly unknown[]): Promise<T>
  /** Answers in the order of the calls; throws the first failure. */
  batch<T>(calls: readonly RpcCall[]): Promise<T[]>
}

interface RpcAnswer {
  readonly id: number
  readonly result?: unknown
  readonly error?: { readonly message: string; readonly data?: unknown }
}

export function createRpc(url: string): Rpc {
  const post = async (body: unknown): Promise<unknown> => {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    return response.json()
  }
  const batch = async <T>(calls: readonly RpcCall[]): Promise<T[]> => {
    const results: T[] = []
    for (let from = 0; from < calls.length; from += BATCH_MAX) {
      const part = calls.slice(from, from + BATCH_MAX)
      const answers = (await post(part.map((call, id) => ({ jsonrpc: '2.0', id, ...call })))) as RpcAnswer[]
      answers.sort((a, b) => a.id - b.id)
      results.push(...answers.map((answer) => requireResult<T>(answer, part[answer.id]?.method ?? 'batch')))
    }
    return results
  }
  return {
    url,
    batch,
    async call<T>(method: string, ...params: readonly unknown[]): Promise<T> {
      return requireResult<T>((await post({ jsonrpc: '2.0', id: 0, method, params })) as RpcAnswer, method)
    },
  }
}

function requireResult<T>(answer: RpcAnswer, method: string): T {
  if (answer.error !== undefined) throw new RpcError(method, answer.error)
  return answer.result as T
}
