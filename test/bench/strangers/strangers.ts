import { loadavg } from 'node:os'
import { mintKey } from '../../../src/account/key.ts'
import { createChildGroup, offer } from '../child.ts'
import type { LoadRequest, LoadResult } from '../load.ts'
import { median, printNote, printTable } from '../table.ts'
import type { ServedReady, Used } from './served.ts'

/** What one request of a kind of stranger may cost. */
interface Kind extends LoadRequest {
  readonly name: string
  readonly cpuMsMax?: number
  readonly statementsMax?: number
  /** @default 16 */
  readonly connections?: number
}

const PACE = {
  full: { burstMs: 1_000, beside: 4_000, rounds: 7, floodMs: 4_000 },
  quick: { burstMs: 300, beside: 600, rounds: 2, floodMs: 1_000 },
} as const
/** Requests a second of the organization that is disturbed, and of all strangers together. */
const VICTIM_PER_SECOND = 50
const STRANGERS_PER_SECOND = 200
/** Its p99 beside strangers, as a share of its own without them. */
const RATIO_MAX = 1.25
/** Connections of one flood of refusals, and the most lines of the log that they may write in four seconds. */
const FLOOD = { connections: 1_500, linesMax: 100 } as const
const INVENTED = 500

/**
 * What strangers cost: CPU, statements and lines of the log of each kind of request, and how much another organization
 * waits while all kinds are asked at once.
 */
export async function benchStrangers({
  quick,
  databaseUrl,
}: {
  readonly quick: boolean
  readonly databaseUrl: string
}): Promise<void> {
  const pace = quick ? PACE.quick : PACE.full
  const { start, stop } = createChildGroup()
  try {
    const served = start('strangers/served.ts', { BENCH_DATABASE_URL: databaseUrl })
    const [generator, strangers] = [start('load.ts'), start('load.ts')]
    const { port, script, keys } = await served.read<ServedReady>()
    const readUsed = async () => {
      served.write({})
      return await served.read<Used>()
    }
    const kinds = listKinds({ script, keys })
    const rows: string[][] = []
    for (const { name, cpuMsMax, statementsMax, connections = 16, ...request } of kinds) {
      const burst = { port, ...request, connections, durationMs: pace.burstMs }
      await offer(generator, { ...burst, durationMs: 200 })
      const before = await readUsed()
      const result = await offer(generator, burst)
      const after = await readUsed()
      const answers = countAnswers(result)
      const [cpuMs, used] = [
        (after.cpuUs - before.cpuUs) / answers / 1_000,
        (after.statements - before.statements) / answers,
      ]
      const isMet =
        cpuMs <= (cpuMsMax ?? Number.POSITIVE_INFINITY) && used <= (statementsMax ?? Number.POSITIVE_INFINITY)
      const bar = [cpuMsMax && `${cpuMsMax} ms`, statementsMax && `${statementsMax} statements`]
        .filter(Boolean)
        .join(', ')
      rows.push([
        name,
        Object.keys(result.statuses).join(' '),
        (answers / (pace.burstMs / 1_000)).toFixed(0),
        cpuMs.toFixed(3),
        used.toFixed(4),
        String(after.lines - before.lines),
        bar === '' ? '' : `${bar} ${isMet ? 'met' : 'MISSED'}`,
      ])
    }
    printTable(['stranger', 'status', 'answers/s', 'CPU ms', 'statements', 'lines', 'bar for one'], rows)

    for (const headers of [[], ['Idempotency-Key: the same']]) {
      const before = await readUsed()
      const result = await offer(generator, {
        port,
        path: '/v1/usage/logs',
        keys: [keys.hasty],
        headers,
        connections: FLOOD.connections,
        durationMs: pace.floodMs,
      })
      const after = await readUsed()
      const lines = after.lines - before.lines
      printNote(
        `${FLOOD.connections} connections for ${pace.floodMs / 1_000} s, over their rate, ` +
          `${headers.length === 0 ? 'without' : 'with'} an Idempotency-Key: ${countAnswers(result)} answers, ` +
          `${after.statements - before.statements} statements, ${lines} lines of the log ` +
          `(fewer than ${FLOOD.linesMax} ${lines < FLOOD.linesMax ? 'met' : 'MISSED'})`,
      )
    }

    const [first, ...others] = kinds
    if (first === undefined) throw new Error('Cannot measure: no kind of stranger is known')
    const victim = {
      port,
      path: '/v1/usage/logs?limit=1',
      keys: [keys.victim],
      connections: 32,
      durationMs: pace.beside,
      perSecond: VICTIM_PER_SECOND,
    }
    const load = { port, ...first, others, connections: 256, durationMs: pace.beside, perSecond: STRANGERS_PER_SECOND }
    await offer(generator, victim)
    const [alone, beside]: [number[], number[]] = [[], []]
    for (let round = 0; round < pace.rounds; round++) {
      alone.push((await offer(generator, victim)).p99Ms)
      const [disturbed] = await Promise.all([offer(generator, victim), offer(strangers, load)])
      beside.push(disturbed.p99Ms)
    }
    const ratio = median(beside) / median(alone)
    printNote(
      `Another organization, ${VICTIM_PER_SECOND} requests a second: p99 ${median(alone).toFixed(1)} ms alone, ` +
        `${median(beside).toFixed(1)} ms beside ${STRANGERS_PER_SECOND} requests a second of all kinds of strangers ` +
        `(medians of ${pace.rounds}): ×${ratio.toFixed(2)} (×${RATIO_MAX} ${ratio <= RATIO_MAX ? 'met' : 'MISSED'}); ` +
        `load average ${loadavg()
          .map((each) => each.toFixed(1))
          .join(' ')}`,
    )
  } finally {
    await stop()
  }
}

function listKinds({ script, keys }: Pick<ServedReady, 'script' | 'keys'>): readonly Kind[] {
  const invented = Array.from({ length: INVENTED }, () => mintKey().key)
  const call = (id: number) => ({
    jsonrpc: '2.0',
    id,
    method: 'tools/call',
    params: { name: 'list_liquidity_positions', arguments: { protocol: 'uniswap-v3', wallet: `0x${'11'.repeat(20)}` } },
  })
  const mcp = {
    path: '/mcp',
    headers: ['Accept: application/json, text/event-stream'],
    body: JSON.stringify(Array.from({ length: 20 }, (_, id) => call(id))),
  }
  const logs = '/v1/usage/logs'
  return [
    { name: 'no key', path: logs, keys: [] },
    { name: 'invented key', path: logs, keys: invented, statementsMax: 0.5 },
    { name: 'over its rate', path: logs, keys: [keys.hasty] },
    { name: 'over its rate, with a key to repeat', path: logs, keys: [keys.hasty], headers: ['Idempotency-Key: one'] },
    { name: 'suspended', path: logs, keys: [keys.suspended] },
    { name: 'unknown path', path: '/v1/nothing', keys: [], cpuMsMax: 1 },
    { name: 'crafted path', path: `/v1${'/position'.repeat(12)}`, keys: [], cpuMsMax: 1 },
    // Its body is not read, which closes the connection.
    { name: '20 MCP calls, invented key', ...mcp, keys: invented, cpuMsMax: 1.2, connections: 400 },
    { name: '20 MCP calls, over its rate', ...mcp, keys: [keys.hasty] },
    { name: 'HEAD of the reference', method: 'HEAD', path: script, keys: [], cpuMsMax: 6 },
    { name: 'public keys', path: '/.well-known/walletscope-keys.json', keys: [], statementsMax: 0.1 },
    { name: 'OpenAPI document', path: '/openapi.json', keys: [], headers: ['Accept-Encoding: gzip'] },
    { name: 'metrics', path: '/metrics', keys: [] },
    { name: 'readiness', path: '/readyz', keys: [], statementsMax: 0.1 },
    { name: 'login page', path: '/login', keys: [] },
    { name: 'operator, wrong token', path: '/admin/v1/settings', keys: ['not-the-token'] },
  ]
}

function countAnswers({ statuses }: LoadResult): number {
  return Object.values(statuses).reduce((sum, count) => sum + count, 0)
}
