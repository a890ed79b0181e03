import type { Address, Hex } from 'viem'
import { custodyEventList } from '../../../../sql/queries.ts'
import { toChecksumAddress } from '../../../chain/call/words.ts'
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
import { positionSubject } from './position_flow.ts'

/** What happens to a position at its custodian; an `update` changes what the custodian counts, and moves nothing. */
export type CustodyEventKind = 'stake' | 'unstake' | 'reward' | 'update'

/** One change of a position at its custodian, as the custodian logged it. */
export interface CustodyEvent {
  readonly tokenId: bigint
  /** The wallet that the custodian names, lower case. */
  readonly wallet: Hex
  readonly block: number
  readonly logIndex: number
  readonly kind: CustodyEventKind
  /** What was paid; absent of other kinds than `reward`. */
  readonly token?: Address
  /** Smallest units that were paid; 0 of other kinds. */
  readonly amount: bigint
  readonly transactionHash: Hex
  /** Unix seconds; null if no endpoint gave it with the log. */
  readonly timestampSec: number | null
}

/** Events of positions as a stream of custodians stores them; their subject is the token id. */
export const CUSTODY_EVENTS: StreamTable<CustodyEvent> = createRowTable({
  name: 'custody_event',
  toSubject: ({ tokenId }) => positionSubject(tokenId),
  subjectColumn: 'token_id',
  toSubjectValue: (subject) => BigInt(subject),
  columns: {
    wallet: ({ wallet }) => toHexDigits(wallet),
    token_id: ({ tokenId }) => tokenId,
    block: ({ block }) => block,
    log_index: ({ logIndex }) => logIndex,
    kind: ({ kind }) => kind,
    token: ({ token }) => (token === undefined ? null : toHexDigits(token)),
    amount: ({ amount }) => amount,
    tx_hash: ({ transactionHash }) => toHexDigits(transactionHash),
    time: ({ timestampSec }) => timestampSec,
  },
})

/** Events of one statement: more would block the event loop for long. */
const PAGE_MAX = 2_000

/** Reads all stored events of a position in these blocks. Fails as `readStoredRows`, throws as `Database.run`. */
export function readCustodyEvents(
  db: Database,
  { tokenId, ...query }: RowsQuery & { readonly tokenId: bigint },
): Promise<readonly CustodyEvent[] | undefined> {
  const position = { subject: toHexDigits(positionSubject(tokenId)), tokenId: String(tokenId) }
  return readStoredRows(query, {
    pageMax: PAGE_MAX,
    list: (page: RowsPage) => custodyEventList(db, { ...page, ...position }),
    columns: ['block', 'log_index', 'wallet', 'amount', 'tx_hash'],
    toRow: ({ block, log_index, kind, wallet, token, amount, tx_hash, time }): CustodyEvent => ({
      tokenId,
      wallet: hexFromBytes(wallet),
      block: Number(block),
      logIndex: log_index,
      kind: kind as CustodyEventKind,
      ...(token !== null && { token: toChecksumAddress(hexFromBytes(token).slice(2)) }),
      amount: BigInt(amount),
      transactionHash: hexFromBytes(tx_hash),
      timestampSec: time === null ? null : Number(time),
    }),
  })
}
