import type { Address, Hex } from 'viem'
import { custodyEventList, custodyWalletList } from '../../../../sql/queries.ts'
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

/** An event at a custodian, which may name the wallet alone. */
export interface WalletEvent extends Omit<CustodyEvent, 'tokenId'> {
  readonly tokenId: bigint | undefined
}

const COLUMNS = {
  wallet: ({ wallet }: WalletEvent) => toHexDigits(wallet),
  token_id: ({ tokenId }: WalletEvent) => tokenId ?? null,
  block: ({ block }: WalletEvent) => block,
  log_index: ({ logIndex }: WalletEvent) => logIndex,
  kind: ({ kind }: WalletEvent) => kind,
  token: ({ token }: WalletEvent) => (token === undefined ? null : toHexDigits(token)),
  amount: ({ amount }: WalletEvent) => amount,
  tx_hash: ({ transactionHash }: WalletEvent) => toHexDigits(transactionHash),
  time: ({ timestampSec }: WalletEvent) => timestampSec,
}

/** Events of positions as a stream of custodians stores them; their subject is the token id. */
export const CUSTODY_EVENTS: StreamTable<CustodyEvent> = createRowTable<CustodyEvent>({
  name: 'custody_event',
  toSubject: ({ tokenId }) => positionSubject(tokenId),
  subjectColumn: 'token_id',
  toSubjectValue: (subject) => BigInt(subject),
  columns: COLUMNS,
})

/**
 * The same events and those that name the wallet alone; their subject is the wallet. A log is the same row in both, so
 * that neither stream replaces what the other one stored.
 */
export const WALLET_EVENTS: StreamTable<WalletEvent> = createRowTable({
  name: 'custody_event',
  toSubject: ({ wallet }) => wallet,
  subjectColumn: 'wallet',
  columns: COLUMNS,
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

/** Reads all stored events of a wallet in these blocks. Fails as `readStoredRows`, throws as `Database.run`. */
export function readWalletEvents(
  db: Database,
  { wallet, ...query }: RowsQuery & { readonly wallet: Hex },
): Promise<readonly WalletEvent[] | undefined> {
  return readStoredRows(query, {
    pageMax: PAGE_MAX,
    list: (page: RowsPage) => custodyWalletList(db, { ...page, subject: toHexDigits(wallet) }),
    columns: ['block', 'log_index', 'amount', 'tx_hash'],
    toRow: ({ block, log_index, kind, token_id, amount, tx_hash, time }): WalletEvent => ({
      tokenId: token_id === null ? undefined : BigInt(token_id),
      wallet,
      block: Number(block),
      logIndex: log_index,
      kind: kind as CustodyEventKind,
      amount: BigInt(amount),
      transactionHash: hexFromBytes(tx_hash),
      timestampSec: time === null ? null : Number(time),
    }),
  })
}
