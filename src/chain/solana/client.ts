import { type Deadline, withinDeadline } from '../../lib/async/abort.ts'
import { limitWork, type Work } from '../../lib/async/work.ts'
import type { Clock } from '../../lib/clock.ts'
import { UpstreamError } from '../../lib/error.ts'
import { RpcRefusedError } from '../rpc/client.ts'
import { type ClientOptions, type Connection, createConnection } from '../rpc/connection.ts'
import { createJitterSequence } from '../rpc/endpoint_state.ts'
import { EndpointError, hasFault } from '../rpc/error.ts'
import { createRotation, type MonitoredEndpoints, type RotationFailure, type RotationPolicy } from '../rpc/rotation.ts'
import type { RpcErrorMapping } from '../rpc/transport.ts'
import {
  ACCOUNT_BYTES_MAX,
  type AccountsAtSlot,
  type FoundAccounts,
  parseAccounts,
  quoteLongLamports,
  type SolanaAccounts,
} from './accounts.ts'
import { CLOCK_ADDRESS, checkClock, parseClock, type SolanaClock } from './clock.ts'
import { type AccountGroup, readGroups } from './groups.ts'
import {
  getSearchKey,
  type ListedTokenAccount,
  type ProgramSearch,
  programSearch,
  type Search,
  TOKEN_ACCOUNTS,
  type TokenAccountsFilter,
  tokenAccountsSearch,
  toMinContextSlot,
} from './searches.ts'

/** Chain id of Solana in this service. */
export const SOLANA_CHAIN_ID = 101

/** Time limit of one read over all its steps and attempts, milliseconds. */
const BUDGET_MS = 2_500
/** Time limit of one request to one endpoint, milliseconds. */
const CALL_MS = 1_000
/** Time limit of one search request: a node scans more than it returns. */
const SEARCH_MS = 3_000
const POLICY: RotationPolicy = {
  triesMax: 3,
  attemptsMax: 8,
  retryMs: 75,
  lostState: 'doubtful',
  // Public endpoints count every request, so a client that is used only once does not probe the others.
  firstProbeMs: 10_000,
  // An endpoint that refuses to read accounts, for example without a key, refuses all. Refused searches are no
  // failures.
  blamesRefusals: true,
}
/** Retries of groups that are of an older slot. */
const GROUPS_AGAIN_MAX = 2
/** Upper bound of the accounts of one request: the RPC interface allows 100, and one is the clock. */
const ACCOUNTS_MAX = 99
const ACCOUNT_SLICE = { offset: 0, length: ACCOUNT_BYTES_MAX } as const

/** Options of one read. */
interface SlotOptions {
  /** The earliest accepted slot. @default {0n} */
  readonly minSlot?: bigint
}

/** Options of one read of accounts. */
interface AccountsOptions extends SlotOptions {
  /** Throws `UpstreamError` if the answer is inconsistent, which counts as the endpoint's failure. */
  readonly check?: (answer: SolanaAccounts, addresses: readonly string[]) => void
}

/** Options of one read of groups. */
interface GroupsOptions extends AccountsOptions {
  /** True if groups may be of different slots, so that none is read again. @default {false} */
  readonly mayDiffer?: boolean
}

/** The steps of one read, under one budget. Each throws `UpstreamError` if no endpoint gives a valid answer in time. */
export interface SolanaSession {
  /** Reads at most 99 accounts and the cluster's clock at one confirmed slot that is recent by the wall clock. */
  accounts(addresses: readonly string[], options?: AccountsOptions): Promise<SolanaAccounts>
  /**
   * Reads any number of accounts: each item, a list of at most 99 addresses, is read at one slot, and all items at the
   * same slot unless it advances during the read. Returns the accounts of each item, in order; a group may contain the
   * accounts of other items too.
   */
  grouped(items: readonly (readonly string[])[], options?: GroupsOptions): Promise<AccountGroup[]>
  /**
   * Lists a wallet's token accounts, empty ones included. Throws `EndpointError` (unsupported) if every endpoint
   * refuses.
   */
  tokenAccounts(
    wallet: string,
    filter: TokenAccountsFilter,
    options?: SlotOptions,
  ): Promise<FoundAccounts<ListedTokenAccount>>
  /** Searches a program's accounts. Throws `EndpointError` (unsupported) if every endpoint refuses to search it. */
  programAccounts(search: ProgramSearch, options?: SlotOptions): Promise<FoundAccounts>
  /** Returns the same session with steps that also end when the signal fires. */
  until(signal: AbortSignal): SolanaSession
}

/** Methods that an endpoint supports besides reading accounts; undefined if not tried recently. */
interface SolanaCapabilities {
  readonly listsTokenAccounts: boolean | undefined
  /** True if accounts of the named program can be searched. */
  readonly searchesProgram: boolean | undefined
}

/** Reads of Solana over its endpoints. */
export interface SolanaClient extends MonitoredEndpoints {
  /** Usual duration of a slot, milliseconds. */
  readonly slotMs: number
  /** Maximum distance of the cluster's clock from the wall clock, seconds. */
  readonly maxSlotAgeSec: number
  /**
   * Runs the steps of `task` within one budget, 2.5 s by default. Throws what `task` throws; `AbortedError` if the
   * caller left.
   */
  read<T>(
    task: (session: SolanaSession) => Promise<T>,
    options: { readonly work: Work; readonly budgetMs?: number },
  ): Promise<T>
  /** True if an endpoint answers with a recent slot, or did within the last seconds. Reads the clock's account. */
  ready(work: Work): Promise<boolean>
  /** Returns the capabilities of each endpoint, in configured order. */
  getCapabilities(program: string): readonly SolanaCapabilities[]
}

interface Endpoint extends Connection {
  readonly index: number
}

interface Step extends AccountsOptions {
  readonly addresses: readonly string[]
}

/**
 * Creates a client over RPC URLs, tried in order of health; each failure moves on to the next, and back to the first
 * when all have been tried. The URLs may contain secrets: no log line and no error shows them.
 */
export function createSolanaClient(
  options: ClientOptions & {
    readonly rpcUrls: readonly string[]
    /** Maximum distance of an answer's clock from the wall clock, in both directions. */
    readonly maxSlotAgeSec: number
    /** Usual duration of a slot. */
    readonly slotMs: number
  },
): SolanaClient {
  const { maxSlotAgeSec, slotMs, clock, log, random = createJitterSequence(clock.now()) } = options
  const shared = { ...options, random, timeoutMs: CALL_MS, meanings: SOLANA_ERROR_MAPPING }
  const endpoints: readonly Endpoint[] = options.rpcUrls.map((url, index) => ({
    index,
    ...createConnection(url, { ...shared, index }),
  }))
  const heads = createSlotTracker({ clock, slotMs })
  const methods = createMethodSupport(clock)
  const toReadError = ({ errors, busyMs }: RotationFailure): UpstreamError => {
    const message = 'Cannot read Solana: its RPC endpoints failed or gave no answer in time'
    const isLimited = busyMs > 0 || errors.some((error) => hasFault(error, 'busy'))
    const cause = errors.at(-1)
    return isLimited ? new EndpointError('busy', message, { cause }) : new UpstreamError(message, { cause })
  }
  const rotation = createRotation({
    endpoints,
    chainId: SOLANA_CHAIN_ID,
    policy: POLICY,
    clock,
    log,
    random,
    isBehind: heads.isBehind,
    getHead: heads.getHead,
    probe: (endpoint, work) => requestAccounts(endpoint, { addresses: [] }, work),
    toError: toReadError,
  })

  async function requestAccounts({ index, send }: Endpoint, step: Step, work: Work): Promise<SolanaAccounts> {
    const { minSlot = 0n } = step
    const addresses = [...step.addresses, CLOCK_ADDRESS]
    const request = {
      method: 'getMultipleAccounts',
      params: [
        addresses,
        { encoding: 'base64', commitment: 'confirmed', dataSlice: ACCOUNT_SLICE, ...toMinContextSlot(minSlot) },
      ],
      parse: (result: unknown) => checkAnswer(parseAccounts(result, { count: addresses.length, minSlot }), step),
      rewrite: quoteLongLamports,
    }
    const accounts = await send(request, work)
    heads.observe(index, accounts)
    return accounts
  }

  /** Checks an answer and removes the clock's account. Throws `UpstreamError` for an answer that cannot be right. */
  function checkAnswer({ slot, accounts: all }: AccountsAtSlot, { addresses, check }: Step): SolanaAccounts {
    const now = parseClock(all.at(-1))
    checkClock(now, { slot, nowMs: clock.now(), maxAgeSec: maxSlotAgeSec })
    const { timestampSec, epoch } = now
    const answer = { slot, timestampSec, epoch, accounts: all.slice(0, -1) }
    check?.(answer, addresses)
    return answer
  }

  /** Runs a search on one endpoint. An unsupported method or an answer that is too long does not affect its health. */
  async function runSearch<T>(
    { index, send }: Endpoint,
    { method, read, single, mayHang, finish }: Search<T>,
    work: Work,
  ): Promise<T> {
    try {
      const result = await finish(await send({ ...read, timeoutMs: SEARCH_MS }, work))
      methods.noteSuccess(index, method)
      return result
    } catch (error) {
      if (hasFault(error, 'late') && mayHang) {
        methods.noteTimeout(index, method)
        if (methods.isHanging(index, method))
          throw new EndpointError('unsupported', 'The endpoint gives no answer', { cause: error })
      }
      if (hasFault(error, 'too_large'))
        throw new EndpointError('long_search', 'The answer is too long', { cause: error })
      if (!(error instanceof RpcRefusedError)) throw error
      if (error.reason === 'kind' && !single.includes(error.code)) methods.noteRefusal(index, method)
      throw new EndpointError('unsupported', 'The endpoint refuses the search', { cause: error })
    }
  }

  function search<T>(searchRequest: Search<T>, deadline: Deadline): Promise<T> {
    const { method, what, whole, mayHang } = searchRequest
    const isRefused = (index: number) =>
      methods.isOffered(index, method) === false || (mayHang && methods.isHanging(index, method))
    return rotation.ask((endpoint, { work }) => runSearch(endpoint, searchRequest, work), deadline, {
      getRank: (index) => (isRefused(index) ? undefined : 0),
      toError(failure) {
        const { errors } = failure
        const cause = errors.at(-1)
        if (endpoints.every(({ index }) => isRefused(index))) {
          const advice = `no endpoint ${what}: set SOLANA_RPC_URL to one that does`
          return new EndpointError('unsupported', `Cannot read Solana: ${advice}`, { cause })
        }
        const isLong = errors.some((error) => hasFault(error, 'long_search'))
        if (isLong) return new UpstreamError(`Cannot read Solana: ${whole} are too many to be read`, { cause })
        return toReadError(failure)
      },
      blames: true,
    })
  }

  function createSession(deadline: Deadline): SolanaSession {
    async function accounts(
      addresses: readonly string[],
      accountsOptions: AccountsOptions = {},
    ): Promise<SolanaAccounts> {
      if (addresses.length > ACCOUNTS_MAX) {
        throw new RangeError(`Cannot read ${addresses.length} accounts at once: expected at most ${ACCOUNTS_MAX}`)
      }
      const step: Step = { ...accountsOptions, addresses }
      return await rotation.ask((endpoint, limits) => requestAccounts(endpoint, step, limits.work), deadline)
    }
    return {
      accounts,
      grouped: (items, { mayDiffer = false, minSlot: least = 0n, ...accountsOptions } = {}) =>
        readGroups(items, {
          max: ACCOUNTS_MAX,
          minSlot: least,
          retriesMax: mayDiffer ? 0 : GROUPS_AGAIN_MAX,
          ask: (addresses, minSlot) => accounts(addresses, { ...accountsOptions, minSlot }),
        }),
      tokenAccounts: (wallet, filter, { minSlot = 0n } = {}) =>
        search(tokenAccountsSearch(wallet, { filter, minSlot }), deadline),
      programAccounts: (query, { minSlot = 0n } = {}) => search(programSearch(query, minSlot), deadline),
      until: (signal) => createSession({ ...deadline, work: limitWork(deadline.work, signal) }),
    }
  }

  const read: SolanaClient['read'] = (task, { work, budgetMs = BUDGET_MS }) =>
    withinDeadline((deadline) => task(createSession(deadline)), { ms: budgetMs, work, clock })

  return {
    slotMs,
    maxSlotAgeSec,
    read,
    ready: (work) => rotation.ready(() => read((session) => session.accounts([]), { work })),
    report: rotation.report,
    findUnresponsive: rotation.findUnresponsive,
    getCapabilities: (program) =>
      endpoints.map(({ index }) => ({
        listsTokenAccounts: methods.isOffered(index, TOKEN_ACCOUNTS.method),
        searchesProgram: methods.isOffered(index, getSearchKey(program)),
      })),
    close: rotation.close,
  }
}

/** How long a refusal is remembered: an operator, or a provider's plan, may offer more later. */
const MEMORY_MS = 10 * 60_000

/** How long a timeout is remembered; it may have been temporary. */
const LATE_MEMORY_MS = 60_000

/** Creates a record of optional methods that endpoints support, by index in the configuration. */
function createMethodSupport(clock: Clock) {
  /** Time until which a refusal counts; 0 if the method has worked. */
  const refusedUntilMs = new Map<string, number>()
  const lateUntilMs = new Map<string, number>()
  const getKey = (endpoint: number, method: string) => `${endpoint}:${method}`
  return {
    noteSuccess: (endpoint: number, method: string) => refusedUntilMs.set(getKey(endpoint, method), 0),
    noteRefusal: (endpoint: number, method: string) =>
      refusedUntilMs.set(getKey(endpoint, method), clock.monotonicMs() + MEMORY_MS),
    /** Notes a timeout. */
    noteTimeout: (endpoint: number, method: string) =>
      lateUntilMs.set(getKey(endpoint, method), clock.monotonicMs() + LATE_MEMORY_MS),
    /**
     * True for a while after a timeout, unless the method has ever worked: some endpoints hang on unsupported methods.
     */
    isHanging(endpoint: number, method: string): boolean {
      const key = getKey(endpoint, method)
      return refusedUntilMs.get(key) !== 0 && clock.monotonicMs() < (lateUntilMs.get(key) ?? 0)
    },
    /** True if the method has worked, false for a while after a refusal, undefined if unknown. */
    isOffered(endpoint: number, method: string): boolean | undefined {
      const untilMs = refusedUntilMs.get(getKey(endpoint, method))
      if (untilMs === undefined) return undefined
      if (untilMs === 0) return true
      return clock.monotonicMs() < untilMs ? false : undefined
    },
  }
}

/** Maximum lag of one endpoint behind another, in time, before the other is preferred. */
const LAG_MS_MAX = 30_000
/** Slots seen longer ago are ignored. */
const SLOT_MEMORY_MS = 60_000
/** A cluster may be at most this many times faster than usual. */
const PACE_MAX = 4
/** Maximum difference between the clocks of two honest endpoints beyond the difference of their slots. */
const CLOCKS_APART_MS = 60_000

type Head = Pick<SolanaClock, 'slot' | 'timestampSec'>

interface ObservedSlot extends Head {
  readonly atMs: number
}

/**
 * Creates a tracker of the slots and times that endpoints have shown recently. Slots usually last `slotMs`
 * milliseconds.
 */
function createSlotTracker({ clock, slotMs }: { readonly clock: Clock; readonly slotMs: number }) {
  const observedSlots = new Map<number, ObservedSlot>()

  /** True if `other` was far ahead of `mine`, both extrapolated to the same moment. */
  function isFarAhead(other: ObservedSlot, mine: ObservedSlot): boolean {
    const aheadMs = Number(other.slot - mine.slot) * slotMs - Math.max(0, other.atMs - mine.atMs)
    const clocksMs = Number(other.timestampSec - mine.timestampSec) * 1000
    return aheadMs > LAG_MS_MAX && aheadMs <= (clocksMs + CLOCKS_APART_MS) * PACE_MAX
  }

  return {
    /** Notes slot and time of an endpoint's answer. */
    observe(endpoint: number, { slot, timestampSec }: Head): void {
      observedSlots.set(endpoint, { slot, timestampSec, atMs: clock.monotonicMs() })
    },
    /** Returns slot and time of an endpoint's last answer. */
    getHead(endpoint: number) {
      const last = observedSlots.get(endpoint)
      return last === undefined ? undefined : { number: last.slot, timestampSec: last.timestampSec }
    },
    /**
     * True if another endpoint has recently shown a slot far ahead of this one's. A slot that no cluster can reach in
     * the time between both clocks is ignored, so that one false slot cannot make the other endpoints look late.
     */
    isBehind(endpoint: number): boolean {
      const recent = [...observedSlots].filter(([, { atMs }]) => clock.monotonicMs() - atMs < SLOT_MEMORY_MS)
      const mine = recent.find(([index]) => index === endpoint)?.[1]
      return mine !== undefined && recent.some(([, other]) => isFarAhead(other, mine))
    },
  }
}

/**
 * Wrong request, unknown method, wrong parameters, no access, not in the node's index, and two codes that providers
 * copy from HTTP, not allowed and disabled: a retry does not help.
 */
const REFUSED_CODES: ReadonlySet<number> = new Set([-32600, -32601, -32602, -32401, -32010, 401, 403, 410])
const BUSY_CODES: ReadonlySet<number> = new Set([429, -32429])

const NOT_REACHED = -32016

/**
 * Error mapping for Solana's nodes and their providers. A node that is behind (-32005), has not reached the slot
 * (-32016) or failed (-32603) is retried, on other endpoints first; 401, 403 and other 4xx are not retried on that
 * endpoint.
 */
const SOLANA_ERROR_MAPPING: RpcErrorMapping = {
  fromRpc({ code }) {
    if (BUSY_CODES.has(code)) return new EndpointError('busy', 'The endpoint limits its rate')
    if (REFUSED_CODES.has(code)) return new RpcRefusedError(code, `The endpoint refused the call (JSON-RPC ${code})`)
    // Nodes behind one address may differ by some slots.
    if (code === NOT_REACHED) return new EndpointError('behind', 'The endpoint has not reached the slot')
    return new UpstreamError(`The endpoint failed (JSON-RPC ${code})`)
  },
  fromStatus(status) {
    const message = `The endpoint answered HTTP ${status}`
    return status >= 500 || status === 408 ? new UpstreamError(message) : new RpcRefusedError(status, message)
  },
}
