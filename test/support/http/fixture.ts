import { brotliCompressSync } from 'node:zlib'
import * as v from 'valibot'
import type { Gateway } from '../../../src/http/exchange/gateway.ts'
import { openapiDocument } from '../../../src/http/openapi/document.ts'
import { createReference } from '../../../src/http/page/docs.ts'
import { createErrorsPage } from '../../../src/http/page/errors.ts'
import { createFormulas } from '../../../src/http/page/formulas.ts'
import { createOverview } from '../../../src/http/page/overview.ts'
import {
  choice,
  configuredChainId,
  documented,
  evmAddress,
  flag,
  instantFrom,
  instantTo,
  limit,
  page,
  targetHealthFactor,
  tokenId,
} from '../../../src/http/request/input.ts'
import { createPagination, slicePage } from '../../../src/http/route/page.ts'
import { defineRoute, type Route } from '../../../src/http/route/route.ts'
import { type App, createApp } from '../../../src/http/server/app.ts'
import type { Work } from '../../../src/lib/async/work.ts'
import type { Clock } from '../../../src/lib/clock.ts'
import { CodedError, UnavailableError } from '../../../src/lib/error.ts'
import { createLog } from '../../../src/lib/log.ts'
import { createMetrics, type Metrics } from '../../../src/lib/metrics.ts'
import { createRequestIdGenerator } from '../../../src/lib/request_id.ts'
import { createTestClock, type TestClock } from '../test_clock.ts'
import { createMemoryGate, type MemoryGate } from './exchange/memory_gate.ts'

/** Pages without styles and a picture. */
export const BARE = { styles: [], icon: 'data:,' }

export const WALLET = '0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045'

/** Scripts of `/docs/reference`. */
export const REFERENCE = {
  script: async () => brotliCompressSync('const é = 1').toString('base64'),
  version: '1.0.0',
  setup: 'draw()',
}

/** Switches and counters of the fixture's routes. */
export interface RecordedEvents {
  reads: number
  /** If set, each read waits for it. */
  held: Promise<void> | undefined
  /** If set, each read does this before its own work, or in place of it if it throws. */
  instead: ((work: Work) => Promise<void>) | undefined
  /** If set, presentation yields this. */
  data: unknown
  /** Until when answers of the list are given again. */
  untilMs: number
  /** Entries of the list. */
  total: number
}

const itemSchema = v.object({ token_id: v.string(), chain_id: v.pipe(v.number(), v.integer()) })

/** Routes of every shape: a list, one item, a body, one that lists 502. */
export function fixtureRoutes(happenings: RecordedEvents): readonly Route[] {
  const simulate = async (work: Work) => {
    happenings.reads += 1
    if (happenings.instead !== undefined) await happenings.instead(work)
    await happenings.held
  }
  const list = defineRoute({
    method: 'GET',
    path: '/v1/positions/uniswap-v3',
    operation: 'uniswap_positions',
    tool: { name: 'list_liquidity_positions', title: 'Liquidity positions' },
    summary: 'Lists the positions of a wallet.',
    input: v.pipe(
      v.object({
        wallet: evmAddress,
        status: v.optional(choice(['inactive'])),
        full: v.optional(flag, 'false'),
        chain_id: v.optional(configuredChainId([1, 10])),
        from: v.optional(instantFrom),
        to: v.optional(instantTo),
        page,
        limit,
      }),
      v.check(
        (input) => !(input.full && input.status === 'inactive'),
        'Cannot combine parameters "status" and "full": expected one of them',
      ),
    ),
    output: v.object({ data: v.array(itemSchema) }),
    charge: {
      credits: 2,
      per: 'position on the page',
      instead: [
        { parameter: 'status', value: 'inactive', credits: 1 },
        { parameter: 'full', value: true, credits: 15 },
      ],
    },
    read: async (_input, { work }) => {
      await simulate(work)
      return Array.from({ length: happenings.total }, (_, index) => index + 1)
    },
    untilMs: () => happenings.untilMs,
    count: (items, input) => slicePage(items, input).length,
    present: (items, input, { url }) => ({
      data: happenings.data ?? slicePage(items, input).map((id) => ({ token_id: String(id), chain_id: 1 })),
      pagination: createPagination({ ...input, total: items.length, url }),
      asOf: [
        { chainId: 1, blockNumber: 21_000_000n },
        { chainId: 10, blockNumber: 7n },
      ],
    }),
  })
  const one = defineRoute({
    method: 'GET',
    path: '/v1/positions/uniswap-v3/:id',
    operation: 'uniswap_position',
    tool: { name: 'read_liquidity_position', title: 'One liquidity position' },
    summary: 'Reads one position.',
    input: v.object({ id: tokenId, chain_id: v.optional(configuredChainId([1, 10])) }),
    output: v.object({ data: itemSchema }),
    errors: [404],
    charge: { credits: 2 },
    read: async ({ id }, { work }) => {
      await simulate(work)
      // Only its signal ends this read, for tests outside the process.
      if (id === 999n)
        await new Promise((_, reject) => work.signal.addEventListener('abort', () => reject(work.signal.reason)))
      if (id === 404n) throw new CodedError('NOT_FOUND', 'Cannot find position 404')
      return id
    },
    present: (id) => ({ data: { token_id: String(id), chain_id: 1 } }),
  })
  const batch = defineRoute({
    method: 'POST',
    path: '/v1/lending/aave-v3/batch',
    operation: 'aave_batch',
    tool: { name: 'list_lending_health', title: 'Lending health' },
    summary: 'Reads many wallets.',
    input: v.object({ page, limit }),
    body: v.strictObject({
      wallets: v.pipe(
        v.array(evmAddress, 'expected a list of wallets'),
        v.minLength(1, 'expected at least one wallet'),
      ),
    }),
    output: v.object({ data: v.array(v.string()) }),
    charge: { credits: 15, per: 'wallet' },
    read: async ({ wallets }, { work }) => {
      await simulate(work)
      return wallets
    },
    count: (wallets) => wallets.length,
    present: (wallets) => ({ data: wallets }),
  })
  const obligation = defineRoute({
    method: 'GET',
    path: '/v1/lending/kamino/position/:obligation_address/yield',
    operation: 'kamino_yield',
    tool: { name: 'read_lending_yield', title: 'Yield of a lending position' },
    summary: 'Reads an obligation.',
    feature: 'snapshots',
    input: v.object({
      obligation_address: v.pipe(v.string(), documented({ type: 'string' })),
      target_health_factor: targetHealthFactor,
    }),
    output: v.object({ data: v.nullable(v.string()) }),
    errors: [404, 502],
    charge: { credits: 8 },
    read: async (input, { work }) => {
      await simulate(work)
      return input.target_health_factor
    },
    present: (factor) => ({ data: factor }),
  })
  return [one, list, batch, obligation]
}

/** An app over a gate in memory, with a clock and a log that tests look at. */
export interface Fixture {
  readonly app: App
  readonly gate: MemoryGate
  readonly metrics: Metrics
  readonly happenings: RecordedEvents
  readonly lines: string[]
  /** The time of day; it does not move by itself. */
  readonly time: { ms: number }
  /** Moves timers and durations, not the time of day. */
  readonly clock: TestClock
  readonly ready: { database: boolean; chain: boolean }
}

/** Makes a fixture. The key `good` belongs to an organization with 1,000 credits and 1,000 requests a second. */
export function createFixture(
  options: {
    readonly corsOrigins?: readonly string[]
    readonly publicUrl?: string
    readonly hostNames?: readonly string[]
    readonly gateway?: (routes: readonly Route[]) => Gateway
    readonly limits?: { requestBudgetMs?: number; organizationConcurrencyMax?: number; inFlightMax?: number }
  } = {},
): Fixture {
  const time = { ms: Date.UTC(2026, 0, 2, 3, 4, 5) }
  const timer = createTestClock()
  const clock: Clock = { ...timer, now: () => time.ms }
  const lines: string[] = []
  const metrics = createMetrics()
  const happenings: RecordedEvents = {
    reads: 0,
    held: undefined,
    instead: undefined,
    data: undefined,
    untilMs: 0,
    total: 12,
  }
  const ready = { database: true, chain: true }
  const gate = createMemoryGate({
    now: clock.now,
    keys: {
      good: { id: 'org_good', credits: 1_000n, limit: 1_000 },
      slow: { id: 'org_slow', credits: 1_000n, limit: 2 },
      poor: { id: 'org_poor', credits: 1n, limit: 100 },
      suspended: { id: 'org_suspended', credits: 5n, limit: 100, state: 'suspended' },
      deleted: { id: 'org_deleted', credits: 5n, limit: 100, state: 'deleted' },
    },
  })
  const routes = fixtureRoutes(happenings)
  const openapi = openapiDocument({ routes })
  const app = createApp({
    routes,
    aliases: new Map([
      ['amm_a', 'uniswap-v3'],
      ['lending_a', 'aave-v3'],
      ['lending_c', 'kamino'],
    ]),
    gate,
    ...(options.gateway === undefined ? {} : { gateway: options.gateway(routes) }),
    clock,
    log: createLog({ level: 'debug', write: (line) => lines.push(line), clock }),
    metrics,
    publicUrl: options.publicUrl,
    hostNames: options.hostNames ?? ['test.local', 'h', 'my_host.svc', 'api.test', 'me.example'],
    corsOrigins: options.corsOrigins ?? [],
    keys: async () => JSON.stringify({ keys: [] }),
    probes: {
      database: async () => ready.database,
      chains: new Map([
        [1, async () => ready.chain],
        [
          10,
          async () => {
            throw new UnavailableError('Cannot reach chain 10')
          },
        ],
      ]),
    },
    openapi: () => openapi,
    uiPages: {
      callers: new Map([
        ...createReference(REFERENCE),
        ...createErrorsPage(BARE),
        ...createOverview(openapi, { guides: [], assets: BARE, clock: timer }),
        ...createFormulas([], openapi, { revisions: new Map(), look: BARE }),
      ]),
      operator: new Map(),
    },
    requestId: createRequestIdGenerator({ clock, fill: (bytes) => crypto.getRandomValues(bytes) }),
    ...(options.limits === undefined ? {} : { limits: options.limits }),
  })
  return { app, gate, metrics, happenings, lines, time, clock: timer, ready }
}
