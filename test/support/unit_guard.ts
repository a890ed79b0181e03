/**
 * Fails a test of `test/unit` that reaches beyond its process or waits for the machine's time: that opens a socket to
 * anything but a server of its own process, starts a process, or lets a timer of `WAIT_MS_MIN` or more run out. Such a
 * test belongs into `test/contract` or `test/system`.
 */
import { afterEach } from 'bun:test'
import childProcess from 'node:child_process'
import net from 'node:net'
import { systemClock } from '../../src/lib/clock.ts'

/** Shorter timers let the event loop go on; longer ones wait. */
const WAIT_MS_MIN = 5
const UNIT = /\/test\/unit\//

/** Ports on which servers of this process listen or listened. */
const ownPorts = new Set<number>()
let faults: string[] = []

afterEach(() => {
  const found = [...new Set(faults)]
  faults = []
  if (found.length > 0) throw new Error(`A unit test ${found.join(', and ')}`)
})

/** Notes what the file that runs did, if it is a unit test: of what an earlier file left behind, nothing. */
function note(what: string, file = Bun.main): void {
  if (file === Bun.main && UNIT.test(file)) faults.push(what)
}

function checkPort(port: unknown): void {
  if (typeof port === 'number' || typeof port === 'string') {
    if (!ownPorts.has(Number(port))) note(`connected to port ${port}, which is not of a double in its process`)
  }
}

function isLong(ms: unknown): boolean {
  return typeof ms === 'number' && ms >= WAIT_MS_MIN
}

const serve = Bun.serve
Bun.serve = ((options: Parameters<typeof serve>[0]) => {
  const server = serve(options)
  if (server.port !== undefined) ownPorts.add(server.port)
  return server
}) as typeof serve

const listen = net.Server.prototype.listen
net.Server.prototype.listen = function (this: net.Server, ...words: unknown[]) {
  this.once('listening', () => {
    const address = this.address()
    if (address !== null && typeof address === 'object') ownPorts.add(address.port)
  })
  return Reflect.apply(listen, this, words) as net.Server
} as typeof listen

const connect = net.Socket.prototype.connect
net.Socket.prototype.connect = function (this: net.Socket, ...words: unknown[]) {
  const [first] = words.flat()
  if (typeof first === 'object' && first !== null) {
    const { port, path } = first as { port?: unknown; path?: unknown }
    if (path !== undefined && path !== null) note(`connected to ${path}`)
    else checkPort(port)
  } else checkPort(first)
  return Reflect.apply(connect, this, words) as net.Socket
} as typeof connect

const { fetch } = globalThis
globalThis.fetch = Object.assign((...words: Parameters<typeof fetch>) => {
  const [target] = words
  const url = new URL(target instanceof Request ? target.url : String(target), 'http://localhost')
  if (url.protocol === 'http:' || url.protocol === 'https:')
    checkPort(url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : url.port)
  return fetch(...words)
}, fetch)

const { connect: connectBun, spawn, spawnSync, sleep } = Bun
Bun.connect = ((options: Parameters<typeof connectBun>[0]) => {
  if ('port' in options) checkPort(options.port)
  return connectBun(options)
}) as typeof connectBun
Bun.spawn = ((...words: Parameters<typeof spawn>) => {
  note('started a process')
  return spawn(...words)
}) as typeof spawn
Bun.spawnSync = ((...words: Parameters<typeof spawnSync>) => {
  note('started a process')
  return spawnSync(...words)
}) as typeof spawnSync
for (const name of ['spawn', 'spawnSync', 'execFile', 'execFileSync', 'exec', 'execSync', 'fork'] as const) {
  const start = childProcess[name] as (...words: unknown[]) => unknown
  ;(childProcess as unknown as Record<string, unknown>)[name] = (...words: unknown[]) => {
    note('started a process')
    return start(...words)
  }
}

Bun.sleep = async (ms) => {
  const file = Bun.main
  await sleep(ms)
  if (isLong(ms)) note(`slept ${ms} ms`, file)
}
const { setTimeout: schedule, setInterval: repeat } = globalThis
const later = (start: typeof schedule) =>
  ((run: (...words: unknown[]) => void, ms?: number, ...words: unknown[]) => {
    const file = Bun.main
    return start(() => {
      if (isLong(ms)) note(`let a timer of ${ms} ms run out`, file)
      run(...words)
    }, ms)
  }) as typeof schedule
globalThis.setTimeout = Object.assign(later(schedule), schedule)
globalThis.setInterval = Object.assign(later(repeat as typeof schedule), repeat) as unknown as typeof repeat
const { timeout } = AbortSignal
AbortSignal.timeout = (ms) => {
  const file = Bun.main
  const signal = timeout.call(AbortSignal, ms)
  if (isLong(ms)) signal.addEventListener('abort', () => note(`waited for a deadline of ${ms} ms`, file))
  return signal
}
const clock = systemClock as { -readonly [Key in keyof typeof systemClock]: (typeof systemClock)[Key] }
const { sleep: sleepClock } = systemClock
clock.sleep = async (ms, signal) => {
  const file = Bun.main
  await sleepClock(ms, signal)
  if (isLong(ms)) note(`slept ${ms} ms by the machine's clock`, file)
}
