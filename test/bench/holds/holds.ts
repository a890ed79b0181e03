import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { loadavg } from 'node:os'
import { join } from 'node:path'
import { openDatabase } from '../../../src/db/connection/pool.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { AAVE_WALLETS } from '../../devnet/aave_v3/addresses.ts'
import { temporaryDirectory } from '../../support/database.ts'
import { type Program, type Service, startService } from '../../system/program/program.ts'
import { createOrganizations } from '../organizations.ts'
import { median, printNote, printTable } from '../table.ts'
import { type LargeScene, type Sizes, startLargeScene } from './scene.ts'

/** The longest that any route may hold the event loop. */
const TARGET_MS = 20
const FULL: Sizes = { lives: 6, flows: 4_800, positions: 1_000, spams: 5_000, wallets: 500, days: 366 }
const QUICK: Sizes = { lives: 2, flows: 480, positions: 100, spams: 1_000, wallets: 50, days: 30 }
const EVENTS = 10_000
const PATIENCE_MS = 30_000
const ROOT = join(import.meta.dir, '../../..')

interface Question {
  readonly path: string
  readonly body?: unknown
}

/** A question by the number of the round. */
type Ask = (round: number) => Question

/** What was seen of one question: milliseconds by round, and whenever it did not answer 200. */
interface Seen {
  readonly name: string
  readonly holdsMs: readonly number[]
  readonly statuses: ReadonlySet<number>
  readonly kilobytes: number
}

/** Asks every route for the largest that it answers, and shows how long it holds the event loop of the service. */
export async function benchHolds({
  quick,
  databaseUrl,
}: {
  readonly quick: boolean
  readonly databaseUrl: string
}): Promise<void> {
  const sizes = quick ? QUICK : FULL
  const rounds = quick ? 2 : 6
  const directory = temporaryDirectory()
  chmodSync(directory, 0o755)
  const scene = await startLargeScene(sizes)
  const db = openDatabase({ url: databaseUrl, clock: systemClock, log: silentLog })
  const [key = ''] = await createOrganizations(db, 1)
  const program = startProgram(directory, { databaseUrl, chainsFile: scene.chainsFile })
  let service: Service | undefined
  const seen: Seen[] = []
  try {
    const { half, life } = splitLives(scene)
    service = await startService(program)
    const at = (): number => service?.port ?? 0
    const look = async (name: string, ask: Ask, times = rounds) => {
      seen.push(await measureHolds({ name, ask, times, key, port: at(), scene, socket: getSocketPath(directory) }))
    }
    await look('pnl, never asked before', (round) => life(round, 'pnl'), half)
    await look('events, never asked before', (round) => life(half + round, 'events'), half)
    await service.stop()
    service = await startService(program)
    await look('events, stored', (round) => life(round, 'events?limit=25'), half)
    await look('pnl, stored', (round) => life(half + round, 'pnl'), half)
    await look('pnl again', () => life(0, 'pnl'))
    await look('events again', () => life(0, 'events?limit=25&page=40'))
    for (const [name, ask] of Object.entries(createOtherAsks(scene))) await look(name, ask)
    await db.run(
      `insert into lending_event (wallet, place, block, log_index, leg, kind, asset, amount, tx_hash, time)
       select e.wallet, e.place, e.block, e.log_index, 10 + n, e.kind, e.asset, e.amount, e.tx_hash, e.time
       from (select * from lending_event where wallet = decode($1, 'hex') limit 1) e, generate_series(1, ${EVENTS}) n`,
      [AAVE_WALLETS.everywhere.slice(2).toLowerCase()],
    )
    await look(`Aave events, ${EVENTS}`, () => ({ path: `${aave('events')}&limit=25&page=50` }))
    report(seen)
  } finally {
    await service?.stop()
    await db.close()
    await scene.devnet.stop()
  }
}

function aave(what: string): string {
  return `/v1/lending/aave-v3/position/1/${what}?wallet=${AAVE_WALLETS.everywhere}`
}

function splitLives({ lives }: LargeScene) {
  const life = (index: number, what: string): Question => ({ path: `/v1/positions/uniswap-v3/${lives[index]}/${what}` })
  return { half: lives.length / 2, life }
}

function createOtherAsks({ holder, mailed, lenders }: LargeScene): Readonly<Record<string, Ask>> {
  const positions = (wallet: string) => `/v1/positions/uniswap-v3?wallet=${wallet}`
  const call = (_: unknown, id: number) => ({
    jsonrpc: '2.0',
    id,
    method: 'tools/call',
    params: { name: 'list_liquidity_positions', arguments: { protocol: 'uniswap-v3', wallet: holder, limit: 25 } },
  })
  return {
    'list, many positions': () => ({ path: `${positions(holder)}&limit=25` }),
    'list in full, many positions': () => ({ path: `${positions(holder)}&limit=25&full=true` }),
    'list, many mailed': () => ({ path: `${positions(mailed)}&limit=25` }),
    'Aave list': () => ({ path: `/v1/lending/aave-v3?wallet=${AAVE_WALLETS.everywhere}` }),
    'Aave batch': () => ({ path: '/v1/lending/aave-v3/batch?limit=25', body: { wallets: lenders } }),
    'Aave events': () => ({ path: `${aave('events')}&limit=25` }),
    'Aave snapshots': () => ({ path: aave('snapshots') }),
    'usage logs': () => ({ path: '/v1/usage/logs?limit=25' }),
    'MCP, batch of 20': () => ({ path: '/mcp', body: Array.from({ length: 20 }, call) }),
    '/openapi.json': () => ({ path: '/openapi.json' }),
    '/docs': () => ({ path: '/docs' }),
    '/metrics': () => ({ path: '/metrics' }),
  }
}

/** The service as its source runs, with the watch in it. */
function startProgram(
  directory: string,
  { databaseUrl, chainsFile }: { readonly databaseUrl: string; readonly chainsFile: string },
): Program {
  const [data, file] = [join(directory, 'data'), join(directory, 'chains.json')]
  mkdirSync(data)
  writeFileSync(file, chainsFile)
  const main = join(ROOT, 'src/main.ts')
  const { PATH = '', HOME = '', TMPDIR = '/tmp' } = process.env
  const settings = { HOST: '127.0.0.1', CHAINS: '1', CHAINS_FILE: file, DATA_DIR: data, DATABASE_URL: databaseUrl }
  return {
    directory,
    command: [process.execPath, main],
    remove: () => {},
    env: { PATH, HOME, TMPDIR, ...settings, BENCH_WATCH: getSocketPath(directory) },
    serve: [process.execPath, '--preload', join(import.meta.dir, 'watch.ts'), main, 'serve'],
  }
}

function getSocketPath(directory: string): string {
  return join(directory, 'watch.sock')
}

async function measureHolds(asked: {
  readonly name: string
  readonly ask: Ask
  readonly times: number
  readonly key: string
  readonly port: number
  readonly scene: LargeScene
  readonly socket: string
}): Promise<Seen> {
  const { name, ask, times, key, port, scene, socket } = asked
  const headers = { accept: 'application/json, text/event-stream', authorization: `Bearer ${key}` }
  const longest = async () => Number(await (await fetch('http://watch/', { unix: socket })).text())
  const holdsMs: number[] = []
  const statuses = new Set<number>()
  let kilobytes = 0
  for (let round = 0; round < times; round++) {
    await scene.devnet.rpc.call('evm_mine')
    const { path, body } = ask(round)
    const deadline = performance.now() + PATIENCE_MS
    let worst = 0
    for (let status = 503; status === 503 && performance.now() < deadline; ) {
      await longest()
      const response = await fetch(`http://127.0.0.1:${port}${path}`, {
        ...(body === undefined ? { headers } : { method: 'POST', body: JSON.stringify(body) }),
        headers: { ...headers, 'content-type': 'application/json' },
      })
      const text = await response.text()
      await Bun.sleep(50)
      worst = Math.max(worst, await longest())
      kilobytes = text.length / 1_024
      status = response.status
      if (status !== 200) console.error(`${name}: ${status} ${text.slice(0, 300)}`)
      if (status !== 200) await Bun.sleep(500)
      if (status !== 503) statuses.add(status)
    }
    holdsMs.push(worst)
  }
  const one = { name, holdsMs, statuses, kilobytes }
  console.error(name, holdsMs.map((ms) => ms.toFixed(0)).join(' '), [...statuses].join())
  return one
}

function report(seen: readonly Seen[]): void {
  const rows = seen.map(({ name, holdsMs, statuses, kilobytes }) => [
    ...[
      name,
      (holdsMs[0] ?? 0).toFixed(1),
      Math.min(...holdsMs).toFixed(1),
      median(holdsMs).toFixed(1),
      Math.max(...holdsMs).toFixed(1),
    ],
    ...[kilobytes.toFixed(0), [...statuses].join(), Math.min(...holdsMs) <= TARGET_MS ? 'met' : 'MISSED'],
  ])
  printTable(['longest hold, ms', 'first', 'least', 'median', 'most', 'KB', 'status', `target ${TARGET_MS}`], rows)
  printNote(
    `load average ${loadavg()
      .map((each) => each.toFixed(1))
      .join(' ')}`,
  )
}
