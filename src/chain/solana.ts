import { pause } from '../lib/abort.ts'
import type { Clock } from '../lib/clock.ts'
import { AbortedError, UpstreamError } from '../lib/error.ts'
import type { Log } from '../lib/log.ts'
import { RpcRefusedError } from './client.ts'
import { type Deadline, startDeadline } from './deadline.ts'
import { createHealth, createSpread, type Health } from './health.ts'
import { BusyError } from './rpc_error.ts'
import { type RpcRecorder, recorded } from './rpc_metrics.ts'
import { CrowdedError, createSlots, ENDPOINT_LIMITS, type Slots } from './slots.ts'
import { type AccountsAtSlot, parseAccounts, type SolanaAccounts } from './solana_accounts.ts'
import { CLOCK_ADDRESS, checkClock, parseClock } from './solana_clock.ts'
import { SOLANA_MEANINGS } from './solana_error.ts'
import { createSolanaHeads } from './solana_heads.ts'
import { createTransport, type Fetch, type Transport } from './transport.ts'

/** Number under which Solana goes among chain ids. */
export const SOLANA_CHAIN_ID = 101

/** All the time that one read has, over all its steps and tries, milliseconds. */
const BUDGET_MS = 2_500
/** One request to one endpoint, milliseconds. */
const CALL_MS = 1_000
const TRIES_PER_ENDPOINT = 3
/** Requests of one step over all endpoints. */
const TRIES_MAX = 8
/** Pause before an endpoint is tried again in the same step, spread by as much again and doubled each time. */
const AGAIN_MS = 75
/** A read that succeeded this recently proves readiness. */
const READY_MS = 5_000
/** While reads come in, an endpoint that they do not go to is looked at this often. */
const LOOK_MS = 10_000
/** Most accounts of one request: the RPC interface allows 100, and one is the clock. */
const ACCOUNTS_MAX = 99

/** What one read of accounts asks for besides them. */
export interface AccountsOptions {
  /** The earliest slot that may answer. @default {0n} */
  readonly minSlot?: bigint
  /** Throws `UpstreamError` if the answer contradicts itself: it then counts as the endpoint's failure. */
  readonly check?: (answer: SolanaAccounts) => void
}

/** The steps of one read, under one budget. */
export interface SolanaSession {
  /**
   * Reads accounts and the cluster's clock at one confirmed slot, no older by the wall clock than is tolerated. Throws
   * `UpstreamError` when no endpoint gives a good answer in time.
   */
  accounts(addresses: readonly string[], options?: AccountsOptions): Promise<SolanaAccounts>
}

/** Reads of Solana over its endpoints. */
export interface SolanaClient {
  /** How long a slot usually lasts, milliseconds. */
  readonly slotMs: number
  /**
   * Runs the steps of `work` within one budget (2.5 s). Throws what `work` throws; `AbortedError` where the caller
   * left.
   */
  read<T>(work: (session: SolanaSession) => Promise<T>, options: { readonly signal: AbortSignal }): Promise<T>
  /** True if an endpoint answers with a time of today, or did within the last seconds. Reads the clock's account. */
  ready(signal: AbortSignal): Promise<boolean>
}

interface Endpoint {
  readonly index: number
  readonly transport: Transport
  readonly slots: Slots
  readonly health: Health
}

interface Step extends AccountsOptions {
  readonly addresses: readonly string[]
}

/**
 * Makes a client over RPC URLs, asked in order of health; each failure moves on to the next, and back to the first when
 * all have had a turn. The URLs may hold secrets: no log line and no error shows them.
 */
export function createSolanaClient(options: {
  readonly rpcUrls: readonly string[]
  /** How far the cluster's clock may be from the wall clock in an answer, either way. */
  readonly maxSlotAgeSec: number
  /** How long a slot usually lasts. */
  readonly slotMs: number
  readonly clock: Clock
  readonly log: Log
  readonly fetch?: Fetch
  /** Numbers in [0, 1) that spread pauses; evenly spread ones by default. */
  readonly random?: () => number
  /** Told of each finished request to an endpoint. */
  readonly record?: RpcRecorder
}): SolanaClient {
  const { maxSlotAgeSec, slotMs, clock, log, fetch = globalThis.fetch, record = () => {} } = options
  const random = options.random ?? createSpread(clock.now())
  const endpoints: readonly Endpoint[] = options.rpcUrls.map((url, index) => ({
    index,
    transport: recorded(createTransport({ url, timeoutMs: CALL_MS, clock, fetch, meanings: SOLANA_MEANINGS }), {
      record,
      clock,
    }),
    slots: createSlots(ENDPOINT_LIMITS),
    health: createHealth({ clock, random }),
  }))

  const heads = createSolanaHeads({ clock, slotMs })
  let succeededMs = Number.NEGATIVE_INFINITY
  let lookedMs = clock.monotonicMs()
  let looks = 0

  async function readAccounts(step: Step, deadline: Deadline): Promise<SolanaAccounts> {
    const tries = new Map<Endpoint, number>()
    let last: unknown
    for (let attempts = 0; attempts < TRIES_MAX && !deadline.signal.aborted; ) {
      const endpoint = pick(endpoints, { tries, isBehind: heads.isBehind })
      if (endpoint === undefined) break
      const tried = tries.get(endpoint) ?? 0
      tries.set(endpoint, tried + 1)
      const againMs = tried === 0 ? 0 : AGAIN_MS * 2 ** (tried - 1) * (1 + random())
      const waitMs = Math.max(endpoint.health.busyMs(), againMs)
      if (waitMs >= deadline.remainingMs()) {
        tries.set(endpoint, TRIES_PER_ENDPOINT)
        continue
      }
      try {
        if (waitMs > 0) await pause(waitMs, deadline.signal)
        attempts++
        const accounts = await ask(endpoint, step, deadline.signal)
        lookAtAnother(endpoint)
        return accounts
      } catch (error) {
        if (!isUpstream(error) && !deadline.signal.aborted) throw error
        // Asking the same endpoint the same again would be refused again.
        if (error instanceof RpcRefusedError) tries.set(endpoint, TRIES_PER_ENDPOINT)
        last = error
      }
    }
    throw new UpstreamError('Cannot read Solana: its RPC endpoints failed or gave no answer in time', { cause: last })
  }

  async function ask(endpoint: Endpoint, step: Step, signal: AbortSignal): Promise<SolanaAccounts> {
    const { index, health, slots, transport } = endpoint
    const { minSlot = 0n } = step
    const addresses = [...step.addresses, CLOCK_ADDRESS]
    const request = {
      method: 'getMultipleAccounts',
      params: [addresses, { encoding: 'base64', commitment: 'confirmed', ...atLeast(minSlot) }],
      parse: (result: unknown) => believe(parseAccounts(result, { count: addresses.length, minSlot }), step),
    }
    const before = health.state()
    try {
      const accounts = await slots.run(() => transport.send(request, signal), signal)
      health.succeeded()
      heads.observe(index, accounts)
      succeededMs = clock.monotonicMs()
      if (before !== 'ready') log.info({ msg: 'Regained a Solana RPC endpoint', endpoint: index })
      return accounts
    } catch (error) {
      if (signal.aborted || error instanceof CrowdedError) throw error
      if (error instanceof BusyError) {
        health.limited(error.retryAfterMs)
        slots.slowDown()
      } else health.failed()
      if (before === 'ready') log.warn({ msg: 'Lost a Solana RPC endpoint', endpoint: index, reason: reasonOf(error) })
      throw error
    }
  }

  /** The accounts of a good answer, the clock's apart. Throws `UpstreamError` for one that cannot be right. */
  function believe({ slot, accounts: all }: AccountsAtSlot, { check = () => {} }: Step): SolanaAccounts {
    const now = parseClock(all.at(-1))
    checkClock(now, { slot, nowMs: clock.now(), maxAgeSec: maxSlotAgeSec })
    const answer = { slot, timestampSec: now.timestampSec, accounts: all.slice(0, -1) }
    check(answer)
    return answer
  }

  /**
   * Now and then asks an endpoint that the reads do not go to for the time, each in its turn, so that one that lags is
   * left for one that does not. Nobody waits for it.
   */
  function lookAtAnother(answered: Endpoint): void {
    if (clock.monotonicMs() - lookedMs < LOOK_MS) return
    const others = endpoints.filter(
      ({ index, health }) =>
        index !== answered.index && health.busyMs() === 0 && (health.state() === 'ready' || health.probeDue()),
    )
    const other = others[looks % others.length]
    if (other === undefined) return
    lookedMs = clock.monotonicMs()
    looks++
    // A failure is in the endpoint's health and in the log; the transport limits its time.
    ask(other, { addresses: [] }, new AbortController().signal).catch(() => {})
  }

  async function read<T>(
    work: (session: SolanaSession) => Promise<T>,
    { signal }: { readonly signal: AbortSignal },
  ): Promise<T> {
    const deadline = startDeadline(BUDGET_MS, { parent: signal, now: clock.monotonicMs })
    try {
      return await work({
        async accounts(addresses, options = {}) {
          if (addresses.length > ACCOUNTS_MAX) {
            throw new RangeError(`Cannot read ${addresses.length} accounts at once: expected at most ${ACCOUNTS_MAX}`)
          }
          return await readAccounts({ ...options, addresses }, deadline)
        },
      })
    } catch (error) {
      throw signal.aborted ? new AbortedError('The caller left') : error
    } finally {
      deadline.stop()
    }
  }

  return {
    slotMs,
    read,
    async ready(signal) {
      if (clock.monotonicMs() - succeededMs < READY_MS) return true
      try {
        await read((session) => session.accounts([]), { signal })
        return true
      } catch {
        // Not ready is the answer; why is in the log where an endpoint was lost.
        return false
      }
    },
  }
}

interface PickOptions {
  /** How often each was tried in this step. */
  readonly tries: ReadonlyMap<Endpoint, number>
  readonly isBehind: (index: number) => boolean
}

/**
 * The endpoint to ask next: the least tried in this step first, then one that asks for no pause, then by health, then
 * one that is not behind the others, then as configured. Undefined when all have had their tries.
 */
function pick(endpoints: readonly Endpoint[], { tries, isBehind }: PickOptions): Endpoint | undefined {
  const ranked = endpoints
    .filter((endpoint) => (tries.get(endpoint) ?? 0) < TRIES_PER_ENDPOINT)
    .map((endpoint) => {
      const { index, health } = endpoint
      const state = health.busyMs() > 0 ? 3 : { ready: 0, doubtful: 1, open: 2 }[health.state()]
      return { endpoint, rank: [tries.get(endpoint) ?? 0, state, isBehind(index) ? 1 : 0, index] }
    })
  return ranked.sort((a, b) => compareRanks(a.rank, b.rank))[0]?.endpoint
}

/** Compares by the first number that differs; both of one length. */
function compareRanks(a: readonly number[], b: readonly number[]): number {
  const at = a.findIndex((value, index) => value !== b[index])
  return at < 0 ? 0 : (a[at] ?? 0) - (b[at] ?? 0)
}

/** Why an endpoint was given up: what was wrong with its answer where that is known, always in our own words. */
function reasonOf(error: unknown): string {
  const cause = error instanceof UpstreamError ? error.cause : undefined
  return String(cause instanceof UpstreamError ? cause : error)
}

function atLeast(minSlot: bigint): Readonly<Record<string, number>> {
  return minSlot === 0n ? {} : { minContextSlot: Number(minSlot) }
}

function isUpstream(error: unknown): boolean {
  return error instanceof UpstreamError || error instanceof RpcRefusedError
}
