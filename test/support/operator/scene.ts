import { CLI_ACTOR } from '../../../src/account/audit.ts'
import { createGate } from '../../../src/account/gate/gate.ts'
import { createLoginLink } from '../../../src/account/session.ts'
import { readConfig } from '../../../src/config/config.ts'
import type { Database } from '../../../src/db/database.ts'
import type { History } from '../../../src/history/stream.ts'
import type { App } from '../../../src/http/server/app.ts'
import { createApp } from '../../../src/http/server/app.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { type Log, silentLog } from '../../../src/lib/log.ts'
import { createMetrics } from '../../../src/lib/metrics.ts'
import { createRequestIdGenerator } from '../../../src/lib/request_id.ts'
import { createMcp } from '../../../src/mcp/gateway.ts'
import type { ChainReport } from '../../../src/operator/report_routes.ts'
import { presentKeys } from '../../../src/receipt/keys.ts'
import { createSigning } from '../../../src/receipt/signing.ts'
import { createServicePages } from '../../../src/service/mod.ts'
import { createPlanes } from '../../../src/service/planes.ts'
import { createServiceRoutes, openapiText } from '../../../src/service/routes.ts'
import { startDeliveries } from '../../../src/trigger/mod.ts'
import { type Answer, type ClientRequest, createClient } from '../client.ts'
import { temporaryDirectory } from '../database.ts'
import { parseSignedIn, type SignedIn } from '../signed_in.ts'
import { slowClock } from '../test_clock.ts'

export const TOKEN = 'the-operators-own-token'
export const ORIGIN = 'http://test.local'

/** Only routes of families read it. */
const NO_HISTORY = {} as History

/** A whole process over a database, with the routes of the product; no chain is ever asked. */
export interface Process {
  readonly app: App
  readonly ask: (path: string, request?: ClientRequest) => Promise<Answer>
  /** The same over the operator's port. */
  readonly askOperator: (path: string, request?: ClientRequest) => Promise<Answer>
  /** Begins to stop, as the service does. */
  drain(): void
  close(): Promise<void>
}

export const DEAD_CHAIN: ChainReport = {
  chain_id: 1,
  name: 'Ethereum',
  ready: false,
  endpoints: [
    {
      state: 'open',
      latency_ms: null,
      head_block: null,
      head_age_sec: null,
      lag_blocks: null,
      behind: false,
      errors: 3,
      state_depth: null,
      busy_ms: 2,
    },
  ],
}

interface ProcessOptions {
  /** @default silent */
  readonly log?: Log
  /** With the pages, the keys and the tools for agents too. @default {false} */
  readonly isWhole?: boolean
}

/** Starts the planes, the gate and the app as the service composes them. */
export async function openProcess(
  db: Database,
  env: Readonly<Record<string, string>> = {},
  { log = silentLog, isWhole = false }: ProcessOptions = {},
): Promise<Process> {
  const config = readConfig({ CHAINS: '1', RPC_URL_1: 'http://127.0.0.1:9', ADMIN_TOKEN: TOKEN, ...env }, () => '')
  const clock = slowClock
  const shared = { db, clock, log }
  const none = { clients: new Map(), solana: undefined, history: NO_HISTORY }
  const metrics = createMetrics()
  const signing = createSigning({ db, clock: systemClock })
  const deliveries = startDeliveries(config, {
    ...shared,
    signing,
    metrics,
    jobs: { random: Math.random, clock: systemClock },
  })
  const routes = createServiceRoutes(
    config,
    () => ({ ...shared, ...none, holder: 'test' }),
    () => deliveries.services,
  )
  const gate = await createGate({
    ...shared,
    journalDir: temporaryDirectory(),
    featuresOff: config.featuresOff,
    jobs: { clock: systemClock },
  })
  const app = createApp({
    routes,
    aliases: new Map(),
    gate,
    hostNames: ['test.local'],
    corsOrigins: [],
    openapi: () => '{"paths":{}}',
    publicUrl: config.publicUrl,
    ...(isWhole && {
      openapi: () => openapiText(routes, config),
      uiPages: createServicePages(() => openapiText(routes, config), clock),
      keys: async () => JSON.stringify(presentKeys(await signing.published())),
      gateway: createMcp({ routes, origins: [], sessionId: () => crypto.randomUUID(), clock }),
    }),
    clock,
    log,
    hasAccessLog: config.accessLog,
    metrics,
    probes: { database: async () => true, chains: new Map() },
    operatorApart: config.operatorPort !== undefined,
    planes: createPlanes(config, { ...shared, routes, readChains: async () => [DEAD_CHAIN] }),
    requestId: createRequestIdGenerator({ clock: systemClock, fill: (bytes) => crypto.getRandomValues(bytes) }),
  })
  return {
    app,
    ask: createClient(app.handler),
    askOperator: createClient(app.operator),
    drain() {
      app.drain()
      deliveries.drain()
    },
    async close() {
      await deliveries.stop()
      await gate.close(2_000)
    },
  }
}

/** A browser: it keeps both secrets of a session and sends its origin with every change. */
export interface Browser extends SignedIn {
  send(method: string, path: string, body?: unknown): Promise<Answer>
}

/** Sends the form of a login link. */
export function useLink(ask: Process['ask'], secret: string, headers: Readonly<Record<string, string>> = {}) {
  return ask('/login', {
    method: 'POST',
    headers: { origin: ORIGIN, 'content-type': 'application/x-www-form-urlencoded', ...headers },
    body: `link=${secret}`,
  })
}

/** Signs a browser in, as the operator for null or for an organization. */
export async function openBrowser(db: Database, ask: Process['ask'], organizationId: string | null): Promise<Browser> {
  const { secret } = await createLoginLink(db, { organizationId, by: CLI_ACTOR })
  const answer = await useLink(ask, secret)
  const session = parseSignedIn({ setCookie: answer.headers.get('set-cookie'), text: answer.text })
  if (answer.status !== 200 || session.cookie === '') throw new Error(`Cannot sign in: ${answer.status}`)
  return {
    ...session,
    send: (method, path, body) =>
      ask(path, {
        method,
        headers: {
          ...session.headers,
          ...(method === 'GET' ? {} : { origin: ORIGIN }),
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      }),
  }
}

/** Sends a request with the operator's token. */
export function withToken(ask: Process['ask'], method: string, path: string, body?: unknown): Promise<Answer> {
  return ask(path, {
    method,
    key: TOKEN,
    ...(body === undefined ? {} : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
  })
}
