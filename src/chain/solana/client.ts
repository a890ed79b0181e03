import { UpstreamError } from '../../lib/error.ts'
import { type ClientOptions, type Connection, createConnection } from '../rpc/connection.ts'
import { withinDeadline } from '../rpc/deadline.ts'
import { createSpread } from '../rpc/memory/health.ts'
import {
  createRotation,
  type EndpointReport,
  type RotatingEndpoint,
  type RotationPolicy,
} from '../rpc/rotation/rotation.ts'
import { type AccountsAtSlot, parseAccounts, type SolanaAccounts } from './accounts.ts'
import { CLOCK_ADDRESS, checkClock, parseClock } from './clock.ts'
import { SOLANA_MEANINGS } from './error.ts'
import { createSolanaHeads } from './heads.ts'

/** The number that stands for Solana among chain ids. */
export const SOLANA_CHAIN_ID = 101

/** Time limit of one read, over all its steps and tries, milliseconds. */
const BUDGET_MS = 2_500
/** Time limit of one request to one endpoint, milliseconds. */
const CALL_MS = 1_000
const POLICY: RotationPolicy = {
  triesMax: 3,
  attemptsMax: 8,
  againMs: 75,
  lostAt: 'doubtful',
  // Public endpoints count every request, so a client that is used only once should not probe the others.
  firstLookMs: 10_000,
  // All requests are of one kind: an endpoint that refuses one, say because it wants a key, refuses all.
  blamesRefusals: true,
}
/** Most accounts of one request: the RPC interface allows 100, and one is the clock. */
const ACCOUNTS_MAX = 99

/** Options of one read of accounts. */
interface AccountsOptions {
  /** The earliest slot that may answer. @default {0n} */
  readonly minSlot?: bigint
  /** Throws `UpstreamError` if the answer contradicts itself: it then counts as the endpoint's failure. */
  readonly check?: (answer: SolanaAccounts) => void
}

/** The steps of one read, under one budget. */
export interface SolanaSession {
  /**
   * Reads accounts and the cluster's clock at one confirmed slot that is recent enough by the wall clock. Throws
   * `UpstreamError` if no endpoint gives a good answer in time.
   */
  accounts(addresses: readonly string[], options?: AccountsOptions): Promise<SolanaAccounts>
}

/** Reads of Solana over its endpoints. */
export interface SolanaClient {
  /** How long a slot usually lasts, milliseconds. */
  readonly slotMs: number
  /**
   * Runs the steps of `work` within one budget (2.5 s). Throws what `work` throws; `AbortedError` if the caller left.
   */
  read<T>(work: (session: SolanaSession) => Promise<T>, options: { readonly signal: AbortSignal }): Promise<T>
  /** True if an endpoint answers with a time of today, or did within the last seconds. Reads the clock's account. */
  ready(signal: AbortSignal): Promise<boolean>
  /** How each endpoint does, in the order of the configuration. */
  report(): readonly EndpointReport[]
  /** Ends what runs in the background, such as probes of endpoints that failed. */
  close(): void
}

interface Endpoint extends RotatingEndpoint, Connection {}

interface Step extends AccountsOptions {
  readonly addresses: readonly string[]
}

/**
 * Makes a client over RPC URLs, asked in order of health; each failure moves on to the next, and back to the first when
 * all have had a turn. The URLs may hold secrets: no log line and no error shows them.
 */
export function createSolanaClient(
  options: ClientOptions & {
    readonly rpcUrls: readonly string[]
    /** How far the cluster's clock may be from the wall clock in an answer, either way. */
    readonly maxSlotAgeSec: number
    /** How long a slot usually lasts. */
    readonly slotMs: number
  },
): SolanaClient {
  const { maxSlotAgeSec, slotMs, clock, log, fetch = globalThis.fetch, record = () => {}, line } = options
  const random = options.random ?? createSpread(clock.now())
  const shared = { timeoutMs: CALL_MS, clock, fetch, random, record, line, meanings: SOLANA_MEANINGS }
  const endpoints: readonly Endpoint[] = options.rpcUrls.map((url, index) => ({
    index,
    ...createConnection(url, shared),
  }))
  const heads = createSolanaHeads({ clock, slotMs })
  const rotation = createRotation({
    endpoints,
    chainId: SOLANA_CHAIN_ID,
    policy: POLICY,
    clock,
    log,
    random,
    isBehind: heads.isBehind,
    look: (endpoint, signal) => ask(endpoint, { addresses: [] }, signal),
    exhausted: ({ errors }) =>
      new UpstreamError('Cannot read Solana: its RPC endpoints failed or gave no answer in time', {
        cause: errors.at(-1),
      }),
  })

  async function ask({ index, send }: Endpoint, step: Step, signal: AbortSignal): Promise<SolanaAccounts> {
    const { minSlot = 0n } = step
    const addresses = [...step.addresses, CLOCK_ADDRESS]
    const request = {
      method: 'getMultipleAccounts',
      params: [addresses, { encoding: 'base64', commitment: 'confirmed', ...atLeast(minSlot) }],
      parse: (result: unknown) => believe(parseAccounts(result, { count: addresses.length, minSlot }), step),
    }
    const accounts = await send(request, signal)
    heads.observe(index, accounts)
    return accounts
  }

  /** The accounts of a good answer, without the clock's. Throws `UpstreamError` for an answer that cannot be right. */
  function believe({ slot, accounts: all }: AccountsAtSlot, { check }: Step): SolanaAccounts {
    const now = parseClock(all.at(-1))
    checkClock(now, { slot, nowMs: clock.now(), maxAgeSec: maxSlotAgeSec })
    const answer = { slot, timestampSec: now.timestampSec, accounts: all.slice(0, -1) }
    check?.(answer)
    return answer
  }

  const read: SolanaClient['read'] = (work, { signal }) =>
    withinDeadline(
      (deadline) =>
        work({
          async accounts(addresses, asked = {}) {
            if (addresses.length > ACCOUNTS_MAX) {
              throw new RangeError(`Cannot read ${addresses.length} accounts at once: expected at most ${ACCOUNTS_MAX}`)
            }
            const step: Step = { ...asked, addresses }
            return await rotation.ask((endpoint, limits) => ask(endpoint, step, limits.signal), deadline)
          },
        }),
      { ms: BUDGET_MS, signal, now: clock.monotonicMs },
    )

  return {
    slotMs,
    read,
    ready: (signal) => rotation.ready(() => read((session) => session.accounts([]), { signal })),
    report: rotation.report,
    close: rotation.close,
  }
}

function atLeast(minSlot: bigint): Readonly<Record<string, number>> {
  return minSlot === 0n ? {} : { minContextSlot: Number(minSlot) }
}
