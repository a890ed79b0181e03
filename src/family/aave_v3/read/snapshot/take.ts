import type { Address } from 'viem'
import { DisputeError, QUORUM } from '../../../../chain/past/quorum.ts'
import { DepthError } from '../../../../chain/rpc/client.ts'
import type { Market, SnapshotFigures, SnapshotStore } from '../../../../finance/lending/lending_snapshot.ts'
import type { Midnights } from '../../../../history/midnight.ts'
import { pause } from '../../../../lib/async/abort.ts'
import { AbortedError, UnavailableError, UpstreamError } from '../../../../lib/error.ts'
import type { ChainRead } from '../../position.ts'
import { figuresOf, NOTHING } from '../../present.ts'
import type { LendingReader, Place } from '../read.ts'
import { contradictionIn } from './contradiction.ts'

/** Wallets in one reading: so many fit into one call. */
const WALLETS_MAX = 250
/** Readings of one market under way at first and at most: a part of what an endpoint does at a time. */
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
export interface SnapshotTaker {
  /**
   * Resolves once the wallet's snapshot of a day is stored, to the number of endpoints that gave it. Throws as
   * `Midnights.of` and `LendingReader.readAgreed`, `DisputeError` if the figures of a single endpoint contradict
   * themselves; `AbortedError` if `signal` fires before its turn comes.
   */
  take(
    request: { readonly place: Place; readonly day: number; readonly wallet: Address },
    signal: AbortSignal,
  ): Promise<number>
}

/** A reading that waits for its turn. */
interface Group {
  readonly place: Place
  readonly day: number
  readonly waiting: {
    readonly wallet: Address
    readonly signal: AbortSignal
    readonly settle: { resolve(witnesses: number): void; reject(error: unknown): void }
  }[]
}

/** Readings of one market: those that wait, how many run, how many may, and how many have succeeded since. */
interface Queue {
  readonly groups: Group[]
  /** Those of them that others may still join, by day. */
  readonly open: Map<number, Group>
  running: number
  limit: number
  succeeded: number
}

/** Makes it. Nothing runs while nobody waits. */
export function createSnapshotTaker(options: {
  readonly reader: () => LendingReader
  readonly midnights: Midnights
  readonly store: SnapshotStore
}): SnapshotTaker {
  const { reader, midnights, store } = options
  const queues = new Map<string, Queue>()

  async function read({ place, day }: Group, wallets: readonly Address[], signal: AbortSignal): Promise<number> {
    const block = await midnights.of(place.client, day, signal)
    const at: Place = { ...place, block, priority: 'background' }
    const rowsOf = (found: ChainRead) => wallets.map((wallet) => ({ wallet, figures: figuresAt(found, wallet) }))
    const textOf = (found: ChainRead) => JSON.stringify(rowsOf(found))
    const { value, endpoints } = await reader().readAgreed(wallets, { place: at, textOf, signal })
    const witnesses = endpoints.length
    if (witnesses < QUORUM) checkAlone(value, { place: at, day })
    if (!(await store.keep(marketOf(place), { day, block, witnesses }, rowsOf(value)))) {
      throw new UpstreamError('The block of a midnight was replaced while it was read')
    }
    return witnesses
  }

  /** Reads, slower after a failure: an endpoint may limit its rate. */
  async function readPatiently(queue: Queue, group: Group, wallets: readonly Address[]): Promise<number> {
    const { signal } = new AbortController()
    for (const pauseMs of [...PAUSES_MS, undefined]) {
      try {
        const witnesses = await read(group, wallets, signal)
        queue.succeeded++
        if (queue.succeeded % CALM === 0) queue.limit = Math.min(RUNNING_MAX, queue.limit + 1)
        return witnesses
      } catch (error) {
        const isClear = error instanceof DepthError || error instanceof DisputeError
        const mayPass = error instanceof UnavailableError && !isClear
        if (!mayPass || pauseMs === undefined) throw error
        queue.limit = Math.max(1, Math.floor(queue.limit / 2))
        await pause(pauseMs, signal)
      }
    }
    throw new Error('The last try neither answers nor fails')
  }

  async function run(queue: Queue, group: Group): Promise<void> {
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
    async take({ place, day, wallet }, signal) {
      const { chainId, provider } = marketOf(place)
      const key = `${chainId}:${provider}`
      const fresh: Queue = { groups: [], open: new Map(), running: 0, limit: RUNNING, succeeded: 0 }
      const queue = queues.get(key) ?? fresh
      queues.set(key, queue)
      let group = queue.open.get(day)
      if (group === undefined || group.waiting.length >= WALLETS_MAX) {
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

/** The only market of a place. */
export function marketOf({ client, deployments: [deployment] }: Place): Market {
  if (deployment === undefined) throw new Error('Cannot name the market of a place without any')
  return { chainId: client.chain.id, provider: deployment.poolAddressesProvider }
}

/** Throws `DisputeError` if what one endpoint alone says of a wallet cannot be so. */
function checkAlone(
  { wallets }: ChainRead,
  { place: { client }, day }: { readonly place: Place; readonly day: number },
) {
  const { id, name } = client.chain
  for (const { wallet, positions } of wallets) {
    const because = positions.map(contradictionIn).find((each) => each !== undefined)
    if (because === undefined) continue
    throw new DisputeError(
      `Cannot believe what wallet ${wallet} had at the midnight of day ${day} on chain ${id} (${name}): ${because} ` +
        '(own sums)',
    )
  }
}

/** Zeros for a wallet that has nothing, undefined if the market could not be valued. */
function figuresAt({ wallets, unanswerable }: ChainRead, wallet: Address): SnapshotFigures | undefined {
  if (unanswerable.some((each) => each.wallet === wallet)) return undefined
  const position = wallets.find((each) => each.wallet === wallet)?.positions[0]
  return position === undefined ? NOTHING : figuresOf(position)
}
