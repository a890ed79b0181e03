import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { readConfig } from '../../../src/config/config.ts'
import type { Example } from '../../../src/http/openapi/example.ts'
import kept from '../../../src/service/examples.json' with { type: 'json' }
import { createChainsFile } from '../../devnet/chain.ts'
import { type Devnet, sharedDevnet } from '../../devnet/mod.ts'
import { type TestDatabase, temporaryDirectory, testDatabase } from '../../support/database.ts'
import { waitFor } from '../../support/wait_for.ts'
import { BROWSER, openPage, type Watched } from '../browser/browser.ts'
import { openAccount } from './accounts.ts'
import { buildWhatIsStale } from './builds.ts'
import { askExamples, type Examples } from './examples.ts'
import { ask } from './http.ts'
import { executableProgram, giveDatabase, type Program, runCommand, type Service, startService } from './program.ts'

describe('the kit', async () => {
  await buildWhatIsStale()

  const PUBLIC = "https://api.example.org/at%20home/$it's"
  /** The same address without the marks that a file would end or expand. */
  const PLAIN_PUBLIC = 'https://api.example.org/at%20home/%24it%27s'
  const SECRET = 'rpc-secret'
  const NAME = /\b(?:walletscope|process)_[a-z_]+\b/g
  /** Made by the scrape itself, or parts of a histogram. */
  const SUFFIX = /_(?:bucket|sum|count)$/

  let program: Program
  let service: Service
  let metrics = ''

  beforeAll(async () => {
    program = executableProgram({ CHAINS: '1', CHAINS_FILE: '../chains.json', PUBLIC_URL: PUBLIC })
    writeFileSync(join(program.directory, '../chains.json'), createChainsFile((await sharedDevnet()).rpcUrl))
    await giveDatabase(program)
    service = await startService(program)
    await waitFor('figures to be read', async () => {
      metrics = (await ask(service.port, { method: 'GET', target: '/metrics', headers: {} })).body
      return metrics.includes('walletscope_job_rounds_total{job="figures",outcome="done"}')
    })
  }, 120_000)
  afterAll(async () => {
    await service.stop()
    program.remove()
  }, 120_000)

  /** The file as the command prints it. */
  async function kit(name: string, env: Readonly<Record<string, string>> = {}): Promise<string> {
    const { status, stdout, stderr } = await runCommand(program, ['kit', name], {
      RPC_URL_1: `https://${SECRET}.example`,
      DATABASE_URL: 'postgres://me:db-secret@localhost/app',
      ADMIN_TOKEN: 'admin-secret-of-16',
      ...env,
    })
    expect([status, stderr]).toEqual([0, ''])
    return stdout
  }

  function yaml(text: string): ReturnType<typeof JSON.parse> {
    return Bun.YAML.parse(text)
  }

  test.each(['compose', 'systemd', 'kubernetes', 'prometheus', 'grafana'])(
    'kit %s holds no secret of the configuration',
    async (name) => {
      expect(await kit(name)).not.toMatch(/rpc-secret|db-secret|admin-secret/)
    },
  )

  test('the metrics describe the process, the head of its chain, and each endpoint by its position', () => {
    for (const line of [
      /^walletscope_build_info\{version="[\d.]+"\} 1$/m,
      /^walletscope_database_up 1$/m,
      /^process_cpu_seconds_total [\d.]+$/m,
      /^process_resident_memory_bytes \d{8,}$/m,
      /^walletscope_chain_head_block\{chain_id="1"\} [1-9]\d*$/m,
      /^walletscope_chain_head_age_seconds\{chain_id="1"\} [\d.e-]+$/m,
      /^walletscope_rpc_endpoint_up\{chain_id="1",endpoint="1"\} 1$/m,
      /^walletscope_rpc_requests_total\{chain_id="1",endpoint="1",outcome="ok"\} \d+$/m,
      /^walletscope_organizations_low_on_credits 0$/m,
    ]) {
      expect(metrics).toMatch(line)
    }
  })

  test('alert rules and the dashboard use metrics that the service has', async () => {
    // The last one is told by the process that starts several workers.
    const served = [...metrics.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name)
    const known = new Set([...served, 'walletscope_worker_restarts_total'])
    const rules = yaml(await kit('prometheus'))
    const alerts: { readonly expr: string }[] = rules.groups[0].rules
    const dashboard = JSON.parse(await kit('grafana'))
    const asked: { readonly expr: string }[] = dashboard.panels.flatMap((panel: { targets: unknown }) => panel.targets)
    expect(asked.length).toBeGreaterThan(12)
    const names = [...alerts, ...asked].flatMap(({ expr }) => expr.match(NAME) ?? [])
    expect(new Set(names.map((name) => name.replace(SUFFIX, '')).filter((name) => !known.has(name)))).toEqual(new Set())
  })

  test('the compose file migrates and serves from a PostgreSQL that only it reaches, with a new password each time', async () => {
    const [text, again] = [await kit('compose'), await kit('compose')]
    expect(text).not.toBe(again)
    const { services, networks, volumes } = yaml(text)
    const { environment } = services.walletscope
    const config = readConfig(environment, () => '{}')
    expect(config).toMatchObject({ databaseTls: 'off', publicUrl: PLAIN_PUBLIC, operatorPort: 8_081, drainMs: 10_000 })
    const { POSTGRES_USER: user, POSTGRES_DB: name, POSTGRES_PASSWORD: password } = services.postgres.environment
    expect(config.databaseUrl).toBe(`postgres://${user}:${password}@postgres/${name}`)
    expect(services.migrate).toMatchObject({ command: ['migrate'], environment, networks: ['database'] })
    expect(services.walletscope.depends_on).toEqual({ migrate: { condition: 'service_completed_successfully' } })
    expect([networks.database.internal, services.postgres.networks]).toEqual([true, ['database']])
    // Not every release of compose knows a network that is not named.
    expect(services.walletscope.networks.toSorted()).toEqual(Object.keys(networks).toSorted())
    // Passed on from .env or the shell, and not set if neither has them.
    expect(environment).toMatchObject({ RPC_URL_1: null, ADMIN_TOKEN: null })
    for (const each of [services.walletscope, services.postgres]) {
      for (const mount of each.volumes) {
        const [source] = mount.split(':')
        if (!source.startsWith('/')) expect(Object.keys(volumes)).toContain(source)
      }
    }
    // Longer than the drain and the ten seconds that it takes at most.
    expect(Number.parseInt(services.walletscope.stop_grace_period, 10)).toBeGreaterThan(20)
  })

  test('the manifests migrate before they serve, and probe the ports that they open', async () => {
    const text = await kit('kubernetes', { OPERATOR_PORT: '9000', DRAIN_SECONDS: '30' })
    const [secret, { spec }, service, budget] = text.split(/^---$/m).map(yaml)
    const { initContainers, containers, terminationGracePeriodSeconds } = spec.template.spec
    const [{ env, ports, readinessProbe, livenessProbe }] = containers
    const variables = Object.fromEntries(env.map(({ name, value }: { name: string; value: string }) => [name, value]))
    const readMounted = (path: string) =>
      path.endsWith('CHAINS_FILE') ? '{}' : secret.stringData.DATABASE_URL.replaceAll('…', 'x')
    const config = readConfig(variables, readMounted)
    expect(config).toMatchObject({
      operatorPort: 9_000,
      drainMs: 30_000,
      publicUrl: PLAIN_PUBLIC,
      allowedHosts: ['walletscope'],
    })
    expect(ports).toContainEqual({ name: 'operator', containerPort: 9_000 })
    expect(readinessProbe.httpGet).toEqual({ path: '/readyz', port: 'operator' })
    expect(livenessProbe.httpGet).toEqual({ path: '/healthz', port: 'http' })
    expect(readinessProbe.periodSeconds).toBeLessThan(30)
    expect(terminationGracePeriodSeconds).toBeGreaterThan(40)
    expect([initContainers[0].args, initContainers[0].env]).toEqual([['migrate'], env])
    expect([service.kind, budget.kind]).toEqual(['Service', 'PodDisruptionBudget'])
  })

  const systemdAnalyze = Bun.which('systemd-analyze')
  describe.skipIf(systemdAnalyze === null)('the unit (needs the program "systemd-analyze")', () => {
    test('is accepted by systemd with a security rating of at least OK', async () => {
      const file = join(temporaryDirectory(), 'kit.service')
      const unit = await kit('systemd')
      // `verify` looks for the program.
      writeFileSync(file, unit.replace('/usr/local/bin/walletscope serve', '/bin/true'))
      const verified = Bun.spawnSync([systemdAnalyze ?? '', 'verify', file])
      expect(`${verified.stdout}${verified.stderr}`).toBe('')
      const { stdout } = Bun.spawnSync([systemdAnalyze ?? '', 'security', '--offline=true', '--threshold=20', file])
      expect(stdout.toString()).toContain(' OK ')
      expect(unit).toContain(`Environment=PUBLIC_URL=${PLAIN_PUBLIC.replaceAll('%', '%%')}`)
    })
  })

  const promtool = Bun.which('promtool')
  if (promtool === null && process.env['PROMTOOL_REQUIRED'] === 'true') {
    throw new Error('Cannot test the alert rules: PROMTOOL_REQUIRED is set, and no promtool is installed')
  }
  describe.skipIf(promtool === null)('Prometheus (needs the program "promtool")', () => {
    const run = (words: readonly string[], input = '') => {
      const { exitCode, stdout, stderr } = Bun.spawnSync([promtool ?? '', ...words], { stdin: Buffer.from(input) })
      return { exitCode, said: `${stdout}${stderr}` }
    }

    test('accepts the metrics without a warning', () => {
      expect(run(['check', 'metrics'], metrics)).toEqual({ exitCode: 0, said: '' })
    })

    test('fires each alert for its problem, and no other', async () => {
      const directory = temporaryDirectory()
      const rules = await kit('prometheus')
      writeFileSync(join(directory, 'rules.yml'), rules)
      expect(run(['check', 'rules', join(directory, 'rules.yml')]).exitCode).toBe(0)
      const alerts: string[] = yaml(rules).groups[0].rules.map(({ alert }: { alert: string }) => alert)
      expect(Object.keys(TROUBLES).toSorted()).toEqual(alerts.toSorted())
      const at = '3h'
      for (const [name, { series, labels, says }] of Object.entries(TROUBLES)) {
        const fired = [{ exp_labels: labels, exp_annotations: { summary: says } }]
        const checks = alerts.map((alert) => ({
          eval_time: at,
          alertname: alert,
          exp_alerts: alert === name ? fired : [],
        }))
        const input = Object.entries({ ...QUIET, ...series }).map(([each, values]) => ({ series: each, values }))
        const tests = [{ interval: '1m', input_series: input, alert_rule_test: checks }]
        const file = join(directory, `${name}.json`)
        writeFileSync(file, JSON.stringify({ rule_files: ['rules.yml'], tests }))
        expect({ name, ...run(['test', 'rules', file]) }).toMatchObject({ name, exitCode: 0 })
      }
    })
  })

  const I = 'instance="a:8081",job="walletscope"'
  const INSTANCE = { instance: 'a:8081', job: 'walletscope' }
  const ROUTE = 'route="GET /v1/usage/logs"'
  const CHAIN = 'chain_id="1"'

  /** Three hours in which all is well. */
  const QUIET: Readonly<Record<string, string>> = {
    [`up{${I}}`]: '1x180',
    [`walletscope_database_up{${I}}`]: '1x180',
    [`walletscope_database_wait_seconds_total{${I},lane="read"}`]: '0+6x180',
    [`walletscope_http_requests_total{${I},${ROUTE},status="200"}`]: '0+600x180',
    [`walletscope_http_requests_total{${I},${ROUTE},status="503"}`]: '0+6x180',
    // The chain gets no requests.
    [`walletscope_chain_head_age_seconds{${I},chain_id="10"}`]: '0+60x180',
    [`walletscope_rpc_requests_total{${I},chain_id="10",endpoint="1",outcome="ok"}`]: '5x180',
    [`walletscope_chain_head_age_seconds{${I},${CHAIN}}`]: '12x180',
    [`walletscope_rpc_requests_total{${I},${CHAIN},endpoint="1",outcome="ok"}`]: '0+60x180',
    [`walletscope_rpc_endpoint_up{${I},${CHAIN},endpoint="2"}`]: '1x180',
    // An endpoint that failed before requests stopped.
    [`walletscope_rpc_endpoint_up{${I},chain_id="10",endpoint="1"}`]: '0x180',
    // Few requests, of agents, most of which fail.
    [`walletscope_http_requests_total{instance="b:8081",job="walletscope",route="GET /mcp/v1/portfolio/balance",status="502"}`]:
      '0+1x180',
    [`walletscope_gate_journal_durable{${I}}`]: '1x180',
    [`walletscope_gate_voids_waiting{${I}}`]: '0x180',
    [`walletscope_data_free_bytes{${I}}`]: '1000000000x180',
    [`walletscope_midnight_timestamp_seconds{${I},${CHAIN}}`]: '0x180',
    [`walletscope_organizations_low_on_credits{${I}}`]: '0x180',
  }

  /** Series that make each alert fire, with the expected text. */
  const TROUBLES: Readonly<
    Record<
      string,
      { readonly series: Readonly<Record<string, string>>; readonly labels: object; readonly says: string }
    >
  > = {
    WalletscopeDown: {
      series: { [`up{${I}}`]: '1x170 0x10' },
      labels: { severity: 'page', ...INSTANCE },
      says: 'a:8081 cannot be scraped.',
    },
    WalletscopeDatabaseDown: {
      series: { [`walletscope_database_up{${I}}`]: '1x170 0x10' },
      labels: { severity: 'page', ...INSTANCE },
      says: 'a:8081 cannot reach its database: all requests fail.',
    },
    WalletscopeDatabaseWaits: {
      series: { [`walletscope_database_wait_seconds_total{${I},lane="read"}`]: '0+120x180' },
      labels: { severity: 'ticket', instance: 'a:8081', lane: 'read' },
      says: 'More than one statement of lane read is always waiting for a connection.',
    },
    WalletscopeAnswersFail: {
      // Agents call by routes of their own.
      series: { [`walletscope_http_requests_total{${I},route="GET /mcp/v1/usage/logs",status="503"}`]: '0+60x180' },
      labels: { severity: 'page', instance: 'a:8081' },
      says: 'More than 5 % of the requests are answered 5xx.',
    },
    WalletscopeChainStands: {
      series: { [`walletscope_chain_head_age_seconds{${I},${CHAIN}}`]: '12x160 600x20' },
      labels: { severity: 'page', chain_id: '1', ...INSTANCE },
      says: 'The newest block of chain 1 is 10m 0s old, although the chain gets requests.',
    },
    WalletscopeEndpointFails: {
      series: {
        [`walletscope_rpc_endpoint_up{${I},${CHAIN},endpoint="2"}`]: '1x160 0x20',
        [`walletscope_rpc_requests_total{${I},${CHAIN},endpoint="2",outcome="failed"}`]: '0+2x180',
      },
      labels: { severity: 'ticket', chain_id: '1', endpoint: '2', ...INSTANCE },
      says: 'Endpoint 2 of chain 1 fails: "walletscope doctor" shows why.',
    },
    WalletscopeJournalNotDurable: {
      series: { [`walletscope_gate_journal_durable{${I}}`]: '1x170 0x10' },
      labels: { severity: 'page', ...INSTANCE },
      says: 'a:8081 cannot write its journal: a crash now would lose charges to void.',
    },
    WalletscopeDiskFull: {
      series: { [`walletscope_data_free_bytes{${I}}`]: '1000000000x160 500000000x20' },
      labels: { severity: 'page', ...INSTANCE },
      says: 'The embedded database of a:8081 has 500MB of disk left: when it is full, all requests fail.',
    },
    WalletscopeVoidsWait: {
      series: { [`walletscope_gate_voids_waiting{${I}}`]: '0x160 3x20' },
      labels: { severity: 'ticket', ...INSTANCE },
      says: '3 charges with an unknown outcome wait for the database.',
    },
    WalletscopeMidnightMissing: {
      // Three days before the tests begin, which is at zero.
      series: { [`walletscope_midnight_timestamp_seconds{${I},${CHAIN}}`]: '-259200x180' },
      labels: { severity: 'ticket', chain_id: '1', ...INSTANCE },
      says: 'Chain 1 has no block for the last midnight: daily series end there.',
    },
    WalletscopeTriggersStand: {
      series: { [`walletscope_trigger_block_age_seconds{${I},${CHAIN},finality="latest"}`]: '2x160 600x20' },
      labels: { severity: 'page', chain_id: '1', finality: 'latest' },
      says: 'Triggers of chain 1 (latest) were not evaluated for 10m 0s.',
    },
    WalletscopeMessagesWait: {
      series: { [`walletscope_message_due_oldest_seconds{${I}}`]: '0x150 1200x30' },
      labels: { severity: 'page' },
      says: 'A message of a trigger has been due for 20m 0s: no process posts it.',
    },
    WalletscopeWorkersExit: {
      series: { [`walletscope_worker_restarts_total{${I}}`]: '0x160 0+1x20' },
      labels: { severity: 'ticket', ...INSTANCE },
      says: 'Workers of a:8081 exit again and again: its log says why.',
    },
    WalletscopeCreditsLow: {
      series: { [`walletscope_organizations_low_on_credits{${I}}`]: '0x160 2x20' },
      labels: { severity: 'ticket' },
      says: '2 organizations have fewer credits left than they spent since yesterday.',
    },
  }
})

describe('documents', async () => {
  const LIMIT = { timeout: 60_000 }

  let devnet: Devnet
  let database: TestDatabase
  let program: Program
  let service: Service
  let watched: Watched
  let page: Page
  let key: string

  describe.skipIf(BROWSER === undefined)('pages of the documentation', () => {
    beforeAll(async () => {
      await buildWhatIsStale()
      devnet = await sharedDevnet()
      database = await testDatabase()
      program = executableProgram({ CHAINS: '1', CHAINS_FILE: '../chains.json', DATABASE_URL: database.url })
      writeFileSync(join(program.directory, '../chains.json'), createChainsFile(devnet.rpcUrl))
      service = await startService(program)
      key = (await openAccount(program, { name: 'readers', credits: 100, rateLimit: 1_000 })).key
      watched = await openPage()
      page = watched.page
    }, 240_000)

    afterAll(async () => {
      await watched?.close()
      await service?.stop()
      program?.remove()
      await database?.close()
    }, 120_000)

    test('the API reference shows every operation of the document', async () => {
      const origin = `http://127.0.0.1:${service.port}`
      await page.goto(`${origin}/docs/reference`)
      const contents = page.locator('aside')
      await contents.getByText('usage', { exact: true }).first().waitFor(LIMIT)
      for (let closed = 1; closed > 0; ) {
        const groups = page.getByRole('button', { name: /^Open Group - (?!Models)/ })
        if ((await groups.count()) > 0) await groups.first().click(LIMIT)
        closed = await groups.count()
      }
      const response = await fetch(`${origin}/openapi.json`)
      const { paths } = (await response.json()) as { readonly paths: Readonly<Record<string, object>> }
      for (const path of Object.keys(paths)) await contents.getByText(path, { exact: true }).first().waitFor(LIMIT)
    }, 120_000)

    test('the first call of the introduction works as it stands', async () => {
      const [, url = ''] =
        /curl -H "[^"]+" "([^"]+)"/.exec((await page.getByText('curl -H').first().textContent()) ?? '') ?? []
      expect(url).toStartWith(`http://127.0.0.1:${service.port}/v1/portfolio/balance?`)
      // This chain has no Aave.
      expect((await fetch(`${url}&allow_partial=true`, { headers: { authorization: `Bearer ${key}` } })).status).toBe(
        200,
      )
    }, 120_000)

    test('its console sends a request to this service with the key that the reader gives', async () => {
      await page.getByPlaceholder('Token').first().fill(key)
      await page.locator('aside').getByText('/v1/usage/logs', { exact: true }).click(LIMIT)
      await page.getByRole('button', { name: 'Test Request (get /v1/usage/logs)' }).click(LIMIT)
      const answered = page.waitForResponse((each) => each.url().includes('/v1/'), LIMIT).catch(() => undefined)
      await page.getByRole('button', { name: /^Send/ }).first().click(LIMIT)
      const response = await answered
      expect(response?.status()).toBe(200)
      expect(await response?.request().headerValue('authorization')).toBe(`Bearer ${key}`)
    }, 120_000)

    test('the request of an operation works as it stands, filled in with examples of the demo', async () => {
      await page.getByRole('button', { name: 'Close Client' }).first().click(LIMIT)
      await page.locator('aside').getByText('/v1/positions/uniswap-v3', { exact: true }).click(LIMIT)
      await page.getByRole('button', { name: 'Test Request (get /v1/positions/uniswap-v3)' }).click(LIMIT)
      const answered = page.waitForResponse((each) => each.url().includes('/v1/positions'), LIMIT)
      await page.getByRole('button', { name: /^Send/ }).first().click(LIMIT)
      const response = await answered
      const { data } = await response.json()
      expect([response.status(), data.length > 0]).toEqual([200, true])
      expect(new URL(response.url()).searchParams.get('wallet')).toBe(devnet.wallets.provider)
      // Optional ones are shown and not sent: a second request with the same key would be refused.
      expect(await response.request().headerValue('idempotency-key')).toBeNull()
    }, 120_000)

    test('the pages request no other server, and the policy blocks nothing', () => {
      const origin = `http://127.0.0.1:${service.port}/`
      const { requests, complaints } = watched
      expect(requests.filter((address) => !address.startsWith(origin) && !/^(data|blob):/.test(address))).toEqual([])
      expect(requests.length).toBeGreaterThan(3)
      expect(complaints).toEqual([])
    })
  })
})

describe('examples', async () => {
  /** Places of all values and their kinds: `data[].id string`. */
  function listShape(value: unknown, place = ''): string[] {
    if (Array.isArray(value)) return value.flatMap((each) => listShape(each, `${place}[]`))
    if (typeof value !== 'object' || value === null) return [`${place} ${value === null ? 'null' : typeof value}`]
    return Object.entries(value).flatMap(([name, each]) => listShape(each, `${place}.${name}`))
  }

  /** Whether a delivery was tried before it is asked for depends on the machine. */
  const BY_CHANCE = '.data[].tries[].'

  const listShapes = (value: unknown) =>
    [...new Set(listShape(value))].filter((each) => !each.startsWith(BY_CHANCE)).sort()

  /** A request without the ids that its world gave at random. */
  function withoutIds(asked: object): object {
    return JSON.parse(JSON.stringify(asked).replace(/\b(trg|whk)_[\w-]+/g, '$1_'))
  }

  test('the answers that the document shows are those that the service gives', async () => {
    const fresh = await askExamples()
    expect(Object.keys(fresh)).toEqual(Object.keys(kept))
    for (const [operation, { answer, ...asked }] of Object.entries(fresh)) {
      const { answer: before, ...askedBefore }: Partial<Example> = (kept as Examples)[operation] ?? {}
      // Addresses of the demo never change, so that the request of the document works there too.
      expect<object>({ operation, asked: withoutIds(asked) }).toEqual({ operation, asked: withoutIds(askedBefore) })
      expect({ operation, shape: listShapes(answer) }).toEqual({ operation, shape: listShapes(before) })
    }
  }, 300_000)
})
