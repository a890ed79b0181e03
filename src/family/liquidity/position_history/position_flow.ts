import type { Hex } from 'viem'
import { positionFlowList } from '../../../../sql/queries.ts'
import type { Database } from '../../../db/database.ts'
import {
  createRowTable,
  hexFromBytes,
  type RowsPage,
  type RowsQuery,
  readStoredRows,
  toHexDigits,
} from '../../../history/stored_part.ts'
import type { StreamTable } from '../../../history/stream.ts'

export type PositionFlowKind = 'increase' | 'decrease' | 'collect'

/** One change of a liquidity position, as its manager logged it. */
export interface PositionFlow {
  readonly tokenId: bigint
  readonly block: number
  readonly logIndex: number
  readonly kind: PositionFlowKind
  /** Liquidity added or removed; 0 for a collect. */
  readonly liquidity: bigint
  /** Raw units of each token. */
  readonly amount0: bigint
  readonly amount1: bigint
  readonly transactionHash: Hex
  /** Unix seconds; null if no endpoint gave it with the log. */
  readonly timestampSec: number | null
  /** The square root of its pool's price, in Q96; absent if it is not stored. */
  readonly sqrtPriceX96?: bigint
}

/** Flows of liquidity positions as a stream stores them. */
export const POSITION_FLOWS: StreamTable<PositionFlow> = createRowTable({
  name: 'position_flow',
  toSubject: ({ tokenId }) => positionSubject(tokenId),
  subjectColumn: 'token_id',
  toSubjectValue: (subject) => BigInt(subject),
  columns: {
    token_id: ({ tokenId }) => tokenId,
    block: ({ block }) => block,
    log_index: ({ logIndex }) => logIndex,
    kind: ({ kind }) => kind,
    liquidity: ({ liquidity }) => liquidity,
    amount0: ({ amount0 }) => amount0,
    amount1: ({ amount1 }) => amount1,
    tx_hash: ({ transactionHash }) => toHexDigits(transactionHash),
    time: ({ timestampSec }) => timestampSec,
  },
})

/** Returns the subject of a position's history: its token id in 32 bytes. */
export function positionSubject(tokenId: bigint): Hex {
  return `0x${tokenId.toString(16).padStart(64, '0')}`
}

/** Flows of one statement: more would block the event loop for long. */
const PAGE_MAX = 2_000

/** Reads all stored flows of a position in these blocks. Fails as `readStoredRows`, throws as `Database.run`. */
export function readPositionFlows(
  db: Database,
  { tokenId, ...query }: RowsQuery & { readonly tokenId: bigint },
): Promise<readonly PositionFlow[] | undefined> {
  const position = { subject: toHexDigits(positionSubject(tokenId)), tokenId: String(tokenId) }
  return readStoredRows(query, {
    pageMax: PAGE_MAX,
    list: (page: RowsPage) => positionFlowList(db, { ...page, ...position }),
    columns: ['block', 'log_index', 'liquidity', 'amount0', 'amount1', 'tx_hash'],
    toRow: ({ block, log_index, kind, liquidity, amount0, amount1, tx_hash, time }): PositionFlow => ({
      tokenId,
      block: Number(block),
      logIndex: log_index,
      kind: kind as PositionFlowKind,
      liquidity: BigInt(liquidity),
      amount0: BigInt(amount0),
      amount1: BigInt(amount1),
      transactionHash: hexFromBytes(tx_hash),
      timestampSec: time === null ? null : Number(time),
    }),
  })
}
