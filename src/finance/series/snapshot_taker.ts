import type { Address } from 'viem'
import { isUnavailable } from '../../chain/rpc/client.ts'
import type { Midnights } from '../../history/midnight.ts'
import { readInHalves } from '../../lib/async/halves.ts'
import type { RateLimiter } from '../../lib/async/rate_limiter.ts'
import { createWork, type Work } from '../../lib/async/work.ts'
import type { Clock } from '../../lib/clock.ts'
import { AbortedError, UnavailableError, UpstreamError } from '../../lib/error.ts'
import type { SnapshotStore, SnapshotTarget } from './store.ts'

/** Concurrent readings of one target at first and at most: a part of an endpoint's capacity. */
const RUNNING = 8
const RUNNING_MAX = 16
/** Successful readings after which one more may run at a time; a failed one halves the concurrency. */
const SUCCESSES_PER_STEP = 16
/** Pauses before retries of a failed reading, milliseconds. */
const PAUSES_MS = [500, 1_500] as const

/**
 * Reads figures of wallets at midnights from two endpoints at the same time and stores them; wallets that wait for the
 * same midnight share a reading.
 */
export type SnapshotTaker<Figures> = ReturnType<typeof createSnapshotTaker<Figures>>

/** A queued reading. */
interface Group<Figures> {
  readonly target: SnapshotTarget<Figures>
  readonly day: number
  readonly waiting: {
    readonly wallet: Address
    readonly signal: AbortSignal
    readonly settle: { resolve(witnesses: number): void; reject(error: unknown): void }
  }[]
}

/** Readings of one target: the queued ones, the number running, its limit, and the number of successes. */
interface Queue<Figures> {
  readonly groups: Group<Figures>[]
  /** Queued readings that more wallets may join, by day. */
  readonly open: Map<number, Group<Figures>>
  running: number
  limit: number
  succeeded: number
}

/** Creates a snapshot taker, which runs readings only for waiting callers. */
export function createSnapshotTaker<Figures>(options: {
  readonly midnights: Midnights
  readonly store: SnapshotStore<Figures>
  /** Limits the rate of readings of figures. @default none */
  readonly rate?: RateLimiter
  readonly clock: Clock
}) {
  const { midnights, store, rate, clock } = options
  const queues = new Map<string, Queue<Figures>>()

  async function read({ target, day }: Group<Figures>, wallets: readonly Address[], work: Work): Promise<number> {
    const block = await midnights.findBlock(target.client, day, work)
    await rate?.(work.signal)
    const { value, endpoints } = await target.readFigures({ day, block }, wallets, work)
    const witnesses = endpoints.length
    const rows = wallets.map((wallet, index) => ({ wallet, figures: value[index] }))
    if (!(await store.save(target, { day, block, witnesses }, rows))) {
      throw new UpstreamError('The block of a midnight was replaced while it was read')
    }
    return witnesses
  }

  /** Reads with retries, at a lower concurrency after a failure: an endpoint may limit its rate. */
  async function readWithRetries(
    queue: Queue<Figures>,
    group: Group<Figures>,
    wallets: readonly Address[],
  ): Promise<number> {
    const work = createWork(new AbortController().signal)
    for (const pauseMs of [...PAUSES_MS, undefined]) {
      try {
        const witnesses = await read(group, wallets, work)
        queue.succeeded++
        if (queue.succeeded % SUCCESSES_PER_STEP === 0) queue.limit = Math.min(RUNNING_MAX, queue.limit + 1)
        return witnesses
      } catch (error) {
        const isClear = isUnavailable(error, 'pruned', 'disputed')
        const mayPass = error instanceof UnavailableError && !isClear
        if (!mayPass || pauseMs === undefined) throw error
        queue.limit = Math.max(1, Math.floor(queue.limit / 2))
        await clock.sleep(pauseMs, work.signal)
      }
    }
    throw new Error('The last attempt neither returned nor failed')
  }

  /** Reads wallets together; one whose figures cannot be read fails alone. */
  function readEach(queue: Queue<Figures>, group: Group<Figures>, wallets: readonly Address[]) {
    const readPart = async (part: readonly Address[]) => {
      const isWhole = part.length === wallets.length
      const work = createWork(new AbortController().signal)
      const witnesses = await (isWhole ? readWithRetries(queue, group, part) : read(group, part, work))
      return part.map(() => witnesses)
    }
    return readInHalves(wallets, readPart, (error) => isUnavailable(error, 'pruned'))
  }

  async function run(queue: Queue<Figures>, group: Group<Figures>): Promise<void> {
    const active = group.waiting.filter(({ signal }) => !signal.aborted)
    const wallets = [...new Set(active.map(({ wallet }) => wallet))]
    // A started reading is finished: its stored snapshot serves the next request.
    const results = wallets.length === 0 ? [] : await readEach(queue, group, wallets)
    const resultsByWallet = new Map(wallets.map((wallet, index) => [wallet, results[index]]))
    for (const { wallet, settle } of active) {
      const result = resultsByWallet.get(wallet)
      if (result?.status === 'fulfilled') settle.resolve(result.value)
      else settle.reject(result?.reason)
    }
    for (const { settle } of group.waiting)
      settle.reject(new AbortedError('The caller stopped waiting for the snapshot'))
  }

  function start(key: string): void {
    const queue = queues.get(key)
    if (queue === undefined) return
    for (; queue.running < queue.limit; queue.running++) {
      const group = queue.groups.shift()
      if (group === undefined) break
      if (queue.open.get(group.day) === group) queue.open.delete(group.day)
      void run(queue, group).finally(() => {
        queue.running--
        start(key)
      })
    }
    if (queue.running === 0) queues.delete(key)
  }

  return {
    /**
     * Takes the wallet's snapshot of a day; resolves once it is stored, to the number of endpoints that returned it.
     * Throws as `Midnights.findBlock` and `SnapshotTarget.readFigures`; `AbortedError` if `signal` fires before the
     * reading starts.
     */
    async take(
      { target, day, wallet }: Pick<Group<Figures>, 'target' | 'day'> & { readonly wallet: Address },
      signal: AbortSignal,
    ): Promise<number> {
      const key = `${target.chainId}:${target.name}`
      const newQueue: Queue<Figures> = { groups: [], open: new Map(), running: 0, limit: RUNNING, succeeded: 0 }
      const queue = queues.get(key) ?? newQueue
      queues.set(key, queue)
      let group = queue.open.get(day)
      if (group === undefined || group.waiting.length >= target.walletsMax) {
        group = { target, day, waiting: [] }
        // Deferred, so that all calls of this event-loop turn can join.
        if (queue.groups.push(group) === 1) setImmediate(() => start(key))
        queue.open.set(day, group)
      }
      const { waiting } = group
      return await new Promise<number>((resolve, reject) => {
        waiting.push({ wallet, signal, settle: { resolve, reject } })
      })
    },
  }
}
