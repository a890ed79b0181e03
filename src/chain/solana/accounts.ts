import { UpstreamError } from '../../lib/error.ts'
import { isBase58Address } from '../../lib/text/base58.ts'

/** One account as it is stored on chain. */
export interface SolanaAccount {
  /** Program that owns it, base58. */
  readonly owner: string
  readonly data: Uint8Array
}

/** Accounts of one slot, in the order they were asked for; null if an account does not exist. */
export interface AccountsAtSlot {
  readonly slot: bigint
  readonly accounts: readonly (SolanaAccount | null)[]
}

/** Accounts of one slot and the time of that slot. */
export interface SolanaAccounts extends AccountsAtSlot {
  /** By the cluster's own clock, Unix seconds. */
  readonly timestampSec: bigint
}

const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/

/**
 * Reads the result of `getMultipleAccounts` and checks every part of it. Throws `UpstreamError` if it is not `count`
 * accounts of one slot that is `minSlot` or later.
 */
export function parseAccounts(
  result: unknown,
  { count, minSlot }: { readonly count: number; readonly minSlot: bigint },
): AccountsAtSlot {
  const { context, value } = record(result)
  const { slot } = record(context)
  if (typeof slot !== 'number' || !Number.isSafeInteger(slot) || slot < 0) throw new UpstreamError('Expected a slot')
  if (!Array.isArray(value) || value.length !== count) throw new UpstreamError(`Expected ${count} accounts`)
  if (BigInt(slot) < minSlot) throw new UpstreamError('The endpoint is behind')
  return { slot: BigInt(slot), accounts: value.map(parseAccount) }
}

function parseAccount(value: unknown): SolanaAccount | null {
  if (value === null) return null
  const { owner, data } = record(value)
  const [text, encoding]: readonly unknown[] = Array.isArray(data) ? data : []
  if (typeof owner !== 'string' || !isBase58Address(owner))
    throw new UpstreamError('Expected the program of an account')
  // Buffer skips what is not base64, so broken data would pass as shorter data.
  if (typeof text !== 'string' || encoding !== 'base64' || text.length % 4 !== 0 || !BASE64.test(text)) {
    throw new UpstreamError('Expected the data of an account in base64')
  }
  return { owner, data: new Uint8Array(Buffer.from(text, 'base64')) }
}

function record(value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new UpstreamError('Expected an object')
  return value as Readonly<Record<string, unknown>>
}
