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
import { parseAccounts, type SolanaAccounts } from './solana_accounts.ts'
import { SOLANA_MEANINGS } from './solana_error.ts'
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
/** The account in which every cluster keeps its clock. */
const CLOCK_ADDRESS = 'SysvarC1ock11111111111111111111111111111111'
/** Most accounts of one request; the RPC interface's own limit. */
const ACCOUNTS_MAX = 100

/** The steps of one read, under one budget. */
export interface SolanaSession {
  /**
   * Reads accounts at one confirmed slot, `minSlot` or later. Throws `UpstreamError` when no endpoint gives a good
   * answer in time.
   */
  accounts(addresses: readonly string[], options?: { readonly minSlot?: bigint }): Promise<SolanaAccounts>
}

/** Reads of Solana over its endpoints. */
export interface SolanaClient {
  /**
   * Runs the steps of `work` within one budget (2.5 s). Throws what `work` throws; `AbortedError` where the caller
   * left.
   */
  read<T>(work: (session: SolanaSession) => Promise<T>, options: { readonly signal: AbortSignal }): Promise<T>
  /** True where an endpoint answers, or did within the last seconds. Reads the clock's account. */
  ready(signal: AbortSignal): Promise<boolean>
}

interface Endpoint {
  readonly index: number
  readonly transport: Transport
  readonly slots: Slots
  readonly health: Health
}

interface Step {
  readonly addresses: readonly string[]
  readonly minSlot: bigint
}

/**
 * Makes a client over RPC URLs, asked in order of health; each failure moves on to the next, and back to the first when
 * all have had a turn. The URLs may hold secrets: no log line and no error shows them.
 */
export function createSolanaClient(options: {
  readonly rpcUrls: readonly string[]
  readonly clock: Clock
  readonly log: Log
  readonly fetch?: Fetch
  /** Numbers in [0, 1) that spread pauses; evenly spread ones by default. */
  readonly random?: () => number
  /** Told of each finished request to an endpoint. */
  readonly record?: RpcRecorder
}): SolanaClient {
  const { clock, log, fetch = globalThis.fetch, record = () => {} } = options
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

  let succeededMs = Number.NEGATIVE_INFINITY

  async function readAccounts(step: Step, deadline: Deadline): Promise<SolanaAccounts> {
    const tries = new Map<Endpoint, number>()
    let last: unknown
    for (let attempts = 0; attempts < TRIES_MAX && !deadline.signal.aborted; ) {
      const endpoint = pick(endpoints, tries)
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
        return await ask(endpoint, step, deadline.signal)
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
    const { addresses, minSlot } = step
    const request = {
      method: 'getMultipleAccounts',
      params: [addresses, { encoding: 'base64', commitment: 'confirmed', ...atLeast(minSlot) }],
      parse: (result: unknown) => parseAccounts(result, { count: addresses.length, minSlot }),
    }
    const before = health.state()
    try {
      const accounts = await slots.run(() => transport.send(request, signal), signal)
      health.succeeded()
      succeededMs = clock.monotonicMs()
      if (before !== 'ready') log.info({ msg: 'Regained a Solana RPC endpoint', endpoint: index })
      return accounts
    } catch (error) {
      if (signal.aborted || error instanceof CrowdedError) throw error
      if (error instanceof BusyError) health.limited(error.retryAfterMs)
      else health.failed()
      if (before === 'ready') log.warn({ msg: 'Lost a Solana RPC endpoint', endpoint: index, reason: String(error) })
      throw error
    }
  }

  async function read<T>(
    work: (session: SolanaSession) => Promise<T>,
    { signal }: { readonly signal: AbortSignal },
  ): Promise<T> {
    const deadline = startDeadline(BUDGET_MS, { parent: signal, now: clock.monotonicMs })
    try {
      return await work({
        async accounts(addresses, { minSlot = 0n } = {}) {
          if (addresses.length === 0 || addresses.length > ACCOUNTS_MAX) {
            throw new RangeError(`Cannot read ${addresses.length} accounts at once: expected 1 to ${ACCOUNTS_MAX}`)
          }
          return await readAccounts({ addresses, minSlot }, deadline)
        },
      })
    } catch (error) {
      throw signal.aborted ? new AbortedError('The caller left') : error
    } finally {
      deadline.stop()
    }
  }

  return {
    read,
    async ready(signal) {
      if (clock.monotonicMs() - succeededMs < READY_MS) return true
      try {
        await read((session) => session.accounts([CLOCK_ADDRESS]), { signal })
        return true
      } catch {
        // Not ready is the answer; why is in the log where an endpoint was lost.
        return false
      }
    },
  }
}

/** The endpoint to ask next: least tried in this step first, then one that asks for no pause, then by health, then as configured. */
function pick(endpoints: readonly Endpoint[], tries: ReadonlyMap<Endpoint, number>): Endpoint | undefined {
  const score = (endpoint: Endpoint): number => {
    const state = endpoint.health.busyMs() > 0 ? 3 : { ready: 0, doubtful: 1, open: 2 }[endpoint.health.state()]
    return ((tries.get(endpoint) ?? 0) * 4 + state) * 256 + endpoint.index
  }
  return endpoints
    .filter((endpoint) => (tries.get(endpoint) ?? 0) < TRIES_PER_ENDPOINT)
    .sort((a, b) => score(a) - score(b))[0]
}

function atLeast(minSlot: bigint): Readonly<Record<string, number>> {
  return minSlot === 0n ? {} : { minContextSlot: Number(minSlot) }
}

function isUpstream(error: unknown): boolean {
  return error instanceof UpstreamError || error instanceof RpcRefusedError
}
