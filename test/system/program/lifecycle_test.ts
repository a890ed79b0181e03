import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { randomInt } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { version } from '../../../package.json'
import { createChainsFile } from '../../devnet/chain.ts'
import { sharedDevnet } from '../../devnet/mod.ts'
import { caseCount, IS_FULL } from '../../support/cases.ts'
import { testDatabase } from '../../support/database.ts'
import { type Fault, type FaultyRpc, startFaultyRpc } from '../../support/rpc.ts'
import { waitFor } from '../../support/wait_for.ts'
import { openAccount, runJson } from './accounts.ts'
import { buildWhatIsStale } from './builds.ts'
import { ask, type RawAnswer } from './http.ts'
import { listProcesses, untilEmpty } from './processes.ts'
import {
  executableProgram,
  giveDatabase,
  nodeProgram,
  type Program,
  runCommand,
  type Service,
  sourceProgram,
  spawnService,
  startService,
} from './program.ts'

describe('start and end', async () => {
  /** What hangs would take a minute; the rest is for a busy machine. */
  const EXIT_LIMIT_MS = 30_000
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
    }, 120_000)

    afterAll(async () => {
      await upstream.stop()
      program.remove()
    }, 120_000)

    test('the first start prints one key, the second none, and the key works in both', async () => {
      const first = await startService(program)
      await waitFor('the key is printed', () => first.stdout().match(KEY) !== null)
      const printed = `${first.stdout()}${first.stderr()}`.match(KEY) ?? []
      expect(new Set(printed).size).toBe(1)
      key = printed[0] ?? ''
      expect((await get(first, single)).status).toBe(200)
      expect((await first.stop()).status).toBe(0)
      expect(await untilEmpty(program.directory, 20_000)).toEqual([])

      const second = await startService(program)
      expect(`${second.stdout()}${second.stderr()}`).not.toMatch(KEY)
      expect((await get(second, single)).status).toBe(200)
      const [organization] = JSON.parse((await runCommand(program, ['org', 'list', '--json'])).stdout)
      expect((await runCommand(program, ['org', 'limit', organization.id, '1000'])).status).toBe(0)
      expect((await second.stop()).status).toBe(0)
    }, 120_000)

    test('a second owner of the data directory is refused in one line, and the first serves on', async () => {
      const service = await startService(program)
      const refused = await runCommand({ ...program, command: program.serve }, [], { PORT: '0' })
      expect(refused.status).toBe(1)
      expect(refused.stderr.trim().split('\n').at(-1)).toMatch(/data/i)
      expect((await get(service, single)).status).toBe(200)
      expect((await service.stop()).status).toBe(0)
    }, 120_000)

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
      120_000,
    )

    test.skipIf(process.platform !== 'linux')(
      "strangers' idle connections leave it files for other callers and for the database",
      async () => {
        const shell = { ...program, serve: ['sh', '-c', 'ulimit -n 256; exec "$0" "$@"', ...program.serve] }
        const service = await startService(shell)
        const strangers = Array.from({ length: 400 }, () => {
          const ask = () => socket.write('GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n')
          const socket = connect(service.port, '127.0.0.1', ask).on('error', () => undefined)
          return socket.resume()
        })
        await waitFor('the limit', () => service.stderr().includes('the limit of open files is reached'))
        expect((await get(service, single)).status).toBe(200)
        for (const socket of strangers) socket.destroy()
        expect((await service.stop()).status).toBe(0)
      },
      120_000,
    )

    test('SIGTERM: readiness goes first, accepted requests are answered and charged, nothing stays', async () => {
      const service = await startService(program, { DRAIN_SECONDS: '3' })
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
      expect(await untilEmpty(program.directory, 20_000)).toEqual([])

      const again = await startService(program)
      // The question before the stop, the slow request and the late one.
      expect(await total(again, 'status_code=200')).toBe(before + 3)
      await again.stop()
    }, 120_000)

    test.if(IS_FULL)(
      'SIGTERM ends it in time while a chain hangs',
      async () => {
        const service = await startService(program)
        const hanging = heldUp({ kind: 'hang' }, () => get(service, single))
        await waitFor('a call to the chain', () => upstream.seen.length > 0)
        const { status, ms } = await service.stop()
        expect(status).toBe(0)
        expect(ms).toBeLessThan(EXIT_LIMIT_MS)
        expect((await hanging).status).toBe(503)
        expect(await untilEmpty(program.directory, 20_000)).toEqual([])
      },
      120_000,
    )

    // Only Linux shows which processes are the server's.
    test.if(process.platform === 'linux' && IS_FULL)(
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
        expect(await untilEmpty(program.directory, 20_000)).toEqual([])
      },
      120_000,
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
      await waitFor('every client to have been answered', () => answered > 5 * clients)
      process.kill(service.pid, 'SIGKILL')
      running = false
      await Promise.all(load)
      expect(await untilEmpty(program.directory, 20_000)).toEqual([])

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
    }, 120_000)
  })

  function continueProcess(pid: number): void {
    try {
      process.kill(pid, 'SIGCONT')
    } catch {
      // The service ended it already.
    }
  }
})

describe('workers', async () => {
  const WORKERS = 4
  const KILLS = caseCount(40, 2)
  /** Between two kills. */
  const ANSWERS = caseCount(100, 10)
  const GRANTED = 10_000_000
  const CLIENTS = 8
  /** Between two requests of a client, which is load without taking all that the machine can do. */
  const PAUSE_MS = 5
  const LOGS = '/v1/usage/logs?limit=1'
  /** No chain is ever reached here. */
  const CHAIN = { CHAINS: '1', RPC_URL_1: 'http://127.0.0.1:9' }

  /** Processes of workers: children that run what their parent runs. PostgreSQL is a child, too. */
  function listWorkers({ pid }: Service): readonly number[] {
    const readCommand = (each: number | string) => {
      try {
        return readFileSync(`/proc/${each}/cmdline`, 'utf8')
      } catch {
        // It has ended meanwhile.
        return ''
      }
    }
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')
    return children.filter((each) => each !== '' && readCommand(each) === readCommand(pid)).map(Number)
  }

  /** The value of a series of `/metrics`, as any worker gives it. */
  async function figure({ port }: Service, series: string): Promise<number> {
    const { body } = await ask(port, { method: 'GET', target: '/metrics', headers: {} })
    const line = body.split('\n').find((each) => each.startsWith(`${series} `))
    return Number(line?.slice(series.length + 1) ?? 0)
  }

  /** Requests share the text of the metrics for a moment. */
  function waitForFigure(service: Service, series: string, value: number): Promise<void> {
    return waitFor(`${series} to be ${value}`, async () => (await figure(service, series)) === value)
  }

  const HEALTHY = 'walletscope_http_requests_total{route="/healthz",status="200"}'

  if (process.platform === 'linux') await buildWhatIsStale()

  describe.skipIf(process.platform !== 'linux')('four workers', () => {
    let program: Program
    let service: Service

    const create = async (rateLimit: number, ...words: readonly string[]) => {
      const account = await openAccount(program, { name: crypto.randomUUID(), credits: GRANTED, rateLimit })
      const { id } = account
      const { key } = words.length === 0 ? account : await runJson(program, ['key', 'create', id, ...words])
      const balance = async () => Number((await runJson(program, ['credits', 'show', id])).balance)
      return { headers: { Authorization: `Bearer ${key}` }, balance }
    }
    const get = (headers: Readonly<Record<string, string>>, target = LOGS) =>
      ask(service.port, { method: 'GET', target, headers })

    beforeAll(async () => {
      program = executableProgram({ ...CHAIN, WORKERS: String(WORKERS) })
      await giveDatabase(program)
      service = await spawnService(program)
    }, 120_000)
    afterAll(async () => {
      await service.stop()
      program.remove()
    }, 120_000)

    test('are killed under load: each answer is charged once and logged, and one that dies is replaced', async () => {
      const { headers, balance } = await create(100_000)
      const counts = { answered: 0, refused: 0, broken: 0 }
      let running = true
      const client = async () => {
        while (running) {
          const status = await get(headers).then(
            (answer) => answer.status,
            () => undefined,
          )
          if (status === 200) counts.answered++
          else if (status === undefined) counts.broken++
          else counts.refused++
          await Bun.sleep(status === 200 ? PAUSE_MS : 20)
        }
      }
      const clients = Array.from({ length: CLIENTS }, client)
      const counted = 'walletscope_http_requests_total{route="GET /v1/usage/logs",status="200"}'
      const seen: number[] = []
      try {
        for (let kill = 1; kill <= KILLS; kill++) {
          const from = counts.answered
          await waitFor('more answers', () => counts.answered >= from + ANSWERS)
          seen.push(await figure(service, counted))
          const workers = listWorkers(service)
          const victim = workers[randomInt(workers.length)] ?? 0
          process.kill(victim, 'SIGKILL')
          // On a busy machine it dies later, and until then takes connections that nothing answers.
          await waitFor('as many workers as before', () => {
            const left = listWorkers(service)
            return left.length === WORKERS && !left.includes(victim)
          })
        }
      } finally {
        running = false
        await Promise.all(clients)
      }
      expect(seen).toEqual(seen.toSorted((a, b) => a - b))
      await waitForFigure(service, 'walletscope_worker_restarts_total', KILLS)
      const charged = GRANTED - (await balance())
      // Whose connection broke may have been charged.
      expect(charged).toBeGreaterThanOrEqual(counts.answered)
      expect(charged).toBeLessThanOrEqual(counts.answered + counts.broken)
      const { pagination } = JSON.parse((await get(headers, `${LOGS}&status_code=200`)).body)
      expect(pagination.total).toBe(charged)
      console.log({ ...counts, charged, kills: KILLS })
    }, 900_000)

    test('admit no more a second than the organization may, wherever its requests arrive', async () => {
      const { headers } = await create(5)
      const fromMs = performance.now()
      const answers = await Promise.all(Array.from({ length: 200 }, () => get(headers)))
      const windows = Math.floor((performance.now() - fromMs) / 1_000) + 1
      const statuses = answers.map(({ status }) => status)
      expect(new Set(statuses)).toEqual(new Set([200, 429]))
      expect(statuses.filter((status) => status === 200).length).toBeLessThanOrEqual(5 * windows)
    }, 120_000)

    test.if(IS_FULL)(
      'charge a key no more a day than it may',
      async () => {
        const { headers, balance } = await create(100_000, '--credits-per-day', '30')
        const answers = await Promise.all(Array.from({ length: 120 }, () => get(headers)))
        const statuses = answers.map(({ status }) => status)
        expect(new Set(statuses)).toEqual(new Set([200, 402]))
        expect(statuses.filter((status) => status === 200)).toHaveLength(30)
        expect(await balance()).toBe(GRANTED - 30)
      },
      120_000,
    )

    test('charge an idempotency key once, whichever worker gets the request', async () => {
      const { headers, balance } = await create(100_000)
      const keys = Array.from({ length: 20 }, () => crypto.randomUUID())
      const asked = keys.flatMap((key) => Array.from({ length: 6 }, () => ({ ...headers, 'Idempotency-Key': key })))
      const statuses = (await Promise.all(asked.map((each) => get(each)))).map(({ status }) => status)
      // 409: another worker was answering it at that moment; 503: the machine is too busy to answer it now.
      expect(statuses.filter((status) => ![200, 409, 503].includes(status))).toEqual([])
      for (const key of keys) {
        await waitFor('an answer to the key', async () => {
          return (await get({ ...headers, 'Idempotency-Key': key })).status === 200
        })
      }
      expect(await balance()).toBe(GRANTED - keys.length)
    }, 120_000)

    test('are counted by one scrape, whichever worker answers it', async () => {
      const before = await figure(service, HEALTHY)
      await Promise.all(Array.from({ length: 200 }, () => get({}, '/healthz')))
      await waitForFigure(service, HEALTHY, before + 200)
      // The one that came last for a killed one may still be starting.
      await waitFor(
        'as many workers as are asked for',
        async () => (await figure(service, 'walletscope_workers')) === WORKERS,
      )
    }, 120_000)

    test('share their port with no second service', async () => {
      const second = await runCommand(program, ['serve'], { PORT: String(service.port) })
      expect([second.status, second.stderr.trim()]).toEqual([
        1,
        `walletscope: Cannot listen on HOST 127.0.0.1 PORT ${service.port}: another program uses it`,
      ])
    }, 120_000)
  })

  const FORMS = ['source', 'executable', 'Node']

  describe.skipIf(process.platform !== 'linux' || !IS_FULL).each(FORMS)('workers of the %s', (form) => {
    test('start once, share both ports, count as one, and leave nothing behind', async () => {
      const env = { ...CHAIN, WORKERS: '3', OPERATOR_PORT: '0' }
      const database = form === 'Node' ? await testDatabase() : undefined
      const make = { source: sourceProgram, executable: executableProgram, Node: nodeProgram }[form] ?? sourceProgram
      const program = make(database === undefined ? env : { ...env, DATABASE_URL: database.url })
      if (database === undefined) await giveDatabase(program)
      const service = await spawnService(program)
      const operatorPort = Number(/"operatorPort":(\d+)/.exec(service.stderr())?.[1])
      const operator = { ...service, port: operatorPort }
      await waitFor('all of them listen', async () => {
        const listening = await figure(operator, `walletscope_build_info{version="${version}"}`)
        return listening === 1 && listWorkers(service).length === 3
      })
      await Promise.all(
        Array.from({ length: 60 }, () => ask(service.port, { method: 'GET', target: '/healthz', headers: {} })),
      )
      await waitForFigure(operator, HEALTHY, 60)
      // The embedded database is new, so exactly one process creates its first organization.
      if (database === undefined) await waitFor('the key is printed', () => /ws_sk_/.test(service.stdout()))
      expect(service.stdout().match(/ws_sk_/g)?.length ?? 0).toBe(database === undefined ? 1 : 0)

      const [one] = listWorkers(service)
      process.kill(one ?? 0, 'SIGKILL')
      await waitFor('it is started again', () => service.stderr().includes('Restarted a worker'))
      await waitFor('three run', async () => listWorkers(service).length === 3)
      expect((await service.stop()).status).toBe(0)
      expect(await untilEmpty(program.directory, 20_000)).toEqual([])

      // Orphans have no drain: their database is gone, and a successor needs the port.
      const killed = await spawnService(program, { DRAIN_SECONDS: '60' })
      expect((await killed.stop('SIGKILL')).status).not.toBe(0)
      expect(await untilEmpty(program.directory, 20_000)).toEqual([])
      await database?.close()
      program.remove()
    }, 120_000)
  })
})
