import type { Clock } from '../lib/clock.ts'
import { AbortedError, UpstreamError } from '../lib/error.ts'
import type { Log } from '../lib/log.ts'
import { parseAccounts, type SolanaAccounts } from './solana_accounts.ts'
import { requestSolana, SolanaRpcError } from './solana_transport.ts'

/** Number under which Solana goes among chain ids. */
export const SOLANA_CHAIN_ID = 101

/** Time for all reads of one session together, milliseconds. */
const BUDGET_MS = 2_500
/** Time for one request, milliseconds. */
const ATTEMPT_MS = 1_000
/** Requests of one read at least (where there is one endpoint), and at most. */
const ATTEMPTS_MIN = 3
const ATTEMPTS_MAX = 6
/** Wait before an endpoint is asked a second time in one read, milliseconds; doubled each further time. */
const BACKOFF_MS = 100
/** How long an endpoint that failed is asked after the others, milliseconds. */
const SICK_MS = 5_000
/** Longest `Retry-After` that is believed, milliseconds. */
const RETRY_AFTER_MS_MAX = 30_000
/** Most accounts of one request; the RPC interface's own limit. */
const ACCOUNTS_MAX = 100

/** Several reads that belong together and share one budget of time. */
export interface SolanaSession {
  /**
   * Reads accounts at one confirmed slot, at least `minSlot`. Throws `UpstreamError` when no endpoint answers well
   * within the budget, and the signal's reason when it fires.
   */
  accounts(addresses: readonly string[], options?: { readonly minSlot?: bigint }): Promise<SolanaAccounts>
}

/** Reads of Solana over several RPC endpoints. */
export interface SolanaClient {
  /** Starts a session; its 2.5 seconds begin now. */
  open(signal: AbortSignal): SolanaSession
}

interface Endpoint {
  readonly index: number
  readonly url: string
  /** Until then the endpoint wants to be left alone, on the monotonic clock. */
  quietUntilMs: number
  /** Until then the others are asked first. */
  sickUntilMs: number
}

/**
 * Makes a client over RPC URLs, tried in order of health. They may hold secrets: they are in no log line and no
 * error. `random` (0 to 1) spreads the waits of many processes; without it they are even.
 */
export function createSolanaClient(options: {
  readonly rpcUrls: readonly string[]
  readonly clock: Clock
  readonly log: Log
  readonly random?: () => number
}): SolanaClient {
  const { clock, log, random = () => 0.5 } = options
  const endpoints: readonly Endpoint[] = options.rpcUrls.map((url, index) => ({
    index,
    url,
    quietUntilMs: 0,
    sickUntilMs: 0,
  }))
  const attemptsMax = Math.min(Math.max(ATTEMPTS_MIN, endpoints.length), ATTEMPTS_MAX)
  let id = 0

  async function read(
    addresses: readonly string[],
    {
      minSlot,
      deadlineMs,
      signal,
    }: { readonly minSlot: bigint; readonly deadlineMs: number; readonly signal: AbortSignal },
  ): Promise<SolanaAccounts> {
    const tried = new Map<Endpoint, number>()
    let failure: unknown
    for (let attempt = 0; attempt < attemptsMax; attempt++) {
      const chosen = choose(endpoints, { tried, nowMs: clock.monotonicMs() })
      if (chosen === undefined) break
      const { endpoint } = chosen
      const waitMs = chosen.waitMs * (0.75 + random() / 2)
      const startMs = clock.monotonicMs() + Math.max(waitMs, endpoint.quietUntilMs - clock.monotonicMs())
      if (startMs >= deadlineMs) break
      await sleep(startMs - clock.monotonicMs(), signal)
      const timeout = AbortSignal.timeout(Math.max(1, Math.floor(Math.min(ATTEMPT_MS, deadlineMs - startMs))))
      try {
        const result = await requestSolana(
          { url: endpoint.url, id: ++id, method: 'getMultipleAccounts', params: [addresses, config(minSlot)] },
          AbortSignal.any([signal, timeout]),
        )
        const accounts = parseAccounts(result, { count: addresses.length, minSlot })
        endpoint.sickUntilMs = 0
        return accounts
      } catch (error) {
        if (signal.aborted) throw reasonOf(signal)
        if (!(error instanceof SolanaRpcError) && !timeout.aborted) throw error
        failure = error instanceof SolanaRpcError ? error : new SolanaRpcError('transient', 'The endpoint timed out')
        mark(endpoint, { failure: failure as SolanaRpcError, tried })
      }
    }
    throw new UpstreamError('Cannot read Solana: its RPC endpoints failed or did not answer in time', {
      cause: failure,
    })
  }

  function mark(
    endpoint: Endpoint,
    { failure, tried }: { readonly failure: SolanaRpcError; readonly tried: Map<Endpoint, number> },
  ): void {
    const nowMs = clock.monotonicMs()
    const { kind, retryAfterMs } = failure
    tried.set(endpoint, kind === 'configuration' ? Number.POSITIVE_INFINITY : (tried.get(endpoint) ?? 0) + 1)
    endpoint.sickUntilMs = nowMs + SICK_MS
    if (retryAfterMs !== undefined) endpoint.quietUntilMs = nowMs + Math.min(retryAfterMs, RETRY_AFTER_MS_MAX)
    log.warn({ msg: 'Lost a Solana RPC endpoint', endpoint: endpoint.index, kind, reason: failure.message })
  }

  return {
    open(signal) {
      const deadlineMs = clock.monotonicMs() + BUDGET_MS
      return {
        async accounts(addresses, { minSlot = 0n } = {}) {
          if (addresses.length === 0 || addresses.length > ACCOUNTS_MAX) {
            throw new RangeError(`Cannot read ${addresses.length} accounts at once: expected 1 to ${ACCOUNTS_MAX}`)
          }
          if (signal.aborted) throw reasonOf(signal)
          return await read(addresses, { minSlot, deadlineMs, signal })
        },
      }
    },
  }
}

/** The endpoint to ask next: one that is not asking for quiet, then the least tried, then a healthy one, then the first. */
function choose(
  endpoints: readonly Endpoint[],
  { tried, nowMs }: { readonly tried: ReadonlyMap<Endpoint, number>; readonly nowMs: number },
): { readonly endpoint: Endpoint; readonly waitMs: number } | undefined {
  const times = (endpoint: Endpoint) => tried.get(endpoint) ?? 0
  const [endpoint] = endpoints
    .filter((each) => Number.isFinite(times(each)))
    .sort(
      (a, b) =>
        Math.max(0, a.quietUntilMs - nowMs) - Math.max(0, b.quietUntilMs - nowMs) ||
        times(a) - times(b) ||
        Number(a.sickUntilMs > nowMs) - Number(b.sickUntilMs > nowMs) ||
        a.index - b.index,
    )
  if (endpoint === undefined) return undefined
  const again = times(endpoint)
  return { endpoint, waitMs: again === 0 ? 0 : BACKOFF_MS * 2 ** (again - 1) }
}

function config(minSlot: bigint): Readonly<Record<string, unknown>> {
  const common = { encoding: 'base64', commitment: 'confirmed' }
  return minSlot === 0n ? common : { ...common, minContextSlot: Number(minSlot) }
}

function sleep(ms: number, signal: AbortSignal): Promise<void> {
  if (ms <= 0) return Promise.resolve()
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer)
      reject(reasonOf(signal))
    }
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', stop)
      resolve()
    }, ms)
    signal.addEventListener('abort', stop, { once: true })
  })
}

function reasonOf(signal: AbortSignal): unknown {
  return signal.reason instanceof Error ? signal.reason : new AbortedError('The read of Solana was given up')
}
