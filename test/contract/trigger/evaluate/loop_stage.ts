import { afterAll, afterEach } from 'bun:test'
import type { Watcher } from '../../../../src/family/watch.ts'
import type { FinanceChain } from '../../../../src/finance/chain.ts'
import { UnavailableError } from '../../../../src/lib/error.ts'
import type { Job } from '../../../../src/lib/job.ts'
import { silentLog } from '../../../../src/lib/log.ts'
import { blockLoopJob } from '../../../../src/trigger/evaluate/block_loop.ts'
import { type Clause, type FinalityLevel, PACES, type Pace, type Trigger } from '../../../../src/trigger/trigger.ts'
import type { Account } from '../../../support/account/scene.ts'
import { testDatabase } from '../../../support/database.ts'
import { startFaultyRpc } from '../../../support/rpc.ts'
import { createFixedClock } from '../../../support/test_clock.ts'
import { METER_CHAIN_ID, type MeterAsked, meterWatcher, startMeter } from '../../../support/trigger/meter.ts'
import { createTrigger } from '../../../support/trigger/scene.ts'

export const BELOW: Clause = { figure: 'level', below: '1.05' }

/** Rounds that a block, the lease before it and failed endpoints may take. */
const ROUNDS_MAX = 50

interface Message {
  readonly type: string
  readonly text: string
  readonly data: Readonly<Record<string, unknown>>
}

interface LoopOptions {
  readonly holder?: string
  readonly blindAfterSec?: number
  readonly finality?: FinalityLevel
  /** @default {'exact'} */
  readonly pace?: Pace
  readonly chain?: Partial<FinanceChain>
  readonly screen?: boolean
  /** @default reads the meter */
  readonly confirm?: Watcher['confirm']
  /** @default the endpoint that `rpc.rule` breaks */
  readonly url?: string
}

/** Starts a chain with a meter and a database for the tests of one file, and ends both with it. */
export async function startLoopStage() {
  const { db } = await testDatabase()
  const meter = await startMeter()
  const rpc = await startFaultyRpc(meter.url)
  const { signal } = new AbortController()
  /** Loops of this test's processes, in the order of their rounds. */
  const jobs: Job[] = []
  /** The time of all processes, which only tests move, and how often new messages were notified. */
  const world = { nowMs: Date.now(), wakes: 0 }
  let processes = 0

  afterAll(async () => {
    await rpc.stop()
    await meter.stop()
  })
  afterEach(async () => {
    stopAll()
    restoreEndpoint()
    await meter.price(1)
    for (const table of ['watch', 'watch_cursor', 'watch_block', 'watch_sight']) {
      await db.run(`delete from ${table}`, [])
    }
  })

  function stopAll(): void {
    jobs.length = 0
  }

  /** Lets the endpoint fail until it is restored. */
  function cutEndpoint(): void {
    rpc.rule(() => ({ kind: 'http', status: 503, body: '' }))
  }

  function restoreEndpoint(): void {
    rpc.rule(() => undefined)
  }

  /** Runs a round of each process, or of these; one that cannot read the chain would pause now. */
  async function runRounds(some: readonly Job[] = jobs): Promise<void> {
    for (const job of some) {
      await job.round(signal).catch((error: unknown) => {
        if (!(error instanceof UnavailableError)) throw error
      })
    }
  }

  async function listMessages({ organizationId }: Account): Promise<readonly Message[]> {
    const rows = await db.run<{ body: string }>('select body from message where organization_id = $1 order by no', [
      organizationId,
    ])
    return rows.map(({ body }) => JSON.parse(body))
  }

  async function told(account: Account) {
    return (await listMessages(account)).map(({ type, data: { change, value } }) => [type, change, value])
  }

  /** Starts a loop as one process does, whose rounds `evaluated()` runs. */
  function start(options: LoopOptions = {}): MeterAsked & { readonly job: Job } {
    const { holder = `process ${processes++}`, blindAfterSec = 60, finality = 'latest' } = options
    const { chain = {}, screen = true, pace = 'exact' } = options
    const { shard } = PACES[pace]
    const line = { chainId: METER_CHAIN_ID, chainName: 'Meter', finality, shard, blindAfterSec, leaseSec: 15 }
    const asked = { confirmed: 0, shared: 0 }
    const watcher = meterWatcher(asked, { screen })
    const { confirm = watcher.confirm } = options
    const job = blockLoopJob({
      partition: line,
      client: meter.client(options.url ?? rpc.url, chain),
      watchers: new Map([['meter', { ...watcher, confirm }]]),
      db,
      holder,
      messageContext: {
        partition: line,
        publicUrl: 'https://scope.test',
        answerPath: ({ subject }, number) => `/v1/meter?account=${subject['account']}&at_block=${number}`,
      },
      recorder: { recordBlock: () => {}, recordFailure: () => {}, recordEnd: () => {} },
      onMessagesQueued: () => void world.wakes++,
      clock: createFixedClock(() => world.nowMs),
      log: silentLog,
    })
    jobs.push(job)
    return Object.assign(asked, { job })
  }

  async function watch(
    account: Account,
    name: string,
    clause: Clause,
    of: Partial<Trigger> & { readonly createdAt?: Date; readonly expiresAt?: Date; readonly pace?: Pace } = {},
  ): Promise<Trigger> {
    const { organizationId, apiKeyId } = account
    const clear = 'below' in clause ? String(Number(clause.below) * 1.02) : null
    const subject = { account: name }
    return await createTrigger(db, {
      organizationId,
      apiKeyId,
      chainId: METER_CHAIN_ID,
      family: 'meter',
      subject,
      clause,
      ...(clear !== null && { clear }),
      ...of,
    })
  }

  /** Runs rounds until a block is evaluated. */
  async function evaluated(number: bigint, finality: FinalityLevel = 'latest'): Promise<void> {
    const isEvaluated = async () => {
      const [row] = await db.run<{ block: string | null }>(
        'select max(block) as block from watch_cursor where finality = $1',
        [finality],
      )
      return BigInt(row?.block ?? -1) >= number
    }
    for (let rounds = 0; !(await isEvaluated()); rounds++) {
      if (rounds === ROUNDS_MAX) throw new Error(`Cannot evaluate block ${number} in ${ROUNDS_MAX} rounds`)
      await runRounds()
    }
  }

  return {
    db,
    meter,
    rpc,
    world,
    start,
    stopAll,
    cutEndpoint,
    restoreEndpoint,
    runRounds,
    watch,
    evaluated,
    listMessages,
    told,
  }
}
