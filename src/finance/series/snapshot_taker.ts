import type { Address } from 'viem'
import { DisputeError } from '../../chain/past/quorum.ts'
import { StatePrunedError } from '../../chain/rpc/client.ts'
import type { Midnights } from '../../history/midnight.ts'
import { delay } from '../../lib/async/abort.ts'
import type { RateLimiter } from '../../lib/async/rate_limiter.ts'
import { AbortedError, UnavailableError, UpstreamError } from '../../lib/error.ts'
import type { SnapshotStore } from './store.ts'
import type { SnapshotTarget } from './target.ts'

/** Readings of one place under way at first and at most: a part of what an endpoint does at a time. */
const RUNNING = 8
const RUNNING_MAX = 16
/** Readings that have to succeed before one more may run; a failed one halves their number. */
const CALM = 16
/** Pauses before a failed reading is tried again, milliseconds. */
const PAUSES_MS = [500, 1_500] as const

/**
 * Reads midnights of two endpoints at the same time and stores what wallets had then; wallets that wait for the same
 * midnight share a reading.
 */
export type SnapshotTaker<Figures> = ReturnType<typeof createSnapshotTaker<Figures>>

/** A reading that waits for its turn. */
interface Group<Figures> {
  readonly place: SnapshotTarget<Figures>
  readonly day: number
  readonly waiting: {
    readonly wallet: Address
    readonly signal: AbortSignal
    readonly settle: { resolve(witnesses: number): void; reject(error: unknown): void }
  }[]
}

/** Readings of one place: those that wait, how many run, how many may, and how many have succeeded since. */
interface Queue<Figures> {
  readonly groups: Group<Figures>[]
  /** Those of them that others may still join, by day. */
  readonly open: Map<number, Group<Figures>>
  running: number
  limit: number
  succeeded: number
}

/** Makes it. Nothing runs while nobody waits. */
export function createSnapshotTaker<Figures>(options: {
  readonly midnights: Midnights
  readonly store: SnapshotStore<Figures>
  /** Waited for before each reading of figures. @default none */
  readonly rate?: RateLimiter
}) {
  const { midnights, store, rate } = options
  const queues = new Map<string, Queue<Figures>>()

  async function read(
    { place, day }: Group<Figures>,
    wallets: readonly Address[],
    signal: AbortSignal,
  ): Promise<number> {
    const block = await midnights.of(place.client, day, signal)
    await rate?.(signal)
    const { value, endpoints } = await place.figuresAt({ day, block }, wallets, signal)
    const witnesses = endpoints.length
    const rows = wallets.map((wallet, index) => ({ wallet, figures: value[index] }))
    if (!(await store.keep(place, { day, block, witnesses }, rows))) {
      throw new UpstreamError('The block of a midnight was replaced while it was read')
    }
    return witnesses
  }

  /** Reads, slower after a failure: an endpoint may limit its rate. */
  async function readPatiently(
    queue: Queue<Figures>,
    group: Group<Figures>,
    wallets: readonly Address[],
  ): Promise<number> {
    const { signal } = new AbortController()
    for (const pauseMs of [...PAUSES_MS, undefined]) {
      try {
        const witnesses = await read(group, wallets, signal)
        queue.succeeded++
        if (queue.succeeded % CALM === 0) queue.limit = Math.min(RUNNING_MAX, queue.limit + 1)
        return witnesses
      } catch (error) {
        const isClear = error instanceof StatePrunedError || error instanceof DisputeError
        const mayPass = error instanceof UnavailableError && !isClear
        if (!mayPass || pauseMs === undefined) throw error
        queue.limit = Math.max(1, Math.floor(queue.limit / 2))
        await delay(pauseMs, signal)
      }
    }
    throw new Error('The last try neither answers nor fails')
  }

  async function run(queue: Queue<Figures>, group: Group<Figures>): Promise<void> {
    const present = group.waiting.filter(({ signal }) => !signal.aborted)
    const wallets = [...new Set(present.map(({ wallet }) => wallet))]
    try {
      // A reading that has begun is finished: what it stores serves the next one who asks.
      const witnesses = wallets.length > 0 ? await readPatiently(queue, group, wallets) : 0
      for (const { settle } of present) settle.resolve(witnesses)
    } catch (error) {
      for (const { settle } of present) settle.reject(error)
    }
    for (const { settle } of group.waiting) settle.reject(new AbortedError('Nobody waits for the snapshot'))
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
     * Resolves once the wallet's snapshot of a day is stored, to the number of endpoints that gave it. Throws as
     * `Midnights.of` and `SnapshotTarget.figuresAt`; `AbortedError` if `signal` fires before its turn comes.
     */
    async take(
      { place, day, wallet }: Pick<Group<Figures>, 'place' | 'day'> & { readonly wallet: Address },
      signal: AbortSignal,
    ): Promise<number> {
      const key = `${place.chainId}:${place.name}`
      const fresh: Queue<Figures> = { groups: [], open: new Map(), running: 0, limit: RUNNING, succeeded: 0 }
      const queue = queues.get(key) ?? fresh
      queues.set(key, queue)
      let group = queue.open.get(day)
      if (group === undefined || group.waiting.length >= place.walletsMax) {
        group = { place, day, waiting: [] }
        // After all who ask in the same turn have joined.
        if (queue.groups.push(group) === 1) setTimeout(() => start(key), 0)
        queue.open.set(day, group)
      }
      const { waiting } = group
      return await new Promise<number>((resolve, reject) => {
        waiting.push({ wallet, signal, settle: { resolve, reject } })
      })
    },
  }
}
