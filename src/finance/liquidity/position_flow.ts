import { type Hex, numberToHex } from 'viem'
import { positionFlowStore } from '../../../sql/functions.ts'
import listSql from '../../../sql/queries/position_flow_list.sql' with { type: 'text' }
import type { Database } from '../../db/database.ts'
import { query } from '../../db/query.ts'
import { fromBytes, NotStoredError, nameParams, partParams, STORE_DEADLINE_MS, toDigits } from '../../history/part.ts'
import type { StreamPlace, StreamTable } from '../../history/stream.ts'

const list = query(listSql, 'read')

/** What changed a liquidity position. */
export type PositionFlowKind = 'increase' | 'decrease' | 'collect'

/** One change of a liquidity position, as its manager logged it. */
export interface PositionFlow {
  readonly tokenId: bigint
  readonly block: number
  readonly logIndex: number
  readonly kind: PositionFlowKind
  /** Added or removed; 0 of a collect. */
  readonly liquidity: bigint
  /** In units of the tokens. */
  readonly amount0: bigint
  readonly amount1: bigint
  readonly transactionHash: Hex
  /** Unix seconds; null if no endpoint gave it with the log. */
  readonly timestampSec: number | null
}

/** Flows of liquidity positions as a stream stores them. */
export const POSITION_FLOWS: StreamTable<PositionFlow> = {
  subjectOf: ({ tokenId }) => positionSubject(tokenId),
  async store(db, part) {
    const { place, rows } = part
    const columns = {
      tokenIds: rows.map(({ tokenId }) => String(tokenId)),
      blocks: rows.map(({ block }) => block),
      logIndexes: rows.map(({ logIndex }) => logIndex),
      kinds: rows.map(({ kind }) => kind),
      liquidities: rows.map(({ liquidity }) => String(liquidity)),
      amounts0: rows.map(({ amount0 }) => String(amount0)),
      amounts1: rows.map(({ amount1 }) => String(amount1)),
      txHashes: rows.map(({ transactionHash }) => toDigits(transactionHash)),
      times: rows.map(({ timestampSec }) => timestampSec ?? -1),
      rowSubjects: rows.map(({ tokenId }) => toDigits(positionSubject(tokenId))),
      subjectIds: (part.subjects ?? []).map((subject) => String(BigInt(subject))),
    }
    const isStored = await positionFlowStore(db, { ...partParams(part), ...columns }, { deadlineMs: STORE_DEADLINE_MS })
    if (!isStored) throw new NotStoredError(place)
  },
}

/** How a position is named as the subject of a history: its token id in 32 bytes. */
export function positionSubject(tokenId: bigint): Hex {
  return numberToHex(tokenId, { size: 32 })
}

/**
 * All stored flows of a position from `fromBlock` to `toBlock`, oldest first, at most `max`. Undefined if not all of
 * them are stored. Throws as `Database.run`.
 */
export async function readPositionFlows(
  db: Database,
  options: {
    readonly place: Pick<StreamPlace, 'chainId' | 'contract'>
    readonly stream: string
    readonly tokenId: bigint
    readonly fromBlock: number
    readonly toBlock: number
    readonly max: number
  },
): Promise<readonly PositionFlow[] | undefined> {
  const { place, stream, tokenId, fromBlock, toBlock, max } = options
  const rows = await list(db, [
    ...([...nameParams({ place, stream }), toDigits(positionSubject(tokenId))] as const),
    ...([String(tokenId), fromBlock, Math.max(fromBlock, toBlock), max] as const),
  ])
  if (rows[0]?.covered !== true) return undefined
  return rows.flatMap(({ block, log_index, kind, liquidity, amount0, amount1, tx_hash, time }) =>
    block === null ||
    log_index === null ||
    liquidity === null ||
    amount0 === null ||
    amount1 === null ||
    tx_hash === null
      ? []
      : {
          tokenId,
          block: Number(block),
          logIndex: log_index,
          kind: kind as PositionFlowKind,
          liquidity: BigInt(liquidity),
          amount0: BigInt(amount0),
          amount1: BigInt(amount1),
          transactionHash: fromBytes(tx_hash),
          timestampSec: time === null ? null : Number(time),
        },
  )
}
