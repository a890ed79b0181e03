import { type Deadline, withinDeadline } from '../../lib/async/abort.ts'
import { UpstreamError } from '../../lib/error.ts'
import { RpcRefusedError } from '../rpc/client.ts'
import { type ClientOptions, type Connection, createConnection } from '../rpc/connection.ts'
import { createJitterSequence } from '../rpc/endpoint_state/health.ts'
import { RateLimitedError, UnsupportedRequestError } from '../rpc/error.ts'
import {
  createRotation,
  type MonitoredEndpoints,
  type RotationFailure,
  type RotationPolicy,
} from '../rpc/rotation/rotation.ts'
import { ResponseTimeoutError, ResponseTooLargeError } from '../rpc/transport.ts'
import {
  type AccountsAtSlot,
  type FoundAccounts,
  parseAccounts,
  quoteLongLamports,
  type SolanaAccounts,
} from './accounts.ts'
import { CLOCK_ADDRESS, checkClock, parseClock } from './clock.ts'
import { AllRateLimitedError, MethodRefusedError, SOLANA_ERROR_MAPPING } from './error.ts'
import { type AccountGroup, readGroups } from './groups.ts'
import { createMethodSupport } from './method_support.ts'
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
import { createSlotTracker } from './slot_tracker.ts'

/** The number that stands for Solana among chain ids. */
export const SOLANA_CHAIN_ID = 101

/** Time limit of one read, over all its steps and tries, milliseconds. */
const BUDGET_MS = 2_500
/** Time limit of one request to one endpoint, milliseconds. */
const CALL_MS = 1_000
/** The same of a search: a node looks through more than it answers. */
const SEARCH_MS = 3_000
const POLICY: RotationPolicy = {
  triesMax: 3,
  attemptsMax: 8,
  againMs: 75,
  lostAt: 'doubtful',
  // Public endpoints count every request, so a client that is used only once should not probe the others.
  firstLookMs: 10_000,
  // An endpoint that refuses to read accounts, say because it wants a key, refuses all. A refused search is not a failure.
  blamesRefusals: true,
}
/** How often groups of an older slot are asked again. */
const GROUPS_AGAIN_MAX = 2
/** Most accounts of one request: the RPC interface allows 100, and one is the clock. */
const ACCOUNTS_MAX = 99

/** Options of one read. */
interface SlotOptions {
  /** The earliest slot that may answer. @default {0n} */
  readonly minSlot?: bigint
}

/** Options of one read of accounts. */
interface AccountsOptions extends SlotOptions {
  /** Throws `UpstreamError` if the answer contradicts itself: it then counts as the endpoint's failure. */
  readonly check?: (answer: SolanaAccounts, addresses: readonly string[]) => void
}

/** Options of one read of groups. */
interface GroupsOptions extends AccountsOptions {
  /** True if it does not matter that groups are of different slots: none is asked again. @default {false} */
  readonly mayDiffer?: boolean
}

/** The steps of one read, under one budget. Each throws `UpstreamError` if no endpoint gives a good answer in time. */
export interface SolanaSession {
  /** Reads at most 99 accounts and the cluster's clock at one confirmed slot that is recent enough by the wall clock. */
  accounts(addresses: readonly string[], options?: AccountsOptions): Promise<SolanaAccounts>
  /**
   * The same for any number of accounts: each item, a list of at most 99 addresses, is read at one slot, and all of them
   * at the same one unless the slot goes on while they are read. Gives the accounts of each item, in order; they may hold
   * those of other items too.
   */
  grouped(items: readonly (readonly string[])[], options?: GroupsOptions): Promise<AccountGroup[]>
  /** Token accounts of a wallet, empty ones included. Throws `MethodRefusedError` if every endpoint refuses to list them. */
  tokenAccounts(
    wallet: string,
    of: TokenAccountsFilter,
    options?: SlotOptions,
  ): Promise<FoundAccounts<ListedTokenAccount>>
  /** Accounts of a program. Throws `MethodRefusedError` if every endpoint refuses to search it. */
  programAccounts(search: ProgramSearch, options?: SlotOptions): Promise<FoundAccounts>
  /** The same session, whose steps end when the signal fires too. */
  until(signal: AbortSignal): SolanaSession
}

/** What an endpoint is known to offer besides reading accounts; undefined if it was not asked lately. */
export interface SolanaCapabilities {
  readonly listsTokenAccounts: boolean | undefined
  /** Of the program that was named. */
  readonly searchesProgram: boolean | undefined
}

/** Reads of Solana over its endpoints. */
export interface SolanaClient extends MonitoredEndpoints {
  /** How long a slot usually lasts, milliseconds. */
  readonly slotMs: number
  /** How far the cluster's clock may be from the wall clock, seconds. */
  readonly maxSlotAgeSec: number
  /**
   * Runs the steps of `work` within one budget, 2.5 s unless told otherwise. Throws what `work` throws; `AbortedError` if
   * the caller left.
   */
  read<T>(
    work: (session: SolanaSession) => Promise<T>,
    options: { readonly signal: AbortSignal; readonly budgetMs?: number },
  ): Promise<T>
  /** True if an endpoint answers with a time of today, or did within the last seconds. Reads the clock's account. */
  ready(signal: AbortSignal): Promise<boolean>
  /** What each endpoint offers, in the order of the configuration. */
  abilities(program: string): readonly SolanaCapabilities[]
}

interface Endpoint extends Connection {
  readonly index: number
}

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
  const { maxSlotAgeSec, slotMs, clock, log, random = createJitterSequence(clock.now()) } = options
  const shared = { ...options, random, timeoutMs: CALL_MS, meanings: SOLANA_ERROR_MAPPING }
  const endpoints: readonly Endpoint[] = options.rpcUrls.map((url, index) => ({
    index,
    ...createConnection(url, { ...shared, index }),
  }))
  const heads = createSlotTracker({ clock, slotMs })
  const methods = createMethodSupport(clock)
  const unread = ({ errors, busyMs }: RotationFailure): UpstreamError => {
    const message = 'Cannot read Solana: its RPC endpoints failed or gave no answer in time'
    const isLimited = busyMs > 0 || errors.some((error) => error instanceof RateLimitedError)
    return new (isLimited ? AllRateLimitedError : UpstreamError)(message, { cause: errors.at(-1) })
  }
  const rotation = createRotation({
    endpoints,
    chainId: SOLANA_CHAIN_ID,
    policy: POLICY,
    clock,
    log,
    random,
    isBehind: heads.isBehind,
    headOf: heads.headOf,
    look: (endpoint, signal) => ask(endpoint, { addresses: [] }, signal),
    exhausted: unread,
  })

  async function ask({ index, send }: Endpoint, step: Step, signal: AbortSignal): Promise<SolanaAccounts> {
    const { minSlot = 0n } = step
    const addresses = [...step.addresses, CLOCK_ADDRESS]
    const request = {
      method: 'getMultipleAccounts',
      params: [addresses, { encoding: 'base64', commitment: 'confirmed', ...toMinContextSlot(minSlot) }],
      parse: (result: unknown) => believe(parseAccounts(result, { count: addresses.length, minSlot }), step),
      rewrite: quoteLongLamports,
    }
    const accounts = await send(request, signal)
    heads.observe(index, accounts)
    return accounts
  }

  /** The accounts of a good answer, without the clock's. Throws `UpstreamError` for an answer that cannot be right. */
  function believe({ slot, accounts: all }: AccountsAtSlot, { addresses, check }: Step): SolanaAccounts {
    const now = parseClock(all.at(-1))
    checkClock(now, { slot, nowMs: clock.now(), maxAgeSec: maxSlotAgeSec })
    const { timestampSec, epoch } = now
    const answer = { slot, timestampSec, epoch, accounts: all.slice(0, -1) }
    check?.(answer, addresses)
    return answer
  }

  /** One endpoint's answer to a search. What it does not offer, or answers at too great a length, is not a failure. */
  async function find<T>(
    { index, send }: Endpoint,
    { method, read, single, mayHang, finish }: Search<T>,
    signal: AbortSignal,
  ): Promise<T> {
    try {
      const found = await finish(await send({ ...read, timeoutMs: SEARCH_MS }, signal))
      methods.worked(index, method)
      return found
    } catch (error) {
      if (error instanceof ResponseTimeoutError && mayHang) {
        methods.late(index, method)
        if (methods.hangs(index, method))
          throw new UnsupportedRequestError('The endpoint gives no answer', { cause: error })
      }
      if (error instanceof ResponseTooLargeError) throw new LongSearchError('The answer is too long', { cause: error })
      if (!(error instanceof RpcRefusedError)) throw error
      if (error.reason === 'kind' && !single.includes(error.code)) methods.refused(index, method)
      throw new UnsupportedRequestError('The endpoint refuses the search', { cause: error })
    }
  }

  function search<T>(asked: Search<T>, deadline: Deadline): Promise<T> {
    const { method, what, whole, mayHang } = asked
    const isRefused = (index: number) =>
      methods.offers(index, method) === false || (mayHang && methods.hangs(index, method))
    return rotation.ask((endpoint, { signal }) => find(endpoint, asked, signal), deadline, {
      rankOf: (index) => (isRefused(index) ? undefined : 0),
      exhausted(exhaustion) {
        const { errors } = exhaustion
        const cause = errors.at(-1)
        if (endpoints.every(({ index }) => isRefused(index))) {
          const advice = `no endpoint ${what}: set SOLANA_RPC_URL to one that does`
          return new MethodRefusedError(`Cannot read Solana: ${advice}`, { cause })
        }
        const isLong = errors.some((error) => error instanceof LongSearchError)
        if (isLong) return new UpstreamError(`Cannot read Solana: ${whole} are too many to be read`, { cause })
        return unread(exhaustion)
      },
      blames: true,
    })
  }

  function sessionWithin(deadline: Deadline): SolanaSession {
    async function accounts(addresses: readonly string[], asked: AccountsOptions = {}): Promise<SolanaAccounts> {
      if (addresses.length > ACCOUNTS_MAX) {
        throw new RangeError(`Cannot read ${addresses.length} accounts at once: expected at most ${ACCOUNTS_MAX}`)
      }
      const step: Step = { ...asked, addresses }
      return await rotation.ask((endpoint, limits) => ask(endpoint, step, limits.signal), deadline)
    }
    return {
      accounts,
      grouped: (items, { mayDiffer = false, minSlot: least = 0n, ...asked } = {}) =>
        readGroups(items, {
          max: ACCOUNTS_MAX,
          minSlot: least,
          againMax: mayDiffer ? 0 : GROUPS_AGAIN_MAX,
          ask: (addresses, minSlot) => accounts(addresses, { ...asked, minSlot }),
        }),
      tokenAccounts: (wallet, of, { minSlot = 0n } = {}) =>
        search(tokenAccountsSearch(wallet, { of, minSlot }), deadline),
      programAccounts: (asked, { minSlot = 0n } = {}) => search(programSearch(asked, minSlot), deadline),
      until: (signal) => sessionWithin({ ...deadline, signal: AbortSignal.any([deadline.signal, signal]) }),
    }
  }

  const read: SolanaClient['read'] = (work, { signal, budgetMs = BUDGET_MS }) =>
    withinDeadline((deadline) => work(sessionWithin(deadline)), { ms: budgetMs, signal, now: clock.monotonicMs })

  return {
    slotMs,
    maxSlotAgeSec,
    read,
    ready: (signal) => rotation.ready(() => read((session) => session.accounts([]), { signal })),
    report: rotation.report,
    silent: rotation.silent,
    abilities: (program) =>
      endpoints.map(({ index }) => ({
        listsTokenAccounts: methods.offers(index, TOKEN_ACCOUNTS.method),
        searchesProgram: methods.offers(index, getSearchKey(program)),
      })),
    close: rotation.close,
  }
}

/** The search's answer is longer than we read: another endpoint's would be as long. */
class LongSearchError extends UnsupportedRequestError {}
