import type { Hex } from 'viem'
import { lendingEventList } from '../../../../sql/queries.ts'
import { toLowerHex } from '../../../chain/call/words.ts'
import { readBlock } from '../../../chain/evm/read_block.ts'
import type { ChainClient } from '../../../chain/rpc/client.ts'
import type { Database } from '../../../db/database.ts'
import { createRowTable, hexFromBytes, toHexDigits, toNameParams } from '../../../history/stored_part.ts'
import { IncompleteError, type Stream, type StreamTable, type StreamTarget } from '../../../history/stream.ts'
import type { Work } from '../../../lib/async/work.ts'
import { UnavailableError } from '../../../lib/error.ts'
import {
  CHANGE_KINDS,
  type ChangeKind,
  createChangeFilters,
  decodeChanges,
  type PositionChange,
} from '../event/change.ts'
import { type ReplayedPosition, replayChanges } from '../event/replay.ts'
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

/** Rows of one statement, and most rows of a wallet: strangers may take its offers and update its positions. */
const PAGE_ROWS = 5_000
const ROWS_MAX = 20_000

/** A query for a wallet's stored changes up to a block. */
interface ChangesQuery {
  readonly target: StreamTarget
  readonly wallet: Hex
  readonly toBlock: number
  /** @default all */
  readonly kinds?: readonly ChangeKind[]
}

/** Reads them, oldest first. Throws as `Database.run`. */
export async function readChanges(
  db: Database,
  { target, wallet, toBlock, kinds = CHANGE_KINDS }: ChangesQuery,
): Promise<readonly PositionChange[] | 'not_stored' | 'too_many'> {
  const changes: PositionChange[] = []
  for (let skip = 0; skip < ROWS_MAX; skip += PAGE_ROWS) {
    const rows = await lendingEventList(db, {
      ...toNameParams({ target, stream: NAME }),
      wallet: toHexDigits(wallet),
      fromBlock: target.startBlock,
      toBlock: Math.max(target.startBlock, toBlock),
      kinds,
      market: null,
      max: PAGE_ROWS,
      skip,
    })
    const [first] = rows
    if (first === undefined || !first.covered) return 'not_stored'
    for (const { market, block, log_index, leg, kind, asset, amount, tx_hash } of rows) {
      if (market === null || block === null || log_index === null || leg === null) continue
      if (asset === null || amount === null || tx_hash === null) continue
      changes.push({
        wallet,
        market: hexFromBytes(market),
        block: Number(block),
        logIndex: log_index,
        leg,
        kind: kind as ChangeKind,
        asset: hexFromBytes(asset),
        amount: BigInt(amount),
        transactionHash: hexFromBytes(tx_hash),
      })
    }
    // Pages are newest first, and the legs of a log lie in their order.
    if (changes.length >= Number(first.total)) return changes.reverse()
  }
  return 'too_many'
}

/**
 * Creates the stream of all that changes wallets' positions. Its rows are proven: in every market the replay of a wallet's
 * changes equals the position that Midnight has stored, so that no change of a known market is missing.
 */
export function createLifeStream(reader: Pick<PositionReader, 'targets' | 'askRaw'>): Stream<PositionChange> {
  return {
    name: NAME,
    table: POSITION_CHANGES,
    filters: createChangeFilters,
    decode: (target, logs) => ({ rows: decodeChanges(target, logs), unsettled: [] }),
    async verify(target, { subject: wallet, client, db, toBlock }, work) {
      const changes = await readChanges(db, { target, wallet, toBlock })
      if (typeof changes === 'string' || changes.length === 0) return
      const replayed = replayChanges(changes)
      const marketIds = [...replayed.keys()].sort()
      const entries = await readStored(reader, { target, client, wallet, marketIds, toBlock }, work)
      if (entries === undefined) return
      const isProven = marketIds.every((id, index) => isEqual(replayed.get(id), entries[index]))
      if (!isProven) throw new IncompleteError('replay', { fromBlock: target.startBlock, toBlock })
    },
  }
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
  try {
    const number = BigInt(toBlock)
    const block = await client.read(
      (endpoint, within) => readBlock(endpoint, { chainId: target.chainId, number }, within),
      { work, past: 'header' },
    )
    const { entries } = await client.read(
      (endpoint, within) =>
        reader.askRaw(endpoint, { ...configured, block, walletQuery: { wallet, marketIds } }, within),
      { work, past: block },
    )
    return entries
  } catch (error) {
    if (error instanceof UnavailableError) return undefined
    throw error
  }
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
