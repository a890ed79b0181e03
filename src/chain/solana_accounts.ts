import { isBase58Address } from '../lib/base58.ts'
import { isRecord, SolanaRpcError } from './solana_transport.ts'

/** One account as it lies on chain. */
export interface SolanaAccount {
  /** Program that owns it, base58. */
  readonly owner: string
  readonly data: Uint8Array
}

/** Accounts of one slot, in the order they were asked for; null where there is none. */
export interface SolanaAccounts {
  readonly slot: bigint
  readonly accounts: readonly (SolanaAccount | null)[]
}

const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/

/**
 * The result of `getMultipleAccounts`, every part of it looked at. Throws `SolanaRpcError` where it is not `count`
 * accounts of one slot that is `minSlot` or later.
 */
export function parseAccounts(
  result: unknown,
  { count, minSlot }: { readonly count: number; readonly minSlot: bigint },
): SolanaAccounts {
  if (!isRecord(result) || !isRecord(result['context'])) throw malformed()
  const { context, value } = result
  const slot = isRecord(context) ? context['slot'] : undefined
  if (typeof slot !== 'number' || !Number.isSafeInteger(slot) || slot < 0) throw malformed()
  if (!Array.isArray(value) || value.length !== count) throw malformed()
  if (BigInt(slot) < minSlot) throw new SolanaRpcError('transient', 'The endpoint is behind')
  return { slot: BigInt(slot), accounts: value.map(parseAccount) }
}

function parseAccount(value: unknown): SolanaAccount | null {
  if (value === null) return null
  if (!isRecord(value) || !Array.isArray(value['data'])) throw malformed()
  const { owner } = value
  const [text, encoding]: readonly unknown[] = value['data']
  if (typeof owner !== 'string' || !isBase58Address(owner)) throw malformed()
  if (encoding !== 'base64' || typeof text !== 'string') throw malformed()
  // Buffer skips what is not base64, which would make a short account of a broken one.
  if (text.length % 4 !== 0 || !BASE64.test(text)) throw malformed()
  return { owner, data: new Uint8Array(Buffer.from(text, 'base64')) }
}

function malformed(): SolanaRpcError {
  return new SolanaRpcError('transient', 'The reply holds no accounts')
}
