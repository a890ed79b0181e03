import { type Address, type Hex, toEventSelector } from 'viem'
import { toLowerHex } from '../../../chain/call/words.ts'
import { isCacheableForever, readByQuorum } from '../../../chain/past/quorum.ts'
import { type ChainClient, ChainUnavailableError, type Endpoint, isUnavailable } from '../../../chain/rpc/client.ts'
import type { LogRange } from '../../../history/logs/check_logs.ts'
import { LogsRefusedError } from '../../../history/logs/refusal.ts'
import { createLogSource } from '../../../history/logs/source.ts'
import type { Range } from '../../../history/range.ts'
import type { HistoryLog, LogFilter } from '../../../history/stream.ts'
import type { Work } from '../../../lib/async/work.ts'
import { UnavailableError } from '../../../lib/error.ts'

/** A position, and the blocks that its mint is searched in. */
interface MintQuery {
  readonly client: ChainClient
  /** The contract that numbers positions, and a block before which it has no events. */
  readonly deployment: { readonly manager: Address; readonly startBlock: number }
  readonly tokenId: bigint
  /** The newest block. */
  readonly toBlock: number
}

/**
 * Finds a block before which the position did not exist: that of its mint, or an earlier one if the search takes too
 * long. Undefined if no position of that id was minted. Reads each window from two endpoints at the same time. Throws
 * as `readByQuorum`.
 */
type FindMint = (query: MintQuery, work: Work) => Promise<number | undefined>

/** Length of the first and of the longest window, blocks: endpoints without a stated cap still have limits. */
const BLOCKS_FIRST = 500
const BLOCKS_MAX = 10_000
/** Most windows of a search, about three times what a busy manager needs. */
const PROBES_MAX = 60
/** Most mints of one manager that are cached. */
const KNOWN_MAX = 4_096

/** Creates a finder of mints, which caches mints that it reads on the way. */
export function createMintFinder(): FindMint {
  const mintsByManager = new Map<string, Mint[]>()

  function readMints({ client, deployment }: MintQuery, range: Range, work: Work) {
    const filter = mintFilter(toLowerHex(deployment.manager))
    const what = `the mints from block ${range.fromBlock} to ${range.toBlock}`
    return readWitnessedLogs({ client, filter, range, what, decodeRows: decodeMints, toText: toMintText }, work)
  }

  /** Reads the mint's block alone, which endpoints that accept only short windows can serve too. */
  async function confirmBlock(query: MintQuery, block: number, work: Work): Promise<number> {
    const { client, tokenId } = query
    const result = await readMints(query, { fromBlock: block, toBlock: block }, work)
    if ('blocks' in result || result.rows.some((mint) => mint.tokenId === tokenId)) return block
    const { id, name } = client.chain
    throw new ChainUnavailableError(
      'disputed',
      `Cannot believe that position ${tokenId} of chain ${id} (${name}) was minted in block ${block}: one endpoint returns ` +
        'the mint, others do not (second witness)',
    )
  }

  return async (query, work) => {
    const { client, deployment, tokenId, toBlock } = query
    const key = `${client.chain.id}:${deployment.manager}`
    const knownMints = mintsByManager.get(key) ?? []
    mintsByManager.set(key, knownMints)
    const below = knownMints.findLast((mint) => mint.tokenId <= tokenId)
    const above = knownMints.find((mint) => mint.tokenId > tokenId)
    if (below?.tokenId === tokenId) return below.block
    const [from, to] = [below?.block ?? deployment.startBlock, above?.block ?? toBlock]
    let bracket: MintBracket = { tokenId, from, to, below, above }
    let [blocks, cap] = [BLOCKS_FIRST, BLOCKS_MAX]
    let isAgreed = true
    for (let probes = 0; probes < PROBES_MAX; probes++) {
      if (bracket.from > bracket.to) return undefined
      const window = nextWindow(bracket, { blocks, probes })
      const result = await readMints(query, window, work)
      if ('blocks' in result) {
        if (blocks === 1) break
        blocks = cap = result.blocks
        continue
      }
      const { rows: mints, witnesses } = result
      // Mints from a single endpoint must not steer later searches.
      if (isCacheableForever(client, witnesses)) remember(knownMints, mints)
      else isAgreed = false
      const next = narrowBracket(bracket, window, mints)
      if (next === undefined) break
      if (typeof next === 'number') {
        if (!isAgreed) return await confirmBlock(query, next, work)
        remember(knownMints, [{ tokenId, block: next }])
        return next
      }
      blocks = mints.length === 0 ? Math.min(cap, blocks * 2) : Math.min(cap, BLOCKS_FIRST)
      bracket = next
    }
    return isAgreed ? bracket.from : from
  }
}

/** Adds the first and the last mint of a window, in the order of ids. */
function remember(knownMints: Mint[], mints: readonly Mint[]): void {
  for (const mint of [mints[0], mints.at(-1)]) {
    if (mint === undefined || knownMints.some(({ tokenId }) => tokenId === mint.tokenId)) continue
    const at = knownMints.findIndex(({ tokenId }) => tokenId > mint.tokenId)
    knownMints.splice(at < 0 ? knownMints.length : at, 0, mint)
  }
  if (knownMints.length > KNOWN_MAX) knownMints.splice(Math.floor(knownMints.length / 2), knownMints.length - KNOWN_MAX)
}

function toMintText({ tokenId, block }: Mint): string {
  return `${tokenId} ${block}`
}

/** Bounds on the block of a mint: a manager numbers its positions in the order of their mints. */
export interface MintBracket {
  readonly tokenId: bigint
  /** The mint is in one of the blocks `from` to `to`, both included; if `from` is higher, there is none. */
  readonly from: number
  readonly to: number
  /** The nearest known mints before and after. */
  readonly below?: Mint | undefined
  readonly above?: Mint | undefined
  /** Blocks between `from` and `to` without any mint; they do not show on which side the mint is. */
  readonly empty?: { readonly from: number; readonly to: number }
}

export interface Mint {
  readonly tokenId: bigint
  readonly block: number
}

const TRANSFER = toEventSelector('Transfer(address,address,uint256)')
const FROM_ZERO: Hex = `0x${'0'.repeat(64)}`
/** Every so many probes bisect: interpolation alone creeps where ids are dense. */
const BISECT_EVERY = 3

/** Creates a filter of a manager's mints. */
function mintFilter(manager: Hex): LogFilter {
  return { addresses: [manager], topics: [[TRANSFER], [FROM_ZERO]] }
}

/** Decodes mints from the filter's logs, in their order. */
function decodeMints(logs: readonly HistoryLog[]): Mint[] {
  return logs.flatMap(({ topics: [, , , id], blockNumber }) =>
    id === undefined ? [] : [{ tokenId: BigInt(id), block: blockNumber }],
  )
}

/** Computes the next window of `blocks` blocks to read, after `probes` windows. */
export function nextWindow(
  { tokenId, from, to, below, above, empty }: MintBracket,
  { blocks, probes }: { readonly blocks: number; readonly probes: number },
): Range {
  if (empty !== undefined && empty.to < to) {
    return { fromBlock: empty.to + 1, toBlock: Math.min(to, empty.to + blocks) }
  }
  const canInterpolate = below !== undefined && above !== undefined && probes % BISECT_EVERY !== BISECT_EVERY - 1
  const share = canInterpolate ? Number(tokenId - below.tokenId) / Number(above.tokenId - below.tokenId) : 0.5
  const middle = from + Math.floor((to - from) * share)
  const fromBlock = Math.max(from, Math.min(middle - Math.floor(blocks / 2), to - blocks + 1))
  return { fromBlock, toBlock: Math.min(to, fromBlock + blocks - 1) }
}

/**
 * Narrows the bracket by all mints of a window; returns the mint's block once it is found. Undefined if the mints are
 * out of order, so that nothing follows from them.
 */
export function narrowBracket(
  bracket: MintBracket,
  window: Range,
  mints: readonly Mint[],
): MintBracket | number | undefined {
  const { tokenId, to } = bracket
  const match = mints.find((mint) => mint.tokenId === tokenId)
  if (match !== undefined) return match.block
  const { empty: _, ...bounds } = bracket
  const [first, last] = [mints[0], mints.at(-1)]
  if (first === undefined || last === undefined) {
    const empty = { from: bracket.empty?.from ?? window.fromBlock, to: window.toBlock }
    return empty.to >= to ? { ...bounds, to: empty.from - 1 } : { ...bounds, empty }
  }
  if (last.tokenId < tokenId) return { ...bounds, from: window.toBlock + 1, below: last }
  if (first.tokenId < tokenId) return undefined
  return { ...bounds, to: (bracket.empty?.from ?? window.fromBlock) - 1, above: first }
}

/**
 * True if a manager has not minted an id up to now, by its counter: it numbers positions in sequence, from 1 on. False
 * if it has, or if the counter cannot be read (`readNextId` returns undefined), so that logs must decide. Throws
 * `AbortedError` if `work` ends.
 */
export async function isUnminted(
  { client, tokenId }: { readonly client: ChainClient; readonly tokenId: bigint },
  readNextId: (endpoint: Endpoint, work: Work) => Promise<bigint | undefined>,
  work: Work,
): Promise<boolean> {
  if (tokenId === 0n) return true
  try {
    const next = await client.read(readNextId, { work })
    return next !== undefined && tokenId >= next
  } catch (error) {
    if (work.signal.aborted) throw error
    return false
  }
}

/** A query for logs, and how to decode them. */
interface LogsQuery<Row> {
  readonly client: ChainClient
  readonly filter: LogFilter
  readonly range: LogRange
  readonly decodeRows: (logs: readonly HistoryLog[]) => readonly Row[]
  readonly toText: (row: Row) => string
  /** For errors: `the moves of pool 0x…`. */
  readonly what: string
}

/** Rows of logs, and the number of different endpoints that returned them. */
export interface WitnessedLogs<Row> {
  readonly rows: readonly Row[]
  readonly witnesses: number
}

/** No endpoint accepts so long a range; `blocks` is the length to try next. */
interface RangeTooWide extends Pick<UnavailableError, 'message'> {
  readonly blocks: number
}

/** Reads logs from two endpoints. Throws as `readByQuorum`. */
export async function readWitnessedLogs<Row>(
  { client, filter, range, decodeRows, toText, what }: LogsQuery<Row>,
  work: Work,
): Promise<WitnessedLogs<Row> | RangeTooWide> {
  const half = 'blockHash' in range ? 1 : Math.ceil((range.toBlock - range.fromBlock + 1) / 2)
  let blocks: number | undefined
  const attempt = async (endpoint: Endpoint, within: Work) => {
    try {
      return decodeRows(await createLogSource(endpoint, client.chain.id).logs(filter, range, within))
    } catch (error) {
      const { reaction } = error instanceof LogsRefusedError ? error : {}
      if (reaction?.kind === 'late') blocks ??= half
      if (reaction?.kind === 'range' || reaction?.kind === 'results') {
        blocks = Math.min(blocks ?? half, reaction.blocks ?? half)
      }
      throw error
    }
  }
  try {
    const options = { work, what, toText: (rows: readonly Row[]) => rows.map(toText).join() }
    const { value: rows, endpoints } = await readByQuorum(client, attempt, options)
    return { rows, witnesses: endpoints.length }
  } catch (error) {
    if (blocks === undefined || !(error instanceof UnavailableError) || isUnavailable(error, 'disputed')) throw error
    return { blocks: Math.max(1, blocks), message: error.message }
  }
}
