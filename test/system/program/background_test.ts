import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { settleBatch } from '../../../src/account/gate/settle.ts'
import { openDatabase } from '../../../src/db/connection/pool.ts'
import type { Database } from '../../../src/db/database.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { createChainsFile } from '../../devnet/chain.ts'
import { type Devnet, startDevnet } from '../../devnet/mod.ts'
import { type Account, createAccount, readBooks, settlement } from '../../support/account/scene.ts'
import { emptyDatabase } from '../../support/database.ts'
import { waitFor } from '../../support/wait_for.ts'
import { runJson } from './accounts.ts'
import { buildWhatIsStale } from './builds.ts'
import { ask } from './http.ts'
import { executableProgram, type Program, type Service, spawnService } from './program.ts'

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
  }, 60_000)

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
    await waitFor('they are dropped', async () => (await done('request_log_dropped')).length > 0, 30_000)
    expect(await done('request_log_dropped')).toEqual([account.organizationId])
    expect(await readBooks(db, account.organizationId)).toMatchObject({ dropped: OLD })
  }, 60_000)

  test('calls are counted once into the rollups', async () => {
    let answered = 0
    const client = async () => {
      for (let request = 0; request < REQUESTS; request++) answered += (await call('GET', LOGS)).status === 200 ? 1 : 0
    }
    await Promise.all(Array.from({ length: CLIENTS }, client))
    const counted = async () => {
      const [row] = await db.run<{ n: number }>('select coalesce(sum(requests), 0)::int4 as n from request_rollup', [])
      return row?.n ?? 0
    }
    const { logged } = await readBooks(db, account.organizationId)
    expect(logged).toBeGreaterThanOrEqual(answered)
    expect(answered).toBeGreaterThan(CLIENTS)
    await waitFor('all of them are counted', async () => (await counted()) >= logged, 30_000)
    expect(await counted()).toBe(logged)
    expect((await call('GET', LOGS)).pagination.total).toBe(logged)
  }, 60_000)

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
    await waitFor(
      'the head is evaluated',
      async () => (await done('watch_cursor')).some((each) => each.endsWith(`:${head}`)),
      30_000,
    )
    const blocks = await done('watch_cursor')
    expect(blocks).toEqual(once(blocks))
    await waitFor('all have fired', async () => (await done('message')).length >= made.length, 30_000)
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
