import { type Address, type Hex, toFunctionSelector } from 'viem'
import { matchesBlock, type PinnedBlock } from '../../../../chain/block.ts'
import { decodeLensPage } from '../../../../chain/call/cursor.ts'
import { readMulticall } from '../../../../chain/call/many/multicall.ts'
import { encodeArray, encodeCall, tryDecodeUint } from '../../../../chain/call/words.ts'
import { type Endpoint, LensUnsupportedError, RevertError, RpcRefusedError } from '../../../../chain/rpc/client.ts'
import type { Clock } from '../../../../lib/clock.ts'
import { UpstreamError } from '../../../../lib/error.ts'
import { LENS_RUNTIME } from './lens_artifact.ts'

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
export interface Scan {
  readonly wallet: Address
  readonly manager: Address
  readonly chainId: number
  readonly block: PinnedBlock
  readonly clock: Clock
  /** Ids that may be the wallet's; the scan checks them first. */
  readonly candidates: readonly bigint[]
}

/** Progress of a scan. */
export interface ScanState {
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

/** The manager's storage has another layout than the scanner reads, so its results are unusable. */
export class UnexpectedStorageError extends Error {
  override readonly name = 'UnexpectedStorageError'
}

/** Whether all positions are found. */
export function isComplete({ balance, owned }: ScanState): boolean {
  return BigInt(owned.length) === balance
}

/** Counts the calls that the rest of a scan takes if it finds nothing earlier. */
export function countCallsLeft({ remaining, perCall }: ScanState): number {
  return Number((remaining + perCall - 1n) / perCall)
}

/**
 * Checks the candidate ids and the newest ones, in one round trip. Finds nothing for a wallet with more positions than
 * a list may hold. Throws `UnexpectedStorageError`, `LensUnsupportedError` if the endpoint does not override code,
 * `UpstreamError` if it answers from another block.
 */
export async function startScan(endpoint: Endpoint, scan: Scan, signal: AbortSignal): Promise<ScanState> {
  const { wallet, manager, chainId, block, clock } = scan
  const calls = [
    { to: manager, data: encodeCall(BALANCE_OF, wallet) },
    { to: manager, data: encodeCall(NEXT_ID) },
  ]
  const candidates = sortDescending(scan.candidates)
  const [{ results }, page] = await Promise.all([
    readMulticall(endpoint, { calls, block: { chainId, number: block.number, hash: block.hash }, clock }, signal),
    readPage(endpoint, scan, { from: 0n, count: COUNT_MAX, foundMax: 0n, candidates }, signal),
  ])
  const [balance = 0n, nextId = 0n] = results.map(tryDecodeUint)
  const top = nextId > 0n ? nextId - 1n : 0n
  const emptyState = { balance: 0n, nextId, owned: [], remaining: 0n, perCall: COUNT_MAX }
  if (balance === 0n || balance > OWNED_MAX) return emptyState
  if (page.balance !== balance || page.nextId !== nextId)
    throw new UnexpectedStorageError('The storage of the manager contradicts its balanceOf and nextTokenId')
  const scannedCount = top - page.remaining
  return checkScan({ ...page, perCall: scannedCount > COUNT_MIN ? scannedCount : COUNT_MIN })
}

/** Checks the next ids, in one round trip of a few calls. Throws as `startScan`. */
export async function continueScan(
  endpoint: Endpoint,
  scan: Scan,
  state: ScanState,
  signal: AbortSignal,
): Promise<ScanState> {
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
          signal,
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
  signal: AbortSignal,
): Promise<readonly bigint[]> {
  const { end, foundMax } = range
  const owned = new Set<bigint>()
  for (let { from } = range; from > end; ) {
    const candidates = range.candidates.filter((id) => id <= from)
    const page = await readPage(endpoint, scan, { from, count: from - end, foundMax, candidates }, signal)
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
  signal: AbortSignal,
): Promise<ScanPage> {
  const { from, foundMax, candidates } = query
  for (let { count } = query; ; count /= FEWER) {
    const data = encodeCall(SCAN, wallet, from, count, foundMax, encodeArray(candidates))
    try {
      return decodePage(await endpoint.call({ to: manager, code: LENS_RUNTIME, data, block }, signal), block)
    } catch (error) {
      // Only the manager's own code reverts, so the override was ignored.
      if (error instanceof RevertError) throw new LensUnsupportedError(overrideIgnoredError())
      const isTooMuch = error instanceof RpcRefusedError && error.reason === 'size'
      if (!isTooMuch || count / FEWER < COUNT_MIN) throw error
    }
  }
}

/** Decodes a page. Throws `UpstreamError` if it is of another block. */
function decodePage(answer: Hex, at: PinnedBlock): ScanPage {
  if (answer === '0x') throw new LensUnsupportedError(overrideIgnoredError())
  const { from, block, taken } = decodeLensPage(answer)
  if (!matchesBlock(block, at)) throw new UpstreamError('The endpoint answers from another block than it was asked')
  const [balance, nextId, remaining] = [from.uint(32), from.uint(32), from.uint(32)]
  return { balance, nextId, remaining, owned: Array.from({ length: taken }, () => from.uint(32)) }
}

/** Throws `UnexpectedStorageError` if all ids were checked and fewer belong to the wallet than its balance. */
function checkScan(state: ScanState): ScanState {
  if (state.remaining > 0n || isComplete(state)) return state
  throw new UnexpectedStorageError('The manager stores fewer positions of the wallet than it counts')
}

function overrideIgnoredError(): RpcRefusedError {
  return new RpcRefusedError(0, 'The endpoint ignored the state override')
}

function sortDescending(ids: readonly bigint[]): readonly bigint[] {
  return [...new Set(ids)].sort((a, b) => (a < b ? 1 : a > b ? -1 : 0))
}
