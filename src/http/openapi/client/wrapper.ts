/** The part of the client that is the same for every document. It stands below its types, in one file. */
export const WRAPPER_TEXT = String.raw`
/** Where the service is, and the key of the organization that pays. */
interface ClientOptions {
  readonly baseUrl: string
  readonly key: string
  /** In place of the global one. */
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>
}

type Method = 'get' | 'post'
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
/** What an operation takes. */
export type Init<M extends Method, P extends PathsWith<M>> = Parameters<Operation<P, M>> &
  Body<Operation<P, M>> & { readonly signal?: AbortSignal }

/** What came back. Headers tell the price, what is left, the block, and how long to wait. */
export type Result<M extends Method, P extends PathsWith<M>> =
  | { readonly data: Success<M, P>; readonly error?: undefined; readonly response: Response }
  | { readonly data?: undefined; readonly error: Failure<M, P>; readonly response: Response }

type Call<M extends Method> = <P extends PathsWith<M>>(
  path: P,
  ...init: {} extends Init<M, P> ? [init?: Init<M, P>] : [init: Init<M, P>]
) => Promise<Result<M, P>>

/** Calls the service. Rejects only if there is no answer at all: a failure of the service is a result. */
export interface Client {
  readonly GET: Call<'get'>
  readonly POST: Call<'post'>
}

interface AnyInit {
  readonly params?: { readonly path?: object; readonly query?: object }
  readonly body?: unknown
  readonly signal?: AbortSignal
}

/** Makes a client of one service and one key. */
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
    const response = await (options.fetch ?? fetch)(options.baseUrl.replace(/\/+$/, '') + path + search, request)
    const text = await response.text()
    if (response.ok) return { data: JSON.parse(text), response }
    return { error: failureOf(text, response), response }
  }
  return {
    GET: (path, ...init) => call('GET', path, init[0]) as never,
    POST: (path, ...init) => call('POST', path, init[0]) as never,
  }
}

/** The service's own error, or one in its form if something between here and there has answered. */
function failureOf(text: string, response: Response): unknown {
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
