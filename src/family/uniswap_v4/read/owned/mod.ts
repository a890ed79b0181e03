import { type Address, type Hex, toFunctionSelector } from 'viem'
import { matchesBlock, type PinnedBlock } from '../../../../chain/block.ts'
import { decodeLensPage } from '../../../../chain/call/cursor.ts'
import { readMulticall } from '../../../../chain/call/many/multicall.ts'
import { encodeArray, encodeCall, toLowerHex, tryDecodeUint } from '../../../../chain/call/words.ts'
import {
  type Endpoint,
  lensUnsupportedError,
  type ReadOptions,
  RevertError,
  RpcRefusedError,
} from '../../../../chain/rpc/client.ts'
import type { Database } from '../../../../db/database.ts'
import { readWalletEntries, WALLET_ENTRIES } from '../../../../finance/wallet_entry.ts'
import type { History, StreamTarget } from '../../../../history/stream.ts'
import { untilAborted } from '../../../../lib/async/abort.ts'
import { createWork, type Work } from '../../../../lib/async/work.ts'
import type { Clock } from '../../../../lib/clock.ts'
import { AbortedError, PendingError, UnavailableError, UpstreamError } from '../../../../lib/error.ts'
import { createLru } from '../../../../lib/lru.ts'
import { positionSubject } from '../../../liquidity/position_history/position_flow.ts'
import type { FindOwnedIds, WalletTarget } from '../ownership.ts'
import { LENS_RUNTIME } from './lens_artifact.ts'
import { TRANSFER_STREAM } from './transfers.ts'

/** Up to this many calls, always scan instead of reading logs. */
const SCAN_CALLS_MAX = 16
/** Blocks that one request for logs usually covers, and how often each block's logs are read. */
const LOG_BLOCKS = 10_000
const LOG_READS = 2
/** Time for one round trip of a scan over all tries. */
const BUDGET_MS = 4_500
/** How long a caller waits for a scan of many calls; after that the error says when to retry. */
const WAIT_MS = 4_000
/** Time limit of a scan in the background: its block is then too old for most nodes. */
const SCAN_LIMIT_MS = 180_000
/** Most scans in the background at a time, and most results being stored. */
const RUNNING_MAX = 8
/** Most ids that a scan checks first. */
const CANDIDATES_MAX = 2_000
/** Wallets whose finished scans are cached until they are stored. */
const SCANNED_MAX = 1_000
const RETRY_SEC = { min: 1, max: 15 }
/** Name in the database of the ids that scans found at final blocks. */
const SCAN_STREAM = 'uniswap_v4_scan'

/** A scan that outlasts the request that started it. */
interface Running {
  state: ScanState
  readonly startedMs: number
  readonly first: ScanState
  readonly done: Promise<unknown>
}

/**
 * Creates a finder of positions over the history of the process. It scans the manager's storage, newest id first, if
 * that takes at most 16 calls or fewer calls than reading `Transfer` logs; otherwise, and if the storage cannot be
 * scanned, it reads logs. Finds at a final block are stored as candidate ids; every list is re-checked against
 * `balanceOf`.
 */
export function createOwnedFinder(options: {
  readonly history: History
  readonly db: Database
  readonly clock: Clock
  /** How long a caller waits for a scan of many calls, milliseconds. @default {4000} */
  readonly waitMs?: number
}): FindOwnedIds {
  const { history, db, clock, waitMs = WAIT_MS } = options
  const running = new Map<string, Running>()
  const storing = new Set<string>()
  const scanned = createLru<readonly bigint[]>({ entriesMax: SCANNED_MAX })

  /** Reads the stored ids that the wallet was sent up to the block. */
  async function readStored(query: WalletTarget, toBlock: number) {
    const wallet = toLowerHex(query.wallet)
    const { isWhole, entries } = await readWalletEntries(db, {
      target: toStreamTarget(query),
      stream: TRANSFER_STREAM.name,
      wallet,
      toBlock,
    })
    return { isWhole, ids: entries.map(BigInt) }
  }

  async function findByLogs(query: WalletTarget, block: PinnedBlock, work: Work): Promise<readonly bigint[]> {
    const target = toStreamTarget(query)
    const subject = toLowerHex(query.wallet)
    const ensured = await history.ensure({ stream: TRANSFER_STREAM, target, subject, upTo: block.number }, work)
    const toBlock = Math.min(ensured.storedTo, Number(block.number))
    const { isWhole, ids } = await readStored(query, toBlock)
    if (!isWhole && toBlock >= target.startBlock) {
      const { id, name } = query.client.chain
      throw new PendingError(`The history of chain ${id} (${name}) is not complete any more: it is read again`)
    }
    const young = ensured.tail.filter((entry) => entry.block <= Number(block.number)).map(({ entry }) => BigInt(entry))
    return [...new Set([...ids, ...young])]
  }

  function scanStep(
    scan: Scan & { readonly client: WalletTarget['client'] },
    { state, ...reading }: Pick<ReadOptions, 'priority'> & { readonly state?: ScanState },
    work: Work,
  ): Promise<ScanState> {
    const { client, block } = scan
    const limits = { work, budgetMs: BUDGET_MS, past: block, ...reading }
    return client.read(
      (endpoint, within) =>
        state === undefined ? startScan(endpoint, scan, within) : continueScan(endpoint, scan, state, within),
      limits,
    )
  }

  /** Continues a scan in the background until it ends; callers that wait for it meanwhile share its result. */
  function continueInBackground(key: string, query: WalletTarget, scan: ScanWithClient, first: ScanState): Running {
    const limit = createWork(clock.timeout(SCAN_LIMIT_MS))
    const run = async () => {
      while (!isComplete(scanning.state)) {
        scanning.state = await scanStep(scan, { state: scanning.state, priority: 'background' }, limit)
      }
      scanned.set(key, scanning.state.owned)
      storeScan(key, query, scanning.state.owned)
    }
    // `run` needs `scanning`, so it starts a microtask later.
    const done = Promise.resolve()
      .then(run)
      .finally(() => running.delete(key))
    done.catch(() => {})
    const scanning: Running = { state: first, first, startedMs: clock.monotonicMs(), done }
    running.set(key, scanning)
    return scanning
  }

  /** Stores the ids that the wallet owns at the final block, in the background, if the history has a final block. */
  function storeScan(key: string, query: WalletTarget, owned: readonly bigint[]): void {
    if (storing.has(key) || storing.size >= RUNNING_MAX || owned.length === 0) return
    storing.add(key)
    const limit = createWork(clock.timeout(SCAN_LIMIT_MS))
    const { client, wallet } = query
    const chainId = client.chain.id
    const run = async () => {
      const tip = await history.readTip?.(chainId, limit)
      if (tip === undefined) return
      const { finalized: block, epoch } = tip
      const candidates = owned.slice(0, CANDIDATES_MAX)
      const { ids } = await readStored(query, Number(block.number))
      if (owned.every((id) => ids.includes(id))) return
      const state = await scanStep(createScan(query, block, candidates), { priority: 'background' }, limit)
      const at = Number(block.number)
      const part = {
        target: toStreamTarget(query),
        stream: SCAN_STREAM,
        subjects: [toLowerHex(wallet)],
        fromBlock: at,
        toBlock: at,
      }
      const rows = state.owned.map((id) => ({ wallet: toLowerHex(wallet), entry: positionSubject(id), block: at }))
      if (isComplete(state)) await WALLET_ENTRIES.store(db, { ...part, rows, witnesses: 1, epoch })
    }
    // A failure costs only another scan.
    run()
      .catch(() => {})
      .finally(() => storing.delete(key))
  }

  function createScan(query: WalletTarget, block: PinnedBlock, candidates: readonly bigint[]): ScanWithClient {
    const { client, wallet, deployment } = query
    const { chain } = client
    return { client, wallet, manager: deployment.positionManager, chainId: chain.id, block, clock, candidates }
  }

  /** Finds ids by a scan; undefined if reading logs takes fewer calls. */
  async function findByScan(
    query: WalletTarget,
    block: PinnedBlock,
    work: Work,
  ): Promise<readonly bigint[] | undefined> {
    const key = `${query.client.chain.id}:${query.deployment.positionManager}:${query.wallet}`
    const runningScan = running.get(key)
    if (runningScan !== undefined) await waitForScan(query, runningScan, work)
    const { ids } = await readStored(query, Number(block.number))
    const candidates = [...new Set([...(scanned.get(key) ?? []), ...ids])].slice(-CANDIDATES_MAX)
    const scan = createScan(query, block, candidates)
    let state = await scanStep(scan, {}, work)
    const calls = countCallsLeft(state)
    if (!isComplete(state) && calls >= SCAN_CALLS_MAX) {
      if (countLogCalls(query, block) < calls) return undefined
      if (running.size >= RUNNING_MAX)
        throw pendingError(query, { state, first: state, startedMs: clock.monotonicMs() })
      const scanning = continueInBackground(key, query, scan, state)
      await waitForScan(query, scanning, work)
      return scanning.state.owned
    }
    while (!isComplete(state)) state = await scanStep(scan, { state }, work)
    if (state.owned.some((id) => !ids.includes(id))) storeScan(key, query, state.owned)
    return state.owned
  }

  /** Waits for a scan. Throws `PendingError` with the progress if it takes too long, and the error of a failed scan. */
  async function waitForScan(query: WalletTarget, scanning: Running, work: Work): Promise<void> {
    work.onTimeout(() => pendingError(query, scanning))
    try {
      await untilAborted(scanning.done, AbortSignal.any([work.signal, clock.timeout(waitMs)]))
    } catch (error) {
      if (!(error instanceof AbortedError) || work.signal.aborted) throw error
      throw pendingError(query, scanning)
    }
  }

  function pendingError({ client: { chain } }: WalletTarget, scanning: Omit<Running, 'done'>): PendingError {
    const { state, first, startedMs } = scanning
    const seconds = (clock.monotonicMs() - startedMs) / 1_000
    const done = Number(first.remaining - state.remaining)
    const left = done === 0 ? RETRY_SEC.max : (Number(state.remaining) * seconds) / done
    const percent = Math.floor(100 - (100 * Number(state.remaining)) / Math.max(1, Number(state.nextId)))
    return new PendingError(
      `The positions on chain ${chain.id} (${chain.name}) are being looked for: ${percent} % of ${state.nextId.toLocaleString('en')} ids done`,
      {
        retryAfterSec: Math.min(RETRY_SEC.max, Math.max(RETRY_SEC.min, Math.ceil(left))),
        progress: { percent, left: { count: Number(state.remaining), unit: 'ids' } },
      },
    )
  }

  return async (query, block, work) => {
    try {
      const ids = await findByScan(query, block, work)
      if (ids !== undefined) return ids
    } catch (error) {
      if (!(error instanceof UnavailableError) || error instanceof PendingError) throw error
    }
    return await findByLogs(query, block, work)
  }
}

type ScanWithClient = Scan & { readonly client: WalletTarget['client'] }

/** Counts the requests that reading a wallet's logs from the start block takes. */
function countLogCalls({ deployment }: WalletTarget, { number }: PinnedBlock): number {
  const blocks = Math.max(0, Number(number) - deployment.startBlock)
  return LOG_READS * Math.ceil(blocks / LOG_BLOCKS)
}

function toStreamTarget({ client, deployment }: Pick<WalletTarget, 'client' | 'deployment'>): StreamTarget {
  const { positionManager, startBlock } = deployment
  return { chainId: client.chain.id, contract: toLowerHex(positionManager), startBlock }
}

const SCAN = toFunctionSelector('scan(address wallet, uint256 from, uint256 count, uint256 foundMax, uint256[] known)')
const BALANCE_OF = toFunctionSelector('balanceOf(address)')
const NEXT_ID = toFunctionSelector('nextTokenId()')
/** Most ids in one call: a node that allows gas for more would read its disk for long. */
const COUNT_MAX = 100_000n
/** Fewest ids worth a request. */
const COUNT_MIN = 1_000n
/** Divisor of the number of ids when a refused call is repeated. */
const FEWER = 8n
/** Pages that are read at the same time. */
const PAGES_RUNNING = 4
/** Most positions of a wallet that a scan looks for. */
const OWNED_MAX = 4_096n

/** A wallet whose positions are scanned for in the manager's storage, at a block. */
interface Scan {
  readonly wallet: Address
  readonly manager: Address
  readonly chainId: number
  readonly block: PinnedBlock
  readonly clock: Clock
  /** Ids that may be the wallet's; the scan checks them first. */
  readonly candidates: readonly bigint[]
}

/** Progress of a scan. */
interface ScanState {
  /** Number of positions that the wallet owns by the manager's `balanceOf`. */
  readonly balance: bigint
  readonly nextId: bigint
  /** Ids found so far. */
  readonly owned: readonly bigint[]
  /** The highest id not yet checked; 0 if none is left. */
  readonly remaining: bigint
  /** Ids that one call can check. */
  readonly perCall: bigint
}

/** One answer of the scanner. */
type ScanPage = Omit<ScanState, 'perCall'>

/** Whether all positions are found. */
function isComplete({ balance, owned }: ScanState): boolean {
  return BigInt(owned.length) === balance
}

/** Counts the calls that the rest of a scan takes if it finds nothing earlier. */
function countCallsLeft({ remaining, perCall }: ScanState): number {
  return Number((remaining + perCall - 1n) / perCall)
}

/**
 * Checks the candidate ids and the newest ones, in one round trip. Finds nothing for a wallet with more positions than
 * a list may hold. Throws `UnavailableError` if the manager's storage has another layout, `RpcRefusedError` (lens) if
 * the endpoint does not override code, `UpstreamError` if it answers from another block.
 */
async function startScan(endpoint: Endpoint, scan: Scan, work: Work): Promise<ScanState> {
  const { wallet, manager, chainId, block, clock } = scan
  const calls = [
    { to: manager, data: encodeCall(BALANCE_OF, wallet) },
    { to: manager, data: encodeCall(NEXT_ID) },
  ]
  const candidates = sortDescending(scan.candidates)
  const [{ results }, page] = await Promise.all([
    readMulticall(endpoint, { calls, block: { chainId, number: block.number, hash: block.hash }, clock }, work),
    readPage(endpoint, scan, { from: 0n, count: COUNT_MAX, foundMax: 0n, candidates }, work),
  ])
  const [balance = 0n, nextId = 0n] = results.map(tryDecodeUint)
  const top = nextId > 0n ? nextId - 1n : 0n
  const emptyState = { balance: 0n, nextId, owned: [], remaining: 0n, perCall: COUNT_MAX }
  if (balance === 0n || balance > OWNED_MAX) return emptyState
  if (page.balance !== balance || page.nextId !== nextId)
    throw new UnavailableError('The storage of the manager contradicts its balanceOf and nextTokenId')
  const scannedCount = top - page.remaining
  return checkScan({ ...page, perCall: scannedCount > COUNT_MIN ? scannedCount : COUNT_MIN })
}

/** Checks the next ids, in one round trip of a few calls. Throws as `startScan`. */
async function continueScan(endpoint: Endpoint, scan: Scan, state: ScanState, work: Work): Promise<ScanState> {
  const { balance, nextId, remaining, perCall } = state
  const missing = balance - BigInt(state.owned.length)
  const starts = Array.from({ length: PAGES_RUNNING }, (_, page) => remaining - BigInt(page) * perCall)
  const candidates = sortDescending(scan.candidates)
  const parts = await Promise.all(
    starts
      .filter((from) => from > 0n)
      .map((from) => {
        const end = from > perCall ? from - perCall : 0n
        const rangeCandidates = candidates.filter((id) => id <= from && id > end)
        const ownedInRange = state.owned.filter((id) => id <= from && id > end)
        return readRange(
          endpoint,
          scan,
          { from, end, foundMax: missing + BigInt(ownedInRange.length), candidates: rangeCandidates },
          work,
        )
      }),
  )
  const owned = [...new Set([...state.owned, ...parts.flat()])]
  const last = starts.findLast((from) => from > 0n) ?? 0n
  return checkScan({ balance, nextId, owned, perCall, remaining: last > perCall ? last - perCall : 0n })
}

/** Checks a range page by page until all its ids are checked or `foundMax` are found. */
async function readRange(
  endpoint: Endpoint,
  scan: Scan,
  range: {
    readonly from: bigint
    readonly end: bigint
    readonly foundMax: bigint
    readonly candidates: readonly bigint[]
  },
  work: Work,
): Promise<readonly bigint[]> {
  const { end, foundMax } = range
  const owned = new Set<bigint>()
  for (let { from } = range; from > end; ) {
    const candidates = range.candidates.filter((id) => id <= from)
    const page = await readPage(endpoint, scan, { from, count: from - end, foundMax, candidates }, work)
    for (const id of page.owned) owned.add(id)
    if (BigInt(page.owned.length) >= foundMax) break
    if (page.remaining >= from) throw new RpcRefusedError(0, 'The endpoint allows too little gas for one id', 'size')
    from = page.remaining
  }
  return [...owned]
}

async function readPage(
  endpoint: Endpoint,
  { wallet, manager, block }: Scan,
  query: {
    readonly from: bigint
    readonly count: bigint
    readonly foundMax: bigint
    readonly candidates: readonly bigint[]
  },
  work: Work,
): Promise<ScanPage> {
  const { from, foundMax, candidates } = query
  for (let { count } = query; ; count /= FEWER) {
    const data = encodeCall(SCAN, wallet, from, count, foundMax, encodeArray(candidates))
    try {
      return decodePage(await endpoint.call({ to: manager, code: LENS_RUNTIME, data, block }, work), block)
    } catch (error) {
      // Only the manager's own code reverts, so the override was ignored.
      if (error instanceof RevertError) throw lensUnsupportedError(overrideIgnoredError())
      const isTooMuch = error instanceof RpcRefusedError && error.reason === 'size'
      if (!isTooMuch || count / FEWER < COUNT_MIN) throw error
    }
  }
}

/** Decodes a page. Throws `UpstreamError` if it is of another block. */
function decodePage(answer: Hex, at: PinnedBlock): ScanPage {
  if (answer === '0x') throw lensUnsupportedError(overrideIgnoredError())
  const { from, block, taken } = decodeLensPage(answer)
  if (!matchesBlock(block, at)) throw new UpstreamError('The endpoint answers from another block than it was asked')
  const [balance, nextId, remaining] = [from.uint(32), from.uint(32), from.uint(32)]
  return { balance, nextId, remaining, owned: Array.from({ length: taken }, () => from.uint(32)) }
}

/** Throws `UnavailableError` if all ids were checked and fewer belong to the wallet than its balance. */
function checkScan(state: ScanState): ScanState {
  if (state.remaining > 0n || isComplete(state)) return state
  throw new UnavailableError('The manager stores fewer positions of the wallet than it counts')
}

function overrideIgnoredError(): RpcRefusedError {
  return new RpcRefusedError(0, 'The endpoint ignored the state override')
}

function sortDescending(ids: readonly bigint[]): readonly bigint[] {
  return [...new Set(ids)].sort((a, b) => (a < b ? 1 : a > b ? -1 : 0))
}
