import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createChainsFile } from '../../devnet/chain.ts'
import { sharedDevnet } from '../../devnet/mod.ts'
import { IS_FULL } from '../../support/cases.ts'
import { type Fault, type FaultyRpc, startFaultyRpc } from '../../support/rpc.ts'
import { waitFor } from '../../support/wait_for.ts'
import { buildWhatIsStale } from './builds.ts'
import { ask, type RawAnswer } from './http.ts'
import { listProcesses, untilEmpty } from './processes.ts'
import { executableProgram, type Program, runCommand, type Service, sourceProgram, startService } from './program.ts'

const EXIT_LIMIT_MS = 10_000
const LOGS = '/v1/usage/logs'
const KEY = /ws_sk_[0-9A-Za-z]{24}/g

await buildWhatIsStale()

describe.each([
  ...(IS_FULL ? [['the source', sourceProgram] as const] : []),
  ['the executable', executableProgram] as const,
])('%s', (_, createProgram) => {
  let program: Program
  let upstream: FaultyRpc
  let key = ''
  let single = ''

  const get = (service: Service, target: string): Promise<RawAnswer> =>
    ask(service.port, { method: 'GET', target, headers: { Authorization: `Bearer ${key}` } })
  const total = async (service: Service, query: string): Promise<number> =>
    JSON.parse((await get(service, `${LOGS}?${query}`)).body).pagination.total

  /** Sends a request while the chain misbehaves; other calls to the chain fail the same way until the answer. */
  const heldUp = async (fault: Fault, send: () => Promise<RawAnswer>): Promise<RawAnswer> => {
    upstream.reset()
    upstream.rule(() => fault)
    return send().finally(() => upstream.rule(() => undefined))
  }

  beforeAll(async () => {
    const devnet = await sharedDevnet()
    upstream = await startFaultyRpc(devnet.rpcUrl)
    program = createProgram({ CHAINS: '1', CHAINS_FILE: '../chains.json' })
    writeFileSync(join(program.directory, '../chains.json'), createChainsFile(upstream.url))
    single = `/v1/positions/uniswap-v3/${devnet.positions.inRange}`
  }, 60_000)

  afterAll(async () => {
    await upstream.stop()
    program.remove()
  }, 60_000)

  test('the first start prints one key, the second none, and the key works in both', async () => {
    const first = await startService(program)
    const printed = `${first.stdout()}${first.stderr()}`.match(KEY) ?? []
    expect(new Set(printed).size).toBe(1)
    key = printed[0] ?? ''
    expect((await get(first, single)).status).toBe(200)
    expect((await first.stop()).status).toBe(0)
    expect(await untilEmpty(program.directory, 5_000)).toEqual([])

    const second = await startService(program)
    expect(`${second.stdout()}${second.stderr()}`).not.toMatch(KEY)
    expect((await get(second, single)).status).toBe(200)
    const [organization] = JSON.parse((await runCommand(program, ['org', 'list', '--json'])).stdout)
    expect((await runCommand(program, ['org', 'limit', organization.id, '1000'])).status).toBe(0)
    expect((await second.stop()).status).toBe(0)
  }, 60_000)

  test('a second owner of the data directory is refused in one line, and the first serves on', async () => {
    const service = await startService(program)
    const refused = await runCommand({ ...program, command: program.serve }, [], { PORT: '0' })
    expect(refused.status).toBe(1)
    expect(refused.stderr.trim().split('\n').at(-1)).toMatch(/data/i)
    expect((await get(service, single)).status).toBe(200)
    expect((await service.stop()).status).toBe(0)
  }, 60_000)

  test.skipIf(process.platform !== 'linux')(
    'under nohup a lost terminal does not end it, SIGTERM does',
    async () => {
      const shell = { ...program, serve: ['sh', '-c', `trap '' HUP; exec "$0" "$@"`, ...program.serve] }
      const service = await startService(shell)
      process.kill(service.pid, 'SIGHUP')
      // Signals are delivered in order: were SIGHUP taken, it would be the one that is named.
      expect((await service.stop()).status).toBe(0)
      expect(service.stderr()).toContain('"signal":"SIGTERM"')
    },
    60_000,
  )

  test('SIGTERM: readiness goes first, accepted requests are answered and charged, nothing stays', async () => {
    const service = await startService(program, { DRAIN_SECONDS: '1' })
    const before = await total(service, 'status_code=200')
    const slow = heldUp({ kind: 'delay', ms: 1_500 }, () => get(service, single))
    await waitFor('a call to the chain', () => upstream.seen.length > 0)
    const stopped = service.stop()
    const ready = () => ask(service.port, { method: 'GET', target: '/readyz', headers: {} })
    await waitFor('readiness to go', async () => (await ready()).status === 503)
    expect((await get(service, LOGS)).status).toBe(200)
    expect((await slow).status).toBe(200)
    const { status, ms } = await stopped
    expect(status).toBe(0)
    expect(ms).toBeLessThan(EXIT_LIMIT_MS)
    expect(await untilEmpty(program.directory, 5_000)).toEqual([])

    const again = await startService(program)
    // The question before the stop, the slow request and the late one.
    expect(await total(again, 'status_code=200')).toBe(before + 3)
    await again.stop()
  }, 60_000)

  test('SIGTERM ends it in time while a chain hangs', async () => {
    const service = await startService(program)
    const hanging = heldUp({ kind: 'hang' }, () => get(service, single))
    await waitFor('a call to the chain', () => upstream.seen.length > 0)
    const { status, ms } = await service.stop()
    expect(status).toBe(0)
    expect(ms).toBeLessThan(EXIT_LIMIT_MS)
    expect((await hanging).status).toBe(503)
    expect(await untilEmpty(program.directory, 5_000)).toEqual([])
  }, 60_000)

  // Only Linux shows which processes are the server's.
  test.if(process.platform === 'linux')(
    'SIGTERM ends it in time while the database hangs',
    async () => {
      const service = await startService(program)
      const servers = await listProcesses(join(program.directory, 'data/postgres/cluster-18'))
      expect(servers.length).toBeGreaterThan(1)
      for (const pid of servers) process.kill(pid, 'SIGSTOP')
      try {
        const hanging = get(service, single).catch((error: unknown) => error)
        await Bun.sleep(100)
        const { ms } = await service.stop()
        expect(ms).toBeLessThan(EXIT_LIMIT_MS)
        expect(await hanging).not.toMatchObject({ status: 200 })
      } finally {
        // Those that the service could not end itself must go when they wake up.
        for (const pid of servers) continueProcess(pid)
      }
      expect(await untilEmpty(program.directory, 5_000)).toEqual([])
    },
    60_000,
  )

  test('kill -9 leaves no PostgreSQL behind and loses no charge', async () => {
    const service = await startService(program)
    const before = await total(service, 'status_code=200')
    const clients = 8
    let answered = 0
    let running = true
    const load = Array.from({ length: clients }, async () => {
      while (running) {
        const answer = await get(service, LOGS).catch(() => undefined)
        if (answer === undefined) return
        if (answer.status === 200) answered += 1
      }
    })
    await waitFor('every client to have been answered', () => answered > 5 * clients, 20_000)
    process.kill(service.pid, 'SIGKILL')
    running = false
    await Promise.all(load)
    expect(await untilEmpty(program.directory, 10_000)).toEqual([])

    const again = await startService(program)
    const { headers, body } = await get(again, `${LOGS}?status_code=200&limit=1`)
    // The question before the load is in the log too.
    const charged = JSON.parse(body).pagination.total - before - 1
    expect(charged).toBeGreaterThanOrEqual(answered)
    expect(charged).toBeLessThanOrEqual(answered + clients)

    const { id } = JSON.parse((await runCommand(program, ['org', 'list', '--json'])).stdout)[0]
    const shown = JSON.parse((await runCommand(program, ['credits', 'show', id, '--json'])).stdout)
    expect(String(shown.balance)).toBe(String(headers['x-credits-remaining']))
    await again.stop()
  }, 60_000)
})

function continueProcess(pid: number): void {
  try {
    process.kill(pid, 'SIGCONT')
  } catch {
    // The service ended it already.
  }
}
