import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { settleBatch } from '../../../src/account/gate/settle.ts'
import { openDatabase } from '../../../src/db/connection/pool.ts'
import type { Database } from '../../../src/db/database.ts'
import { TOPICS } from '../../../src/family/aave_v3/event/log.ts'
import { AAVE_V4_DEPLOYMENTS } from '../../../src/family/aave_v4/table.ts'
import { COMPOUND_V3_MARKETS } from '../../../src/family/compound_v3/table.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { MARKETS } from '../../devnet/aave_v3/addresses.ts'
import { toWalletAddress, UNISWAP_V3 } from '../../devnet/addresses.ts'
import { createChainsFile, DEVNET_ROW } from '../../devnet/chain.ts'
import { type Devnet, startDevnet } from '../../devnet/mod.ts'
import { MORPHO } from '../../devnet/morpho_blue/calls.ts'
import { UNISWAP_V4 } from '../../devnet/uniswap_v4/addresses.ts'
import { mintEach } from '../../devnet/uniswap_v4/mint_each.ts'
import { type Account, createAccount, readBooks, settlement } from '../../support/account/scene.ts'
import { emptyDatabase, type TestDatabase, testDatabase } from '../../support/database.ts'
import { startLogProxy } from '../../support/family/aave_v3/event/log_proxy.ts'
import { readLogs } from '../../support/family/aave_v3/event/support.ts'
import { type FaultyRpc, startFaultyRpc } from '../../support/rpc.ts'
import { waitFor } from '../../support/wait_for.ts'
import { runJson } from './accounts.ts'
import { buildWhatIsStale } from './builds.ts'
import { ask } from './http.ts'
import { executableProgram, type Finished, type Program, runCommand, type Service, spawnService } from './program.ts'

describe('background work', async () => {
  await buildWhatIsStale()

  const DAY_SEC = 86_400
  const DAYS = 4
  const BLOCKS = 20
  const CLIENTS = 8
  const REQUESTS = 25
  const LOGS = '/v1/usage/logs?limit=1'
  /** Calls of long ago, of which the log keeps none. */
  const OLD = 7

  /** Each row that is written, as many times as it is written: what is done, by its table and the name of the work. */
  const COUNTING = `
create table done_work (what text not null, which text not null);
create function count_work() returns trigger language plpgsql as $$
declare
  v_row jsonb := to_jsonb(new);
begin
  insert into done_work
  select tg_table_name, string_agg(v_row ->> a.name, ':' order by a.no) from unnest(tg_argv) with ordinality a (name, no);
  return new;
end
$$;
create trigger count_work before insert on portfolio_snapshot for each row execute function count_work('wallet', 'day');
create trigger count_work after insert on message for each row execute function count_work('watch_id', 'change');
create trigger count_work after update of block on watch_cursor for each row when (new.block is distinct from old.block)
  execute function count_work('chain_id', 'finality', 'shard', 'block');
create trigger count_work after insert or update on request_log_dropped for each row
  execute function count_work('organization_id');
`

  describe.skipIf(process.platform !== 'linux')('in the background of four workers', () => {
    let devnet: Devnet
    let database: Awaited<ReturnType<typeof emptyDatabase>>
    let db: Database & { close(): Promise<unknown> }
    let program: Program
    let service: Service
    let account: Account

    beforeAll(async () => {
      ;[devnet, database] = await Promise.all([startDevnet({ ageSec: DAYS * DAY_SEC }), emptyDatabase()])
      for (let day = 0; day < DAYS; day++) {
        await devnet.rpc.call('evm_increaseTime', DAY_SEC)
        await devnet.rpc.call('evm_mine')
      }
      program = executableProgram({
        DATABASE_URL: database.url,
        WORKERS: '4',
        CHAINS: '1',
        CHAINS_FILE: '../chains.json',
      })
      writeFileSync(join(program.directory, '../chains.json'), createChainsFile(devnet.rpcUrl))
      await runJson(program, ['migrate'])
      db = openDatabase({ url: database.url, clock: systemClock, log: silentLog, max: 2 })
      for (const statement of COUNTING.split(/;\n(?=create)/)) await db.run(statement, [])
      account = await createAccount(db, { credits: 10_000 })
      const requestedAtMs = Date.now() - 150 * DAY_SEC * 1_000
      await settleBatch(
        db,
        Array.from({ length: OLD }, () => settlement(account.caller, { requestedAtMs })),
      )
      service = await spawnService(program)
    }, 120_000)
    afterAll(async () => {
      await service?.stop()
      await db?.close()
      program?.remove()
      await database?.drop()
      await devnet?.stop()
    }, 120_000)

    const call = async (method: string, target: string, body?: object) => {
      const headers = { Authorization: `Bearer ${account.key}`, 'Content-Type': 'application/json' }
      const answer = await ask(service.port, {
        method,
        target,
        headers,
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
      return { status: answer.status, ...JSON.parse(answer.body) }
    }
    /** What was done of a kind, each as often as it was done. */
    const done = async (what: string): Promise<readonly string[]> => {
      const rows = await db.run<{ which: string }>('select which from done_work where what = $1 order by 1', [what])
      return rows.map(({ which }) => which)
    }
    const once = (all: readonly string[]) => [...new Set(all)]

    test('old calls are dropped once, and their charges stay in the books', async () => {
      await waitFor('they are dropped', async () => (await done('request_log_dropped')).length > 0)
      expect(await done('request_log_dropped')).toEqual([account.organizationId])
      expect(await readBooks(db, account.organizationId)).toMatchObject({ dropped: OLD })
    }, 120_000)

    test('calls are counted once into the rollups', async () => {
      let answered = 0
      const client = async () => {
        for (let request = 0; request < REQUESTS; request++)
          answered += (await call('GET', LOGS)).status === 200 ? 1 : 0
      }
      await Promise.all(Array.from({ length: CLIENTS }, client))
      const counted = async () => {
        const [row] = await db.run<{ n: number }>(
          'select coalesce(sum(requests), 0)::int4 as n from request_rollup',
          [],
        )
        return row?.n ?? 0
      }
      const { logged } = await readBooks(db, account.organizationId)
      expect(logged).toBeGreaterThanOrEqual(answered)
      expect(answered).toBeGreaterThan(CLIENTS)
      await waitFor('all of them are counted', async () => (await counted()) >= logged)
      expect(await counted()).toBe(logged)
      expect((await call('GET', LOGS)).pagination.total).toBe(logged)
    }, 120_000)

    test('each block is evaluated once for all triggers, and each change sends one message', async () => {
      const { provider } = devnet.wallets
      const { data } = await call('GET', `/v1/positions/uniswap-v3?wallet=${provider}&chain_id=1&full=true`)
      const made = await Promise.all(
        data.map(
          ({ token_id, manager_address, in_range }: { token_id: string; manager_address: string; in_range: boolean }) =>
            call('POST', '/v1/triggers', {
              chain_id: 1,
              family: 'uniswap-v3',
              subject: { token_id, manager_address },
              when: { figure: 'in_range', is: in_range },
            }),
        ),
      )
      expect(made.filter(({ status }) => status !== 200)).toEqual([])
      for (let block = 0; block < BLOCKS; block++) {
        await devnet.rpc.call('evm_mine')
        await Bun.sleep(50)
      }
      const head = String(await devnet.client.getBlockNumber())
      await waitFor('the head is evaluated', async () =>
        (await done('watch_cursor')).some((each) => each.endsWith(`:${head}`)),
      )
      const blocks = await done('watch_cursor')
      expect(blocks).toEqual(once(blocks))
      await waitFor('all have fired', async () => (await done('message')).length >= made.length)
      const told = await done('message')
      expect([told, told.length]).toEqual([once(told), made.length])
    }, 120_000)

    test('the midnight of each wallet is read once, by one worker', async () => {
      const wallets = Object.values(devnet.wallets)
      const toTarget = (wallet: string) => `/v1/portfolio/snapshots?wallet=${wallet}&chain_id=1`
      for (const wallet of wallets) {
        await waitFor('its days are there', async () => (await call('GET', toTarget(wallet))).status === 200, 60_000)
      }
      await service.stop()
      // Simulates that the last midnight has just passed, before any request for it.
      await db.run('delete from portfolio_snapshot where day = (select max(day) from portfolio_snapshot)', [])
      await db.run('update snapshot_series set taken_day = 0', [])
      await db.run("delete from done_work where what = 'portfolio_snapshot'", [])
      const due = async () => {
        const [row] = await db.run<{ n: number }>(
          'select count(*)::int4 as n from snapshot_series where taken_day = 0',
          [],
        )
        return row?.n
      }
      expect(await due()).toBeGreaterThanOrEqual(wallets.length)
      service = await spawnService(program)
      await waitFor('the midnight is taken', async () => (await due()) === 0, 60_000)
      const days = await done('portfolio_snapshot')
      expect([days.length, days]).toEqual([wallets.length, once(days)])
    }, 180_000)
  })
})

describe('indexes', async () => {
  const DEPTH = 10
  const BUILD_LIMIT_MS = 120_000
  const FULL = '[########################] 100 %  0            0'
  const V4_POOLS = ['plain', 'native', 'feeTaking'] as const
  const EMPTY = '[------------------------]   0 %'
  /** Ends the table if a final block of the chain was replaced. */
  const STOPPED =
    ' STOPPED: a final block was replaced; if the chain is correct, rebuild it: walletscope index --chain 1 --forget'

  await buildWhatIsStale()

  let devnet: Devnet
  let upstream: FaultyRpc
  let database: TestDatabase
  let program: Program
  /** Blocks that are final, and so how many a whole history has. */
  let final = 0

  beforeAll(async () => {
    // Not the shared one: the markets move its time and its prices.
    devnet = await startDevnet()
    await mintEach(await devnet.uniswapV4(), { names: V4_POOLS, owner: toWalletAddress('v4 index') })
    await devnet.aave()
    final = Number(await devnet.rpc.call<string>('eth_blockNumber')) - DEPTH
    upstream = await startFaultyRpc(devnet.rpcUrl)
    database = await testDatabase()
    program = executableProgram({ CHAINS: '1', CHAINS_FILE: '../chains.json', DATABASE_URL: database.url })
    const chain = { ...DEVNET_ROW, finality: { depth: DEPTH }, rpcUrls: [upstream.url] }
    writeFileSync(join(program.directory, '../chains.json'), JSON.stringify({ chains: [chain] }))
  }, BUILD_LIMIT_MS)
  beforeEach(async () => {
    await database.db.run(
      'truncate history_chain, history_coverage, lending_event, position_flow, liquidity_change, wallet_entry',
      [],
    )
    upstream.rule(() => undefined)
    upstream.reset()
  })
  afterAll(async () => {
    await upstream?.stop()
    await database?.close()
    program?.remove()
    await devnet?.stop()
  }, BUILD_LIMIT_MS)

  const run = (...words: string[]): Promise<Finished> => runCommand(program, ['index', ...words])
  const done = (stdout: string): Finished => ({ status: 0, stdout, stderr: '' })

  function asksForLogs(): boolean {
    return upstream.seen.some(({ method }) => method === 'eth_getLogs')
  }

  async function countRows(table: string): Promise<number> {
    const [row] = await database.db.run<{ readonly rows: number }>(`select count(*)::int as rows from ${table}`, [])
    return row?.rows ?? 0
  }

  const MANAGER = UNISWAP_V3.manager.toLowerCase()
  const V4_MANAGER = UNISWAP_V4.positionManager.toLowerCase()
  /** All histories and their contracts, as the status names them, in its order. */
  const HISTORIES = (
    [
      ...(['main', 'lido', 'etherfi'] as const)
        .map((market) => MARKETS[market].pool.toLowerCase())
        .map((pool) => ['Aave V3, deposits and debts', pool] as const),
      ...(COMPOUND_V3_MARKETS.get(1) ?? [])
        .map(({ comet }) => comet.toLowerCase())
        .map((comet) => ['Compound V3, deposits and debts', comet] as const),
      ['Morpho Blue, markets', MORPHO.toLowerCase()],
      ['Uniswap V4, changes of positions', V4_MANAGER],
      ['Uniswap V4, owners of positions', V4_MANAGER],
      ['Uniswap V3, flows of positions', MANAGER],
    ] as const
  ).toSorted(([, a], [, b]) => (a < b ? -1 : a > b ? 1 : 0))

  function listCells(line: string): readonly string[] {
    return line.split(/ {2,}/)
  }

  function toCells([history, contract]: readonly [string, string]): readonly string[] {
    return [`${DEVNET_ROW.name} (1)`, history, `${contract.slice(0, 6)}…${contract.slice(-4)}`, ...listCells(FULL)]
  }

  test('nothing is stored at first, and the status asks no endpoint', async () => {
    expect(await run('--status')).toEqual(done('No history is stored yet\n'))
    expect(await run('--status', '--json')).toEqual(done('[]\n'))
    expect(upstream.seen).toEqual([])
  }, 120_000)

  test('every history is indexed ahead with progress, and the next run reads nothing again', async () => {
    const titles = [
      ...['uniswap-v3 uniswap_v3', 'uniswap-v4 transfers', 'uniswap-v4 changes'],
      ...[
        'aave-v3 main',
        'aave-v3 lido',
        'aave-v3 etherfi',
        ...(AAVE_V4_DEPLOYMENTS.get(1)?.spokes ?? []).map(({ name }) => `aave-v4 ${name}`),
        ...(COMPOUND_V3_MARKETS.get(1) ?? []).map(({ market }) => `compound-v3 ${market}`),
        'morpho-blue markets',
        'morpho-midnight markets',
        'morpho-midnight positions',
      ],
    ]
    const first = await run()
    expect(first).toMatchObject({ status: 0, stderr: '' })
    const lines = first.stdout.split('\n')
    expect(lines.slice(0, titles.length).sort()).toEqual(titles.map((title) => `${title} on chain 1: complete`).sort())
    const [head = '', ...rows] = lines.slice(titles.length)
    expect(listCells(head)).toEqual(['chain', 'history', 'contract', 'indexed', 'blocks left', 'read alone'])
    expect(rows.slice(0, -1).map(listCells)).toEqual(HISTORIES.map(toCells))
    expect(asksForLogs()).toBe(true)
    expect(await countRows('liquidity_change')).toBeGreaterThan(V4_POOLS.length)

    expect(await run('--status')).toEqual(done([head, ...rows].join('\n')))
    upstream.reset()
    expect(await run()).toEqual(first)
    expect(asksForLogs()).toBe(false)
  }, 120_000)

  test('one family alone is indexed, and --json prints only JSON', async () => {
    const { status, stdout, stderr } = await run('--family', 'uniswap-v3', '--chain', '1', '--json')
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    expect(JSON.parse(stdout)).toEqual([
      {
        chain_id: 1,
        contract: MANAGER,
        stream: 'uniswap_v3_flow',
        percent: 100,
        blocks_left: 0,
        subjects: 0,
        final_block: final,
        stopped: false,
      },
    ])
    await database.db.run('update history_chain set stopped_at = now()', [])
    const [, row = '', ...last] = (await run('--status')).stdout.split('\n')
    expect(listCells(row)).toEqual(toCells(['Uniswap V3, flows of positions', MANAGER]))
    expect(last).toEqual([`${DEVNET_ROW.name} (1)${STOPPED}`, ''])
  }, 120_000)

  test('--forget deletes the history of a stopped chain, keeps other chains, and the history is indexed again', async () => {
    await run('--family', 'uniswap-v3')
    const flows = await countRows('position_flow')
    expect(flows).toBeGreaterThan(0)
    await database.db.run(
      `with other as (insert into history_place (chain_id, contract) values (2, '\\x02') returning id)
     insert into position_flow (token_id, place, block, log_index, kind, liquidity, amount0, amount1, tx_hash)
     select 1, id, 1, 0, 'increase', 1, 1, 1, '\\x01' from other`,
      [],
    )
    await database.db.run("update history_chain set anchor_hash = '\\x01', previous_number = null", [])
    const refused = await run('--family', 'uniswap-v3')
    expect(refused.stderr).toContain(
      'is not part of the chain any more; if the chain is correct, rebuild it with --forget',
    )
    upstream.reset()

    expect(await run('--chain', '1', '--forget')).toEqual(
      done(`Forgot the history of chain 1: ${flows} rows, 0 prices\n`),
    )
    expect(upstream.seen).toEqual([])
    expect([await countRows('position_flow'), await countRows('history_coverage')]).toEqual([1, 0])
    expect(await database.db.run('select anchor_number, stopped_at, epoch from history_chain', [])).toEqual([
      { anchor_number: null, stopped_at: null, epoch: '1' },
    ])
    expect((await run('--family', 'uniswap-v3')).status).toBe(0)
    expect(await countRows('position_flow')).toBe(flows + 1)
    expect(await run('--chain', '1', '--forget', '--json')).toEqual(
      done(`${JSON.stringify({ chain_id: 1, rows: flows, prices: 0 }, null, 2)}\n`),
    )
  }, 120_000)

  test('a stopped run reports the stop, status 1, and the next run continues from there', async () => {
    upstream.rule(({ method }) => (method === 'eth_getLogs' ? { kind: 'hang' } : undefined))
    const child = Bun.spawn([...program.command, 'index', '--family', 'uniswap-v3'], {
      cwd: program.directory,
      env: { ...program.env },
      stdin: 'ignore',
      stdout: 'pipe',
      stderr: 'pipe',
    })
    await waitFor('a request for logs', asksForLogs)
    child.kill('SIGINT')
    expect([await child.exited, await new Response(child.stderr).text()]).toEqual([
      1,
      'walletscope: Stopped; the next run continues from here\n',
    ])
    const status = await run('--status')
    expect(status.stdout.split('\n')[1]).toMatch(/ Uniswap V3, flows of positions .+ {2}[1-9]\d* +0$/)
    expect(status.stdout).toContain(EMPTY)
    upstream.rule(() => undefined)
    expect((await run('--family', 'uniswap-v3')).status).toBe(0)
  }, 120_000)

  test('a check that fails although two endpoints agree ends the run at once, with its name as our fault', async () => {
    const aave = await devnet.aave()
    const supply = { market: 'main', wallet: aave.wallets.supplier, asset: 'usdc', amount: 10n ** 9n } as const
    for (let times = 0; times < 3; times++) {
      await aave.supply(supply)
      await aave.warp(10_000)
    }
    await devnet.rpc.call('anvil_mine', `0x${DEPTH.toString(16)}`)
    const updates = await readLogs(devnet, [{ addresses: [MARKETS.main.pool], topics: [[TOPICS.update]] }])
    const [before, lost, after] = updates.slice(-3)
    // Neither endpoint returns the log, so they agree.
    const proxies = [startLogProxy(devnet.rpcUrl), startLogProxy(devnet.rpcUrl)]
    for (const proxy of proxies) {
      proxy.drop(({ blockNumber, logIndex }) => blockNumber === lost?.blockNumber && logIndex === lost.logIndex)
    }
    const other = executableProgram({ CHAINS: '1', CHAINS_FILE: '../chains.json', DATABASE_URL: database.url })
    const chain = { ...DEVNET_ROW, finality: { depth: DEPTH }, rpcUrls: proxies.map(({ url }) => url) }
    writeFileSync(join(other.directory, '../chains.json'), JSON.stringify({ chains: [chain] }))
    try {
      const { status, stderr } = await runCommand(other, ['index', '--family', 'aave-v3'])
      expect(status).toBe(1)
      const place = `blocks ${before?.blockNumber} to ${after?.blockNumber}`
      const [logged = '', ...said] = stderr.trimEnd().split('\n')
      expect(JSON.parse(logged)).toMatchObject({
        level: 'error',
        msg: 'A history check failed twice with agreeing endpoints: they are wrong alike, or this is a bug',
        chainId: 1,
        stream: 'aave_v3_lending',
        check: 'index',
        fromBlock: before?.blockNumber,
      })
      expect(said).toEqual([
        'walletscope: Cannot continue indexing aave-v3 main on chain 1: The history of chain 1 (Ethereum) cannot be completed. ' +
          `The check "index" fails in ${place} although different endpoints gave the same logs: they may be wrong alike, so add another to RPC_URL_1; if that does not help, it is a bug to report`,
      ])
    } finally {
      other.remove()
      for (const proxy of proxies) await proxy.stop()
    }
  }, 120_000)

  test.each([
    { words: ['--chain', '5'], says: 'Cannot find a history to index: expected a served chain and its protocol' },
    { words: ['--family', 'kamino'], says: 'Cannot find a history to index: expected a served chain and its protocol' },
    { words: ['--chain', 'one'], says: '--chain' },
    { words: ['--loud'], says: '--loud' },
    { words: ['--forget'], says: 'expected --forget with --chain and nothing else' },
    { words: ['--forget', '--chain', '1', '--status'], says: 'expected --forget with --chain and nothing else' },
    { words: ['--forget', '--chain', '1', '--family', 'aave-v3'], says: 'expected --forget with --chain' },
  ])(
    'wrong usage is reported in one line, status 2: $words',
    async ({ words, says }) => {
      const { status, stdout, stderr } = await run(...words)
      expect({ status, stdout }).toEqual({ status: 2, stdout: '' })
      expect(stderr).toMatch(/^walletscope: .+\n$/)
      expect(stderr).toContain(says)
      expect(asksForLogs()).toBe(false)
    },
    120_000,
  )

  test('HISTORY_REQUESTS_PER_SECOND bounds the requests that the endpoint gets', async () => {
    const limited = { ...program, env: { ...program.env, HISTORY_REQUESTS_PER_SECOND: '1' } }
    const startedMs = performance.now()
    expect(await runCommand(limited, ['index'])).toMatchObject({ status: 0, stderr: '' })
    const elapsedMs = performance.now() - startedMs
    const asked = upstream.seen.filter(({ method }) => method === 'eth_getLogs').length
    // One may start at once; a busy machine only takes longer. Without the limit all of them take about a second.
    expect(asked).toBeGreaterThan(5)
    expect(elapsedMs).toBeGreaterThan((asked - 1) * 1_000)
  }, 120_000)
})
