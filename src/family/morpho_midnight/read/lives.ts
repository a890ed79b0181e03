import type { Hex } from 'viem'
import { lendingEventList } from '../../../../sql/queries.ts'
import type { PinnedBlock } from '../../../chain/block.ts'
import { toLowerHex } from '../../../chain/call/words.ts'
import type { ChainClient, Endpoint } from '../../../chain/rpc/client.ts'
import type { Database } from '../../../db/database.ts'
import { createRowTable, hexFromBytes, toHexDigits, toNameParams } from '../../../history/stored_part.ts'
import { IncompleteError, type Stream, type StreamTable, type StreamTarget } from '../../../history/stream.ts'
import type { Work } from '../../../lib/async/work.ts'
import { UnavailableError } from '../../../lib/error.ts'
import { readAtFinal } from '../../lending/read_at_final.ts'
import {
  CHANGE_KINDS,
  type ChangeKind,
  createChangeFilters,
  decodeChanges,
  type PositionChange,
} from '../event/change.ts'
import { type ReplayedPosition, type ReplayedPositions, replayChanges } from '../event/replay.ts'
import type { RawEntry } from '../math/state.ts'
import type { PositionReader } from './read.ts'

/** Name of the stream in the database; never changes. */
const NAME = 'morpho_midnight_life'

/** Changes as a stream stores them, among the events of lending. */
const POSITION_CHANGES: StreamTable<PositionChange> = createRowTable({
  name: 'lending_event',
  toSubject: ({ wallet }) => wallet,
  subjectColumn: 'wallet',
  columns: {
    wallet: ({ wallet }) => toHexDigits(wallet),
    market: ({ market }) => toHexDigits(market),
    block: ({ block }) => block,
    log_index: ({ logIndex }) => logIndex,
    leg: ({ leg }) => leg,
    kind: ({ kind }) => kind,
    asset: ({ asset }) => toHexDigits(asset),
    amount: ({ amount }) => amount,
    tx_hash: ({ transactionHash }) => toHexDigits(transactionHash),
  },
})

/**
 * Rows of one statement, most rows of a list, and most rows of a proof: strangers may take a wallet's offers and update
 * its positions.
 */
const PAGE_ROWS = 5_000
const ROWS_MAX = 20_000
const PROVEN_ROWS_MAX = 200_000

/** Limits of a proof. */
interface LifeLimits {
  /** @default {200_000} */
  readonly rowsMax?: number
  /** Rows of one statement. @default {5_000} */
  readonly pageRows?: number | undefined
}

/** A life with more changes than are replayed: what its logs tell is not proven. */
export class LongLifeError extends UnavailableError {
  override readonly name = 'LongLifeError'
}

/** A query for a wallet's stored changes up to a block. */
interface ChangesQuery {
  readonly target: StreamTarget
  readonly wallet: Hex
  readonly toBlock: number
  /** @default all */
  readonly kinds?: readonly ChangeKind[]
}

/** One page of them, newest first, and the number of all; undefined if some are not stored. Throws as `Database.run`. */
async function readPage(
  db: Database,
  { target, wallet, toBlock, kinds = CHANGE_KINDS }: ChangesQuery,
  { skip, max }: { readonly skip: number; readonly max: number },
): Promise<{ readonly total: number; readonly changes: readonly PositionChange[] } | undefined> {
  const rows = await lendingEventList(db, {
    ...toNameParams({ target, stream: NAME }),
    wallet: toHexDigits(wallet),
    fromBlock: target.startBlock,
    toBlock: Math.max(target.startBlock, toBlock),
    kinds,
    market: null,
    max,
    skip,
  })
  const [first] = rows
  if (first === undefined || !first.covered) return undefined
  const changes = rows.flatMap(({ market, block, log_index, leg, kind, asset, amount, tx_hash }) => {
    if (market === null || block === null || log_index === null || leg === null) return []
    if (asset === null || amount === null || tx_hash === null) return []
    return {
      wallet,
      market: hexFromBytes(market),
      block: Number(block),
      logIndex: log_index,
      leg,
      kind: kind as ChangeKind,
      asset: hexFromBytes(asset),
      amount: BigInt(amount),
      transactionHash: hexFromBytes(tx_hash),
    }
  })
  return { total: Number(first.total), changes }
}

/**
 * Visits them page by page, oldest first: the legs of a log lie in their order where pages are newest first. Throws as
 * `Database.run`.
 */
async function visitChanges(
  db: Database,
  query: ChangesQuery,
  {
    rowsMax,
    pageRows = PAGE_ROWS,
    visit,
  }: LifeLimits & { readonly rowsMax: number; readonly visit: (changes: readonly PositionChange[]) => void },
): Promise<'visited' | 'not_stored' | 'too_many'> {
  const newest = await readPage(db, query, { skip: 0, max: pageRows })
  if (newest === undefined) return 'not_stored'
  const { total } = newest
  if (total > rowsMax) return 'too_many'
  let end = total
  for (; end > pageRows; end -= pageRows) {
    const page = await readPage(db, query, { skip: end - pageRows, max: pageRows })
    if (page?.total !== total) return 'not_stored'
    visit(page.changes.toReversed())
  }
  visit(newest.changes.slice(0, end).toReversed())
  return 'visited'
}

/** Reads a wallet's stored changes up to a block, oldest first. Throws as `Database.run`. */
export async function readChanges(
  db: Database,
  query: ChangesQuery,
): Promise<readonly PositionChange[] | 'not_stored' | 'too_many'> {
  const changes: PositionChange[] = []
  const outcome = await visitChanges(db, query, { rowsMax: ROWS_MAX, visit: (page) => changes.push(...page) })
  return outcome === 'visited' ? changes : outcome
}

/**
 * Creates the stream of all that changes wallets' positions. Its rows are proven: in every market the replay of a wallet's
 * changes equals the position that Midnight has stored, so that no change of a known market is missing.
 */
export function createLifeStream(
  reader: Pick<PositionReader, 'targets' | 'askRaw'>,
  { rowsMax = PROVEN_ROWS_MAX, pageRows }: LifeLimits = {},
): Stream<PositionChange> {
  return {
    name: NAME,
    table: POSITION_CHANGES,
    filters: createChangeFilters,
    decode: (target, logs) => ({ rows: decodeChanges(target, logs), unsettled: [] }),
    async verify(target, { subject: wallet, client, db, toBlock }, work) {
      const replayed: ReplayedPositions = new Map()
      const outcome = await visitChanges(
        db,
        { target, wallet, toBlock },
        { rowsMax, pageRows, visit: (changes) => replayChanges(changes, replayed) },
      )
      if (outcome === 'too_many') throw createLongLifeError(target, wallet, rowsMax)
      if (outcome === 'not_stored' || replayed.size === 0) return
      const marketIds = [...replayed.keys()].sort()
      const entries = await readStored(reader, { target, client, wallet, marketIds, toBlock }, work)
      if (entries === undefined) return
      const isProven = marketIds.every((id, index) => isEqual(replayed.get(id), entries[index]))
      if (!isProven) throw new IncompleteError('replay', { fromBlock: target.startBlock, toBlock })
    },
  }
}

function createLongLifeError({ chainId, contract }: StreamTarget, wallet: Hex, rowsMax: number): LongLifeError {
  return new LongLifeError(
    `Cannot prove the history of wallet ${wallet} in ${contract} of chain ${chainId}: it has more than ` +
      `${rowsMax.toLocaleString('en')} changes`,
  )
}

/** The stored positions at a block; undefined if no endpoint keeps its state. Throws `AbortedError`. */
async function readStored(
  reader: Pick<PositionReader, 'targets' | 'askRaw'>,
  query: {
    readonly target: StreamTarget
    readonly client: ChainClient
    readonly wallet: Hex
    readonly marketIds: readonly Hex[]
    readonly toBlock: number
  },
  work: Work,
): Promise<readonly RawEntry[] | undefined> {
  const { target, client, wallet, marketIds, toBlock } = query
  const configured = reader.targets.get(target.chainId)
  if (configured === undefined) return undefined
  const at = { chainId: target.chainId, number: toBlock }
  const readEntries = async (endpoint: Endpoint, block: PinnedBlock, within: Work) =>
    (await reader.askRaw(endpoint, { ...configured, block, walletQuery: { wallet, marketIds } }, within)).entries
  return await readAtFinal(client, at, readEntries, work)
}

function isEqual(replayed: ReplayedPosition | undefined, entry: RawEntry | undefined): boolean {
  if (replayed === undefined || entry === undefined || entry === 'no_market') return false
  const { credit, pendingFee, debt, collaterals } = replayed
  if (entry === 'no_position') return credit === 0n && pendingFee === 0n && debt === 0n && collaterals.size === 0
  const { position, collaterals: held } = entry
  return (
    credit === position.credit &&
    pendingFee === position.pendingFee &&
    debt === position.debt &&
    collaterals.size === held.length &&
    held.every(({ token, amount }) => collaterals.get(toLowerHex(token.token.address)) === amount)
  )
}
