import type { Hex } from 'viem'
import { positionFlowList } from '../../../../sql/queries.ts'
import type { Database } from '../../../db/database.ts'
import {
  createRowTable,
  hexFromBytes,
  readRowPages,
  selectCoveredRows,
  toHexDigits,
  toNameParams,
  toPageParams,
} from '../../../history/stored_part.ts'
import type { StreamTable, StreamTarget } from '../../../history/stream.ts'

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

/** A query for the flows of a position from `fromBlock` to `toBlock`, at most `max`. */
interface FlowsQuery {
  readonly target: Pick<StreamTarget, 'chainId' | 'contract'>
  readonly stream: string
  readonly tokenId: bigint
  readonly fromBlock: number
  readonly toBlock: number
  readonly max: number
}

/** Flows of one statement: more would block the event loop for long. */
const PAGE_MAX = 2_000

/**
 * Reads all stored flows of a position in these blocks, oldest first, page by page; undefined if some are not stored.
 * Throws as `Database.run`.
 */
export async function readPositionFlows(db: Database, query: FlowsQuery): Promise<readonly PositionFlow[] | undefined> {
  const { max } = query
  return await readRowPages({ pageMax: PAGE_MAX, max }, (max, after) => readPage(db, { ...query, max }, after))
}

async function readPage(
  db: Database,
  query: FlowsQuery,
  after: Pick<PositionFlow, 'block' | 'logIndex'> | undefined,
): Promise<readonly PositionFlow[] | undefined> {
  const { tokenId } = query
  const rows = await positionFlowList(db, {
    ...toNameParams(query),
    ...toPageParams(query, after),
    subject: toHexDigits(positionSubject(tokenId)),
    tokenId: String(tokenId),
  })
  const stored = selectCoveredRows(rows, ['block', 'log_index', 'liquidity', 'amount0', 'amount1', 'tx_hash'])
  return stored?.map(({ block, log_index, kind, liquidity, amount0, amount1, tx_hash, time }) => ({
    tokenId,
    block: Number(block),
    logIndex: log_index,
    kind: kind as PositionFlowKind,
    liquidity: BigInt(liquidity),
    amount0: BigInt(amount0),
    amount1: BigInt(amount1),
    transactionHash: hexFromBytes(tx_hash),
    timestampSec: time === null ? null : Number(time),
  }))
}
