import type { Hex } from 'viem'
import { liquidityChangeList, liquidityChangeUpdateAmounts } from '../../../../sql/queries.ts'
import type { Database } from '../../../db/database.ts'
import type { FeeGrowth, TickRange, TokenAmounts } from '../../../finance/math/liquidity.ts'
import {
  createRowTable,
  hexFromBytes,
  type RowsPage,
  type RowsQuery,
  readStoredRows,
  toHexDigits,
} from '../../../history/stored_part.ts'
import type { StreamTable, StreamTarget } from '../../../history/stream.ts'

/**
 * One change of a position's liquidity, as the manager of its pool logged it: without amounts. Every change also pays all
 * fees.
 */
export interface LiquidityChange extends TickRange {
  /** The position's pool, 32 bytes. */
  readonly pool: Hex
  readonly tokenId: bigint
  readonly block: number
  readonly logIndex: number
  /** Liquidity added, negative if removed; 0 if only fees were paid. */
  readonly liquidity: bigint
  readonly transactionHash: Hex
  /** Unix seconds; null if no endpoint gave it with the log. */
  readonly timestampSec: number | null
}

/** Amounts of a change, raw units. */
export interface ChangeAmounts {
  /** Amounts that went into or out of the pool, without fees. */
  readonly principal: TokenAmounts
  readonly fees: TokenAmounts
  /** The square root of the pool's price at the change, in Q96. */
  readonly sqrtPriceX96: bigint
}

/** Amounts of a change with their evidence. */
export interface FoundAmounts extends ChangeAmounts {
  /** The growth of fees within the range at the change; undefined if it was not read. */
  readonly inside: FeeGrowth | undefined
  /** Number of different endpoints that returned it. */
  readonly witnesses: number
}

/** A change with its amounts, if they are stored. */
export interface StoredChange extends LiquidityChange {
  readonly amounts?: FoundAmounts
}

/** Changes of positions as a stream stores them; their subject is the pool. */
export const LIQUIDITY_CHANGES: StreamTable<LiquidityChange> = createRowTable({
  name: 'liquidity_change',
  toSubject: ({ pool }) => pool,
  subjectColumn: 'pool',
  columns: {
    token_id: ({ tokenId }) => tokenId,
    block: ({ block }) => block,
    log_index: ({ logIndex }) => logIndex,
    pool: ({ pool }) => toHexDigits(pool),
    tick_lower: ({ tickLower }) => tickLower,
    tick_upper: ({ tickUpper }) => tickUpper,
    liquidity: ({ liquidity }) => liquidity,
    tx_hash: ({ transactionHash }) => toHexDigits(transactionHash),
    time: ({ timestampSec }) => timestampSec,
  },
})

/** The position whose changes get amounts. */
interface NamedPosition {
  readonly target: Pick<StreamTarget, 'chainId' | 'contract'>
  readonly tokenId: bigint
}

/** Changes of one statement: more would block the event loop for long. */
const PAGE_MAX = 1_000

/** Reads all stored changes of a position in these blocks. Fails as `readStoredRows`, throws as `Database.run`. */
export function readChanges(
  db: Database,
  { pool, tokenId, ...query }: RowsQuery & { readonly pool: Hex; readonly tokenId: bigint },
): Promise<readonly StoredChange[] | undefined> {
  return readStoredRows(query, {
    pageMax: PAGE_MAX,
    list: (page: RowsPage) => liquidityChangeList(db, { ...page, pool: toHexDigits(pool), tokenId: String(tokenId) }),
    columns: ['block', 'log_index', 'tick_lower', 'tick_upper', 'liquidity', 'tx_hash'],
    toRow(row): StoredChange {
      const change = {
        pool,
        tokenId,
        block: Number(row.block),
        logIndex: row.log_index,
        tickLower: row.tick_lower,
        tickUpper: row.tick_upper,
        liquidity: BigInt(row.liquidity),
        transactionHash: hexFromBytes(row.tx_hash),
        timestampSec: row.time === null ? null : Number(row.time),
      }
      const amounts = decodeAmounts(row)
      return amounts === undefined ? change : { ...change, amounts }
    },
  })
}

function decodeAmounts(row: Awaited<ReturnType<typeof liquidityChangeList>>[number]): FoundAmounts | undefined {
  const { amount0, amount1, fees0, fees1, sqrt_price, inside0, inside1, witnesses } = row
  if (amount0 === null || amount1 === null || fees0 === null || fees1 === null) return undefined
  if (sqrt_price === null || witnesses === null) return undefined
  return {
    principal: { amount0: BigInt(amount0), amount1: BigInt(amount1) },
    fees: { amount0: BigInt(fees0), amount1: BigInt(fees1) },
    sqrtPriceX96: BigInt(sqrt_price),
    inside: inside0 === null || inside1 === null ? undefined : { growth0: BigInt(inside0), growth1: BigInt(inside1) },
    witnesses,
  }
}

/** A change with its amounts. */
export interface FoundChange extends LiquidityChange {
  readonly amounts: FoundAmounts
}

/** Stores the amounts of final changes of one position. Throws as `Database.run`. */
export async function storeAmounts(
  db: Database,
  { target, tokenId }: NamedPosition,
  changes: readonly FoundChange[],
): Promise<void> {
  if (changes.length === 0) return
  const digits = (getAmount: (amounts: FoundAmounts) => bigint | undefined) =>
    changes.map(({ amounts }) => String(getAmount(amounts) ?? -1n))
  await liquidityChangeUpdateAmounts(db, {
    chainId: target.chainId,
    contract: toHexDigits(target.contract),
    tokenId: String(tokenId),
    blocks: changes.map(({ block }) => block),
    logIndexes: changes.map(({ logIndex }) => logIndex),
    amounts0: digits(({ principal }) => principal.amount0),
    amounts1: digits(({ principal }) => principal.amount1),
    fees0: digits(({ fees }) => fees.amount0),
    fees1: digits(({ fees }) => fees.amount1),
    sqrtPrices: digits(({ sqrtPriceX96 }) => sqrtPriceX96),
    insides0: digits(({ inside }) => inside?.growth0),
    insides1: digits(({ inside }) => inside?.growth1),
    witnesses: changes.map(({ amounts }) => amounts.witnesses),
  })
}
