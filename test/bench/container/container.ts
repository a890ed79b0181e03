import { writeFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { loadavg } from 'node:os'
import { join } from 'node:path'
import { openDatabase } from '../../../src/db/connection/pool.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { DEVNET_ROW } from '../../devnet/chain.ts'
import { buildWhatIsStale } from '../../system/program/builds.ts'
import { type Service, spawnService } from '../../system/program/program.ts'
import { startChild } from '../child.ts'
import { createOrganizations } from '../organizations.ts'
import { printNote, printTable } from '../table.ts'
import { buildWatchedForms, type WatchedForm } from './forms.ts'
import type { HostileServer } from './hostile.ts'
import { createMemoryLimit, readAnonymousMb } from './memory_limit.ts'

/** Memory of the container, and the longest that anything may hold the event loop. */
const LIMIT_MB = 256
const HOLD_MS_MAX = 250
const READERS = 300
const CALLERS = 20
const RECEIVERS = 10
const LOOK_MS = 20
const READY_LIMIT_MS = 30_000
/** The large script of the console, which needs no key. */
const LARGE_FILE = /\/assets\/\w+\/reference\.js/
/** What tests let programs keep, operators do not. */
const AS_OPERATORS = 'unset MIMALLOC_PURGE_DELAY _RJEM_MALLOC_CONF; exec "$@"'

interface Scene {
  readonly port: number
  readonly key: string
  readonly hostileUrl: string
  /** Resolves when the attack has lasted for long enough. */
  readonly over: Promise<void>
}

const ATTACKS: Readonly<Record<string, (scene: Scene) => Promise<void>>> = {
  [`${READERS} readers that do not read`]: holdUnread,
  [`${CALLERS} callers, endpoint unpacks to 1 GB`]: (scene) => askWhileOpen(scene, 1),
  [`${CALLERS} callers, endpoint continues for ever`]: (scene) => askWhileOpen(scene, 10),
  [`${RECEIVERS} receivers continue for ever`]: postToReceivers,
}

/**
 * Runs each form of the program within the memory of a small container, and lets everything happen to it that sends or
 * holds without end. False if the kernel killed it, if it answers nothing afterwards, or if its event loop was held.
 */
export async function benchContainer({
  quick,
  databaseUrl,
}: {
  readonly quick: boolean
  readonly databaseUrl: string
}): Promise<boolean> {
  await buildWhatIsStale()
  const hostile = startChild('container/hostile.ts')
  try {
    const { port, packedBytes } = await hostile.read<HostileServer>()
    const hostileUrl = `http://127.0.0.1:${port}`
    const forms = await buildWatchedForms({
      PATH: process.env['PATH'] ?? '',
      CHAINS: '1,10',
      CHAINS_FILE: '../chains.json',
      DATABASE_URL: databaseUrl,
      WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8',
    })
    const keys = await createKeys(databaseUrl, forms.length)
    const rows: (readonly string[])[] = []
    let held = true
    for (const [index, form] of forms.entries()) {
      const seen = await measureForm(form, { quick, hostileUrl, key: keys[index] ?? '' })
      held &&= seen.held
      rows.push(...seen.rows)
    }
    printTable(['form', 'attack', 'memory, MB', 'killed', 'longest hold, ms', 'longest /healthz, ms', 'after'], rows)
    const load = loadavg().map((each) => each.toFixed(1))
    printNote(
      `container of ${LIMIT_MB} MB; memory: most that no file can give back; the endpoint's answer has ${packedBytes} bytes; holds up to ${HOLD_MS_MAX} ms; load average ${load.join(' ')}`,
    )
    return held
  } finally {
    await hostile.stop()
  }
}

async function measureForm(
  { name, program }: WatchedForm,
  { quick, hostileUrl, key }: { readonly quick: boolean; readonly hostileUrl: string; readonly key: string },
) {
  const limit = createMemoryLimit(LIMIT_MB)
  if (limit === undefined) printNote(`no container can be made here: only the memory of "${name}" is looked at`)
  const chains = [
    { ...DEVNET_ROW, rpcUrls: [`${hostileUrl}/unpacks`] },
    { ...DEVNET_ROW, id: 10, name: 'Continues', rpcUrls: [`${hostileUrl}/continues`] },
  ]
  writeFileSync(join(program.directory, '../chains.json'), JSON.stringify({ chains }))
  const socket = join(program.directory, '../watch.sock')
  const serve = ['sh', '-c', AS_OPERATORS, 'sh', ...program.serve]
  const service = await spawnService({ ...program, serve: limit?.wrap(serve) ?? serve }, { BENCH_WATCH: socket })
  const rows: string[][] = []
  let held = true
  const readHold = async () => Number(await (await fetch('http://watch/', { unix: socket })).text())
  try {
    await untilAnswering(service.port, key)
    for (const [attack, run] of Object.entries(ATTACKS)) {
      await readHold()
      const { memoryMb, healthMs } = await lookWhile(service, quick ? 5_000 : 15_000, (over) =>
        run({ port: service.port, key, hostileUrl, over }),
      )
      const holdMs = await readHold().catch(() => Number.NaN)
      const kills = limit?.countKills() ?? (memoryMb > LIMIT_MB ? 1 : 0)
      const after = await askUsage(service.port, key)
      held &&= kills === 0 && after === 200 && !(holdMs >= HOLD_MS_MAX)
      const figures = [memoryMb, kills, holdMs, healthMs].map((each) => (Number.isNaN(each) ? '–' : each.toFixed(0)))
      rows.push([name, attack, ...figures, String(after)])
      console.error(...(rows.at(-1) ?? []))
      if (kills > 0) break
    }
  } finally {
    await service.stop('SIGKILL').catch(() => undefined)
    program.remove()
    limit?.remove()
  }
  return { held, rows }
}

async function createKeys(databaseUrl: string, count: number): Promise<readonly string[]> {
  const db = openDatabase({ url: databaseUrl, clock: systemClock, log: silentLog, max: 1 })
  return await createOrganizations(db, count).finally(() => db.close())
}

/** Looks at memory, and asks for a sign of life, again and again while an attack lasts. */
async function lookWhile(service: Service, ms: number, attack: (over: Promise<void>) => Promise<void>) {
  let [memoryMb, healthMs, isOver] = [0, 0, false]
  const look = async () => {
    for (; !isOver; await Bun.sleep(LOOK_MS / 4)) memoryMb = Math.max(memoryMb, readAnonymousMb(service.pid) || 0)
  }
  const ask = async () => {
    for (; !isOver; await Bun.sleep(LOOK_MS)) {
      const startedMs = performance.now()
      await askPath(service.port, '/healthz')
      healthMs = Math.max(healthMs, performance.now() - startedMs)
    }
  }
  const looking = [look(), ask()]
  await attack(Bun.sleep(ms)).finally(() => {
    isOver = true
  })
  await Promise.all(looking)
  return { memoryMb, healthMs }
}

async function holdUnread({ port, over }: Scene): Promise<void> {
  const page = await (await fetch(`http://127.0.0.1:${port}/docs/reference`)).text()
  const path = LARGE_FILE.exec(page)?.[0]
  if (path === undefined) throw new Error('Cannot find the large file of /docs/reference')
  const sockets = Array.from({ length: READERS }, (): Socket => {
    const socket = connect(port, '127.0.0.1', () => socket.write(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`))
    return socket.on('error', () => undefined).pause()
  })
  await over
  for (const socket of sockets) socket.destroy()
}

/** Callers ask for a wallet on a chain, each again as soon as it has an answer. */
async function askWhileOpen({ port, key, over }: Scene, chainId: number): Promise<void> {
  let isOver = false
  const ended = over.then(() => {
    isOver = true
  })
  let wallets = 0
  const askOn = async () => {
    while (!isOver) {
      const wallet = `0x${(++wallets).toString(16).padStart(40, '1')}`
      const status = await askPath(port, `/v1/lending/aave-v3?wallet=${wallet}&chain_id=${chainId}`, key)
      if (status !== 503 && status !== 0) throw new Error(`Cannot attack: chain ${chainId} is answered with ${status}`)
    }
  }
  await Promise.all([ended, ...Array.from({ length: CALLERS }, askOn)])
}

async function postToReceivers({ port, key, hostileUrl, over }: Scene): Promise<void> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const post = (path: string, body: object) =>
    fetch(`http://127.0.0.1:${port}/v1/webhooks${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
  for (let made = 0; made < RECEIVERS; made++) {
    const answer = await post('', { url: `${hostileUrl}/continues` })
    const { data } = (await answer.json()) as { readonly data: { readonly id: string } }
    const test = await post(`/${data.id}/test`, {})
    if (!test.ok) throw new Error(`Cannot attack: the test message is answered with ${test.status}`)
  }
  await over
}

async function untilAnswering(port: number, key: string): Promise<void> {
  const deadline = performance.now() + READY_LIMIT_MS
  while ((await askUsage(port, key)) !== 200) {
    if (performance.now() > deadline) throw new Error('Cannot attack: the service does not answer')
    await Bun.sleep(LOOK_MS)
  }
}

function askUsage(port: number, key: string): Promise<number> {
  return askPath(port, '/v1/usage/logs?limit=1', key)
}

/** Status of an answer on a connection of its own; 0 without one. */
async function askPath(port: number, path: string, key?: string): Promise<number> {
  try {
    const headers = { connection: 'close', ...(key === undefined ? {} : { authorization: `Bearer ${key}` }) }
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, { headers, keepalive: false })
    await answer.arrayBuffer()
    return answer.status
  } catch {
    return 0
  }
}
