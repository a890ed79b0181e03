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
/** Ids in one call: a node that allows the gas for more would take long to read them from its disk. */
const COUNT_MAX = 100_000n
/** Fewer are not worth a request. */
const COUNT_MIN = 1_000n
/** A refused call is asked again with so many times fewer ids. */
const FEWER = 8n
/** Pages that are read at the same time. */
const PAGES_RUNNING = 4
/** Positions of a wallet that are looked for. */
const OWNED_MAX = 4_096n

/** Whose positions are looked for in the manager's storage, and when. */
export interface Scan {
  readonly wallet: Address
  readonly manager: Address
  readonly chainId: number
  readonly block: PinnedBlock
  readonly clock: Clock
  /** Ids that may be the wallet's. They are looked at first. */
  readonly known: readonly bigint[]
}

/** How far a scan is. */
export interface ScanState {
  /** How many positions the wallet owns, as the manager says. */
  readonly balance: bigint
  readonly nextId: bigint
  /** Those that were found. */
  readonly owned: readonly bigint[]
  /** The highest id that was not looked at; 0 if none is left. */
  readonly rest: bigint
  /** Ids that one call could look at. */
  readonly perCall: bigint
}

/** One answer of the scanner. */
type ScanPage = Omit<ScanState, 'perCall'>

/** The manager's storage is not as the scanner reads it, so that it finds nothing that could be believed. */
export class UnexpectedStorageError extends Error {
  override readonly name = 'UnexpectedStorageError'
}

/** Whether all positions are found. */
export function isComplete({ balance, owned }: ScanState): boolean {
  return BigInt(owned.length) === balance
}

/** Calls that the rest of a scan takes if nothing is found before. */
export function countCallsLeft({ rest, perCall }: ScanState): number {
  return Number((rest + perCall - 1n) / perCall)
}

/**
 * Looks at the known ids and at the newest ones, in one round trip. Finds nothing for a wallet with more positions than a
 * list may hold. Throws `UnexpectedStorageError`, `LensUnsupportedError` if the endpoint does not override code, `UpstreamError` if
 * it answers from another block.
 */
export async function startScan(endpoint: Endpoint, scan: Scan, signal: AbortSignal): Promise<ScanState> {
  const { wallet, manager, chainId, block, clock } = scan
  const calls = [
    { to: manager, data: encodeCall(BALANCE_OF, wallet) },
    { to: manager, data: encodeCall(NEXT_ID) },
  ]
  const known = descending(scan.known)
  const [{ results }, page] = await Promise.all([
    readMulticall(endpoint, { calls, block: { chainId, number: block.number, hash: block.hash }, clock }, signal),
    readPage(endpoint, scan, { from: 0n, count: COUNT_MAX, foundMax: 0n, known }, signal),
  ])
  const [balance = 0n, nextId = 0n] = results.map(tryDecodeUint)
  const top = nextId > 0n ? nextId - 1n : 0n
  const none = { balance: 0n, nextId, owned: [], rest: 0n, perCall: COUNT_MAX }
  if (balance === 0n || balance > OWNED_MAX) return none
  if (page.balance !== balance || page.nextId !== nextId)
    throw new UnexpectedStorageError('The manager stores otherwise')
  const looked = top - page.rest
  return checked({ ...page, perCall: looked > COUNT_MIN ? looked : COUNT_MIN })
}

/** Looks at the next ids, in one round trip of a few calls. Throws as `startScan`. */
export async function continueScan(
  endpoint: Endpoint,
  scan: Scan,
  state: ScanState,
  signal: AbortSignal,
): Promise<ScanState> {
  const { balance, nextId, rest, perCall } = state
  const missing = balance - BigInt(state.owned.length)
  const starts = Array.from({ length: PAGES_RUNNING }, (_, page) => rest - BigInt(page) * perCall)
  const known = descending(scan.known)
  const parts = await Promise.all(
    starts
      .filter((from) => from > 0n)
      .map((from) => {
        const end = from > perCall ? from - perCall : 0n
        const here = known.filter((id) => id <= from && id > end)
        const before = state.owned.filter((id) => id <= from && id > end)
        return readRange(endpoint, scan, { from, end, foundMax: missing + BigInt(before.length), known: here }, signal)
      }),
  )
  const owned = [...new Set([...state.owned, ...parts.flat()])]
  const last = starts.findLast((from) => from > 0n) ?? 0n
  return checked({ balance, nextId, owned, perCall, rest: last > perCall ? last - perCall : 0n })
}

/** All ids are looked at, or as many as are missing are found. */
async function readRange(
  endpoint: Endpoint,
  scan: Scan,
  range: { readonly from: bigint; readonly end: bigint; readonly foundMax: bigint; readonly known: readonly bigint[] },
  signal: AbortSignal,
): Promise<readonly bigint[]> {
  const { end, foundMax } = range
  const owned = new Set<bigint>()
  for (let { from } = range; from > end; ) {
    const known = range.known.filter((id) => id <= from)
    const page = await readPage(endpoint, scan, { from, count: from - end, foundMax, known }, signal)
    for (const id of page.owned) owned.add(id)
    if (BigInt(page.owned.length) >= foundMax) break
    if (page.rest >= from) throw new RpcRefusedError(0, 'The endpoint allows too little gas for one id', 'size')
    from = page.rest
  }
  return [...owned]
}

async function readPage(
  endpoint: Endpoint,
  { wallet, manager, block }: Scan,
  asked: {
    readonly from: bigint
    readonly count: bigint
    readonly foundMax: bigint
    readonly known: readonly bigint[]
  },
  signal: AbortSignal,
): Promise<ScanPage> {
  const { from, foundMax, known } = asked
  for (let { count } = asked; ; count /= FEWER) {
    const data = encodeCall(SCAN, wallet, from, count, foundMax, encodeArray(known))
    try {
      return decodePage(await endpoint.call({ to: manager, code: LENS_RUNTIME, data, block }, signal), block)
    } catch (error) {
      // The manager itself reverts: its code was not replaced.
      if (error instanceof RevertError) throw new LensUnsupportedError(ignored())
      const isTooMuch = error instanceof RpcRefusedError && error.reason === 'size'
      if (!isTooMuch || count / FEWER < COUNT_MIN) throw error
    }
  }
}

/** Throws `UpstreamError` if the answer is not of that block. */
function decodePage(answer: Hex, at: PinnedBlock): ScanPage {
  if (answer === '0x') throw new LensUnsupportedError(ignored())
  const { from, block, taken } = decodeLensPage(answer)
  if (!matchesBlock(block, at)) throw new UpstreamError('The endpoint answers from another block than it was asked')
  const [balance, nextId, rest] = [from.uint(32), from.uint(32), from.uint(32)]
  return { balance, nextId, rest, owned: Array.from({ length: taken }, () => from.uint(32)) }
}

/** Throws if all ids were looked at and fewer are the wallet's than the manager says. */
function checked(state: ScanState): ScanState {
  if (state.rest > 0n || isComplete(state)) return state
  throw new UnexpectedStorageError('The manager stores fewer positions of the wallet than it counts')
}

function ignored(): RpcRefusedError {
  return new RpcRefusedError(0, 'The endpoint ignored the state override')
}

function descending(ids: readonly bigint[]): readonly bigint[] {
  return [...new Set(ids)].sort((a, b) => (a < b ? 1 : a > b ? -1 : 0))
}
