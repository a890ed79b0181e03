import { expect } from 'bun:test'
import type { Devnet } from '../../devnet/mod.ts'
import type { RawAnswer } from './http.ts'
import { portfolioScenarios } from './portfolio_scenarios.ts'

/** Organizations that the table plays with; each starts with these credits. */
export const ORGANIZATIONS = {
  /** Rich, and limited by nothing here. */
  main: { credits: 100_000, limit: 1_000 },
  poor: { credits: 1, limit: 1_000 },
  /** One request per second. */
  limited: { credits: 100, limit: 1 },
  suspended: { credits: 100, limit: 1_000 },
  deleted: { credits: 100, limit: 1_000 },
} as const satisfies Record<string, { readonly credits: number; readonly limit: number }>

export type OrganizationName = keyof typeof ORGANIZATIONS
/** Whose key a request carries: an organization's, one of `main` that was revoked, or text that never was a key. */
export type KeyName = OrganizationName | 'revoked' | 'unknown' | 'malformed' | 'none'

/** A JSON answer, as loosely as a client in a language without types would see it. */
// biome-ignore lint/suspicious/noExplicitAny: the table asserts every field that it touches.
export type Json = any

/** One request and everything that must be true of its answer. */
export interface Scenario {
  readonly name: string
  readonly method?: string
  readonly target: string
  /** @default main */
  readonly key?: KeyName
  readonly headers?: Readonly<Record<string, string>>
  readonly requestBody?: string
  readonly status: number
  /** `error.code` of the answer. */
  readonly code?: string
  /** What the message must say, so that the caller can mend the request. */
  readonly says?: string | RegExp
  /** Headers that the answer must carry besides those that every answer carries. */
  readonly answers?: Readonly<Record<string, string | RegExp>>
  readonly body?: (body: Json, answer: RawAnswer) => void
  /** Row of the organization's log: `null` if no organization is charged. */
  readonly log: { readonly path: string; readonly credits: number } | null
}

const LIST = '/v1/positions/uniswap-v3'
const SINGLE = '/v1/positions/uniswap-v3/{id}'
const SNAPSHOTS = '/v1/lending/aave-v3/position/{chain_id}/snapshots'
const PNL = '/v1/positions/uniswap-v3/{id}/pnl'
const FLOWS = '/v1/positions/uniswap-v3/{id}/events'
const LOGS = '/v1/usage/logs'
const NOT_LOGGED = null
const free = (path: string) => ({ path, credits: 0 })

/** The table that source, executable and Node bundle must pass, in the order in which it is asked. */
export function scenarios(devnet: Devnet): readonly Scenario[] {
  const { wallets, positions, addresses } = devnet
  const { provider, single, empty, retired, receiver, spammed } = wallets
  const list = (query: string) => `${LIST}?${query}`
  const one = (id: bigint | string, query = '') => `${LIST}/${id}${query}`
  const ids = (body: Json): string[] => body.data.map((item: Json) => item.token_id)
  const active = [
    ...[positions.inRange, positions.fullRange, positions.stable, positions.below, positions.above],
    ...[positions.crossed, positions.halfWithdrawn, positions.collectedOnce],
  ]
  const ascending = (tokenIds: readonly bigint[]) => [...tokenIds].sort((a, b) => (a < b ? -1 : 1)).map(String)
  const refusedInput = (name: string, target: string, says: string | RegExp): Scenario => ({
    name,
    target,
    status: 400,
    code: 'INVALID_PARAMETER',
    says,
    log: free(target.startsWith(LOGS) ? LOGS : target.startsWith(`${LIST}/`) ? SINGLE : LIST),
  })

  return [
    {
      name: 'a list answers every active position, ascending, at one named block',
      target: list(`wallet=${provider}`),
      status: 200,
      answers: { 'x-as-of': /^1:\d+$/, 'x-credits-charged': '16' },
      body: (body) => {
        expect(ids(body)).toEqual(ascending(active))
        expect(body.counts).toMatchObject({ totalActive: 8, totalInactive: 2, total: 10, filtered: 8, errors: 0 })
        expect(body.counts.spams).toEqual([])
        expect(body.pagination).toEqual({ page: 1, limit: 10, total: 8, next_page: null, prev_page: null })
        for (const item of body.data) {
          expect(item).toMatchObject({ chain_id: 1, wallet: provider, is_active: true })
          expect(item.manager_address).toBe(addresses.uniswapV3.manager)
          expect(item.position_state.owner).toBe(provider)
          expect(BigInt(item.position_state.liquidity)).toBeGreaterThan(0n)
          expect(item.position_state.pool.sqrtPrice).toBeUndefined()
        }
      },
      log: { path: LIST, credits: 16 },
    },
    {
      name: 'another name of the family is accepted and logged under ours',
      target: `/v1/positions/amm_a?wallet=${single.toLowerCase()}`,
      status: 200,
      body: (body) => {
        expect(ids(body)).toEqual([String(positions.single)])
        expect(body.data[0].wallet).toBe(single)
      },
      log: { path: LIST, credits: 2 },
    },
    {
      name: 'closed positions cost 1 each, the one with tokens owed among them; the burned one is gone',
      target: list(`wallet=${provider}&status=inactive`),
      status: 200,
      body: (body) => {
        expect(ids(body)).toEqual(ascending([positions.closed, positions.closedOwed]))
        for (const item of body.data) expect(item.is_active).toBe(false)
      },
      log: { path: LIST, credits: 2 },
    },
    {
      name: 'full=true adds amounts, fees, range and prices, and costs 15 each',
      target: list(`wallet=${provider}&full=true`),
      status: 200,
      answers: { 'x-credits-charged': '120' },
      body: (body) => {
        const item = (id: bigint) => body.data.find((each: Json) => each.token_id === String(id))
        expect(body.data).toHaveLength(8)
        expect(item(positions.inRange).in_range).toBe(true)
        expect(item(positions.below).in_range).toBe(false)
        expect(item(positions.above).in_range).toBe(false)
        for (const each of body.data) {
          expect(each).toHaveProperty('amounts')
          expect(each).toHaveProperty('uncollected_fees')
          expect(each).toHaveProperty('withdrawn_principal')
          expect(each.pnl_status).toMatch(/^(ready|pending)$/)
          expect(each.pnl !== null).toBe(each.pnl_status === 'ready')
        }
      },
      log: { path: LIST, credits: 120 },
    },
    {
      name: 'a page in the middle has absolute links both ways and costs what is on it',
      target: list(`wallet=${provider}&chain_id=1&limit=3&page=2`),
      status: 200,
      body: (body) => {
        expect(ids(body)).toEqual(ascending(active).slice(3, 6))
        expect(body.pagination).toMatchObject({ page: 2, limit: 3, total: 8 })
        for (const [link, page] of [
          [body.pagination.prev_page, '1'],
          [body.pagination.next_page, '3'],
        ] as const) {
          const url = new URL(link)
          expect(url.pathname).toBe(LIST)
          expect(Object.fromEntries(url.searchParams)).toEqual({ wallet: provider, chain_id: '1', limit: '3', page })
        }
      },
      log: { path: LIST, credits: 6 },
    },
    {
      name: 'a page past the end is empty, free and points back',
      target: list(`wallet=${provider}&page=9`),
      status: 200,
      body: (body) => {
        expect(body.data).toEqual([])
        expect(body.pagination.total).toBe(8)
        expect(body.pagination.next_page).toBeNull()
        expect(body.pagination.prev_page).toStartWith('http')
      },
      log: free(LIST),
    },
    {
      name: 'the list of now, asked for by its time, is the live list',
      target: list(`wallet=${provider}&at_time=${Math.floor(Date.now() / 1_000)}`),
      status: 200,
      answers: { 'x-as-of': /^1:\d+$/, 'x-credits-charged': '16' },
      body: (body) => expect(ids(body)).toEqual(ascending(active)),
      log: { path: LIST, credits: 16 },
    },
    {
      name: 'a block before the position manager stood there is refused',
      target: list(`wallet=${provider}&chain_id=1&at_block=0`),
      status: 400,
      code: 'INVALID_PARAMETER',
      says: /"at_block": Uniswap V3 was not deployed on chain 1 .* at block 0/,
      log: free(LIST),
    },
    {
      name: 'a block to come is refused, and the newest one is named',
      target: one(positions.inRange, '?chain_id=1&at_block=999999999'),
      status: 400,
      code: 'INVALID_PARAMETER',
      says: /expected at most \d+, the newest block of chain 1/,
      log: free(SINGLE),
    },
    {
      name: 'a block without its chain is refused',
      target: list(`wallet=${provider}&at_block=5`),
      status: 400,
      code: 'MISSING_PARAMETER',
      says: 'Parameter "chain_id" is missing: it is required with "at_block"',
      log: free(LIST),
    },
    refusedInput(
      'a block and a time together are refused',
      list(`wallet=${provider}&chain_id=1&at_block=5&at_time=6`),
      'without "at_block"',
    ),
    refusedInput('a time that is none is refused', list(`wallet=${provider}&at_time=noon`), 'expected Unix seconds'),
    {
      name: 'snapshots need a wallet',
      target: '/v1/lending/aave-v3/position/1/snapshots',
      status: 400,
      code: 'MISSING_PARAMETER',
      says: '"wallet"',
      log: free(SNAPSHOTS),
    },
    {
      name: 'snapshots of no days are refused',
      target: `/v1/lending/lending_a/position/1/snapshots?wallet=${provider}&max_snapshots=0`,
      status: 400,
      code: 'INVALID_PARAMETER',
      says: '"max_snapshots"',
      log: free(SNAPSHOTS),
    },
    {
      name: 'a wallet without positions is an empty list and free',
      target: list(`wallet=${empty}`),
      status: 200,
      body: (body) => {
        expect(body.data).toEqual([])
        expect(body.counts.total).toBe(0)
      },
      log: free(LIST),
    },
    {
      name: 'a wallet of closed positions has no active ones, and says how many are closed',
      target: list(`wallet=${retired}`),
      status: 200,
      body: (body) => {
        expect(body.data).toEqual([])
        expect(body.counts).toMatchObject({ totalActive: 0, totalInactive: 1, total: 1, filtered: 0 })
      },
      log: free(LIST),
    },
    {
      name: 'a transferred position belongs to its receiver',
      target: list(`wallet=${receiver}`),
      status: 200,
      body: (body) => expect(ids(body)).toEqual([String(positions.transferred)]),
      log: { path: LIST, credits: 2 },
    },
    {
      name: 'spam is left out, explained and not charged',
      target: list(`wallet=${spammed}`),
      status: 200,
      body: (body) => {
        expect(ids(body)).toEqual([String(positions.good)])
        expect(body.counts.spams).toHaveLength(1)
        expect(body.counts.spams[0]).toMatchObject({
          token_id: String(positions.spam),
          chain_id: 1,
          manager_address: addresses.uniswapV3.manager,
        })
        expect(body.counts.spams[0].reason).toBeString()
      },
      log: { path: LIST, credits: 2 },
    },
    {
      name: 'one position by its id, with the pool’s price',
      target: one(positions.inRange),
      status: 200,
      answers: { 'x-as-of': /^1:\d+$/ },
      body: ({ data }) => {
        expect(data).toMatchObject({
          token_id: String(positions.inRange),
          chain_id: 1,
          wallet: provider,
          is_active: true,
        })
        expect(data.position_state.pool.sqrtPrice).toMatch(/^\d+$/)
        expect(data.position_state.pool.feeTier).toBe('500')
        expect(data.position_state.protocol).toEqual({ code: 'uniswap_v3' })
      },
      log: { path: SINGLE, credits: 2 },
    },
    {
      name: 'one position in full',
      target: one(positions.crossed, `?full=true&chain_id=1&manager_address=${addresses.uniswapV3.manager}`),
      status: 200,
      body: ({ data }) => {
        expect(data).toHaveProperty('uncollected_fees')
        expect(data.pnl).toMatchObject({ token_id: String(positions.crossed), is_closed: false })
      },
      log: { path: SINGLE, credits: 15 },
    },
    {
      name: 'profit and loss of a position has its 20 fields and costs 8',
      target: one(positions.collectedOnce, '/pnl'),
      status: 200,
      answers: { 'x-as-of': /^1:\d+$/, 'x-credits-charged': '8' },
      body: ({ data }) => {
        expect(Object.keys(data)).toHaveLength(20)
        expect(data).toMatchObject({ token_id: String(positions.collectedOnce), chain_id: 1, is_closed: false })
        expect(Number(data.realized_usd_value)).toBeGreaterThan(0)
      },
      log: { path: PNL, credits: 8 },
    },
    {
      name: 'that of a closed one costs 4 with status=inactive',
      target: one(positions.closed, '/pnl?status=inactive'),
      status: 200,
      body: ({ data }) => expect(data).toMatchObject({ is_closed: true, unrealized_usd_value: '0.000000' }),
      log: { path: PNL, credits: 4 },
    },
    {
      name: 'an active position has none with status=inactive',
      target: one(positions.inRange, '/pnl?status=inactive'),
      status: 404,
      code: 'NOT_FOUND',
      log: free(PNL),
    },
    {
      name: 'a burned position needs its chain to be found',
      target: one(positions.burned, '/pnl'),
      status: 404,
      code: 'NOT_FOUND',
      says: '"chain_id"',
      log: free(PNL),
    },
    {
      name: 'a burned position answers what it was',
      target: one(positions.burned, '/pnl?chain_id=1'),
      status: 200,
      body: ({ data }) => expect(data).toMatchObject({ is_closed: true, unrealized_usd_value: '0.000000' }),
      log: { path: PNL, credits: 8 },
    },
    {
      name: 'the flows behind it are listed newest first for 1 credit',
      target: one(positions.closed, '/events?limit=2'),
      status: 200,
      body: (body) => {
        expect(body.data.map(({ type }: Json) => type)).toEqual(['collect', 'decrease'])
        expect(body.data[0].prices.token0.source).toBe('feed')
        expect(body.pagination).toMatchObject({ total: 3, prev_page: null })
      },
      log: { path: FLOWS, credits: 1 },
    },
    {
      name: 'a closed position is still answered by its id',
      target: one(positions.closedOwed),
      status: 200,
      body: ({ data }) => expect(data.is_active).toBe(false),
      log: { path: SINGLE, credits: 2 },
    },
    ...[positions.burned, 987_654_321n].map((id) => ({
      name: `position ${id === positions.burned ? 'that was burned' : 'that never was'} is not found`,
      target: one(id),
      status: 404,
      code: 'NOT_FOUND',
      log: free(SINGLE),
    })),
    {
      name: 'HEAD answers as GET does, without the body, at the same price',
      method: 'HEAD',
      target: list(`wallet=${single}`),
      status: 200,
      answers: { 'x-credits-charged': '2' },
      log: { path: LIST, credits: 2 },
    },
    {
      name: 'OPTIONS names the methods',
      method: 'OPTIONS',
      target: LIST,
      status: 204,
      answers: { allow: /GET/ },
      log: free(LIST),
    },
    {
      name: 'another method is refused with the ones that work',
      method: 'POST',
      target: LIST,
      requestBody: '{}',
      status: 405,
      code: 'INVALID_REQUEST',
      answers: { allow: /GET/ },
      log: free(LIST),
    },
    {
      name: 'an unknown path is not found, and logged as it is',
      target: '/v1/positions/uniswap-v9?wallet=0x1',
      status: 404,
      code: 'NOT_FOUND',
      log: free('/v1/positions/uniswap-v9'),
    },
    {
      name: 'a missing wallet is named',
      target: LIST,
      status: 400,
      code: 'MISSING_PARAMETER',
      says: '"wallet"',
      log: free(LIST),
    },
    {
      name: 'an empty wallet is a missing one',
      target: list('wallet='),
      status: 400,
      code: 'MISSING_PARAMETER',
      says: '"wallet"',
      log: free(LIST),
    },
    refusedInput('a short address', list('wallet=0x123'), '"0x123"'),
    refusedInput('a wrong checksum', list(`wallet=${miscased(provider)}`), 'checksum'),
    refusedInput('a wallet given twice', list(`wallet=${provider}&wallet=${single}`), '"wallet"'),
    refusedInput('a broken percent escape', list('wallet=%zz'), '"wallet"'),
    refusedInput('NUL', list('wallet=%00'), '"wallet"'),
    refusedInput('bytes that are no UTF-8', list('wallet=%ff'), '"wallet"'),
    refusedInput('page 0', list(`wallet=${provider}&page=0`), '"page"'),
    refusedInput('a page in another number system', list(`wallet=${provider}&page=0x1`), '"page"'),
    refusedInput('a limit above 25', list(`wallet=${provider}&limit=26`), '"limit"'),
    refusedInput('a status that does not exist', list(`wallet=${provider}&status=active`), '"status"'),
    refusedInput('closed positions in full', list(`wallet=${provider}&status=inactive&full=true`), 'full'),
    refusedInput('a chain that is not served', list(`wallet=${provider}&chain_id=5`), /\(1\)/),
    refusedInput('a token id in words', one('first'), '"first"'),
    refusedInput('a token id of 2^256', one(String(2n ** 256n)), 'token id'),
    refusedInput(
      'a mistyped name of a parameter',
      list(`wallet=${provider}&chainid=1`),
      'Unknown parameter "chainid": did you mean "chain_id"?',
    ),
    refusedInput(
      'a parameter that no route has',
      `${LOGS}?colour=blue`,
      /"colour": .*, only "page", .*"wallet"|"path"/,
    ),
    refusedInput('a time in milliseconds', list(`wallet=${provider}&at_time=1767225600000`), 'looks like milliseconds'),
    refusedInput('a time to come, as it was sent', list(`wallet=${provider}&at_time=2999-01-01`), 'got "2999-01-01"'),
    ...portfolioScenarios(devnet),
    ...(['yield', 'risk'] as const).flatMap((figure) =>
      (['at_block=5', 'at_time=2026-01-31'] as const).map(
        (moment): Scenario => ({
          name: `Kamino's ${figure} keeps no past: ${moment}`,
          target: `/v1/lending/kamino/position/${empty}/${figure}?${moment}`,
          status: 400,
          code: 'INVALID_PARAMETER',
          says: 'because endpoints of Solana keep no past state',
          log: free(`/v1/lending/kamino/position/{obligation_address}/${figure}`),
        }),
      ),
    ),
    {
      name: 'a name that is not the service’s, as DNS rebinding would give',
      target: list(`wallet=${provider}`),
      headers: { Host: 'rebound.example:80' },
      status: 400,
      code: 'INVALID_REQUEST',
      says: /"rebound.example": .* ALLOWED_HOSTS$/,
      log: free(LIST),
    },
    {
      name: 'a request to a mapped port',
      target: list(`wallet=${empty}`),
      headers: { Host: 'localhost:9090' },
      status: 200,
      log: free(LIST),
    },
    {
      name: 'the scheme of the key in small letters',
      target: list(`wallet=${empty}`),
      headers: { Authorization: 'bearer none-of-ours' },
      status: 401,
      code: 'INVALID_API_KEY',
      says: 'expected a valid API key in the header',
      log: NOT_LOGGED,
    },
    {
      name: 'a request id of the caller’s is kept',
      target: list(`wallet=${empty}`),
      headers: { 'X-Request-Id': 'caller-chose_this' },
      status: 200,
      answers: { 'x-request-id': 'caller-chose_this' },
      log: free(LIST),
    },
    {
      name: 'a request id that could forge a log line is replaced',
      target: list(`wallet=${empty}`),
      headers: { 'X-Request-Id': 'no spaces, please' },
      status: 200,
      answers: { 'x-request-id': /^req_[0-9A-Z]{26}$/ },
      log: free(LIST),
    },
    ...(['none', 'malformed', 'unknown', 'revoked'] as const).map((key) => ({
      name: `${key === 'none' ? 'no' : `a key that is ${key}`} key`.replace(
        / key$/,
        key === 'none' ? ' key at all' : '',
      ),
      key,
      target: list(`wallet=${provider}`),
      status: 401,
      code: 'INVALID_API_KEY',
      log: NOT_LOGGED,
    })),
    {
      name: 'an unknown path is 404 without a key',
      key: 'none',
      target: '/nowhere',
      status: 404,
      code: 'NOT_FOUND',
      log: NOT_LOGGED,
    },
    {
      name: 'a wrong method is refused without a key, with the allowed methods',
      key: 'none',
      method: 'DELETE',
      target: LIST,
      status: 405,
      code: 'INVALID_REQUEST',
      answers: { allow: /GET/ },
      log: NOT_LOGGED,
    },
    {
      name: 'a body above 256 KiB is refused with our envelope',
      method: 'POST',
      target: LIST,
      requestBody: 'x'.repeat(300 * 1024),
      key: 'none',
      status: 413,
      code: 'INVALID_REQUEST',
      log: NOT_LOGGED,
    },
    {
      name: 'a suspended organization is refused, and the refusal logged',
      key: 'suspended',
      target: list(`wallet=${provider}`),
      status: 403,
      code: 'ACCOUNT_SUSPENDED',
      log: free(LIST),
    },
    {
      name: 'a deleted organization is not found',
      key: 'deleted',
      target: list(`wallet=${provider}`),
      status: 404,
      code: 'ORGANIZATION_NOT_FOUND',
      log: NOT_LOGGED,
    },
    {
      name: 'who cannot pay the least that a call costs gets no data',
      key: 'poor',
      target: one(positions.inRange),
      status: 402,
      code: 'INSUFFICIENT_CREDITS',
      log: free(SINGLE),
    },
    {
      name: 'who cannot pay for one entry of a list gets no data',
      key: 'poor',
      target: list(`wallet=${provider}`),
      status: 402,
      code: 'INSUFFICIENT_CREDITS',
      log: free(LIST),
    },
    {
      name: 'nor learns for nothing that there is none',
      key: 'poor',
      target: list(`wallet=${empty}`),
      status: 402,
      code: 'INSUFFICIENT_CREDITS',
      log: free(LIST),
    },
    {
      name: 'the last credit still buys what costs one',
      key: 'poor',
      target: LOGS,
      status: 200,
      answers: { 'x-credits-remaining': '0' },
      body: (body) => expect(body.data.map((row: Json) => row.status_code)).toEqual([402, 402, 402]),
      log: { path: LOGS, credits: 1 },
    },
    {
      name: 'and none buys nothing',
      key: 'poor',
      target: LOGS,
      status: 402,
      code: 'INSUFFICIENT_CREDITS',
      log: free(LOGS),
    },
    {
      name: 'the first request of a second is admitted',
      key: 'limited',
      target: list(`wallet=${empty}`),
      status: 200,
      log: free(LIST),
      answers: { 'x-ratelimit-limit': '1', 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': /^\d{10}$/ },
    },
    {
      name: 'the next one is told when to come back',
      key: 'limited',
      target: list(`wallet=${empty}`),
      status: 429,
      code: 'RATE_LIMIT_EXCEEDED',
      log: free(LIST),
      answers: {
        'retry-after': /^[1-9]\d*$/,
        'x-ratelimit-limit': '1',
        'x-ratelimit-remaining': '0',
        'x-ratelimit-reset': /^\d{10}$/,
      },
    },
    {
      name: 'the log is searched by status',
      target: `${LOGS}?status_code=405&range=5m`,
      status: 200,
      body: (body) => {
        expect(body.pagination.total).toBe(1)
        expect(body.data[0]).toMatchObject({ method: 'POST', path: LIST, status_code: 405, credits_charged: 0 })
        expect(new Date(body.data[0].requested_at).toISOString()).toBe(body.data[0].requested_at)
      },
      log: { path: LOGS, credits: 1 },
    },
    {
      name: 'the log is searched by path and outcome',
      target: `${LOGS}?path=${encodeURIComponent(SINGLE)}&errors=errors&limit=25`,
      status: 200,
      body: (body) => expect(body.data.map((row: Json) => row.status_code)).toEqual([400, 400, 404, 404, 400]),
      log: { path: LOGS, credits: 1 },
    },
    {
      name: 'another organization’s key is unknown here',
      target: `${LOGS}?api_key_id=key_of_someone_else`,
      status: 200,
      body: (body) => expect(body.pagination.total).toBe(0),
      log: { path: LOGS, credits: 1 },
    },
    refusedInput('a range together with dates', `${LOGS}?range=1h&from=2026-01-01`, 'range'),
    refusedInput('an end before the beginning', `${LOGS}?from=2026-01-02&to=2026-01-01`, /from|to/),
    refusedInput('a day that no calendar has', `${LOGS}?from=2026-02-30`, '"from"'),
    {
      name: 'the process lives',
      key: 'none',
      target: '/healthz',
      status: 200,
      log: NOT_LOGGED,
    },
    {
      name: 'database and chain answer',
      key: 'none',
      target: '/readyz',
      status: 200,
      log: NOT_LOGGED,
    },
    {
      name: 'metrics are Prometheus text',
      key: 'none',
      target: '/metrics',
      status: 200,
      answers: { 'content-type': /^text\/plain/ },
      body: (_, answer) => expect(answer.body).toMatch(/^# TYPE /m),
      log: NOT_LOGGED,
    },
    {
      name: 'the OpenAPI document lists the routes',
      key: 'none',
      target: '/openapi.json',
      status: 200,
      answers: { 'cache-control': 'no-cache' },
      body: (body) => {
        expect(body.openapi).toStartWith('3.1.')
        expect(body.info.version).toBe('1.0.0')
        expect(Object.keys(body.paths)).toEqual(expect.arrayContaining([LIST, SINGLE, LOGS]))
      },
      log: NOT_LOGGED,
    },
    {
      name: 'the page of the API is drawn from the document',
      key: 'none',
      target: '/docs',
      status: 200,
      answers: { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-cache' },
      body: (_, answer) => {
        expect(answer.body).toContain('openapi.json')
        expect(answer.body).toContain(`GET ${LIST}`)
      },
      log: NOT_LOGGED,
    },
    {
      name: 'its reference loads nothing but files of ours',
      key: 'none',
      target: '/docs/reference',
      status: 200,
      answers: { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-cache' },
      body: (_, answer) => expect(answer.body).toMatch(/src="\.\.\/assets\/[0-9a-f]{16}\/reference\.js"/),
      log: NOT_LOGGED,
    },
  ]
}

/** The address with the case of its first letter turned over, which breaks the checksum. */
function miscased(address: string): string {
  const at = address.slice(2).search(/[a-fA-F]/) + 2
  const letter = address.charAt(at)
  const turned = letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase()
  return address.slice(0, at) + turned + address.slice(at + 1)
}
