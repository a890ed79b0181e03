import { randomInt } from 'node:crypto'
import { appendFileSync, chmodSync, existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { openDatabase } from '../../src/db/connection/pool.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { silentLog } from '../../src/lib/log.ts'
import { temporaryDirectory } from './database.ts'
import { waitFor } from './wait_for.ts'

/** Of Debian's PostgreSQL 15; the embedded one has no `pg_basebackup`. */
export const PROGRAMS = '/usr/lib/postgresql/15/bin'
/** PostgreSQL refuses to run as root. */
export const AS_NOBODY =
  process.getuid?.() === 0 ? ['setpriv', '--reuid=nobody', '--regid=nogroup', '--clear-groups'] : []

/** False if PostgreSQL 15 of Debian is not installed. */
export function hasReplication(): boolean {
  return existsSync(join(PROGRAMS, 'pg_basebackup'))
}

interface Node {
  readonly name: string
  /** Undefined until it was first started. */
  port: number | undefined
  readonly data: string
}

/** A primary with one synchronous standby. */
export interface FailoverPair {
  /** `DATABASE_URL` with both hosts, always in the same order. */
  readonly url: string
  /**
   * Ends the primary, by `kill -9` of all its processes or in order, and promotes the standby. Gives the moments of the
   * end and of the promotion, by `performance.now()`.
   */
  takeOver(how: 'killed' | 'stopped'): Promise<{ readonly endedMs: number; readonly promotedMs: number }>
  /** Makes the old primary the standby of the new one, synchronous again. */
  rebuild(): Promise<void>
  close(): Promise<void>
}

/** The same by streaming replication, promoted by the test itself. */
export interface ReplicatedPair extends FailoverPair {
  /** Of one of them alone, as they are now. */
  getUrl(which: 'primary' | 'standby'): string
  /** Stops or goes on replaying what the primary writes. */
  replay(what: 'pause' | 'resume'): Promise<void>
  /** Ends the standby by `kill -9`; `rebuild` makes it anew. */
  killStandby(): void
}

/** Starts both servers. */
export async function startReplicatedPair(): Promise<ReplicatedPair> {
  const directory = temporaryDirectory()
  chmodSync(directory, 0o777)
  const [one, two] = ['one', 'two'].map((name): Node => ({ name, port: undefined, data: join(directory, name) }))
  if (one === undefined || two === undefined) throw new Error('No nodes')
  let [primary, standby]: readonly [Node, Node] = [one, two]

  const run = async (words: readonly string[]): Promise<void> => {
    const child = Bun.spawn([...AS_NOBODY, ...words], { cwd: '/', stdio: ['ignore', 'ignore', 'pipe'] })
    const said = await new Response(child.stderr).text()
    if ((await child.exited) !== 0) throw new Error(`Cannot run ${words.join(' ')}: ${said}`)
  }
  const control = (node: Node, ...words: readonly string[]) =>
    run([join(PROGRAMS, 'pg_ctl'), '-D', node.data, '-w', '-s', ...words])
  const startAt = (node: Node, port: number) =>
    control(
      node,
      'start',
      '-l',
      `${node.data}.log`,
      '-o',
      // The lock file of a Unix socket would stay after `kill -9`, and name a process that is not reaped yet.
      // Other shared memory than files of the data directory would stay for ever.
      `-c listen_addresses=127.0.0.1 -c port=${port} -c unix_socket_directories='' -c dynamic_shared_memory_type=mmap`,
    )
  const start = async (node: Node) => {
    const ports = node.port === undefined ? [freePort(), freePort(), freePort()] : [node.port]
    for (const port of ports) {
      const failure = await startAt(node, port).then(() => undefined, String)
      if (failure === undefined) {
        node.port = port
        return
      }
      if (port === ports.at(-1)) throw new Error(`${failure}\n${readFileSync(`${node.data}.log`, 'utf8')}`)
    }
  }
  const ask = async <Row extends object>(node: Node, text: string): Promise<readonly Row[]> => {
    const db = openDatabase({ url: toUrl(node), clock: systemClock, log: silentLog, max: 1 })
    return await db.run<Row>(text, []).finally(() => db.close())
  }
  const follow = async () => {
    const source = `host=127.0.0.1 port=${primary.port} user=postgres application_name=${standby.name}`
    rmSync(standby.data, { recursive: true, force: true })
    await run([join(PROGRAMS, 'pg_basebackup'), '-d', source, '-D', standby.data, '-R', '-X', 'stream', '-c', 'fast'])
    await start(standby)
    await ask(primary, "alter system set synchronous_standby_names = '*'")
    await ask(primary, 'select pg_reload_conf()')
    await waitFor('the standby to be synchronous', async () => {
      const [row] = await ask<{ n: number }>(
        primary,
        "select count(*)::int4 as n from pg_stat_replication where sync_state = 'sync' and state = 'streaming'",
      )
      return row?.n === 1
    })
  }

  await run([
    join(PROGRAMS, 'initdb'),
    '-D',
    primary.data,
    '-U',
    'postgres',
    '--auth=trust',
    '--encoding=UTF8',
    '--no-locale',
  ])
  await start(primary)
  await follow()

  return {
    url: `postgres://postgres@127.0.0.1:${one.port},127.0.0.1:${two.port}/postgres`,
    getUrl: (which) => toUrl(which === 'primary' ? primary : standby),
    async replay(what) {
      await ask(standby, `select pg_wal_replay_${what}()`)
    },
    killStandby: () => killAll(standby),
    async takeOver(how) {
      // A standby that has none of its own would wait for one.
      appendFileSync(join(standby.data, 'postgresql.auto.conf'), "synchronous_standby_names = ''\n")
      await control(standby, 'reload')
      const endedMs = performance.now()
      if (how === 'killed') killAll(primary)
      else await control(primary, 'stop', '-m', 'fast')
      await control(standby, 'promote')
      const promotedMs = performance.now()
      ;[primary, standby] = [standby, primary]
      return { endedMs, promotedMs }
    },
    rebuild: follow,
    async close() {
      for (const node of [primary, standby]) killAll(node)
      rmSync(directory, { recursive: true, force: true })
    },
  }
}

function toUrl({ port }: Node): string {
  return `postgres://postgres@127.0.0.1:${port}/postgres`
}

/** The postmaster and all its processes. */
export function killAll({ data }: Pick<Node, 'data'>): void {
  const { stdout } = Bun.spawnSync(['head', '-n', '1', join(data, 'postmaster.pid')])
  const postmaster = Number.parseInt(stdout.toString(), 10)
  if (!(postmaster > 1)) return
  const children = Bun.spawnSync(['ps', '-o', 'pid=', '--ppid', String(postmaster)])
    .stdout.toString()
    .trim()
    .split(/\s+/)
  for (const pid of [postmaster, ...children.map(Number)]) {
    try {
      if (pid > 1) process.kill(pid, 'SIGKILL')
    } catch {
      // It ended meanwhile.
    }
  }
}

/**
 * A port that stays free while its server is down: those from 32768 up are used for outgoing connections,
 * and a port that is the end of a connection cannot be listened at.
 */
export function freePort(): number {
  for (;;) {
    const port = randomInt(20_000, 32_000)
    try {
      Bun.listen({ hostname: '127.0.0.1', port, socket: { data() {} } }).stop(true)
      return port
    } catch {
      // Another process listens there.
    }
  }
}
