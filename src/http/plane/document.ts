import { createComponents } from '../openapi/components.ts'
import { IDEMPOTENCY_KEY_PARAMETER } from '../openapi/headers.ts'
import { documentText, toParametersAndBody, toPathItems, withRequestId } from '../openapi/operation.ts'
import { DESCRIPTIONS_BY_STATUS, ERROR_SCHEMA } from '../openapi/responses.ts'
import { createJsonSchema } from '../route/json_schema.ts'
import type { FreeRoute } from '../route/route.ts'
import { toBracedTemplate } from '../route/route_table.ts'
import { PAGE_HEADER } from './credential.ts'

const VERSION = '1.0.0'
/** Failures of every route, and those of routes with a body. */
const COMMON_STATUSES = [400, 401, 404, 405, 431, 500, 503] as const
const BODY_STATUSES = [408, 413, 415] as const

const DESCRIPTIONS: Readonly<Record<number, string>> = {
  ...DESCRIPTIONS_BY_STATUS,
  400: 'A parameter or the body is missing or wrong.',
  401: 'The token or the session is missing, wrong or has ended.',
  403: 'The organization is suspended, or a page of another origin tried to change something.',
  404: 'Not found.',
  409: 'The first request with this `Idempotency-Key` was carried out, or is still under way; its answer is not kept.',
  422: 'Another request used this `Idempotency-Key` in the last 24 hours.',
  500: 'The service failed.',
  503: 'The service or its database cannot answer now. Try again after the given wait.',
}

/** Answers of changes are not kept, as some hold secrets: a repetition is told that the first was carried out. */
const CHANGE_KEY_PARAMETER = {
  ...IDEMPOTENCY_KEY_PARAMETER,
  description:
    'Visible ASCII of yours that is new for each change, such as a UUID. For 24 hours a change with the same key is made once: 409 says that it was, or is being made.',
}

const TOKEN = { type: 'http', scheme: 'bearer', description: 'ADMIN_TOKEN of the configuration.' }

/** Writes the OpenAPI 3.1 document of a plane, from the schemas that check its requests. */
export function planeDocument(options: {
  readonly title: string
  readonly description: string
  readonly routes: readonly FreeRoute[]
  readonly cookie: string
  /** True if the plane accepts the operator's token too. */
  readonly takesToken: boolean
}): string {
  const { title, description, cookie, takesToken } = options
  const session = {
    type: 'apiKey',
    in: 'cookie',
    name: cookie,
    description: 'Session cookie, opened by `walletscope login`.',
  }
  const page = {
    type: 'apiKey',
    in: 'header',
    name: PAGE_HEADER,
    description: 'Session secret stored in the browser tab.',
  }
  const components = createComponents()
  const paths = components.extract(toPathItems(options.routes, toOperation))
  const sections = {
    servers: [{ url: '/' }],
    security: [...(takesToken ? [{ token: [] }] : []), { session: [], page: [] }],
    paths,
    components: {
      securitySchemes: { ...(takesToken ? { token: TOKEN } : {}), session, page },
      schemas: { Error: ERROR_SCHEMA, ...components.list() },
      responses: Object.fromEntries(
        Object.keys(DESCRIPTIONS).map((status) => [`Error${status}`, toFailureResponse(status)]),
      ),
    },
  }
  return documentText({ info: { title, version: VERSION, description }, sections })
}

function toOperation(route: FreeRoute): unknown {
  const path = toBracedTemplate(route.path)
  // A change by a session may be refused because of the page's origin.
  const isChange = route.method !== 'GET'
  const changing = isChange ? [403, 409, 422] : []
  const statuses = [
    ...new Set([...COMMON_STATUSES, ...changing, ...(route.errors ?? []), ...(route.body ? BODY_STATUSES : [])]),
  ].sort((a, b) => a - b)
  const inputs = toParametersAndBody(route)
  return {
    operationId: [route.method.toLowerCase(), ...path.split('/').slice(3)].join('_').replace(/[^a-z0-9]+/gi, '_'),
    summary: route.summary,
    tags: [path.split('/')[3] ?? 'other'],
    ...inputs,
    parameters: isChange ? [...inputs.parameters, CHANGE_KEY_PARAMETER] : inputs.parameters,
    responses: {
      [String(route.status ?? 200)]: {
        description: 'Done.',
        content: { 'application/json': { schema: withRequestId(createJsonSchema(route.output)) } },
      },
      ...Object.fromEntries(statuses.map((status) => [status, { $ref: `#/components/responses/Error${status}` }])),
    },
  }
}

/** The runtime answers 431 by itself, without a body. */
function toFailureResponse(status: string): unknown {
  const description = DESCRIPTIONS[Number(status)]
  if (status === '431') return { description }
  return { description, content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } } }
}
