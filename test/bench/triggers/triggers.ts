import { loadavg } from 'node:os'
import { openDatabase } from '../../../src/db/connection/pool.ts'
import type { Database } from '../../../src/db/database.ts'
import { findRunningEmbedded } from '../../../src/db/embedded/embedded.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { SCENARIO_SEC } from '../../devnet/aave_v3/scenario.ts'
import { startDevnet } from '../../devnet/mod.ts'
import type { Service } from '../../devnet/service.ts'
import { waitFor } from '../../support/wait_for.ts'
import { environment, startMetered } from '../answers/service.ts'
import { type Child, startChild } from '../child.ts'
import { cpuUs, threadCpuUs } from '../cpu.ts'
import { median, printNote, printTable } from '../table.ts'
import { beside } from './beside.ts'
import {
  AWAY_MS,
  ask,
  type Bench,
  BLOCK_MS,
  countMessages,
  isEvaluated,
  mine,
  oneBlock,
  type Rows,
  tell,
  thousandths,
  untilPosted,
} from './scene.ts'
import { farTriggers, insertTriggers, makeBorrowers, nearTriggers, type Sizes } from './world.ts'

const WEBHOOKS = 20
const LOADED_MS = 300_000
const FULL: Sizes = { borrowers: 1_000, positions: 300, triggersEach: 50, empty: 34_000 }
const QUICK: Sizes = { borrowers: 100, positions: 30, triggersEach: 50, empty: 3_400 }

/** What a block takes with many triggers, against the goals that were set for it. */
export async function benchTriggers({ quick }: { readonly quick: boolean }): Promise<void> {
  const devnet = await startDevnet({ ageSec: SCENARIO_SEC })
  const children: Child[] = []
  const services: Service[] = []
  let db: Database | undefined
  let running: Awaited<ReturnType<typeof findRunningEmbedded>>
  try {
    const aave = await devnet.aave()
    const sizes = quick ? QUICK : FULL
    const borrowers = await makeBorrowers(devnet, aave, sizes.borrowers)
    const tokenIds = await devnet.mintMany(devnet.wallets.market, sizes.positions)
    const endpoint = startChild('answers/far.ts', { BENCH_TARGET: devnet.rpcUrl })
    const receiver = startChild('triggers/receiver.ts')
    const generator = startChild('load.ts')
    children.push(endpoint, receiver, generator)
    const { url } = await endpoint.read<{ url: string }>()
    const { url: hook } = await receiver.read<{ url: string }>()
    const start = async (more: Readonly<Record<string, string>>) => {
      const env = { DATA_DIR: '', ...(await environment({ url, row: { blockTimeMs: BLOCK_MS } })), ...more }
      const service = await startMetered(env)
      services.push(service)
      return { service, env }
    }
    const { service, env } = await start({ WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8' })
    running = await findRunningEmbedded(env.DATA_DIR)
    db = openDatabase({ url: running?.url ?? '', clock: systemClock, log: silentLog, max: 1 })
    const price = (await aave.getPrices('main')).get('weth') ?? 0n
    const bench: Bench = { devnet, service, db, endpoint, receiver, quick, price }
    const webhooks = await insertWebhooks(bench, hook)
    const { organizationId } = service
    const far = farTriggers(borrowers, tokenIds, sizes)
    await insertTriggers(db, far, { organizationId, prefix: 'far', webhooks })
    const loadingMs = performance.now()
    await mine(bench)
    await waitFor('all triggers confirmed', () => isEvaluated(bench), LOADED_MS)
    const loadedSec = (performance.now() - loadingMs) / 1_000
    const blocks = quick ? 5 : 40
    const rows: Rows = [['first evaluation of all, s', loadedSec.toFixed(1), '']]
    rows.push(...toRows('none near', await measure(bench, { blocks, moves: false }), '3'))
    await insertTriggers(db, nearTriggers(borrowers), { organizationId, prefix: 'near', webhooks })
    await measure(bench, { blocks: 4, moves: true })
    rows.push(...toRows('1 % near', await measure(bench, { blocks, moves: true }), '10'))
    rows.push(...(await manyChanges(bench)))
    const without = await start({ TRIGGERS: 'off' })
    rows.push(...(await beside(bench, { without: without.service, generator })))
    printTable(['triggers', 'measured', 'goal'], rows)
    const load = loadavg().map((each) => each.toFixed(1))
    printNote(
      `${far.length + sizes.borrowers} triggers of ${sizes.borrowers} borrowers of Aave, ${sizes.positions} positions ` +
        `and ${sizes.empty} wallets that have nothing; a block a second, looked for each 100 ms; endpoint ${AWAY_MS} ms ` +
        `away; load average ${load.join(' ')}`,
    )
  } finally {
    await db?.close()
    await running?.close()
    for (const service of services) {
      process.kill(service.pid, 'SIGCONT')
      await service.stop()
    }
    await Promise.all(children.map((child) => child.stop()))
    await devnet.stop()
  }
}

async function insertWebhooks({ db, service }: Bench, url: string): Promise<readonly string[]> {
  const ids = Array.from({ length: WEBHOOKS }, (_, index) => `whk_bench${index}`)
  await db.run(
    `insert into webhook (organization_id, id, url, name) select $1, id, $2, '' from unnest($3::text[]) id`,
    [service.organizationId, url, ids],
  )
  return ids
}

interface Measured {
  readonly latenciesMs: readonly number[]
  /** Each of a block, on average. */
  readonly requests: number
  readonly cpuMs: number
  readonly threadMs: number
  readonly messages: number
}

/** Blocks at their pace; with `moves` each has another price of ether, within a hundredth of the first. */
async function measure(
  bench: Bench,
  { blocks, moves }: { readonly blocks: number; readonly moves: boolean },
): Promise<Measured> {
  const { endpoint } = bench
  await tell(endpoint)
  const before = { ...measureUse(bench), messages: await countMessages(bench) }
  const latenciesMs: number[] = []
  let requests = 0
  for (let block = 0; block < blocks; block++) {
    const startedMs = performance.now()
    const { ms, counts } = await oneBlock(bench, moves ? thousandths(bench, 992 + ((block * 7) % 11)) : bench.price)
    latenciesMs.push(ms)
    await Bun.sleep(Math.max(0, BLOCK_MS - (performance.now() - startedMs)))
    const after = await tell(endpoint)
    // Looks for a block that has not come belong to none.
    requests += counts.requests - counts.looks + after.requests - after.looks + 1
  }
  const after = measureUse(bench)
  return {
    latenciesMs,
    requests: requests / blocks,
    cpuMs: (after.cpuMs - before.cpuMs) / blocks,
    threadMs: (after.threadMs - before.threadMs) / blocks,
    messages: ((await countMessages(bench)) - before.messages) / blocks,
  }
}

/** CPU of the service so far. */
function measureUse({ service: { pid } }: Bench) {
  return { cpuMs: (cpuUs([pid]) ?? Number.NaN) / 1_000, threadMs: (threadCpuUs(pid) ?? Number.NaN) / 1_000 }
}

function toRows(name: string, { latenciesMs, requests, cpuMs, threadMs, messages }: Measured, goal: string): Rows {
  const sorted = [...latenciesMs].sort((a, b) => a - b)
  const p99 = sorted[Math.ceil(sorted.length * 0.99) - 1] ?? Number.NaN
  const counted = `${sorted.length} blocks, ${messages.toFixed(0)} messages each`
  return [
    [
      `${name}: block at the endpoint → durable, p50, p99 ms (${counted})`,
      `${median(sorted).toFixed(0)}, ${p99.toFixed(0)}`,
      '1,500',
    ],
    [`${name}: requests a block`, requests.toFixed(1), goal],
    [
      `${name}: CPU ms a block, of the thread that answers others`,
      `${threadMs.toFixed(0)} of ${cpuMs.toFixed(0)}`,
      '500',
    ],
  ]
}

/** Ether falls so far that nine triggers of each borrower fire, and the one that is near. */
async function manyChanges(bench: Bench): Promise<Rows> {
  const { receiver } = bench
  // Those that are near are armed again.
  const minedMs = performance.now()
  await oneBlock(bench, bench.price)
  await untilPosted(bench)
  await Bun.sleep(Math.max(0, BLOCK_MS - (performance.now() - minedMs)))
  await ask(receiver)
  const before = await countMessages(bench)
  const { ms } = await oneBlock(bench, thousandths(bench, 695))
  const changes = (await countMessages(bench)) - before
  await untilPosted(bench)
  const { posts, ms: postsMs } = await ask(receiver)
  return [
    [`${changes} changes in one block: from the endpoint to durable, ms`, ms.toFixed(0), '2,000'],
    [`posts a second to a quick receiver, ${WEBHOOKS} webhooks`, ((posts * 1_000) / postsMs).toFixed(0), '2,000'],
    ['changes that were not posted, or twice', String(Math.abs(changes - posts)), '0'],
  ]
}
