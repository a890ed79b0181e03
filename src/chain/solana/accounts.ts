import { yieldToEventLoop } from '../../lib/async/cooperative.ts'
import { UpstreamError } from '../../lib/error.ts'
import { isBase58Address } from '../../lib/text/base58.ts'

/** One account as stored on chain. */
export interface SolanaAccount {
  /** Program that owns it, base58. */
  readonly owner: string
  readonly data: Uint8Array
  /** Balance, billionths of a SOL. */
  readonly lamports: bigint
}

/** Accounts of one slot, in the order of the request; null if an account does not exist. */
export interface AccountsAtSlot {
  readonly slot: bigint
  readonly accounts: readonly (SolanaAccount | null)[]
}

/** Accounts of one slot and the time of that slot. */
export interface SolanaAccounts extends AccountsAtSlot {
  /** Time of the slot by the cluster's clock, Unix seconds. */
  readonly timestampSec: bigint
  /** Epoch of the slot, by the same clock. */
  readonly epoch: bigint
}

/** An account and its address. */
export interface AddressedAccount extends SolanaAccount {
  readonly address: string
}

/** Accounts that a search found at a slot, in no order. */
export interface FoundAccounts<Account = AddressedAccount> {
  readonly slot: bigint
  readonly accounts: readonly Account[]
}

/**
 * Bytes read of each account, from its start: no account that is interpreted has as many, the longest is a price feed
 * of 28,712 bytes. Callers name the accounts, and 99 of any length so stay below the size limit of an answer.
 */
export const ACCOUNT_BYTES_MAX = 32_768

const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/

/** Lamports that JSON numbers would round: balances above nine million SOL. */
const LONG_LAMPORTS = /"lamports"\s*:\s*(\d{16,20})(?=\s*[,}])/g

/** Quotes long lamport numbers before an answer is parsed. No JSON string can contain an unescaped quote. */
export function quoteLongLamports(text: string): string {
  return text.replace(LONG_LAMPORTS, '"lamports":"$1"')
}

/**
 * Parses the result of `getMultipleAccounts` and checks every part of it. Throws `UpstreamError` if it is not `count`
 * accounts of one slot that is `minSlot` or later.
 */
export function parseAccounts(
  result: unknown,
  { count, minSlot }: { readonly count: number; readonly minSlot: bigint },
): AccountsAtSlot {
  const { slot, value } = parseContext(result, minSlot)
  if (value.length !== count) throw new UpstreamError(`Expected ${count} accounts`)
  return { slot, accounts: value.map((each) => (each === null ? null : parseAccount(each))) }
}

/** Result of a search, before its accounts are decoded. */
export interface FoundRows {
  readonly slot: bigint
  readonly rows: readonly unknown[]
}

/** Parses the result of a search. Throws `UpstreamError` if it is not a list of a slot that is `minSlot` or later. */
export function parseFoundRows(result: unknown, { minSlot }: { readonly minSlot: bigint }): FoundRows {
  const { slot, value } = parseContext(result, minSlot)
  return { slot, rows: value }
}

/** Accounts decoded in one turn of the event loop; decoding is slow until the code is compiled. */
const ROWS_IN_TURN = 40

/**
 * Decodes each account that a search found with `read`, yielding to the event loop. Throws what `read` throws, and
 * `UpstreamError` for a row that is not an account with an address, or a duplicate.
 */
export async function decodeFoundAccounts<T>(
  { slot, rows }: FoundRows,
  read: (account: AddressedAccount) => T,
): Promise<FoundAccounts<T>> {
  const seen = new Set<string>()
  const accounts: T[] = []
  for (const row of rows) {
    const { pubkey, account } = requireObject(row)
    if (typeof pubkey !== 'string' || !isBase58Address(pubkey)) throw new UpstreamError('Expected an address')
    if (seen.has(pubkey)) throw new UpstreamError('Expected every account once')
    seen.add(pubkey)
    accounts.push(read({ address: pubkey, ...parseAccount(account) }))
    if (accounts.length % ROWS_IN_TURN === 0) await yieldToEventLoop()
  }
  return { slot, accounts }
}

function parseContext(result: unknown, minSlot: bigint): { readonly slot: bigint; readonly value: readonly unknown[] } {
  const { context, value } = requireObject(result)
  const { slot } = requireObject(context)
  if (typeof slot !== 'number' || !Number.isSafeInteger(slot) || slot < 0) throw new UpstreamError('Expected a slot')
  if (!Array.isArray(value)) throw new UpstreamError('Expected a list of accounts')
  if (BigInt(slot) < minSlot) throw new UpstreamError('The endpoint is behind')
  return { slot: BigInt(slot), value }
}

function parseAccount(value: unknown): SolanaAccount {
  const { owner, data, lamports } = requireObject(value)
  const [text, encoding]: readonly unknown[] = Array.isArray(data) ? data : []
  if (typeof owner !== 'string' || !isBase58Address(owner))
    throw new UpstreamError('Expected the program of an account')
  // Buffer skips what is not base64, so broken data would pass as shorter data.
  if (typeof text !== 'string' || encoding !== 'base64' || text.length % 4 !== 0 || !BASE64.test(text)) {
    throw new UpstreamError('Expected the data of an account in base64')
  }
  return { owner, data: new Uint8Array(Buffer.from(text, 'base64')), lamports: parseLamports(lamports) }
}

function parseLamports(value: unknown): bigint {
  if (Number.isSafeInteger(value) && Number(value) >= 0) return BigInt(Number(value))
  if (typeof value === 'string' && /^\d{1,20}$/.test(value)) return BigInt(value)
  throw new UpstreamError('Expected the lamports of an account')
}

function requireObject(value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new UpstreamError('Expected an object')
  return value as Readonly<Record<string, unknown>>
}
