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
  401: 'Nobody is recognised: the token or the session is missing, wrong or has ended.',
  403: 'The organization is suspended, or a page of another origin tried to change something.',
  404: 'Nothing is there.',
  500: 'The service failed.',
  503: 'The service or its database cannot answer now. Try again after the given wait.',
}

const TOKEN = { type: 'http', scheme: 'bearer', description: 'ADMIN_TOKEN of the configuration.' }

/** The OpenAPI 3.1 document of a plane, as text, made from the schemas that check its requests. */
export function planeDocument(options: {
  readonly title: string
  readonly description: string
  readonly routes: readonly FreeRoute[]
  readonly cookie: string
  /** True if the operator's token opens it too. */
  readonly takesToken: boolean
}): string {
  const { title, description, cookie, takesToken } = options
  const session = { type: 'apiKey', in: 'cookie', name: cookie, description: 'What `walletscope login` opens.' }
  const page = {
    type: 'apiKey',
    in: 'header',
    name: PAGE_HEADER,
    description: 'What the tab keeps that was signed in.',
  }
  const rest = {
    servers: [{ url: '/' }],
    security: [...(takesToken ? [{ token: [] }] : []), { session: [], page: [] }],
    paths: toPathItems(options.routes, operation),
    components: {
      securitySchemes: { ...(takesToken ? { token: TOKEN } : {}), session, page },
      schemas: { Error: ERROR_SCHEMA },
      responses: Object.fromEntries(Object.keys(DESCRIPTIONS).map((status) => [`Error${status}`, failed(status)])),
    },
  }
  return documentText({ info: { title, version: VERSION, description }, rest })
}

function operation(route: FreeRoute): unknown {
  const path = toBracedTemplate(route.path)
  // A session that changes something may be refused for the page that it comes from.
  const changing = route.method === 'GET' ? [] : [403]
  const statuses = [
    ...new Set([...COMMON_STATUSES, ...changing, ...(route.errors ?? []), ...(route.body ? BODY_STATUSES : [])]),
  ].sort((a, b) => a - b)
  return {
    operationId: [route.method.toLowerCase(), ...path.split('/').slice(3)].join('_').replace(/[^a-z0-9]+/gi, '_'),
    summary: route.summary,
    tags: [path.split('/')[3] ?? 'other'],
    ...toParametersAndBody(route),
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
function failed(status: string): unknown {
  const description = DESCRIPTIONS[Number(status)]
  if (status === '431') return { description }
  return { description, content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } } }
}
