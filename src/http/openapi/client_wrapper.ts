/** The part of the client that is the same for every document. It follows the types, in one file. */
export const WRAPPER_TEXT = String.raw`
/** Address of the service, and the key of the organization that pays. */
interface ClientOptions {
  readonly baseUrl: string
  readonly key: string
  /**
   * Most retries of a call: after 429 and 503 as Retry-After says, after 502 and 504 after a short wait. 3 if absent.
   */
  readonly retries?: number
  /** Longest Retry-After that is obeyed, seconds; with a longer one the failure is the result. 60 if absent. */
  readonly retryAfterMax?: number
  /** Replaces the global fetch. */
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>
}

type Method = 'get' | 'post' | 'patch' | 'delete'
type PathsWith<M extends Method> = { [P in keyof paths]: M extends keyof paths[P] ? P : never }[keyof paths]
type Operation<P extends keyof paths, M> = M extends keyof paths[P] ? paths[P][M] : never
type Json<R> = R extends { content: { 'application/json': infer Body } } ? Body : never
type Responses<Op> = Op extends { responses: infer R } ? R : never

/** Body of a success of an operation: Success<'get', '/v1/usage/logs'>. */
export type Success<M extends Method, P extends PathsWith<M>> = Json<Responses<Operation<P, M>>[200 & keyof Responses<Operation<P, M>>]>
/** Body of its failures. */
export type Failure<M extends Method, P extends PathsWith<M>> = {
  [S in Exclude<keyof Responses<Operation<P, M>>, 200>]: Json<Responses<Operation<P, M>>[S]>
}[Exclude<keyof Responses<Operation<P, M>>, 200>]

type Field<Name extends string, Value> = [Value] extends [never]
  ? unknown
  : {} extends Value
    ? { readonly [N in Name]?: Value }
    : { readonly [N in Name]: Value }
type Parameters<Op> = Op extends { parameters: infer P } ? Field<'params', P> : unknown
type Body<Op> = Op extends { requestBody: { content: { 'application/json': infer B } } } ? { readonly body: B } : unknown
/** Input of an operation. */
export type Init<M extends Method, P extends PathsWith<M>> = Parameters<Operation<P, M>> &
  Body<Operation<P, M>> & {
    readonly signal?: AbortSignal
    /**
     * New for each call, such as crypto.randomUUID(): then a call without an answer is retried too, and charged once.
     */
    readonly idempotencyKey?: string
  }

/** Result of a call. Headers have the price, the balance, the block and the wait before a retry. */
export type Result<M extends Method, P extends PathsWith<M>> =
  | { readonly data: Success<M, P>; readonly error?: undefined; readonly response: Response }
  | { readonly data?: undefined; readonly error: Failure<M, P>; readonly response: Response }

type Call<M extends Method> = <P extends PathsWith<M>>(
  path: P,
  ...init: {} extends Init<M, P> ? [init?: Init<M, P>] : [init: Init<M, P>]
) => Promise<Result<M, P>>

/** Paths of lists that have pages. */
export type ListPath = {
  [P in PathsWith<'get'>]: Success<'get', P> extends { data: readonly unknown[]; pagination: object } ? P : never
}[PathsWith<'get'>]
/** An entry of such a list. */
export type ListEntry<P extends ListPath> = Success<'get', P> extends { data: readonly (infer Entry)[] } ? Entry : never

/** Calls the service. Rejects only without an answer: a failure of the service is a result. */
export interface Client {
  readonly GET: Call<'get'>
  readonly POST: Call<'post'>
  readonly PATCH: Call<'patch'>
  readonly DELETE: Call<'delete'>
  /**
   * Yields every entry of a list once, page by page, from the requested page on: on EVM chains as of the blocks of the first
   * page read, whatever changes meanwhile. Of the log of requests, to which calls come late, some may come twice. Throws
   * ApiError if a page fails, and where the list is another all the same. With receipts, which each name their own blocks,
   * pages are as of those: name one with at_block.
   */
  each<P extends ListPath>(
    path: P,
    ...init: {} extends Init<'get', P> ? [init?: Init<'get', P>] : [init: Init<'get', P>]
  ): AsyncGenerator<ListEntry<P>, void, undefined>
}

/** A page of a list that could not be read. */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  readonly code: string
  readonly status: number
  readonly requestId: string

  constructor(failure: { error: { code: string; message: string; request_id: string } }, status: number) {
    super(failure.error.message)
    this.code = failure.error.code
    this.status = status
    this.requestId = failure.error.request_id
  }
}

interface AnyInit {
  readonly params?: { readonly path?: object; readonly query?: object }
  readonly body?: unknown
  readonly signal?: AbortSignal
  readonly idempotencyKey?: string
}

interface AnyList {
  readonly data?: { readonly data: readonly unknown[]; readonly pagination: { readonly next_page: string | null } }
  readonly error?: { error: { code: string; message: string; request_id: string } }
  readonly response: Response
}

const RETRIES = 3
const RETRY_AFTER_MAX = 60
/** First wait after an answer without Retry-After; each further wait is twice as long. */
const RETRY_MS = 500

/** Creates a client of one service and one key. */
export function createClient(options: ClientOptions): Client {
  const call = async (method: string, template: string, init: AnyInit = {}): Promise<unknown> => {
    const path = Object.entries(init.params?.path ?? {}).reduce(
      (text, [name, value]) => text.replace('{' + name + '}', () => encodeURIComponent(String(value))),
      template,
    )
    const query = new URLSearchParams()
    for (const [name, value] of Object.entries(init.params?.query ?? {})) {
      if (value !== undefined && value !== null) query.set(name, String(value))
    }
    const search = query.size === 0 ? '' : '?' + query.toString()
    const headers: Record<string, string> = { authorization: 'Bearer ' + options.key, accept: 'application/json' }
    if (init.body !== undefined) headers['content-type'] = 'application/json'
    const request: RequestInit = { method, headers }
    if (init.body !== undefined) request.body = JSON.stringify(init.body)
    if (init.signal !== undefined) request.signal = init.signal
    if (init.idempotencyKey !== undefined) headers['idempotency-key'] = init.idempotencyKey
    const url = options.baseUrl.replace(/\/+$/, '') + path + search
    for (let left = options.retries ?? RETRIES, waitMs = RETRY_MS; ; left -= 1, waitMs *= 2) {
      let seconds: number | undefined
      try {
        const response = await (options.fetch ?? fetch)(url, request)
        const text = await response.text()
        if (response.ok) return { data: JSON.parse(text), response }
        seconds = retryAfter(response, waitMs, init)
        if (left <= 0 || seconds === undefined || seconds > (options.retryAfterMax ?? RETRY_AFTER_MAX)) {
          return { error: toFailure(text, response), response }
        }
      } catch (error) {
        // Without an idempotency key a retry could be charged again.
        if (left <= 0 || init.idempotencyKey === undefined || init.signal?.aborted) throw error
      }
      await wait((seconds ?? waitMs / 1000) * 1000, init.signal)
    }
  }
  async function* each(template: string, init: AnyInit = {}): AsyncGenerator<unknown, void, undefined> {
    const { idempotencyKey: _, ...once } = init
    let query: Record<string, unknown> = { ...init.params?.query }
    for (;;) {
      const { data, error, response } = (await call('GET', template, { ...once, params: { ...init.params, query } })) as AnyList
      if (data === undefined) throw new ApiError(error as never, response.status)
      yield* data.data
      // The header leads through the list as the first page found it. Its host may be another than the client's.
      const next = nextAddress(response) ?? data.pagination.next_page
      if (next === null) return
      query = Object.fromEntries(new URL(next, options.baseUrl).searchParams)
    }
  }
  return {
    GET: (path, ...init) => call('GET', path, init[0]) as never,
    POST: (path, ...init) => call('POST', path, init[0]) as never,
    PATCH: (path, ...init) => call('PATCH', path, init[0]) as never,
    DELETE: (path, ...init) => call('DELETE', path, init[0]) as never,
    each: (path, ...init) => each(path, init[0]) as never,
  }
}

/** Address with which a list goes on; undefined at its end, and where pages alone lead on. */
function nextAddress(response: Response): string | undefined {
  return /<([^>]*)>; *rel="next"/.exec(response.headers.get('link') ?? '')?.[1]
}

/**
 * Seconds after which a call is retried; undefined for a failure that persists until the request or the account
 * changes.
 */
function retryAfter(response: Response, waitMs: number, { idempotencyKey }: AnyInit): number | undefined {
  const isPassing = [429, 502, 503, 504].includes(response.status) || (response.status === 409 && idempotencyKey !== undefined)
  if (!isPassing) return undefined
  const asked = Number(response.headers.get('retry-after') ?? Number.NaN)
  if (Number.isFinite(asked)) return asked
  // Random, so that clients that failed together do not retry together.
  const [chance = 0] = crypto.getRandomValues(new Uint8Array(1))
  return (waitMs / 1000) * (0.75 + chance / 512)
}

/** Waits, or rejects as soon as the signal fires. */
function wait(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason)
    const stop = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop)
      resolve()
    }, ms)
    signal?.addEventListener('abort', stop, { once: true })
  })
}

/** The service's own error, or one in its form if a proxy has answered. */
function toFailure(text: string, response: Response): unknown {
  try {
    const body = JSON.parse(text)
    if (typeof body === 'object' && body !== null && 'error' in body) return body
  } catch {
    // Not the service's JSON.
  }
  const message = 'The answer has status ' + response.status + ' and is not the service\'s own'
  return { error: { code: 'INTERNAL_ERROR', message, request_id: response.headers.get('x-request-id') ?? '' } }
}
`
