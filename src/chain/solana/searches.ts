import { base58 } from '@scure/base'
import { UpstreamError } from '../../lib/error.ts'
import type { RpcRequest } from '../rpc/client.ts'
import {
  type AddressedAccount,
  decodeFoundAccounts,
  type FoundAccounts,
  type FoundRows,
  parseFoundRows,
  quoteLongLamports,
} from './accounts.ts'
import { decodeTokenAccount, TOKEN_ACCOUNT_BYTES, type TokenAccount } from './token.ts'

/** Filter of a wallet's token accounts: by token program or by mint. */
export type TokenAccountsFilter = { readonly program: string } | { readonly mint: string }

/** One token account of a wallet. */
export interface ListedTokenAccount extends TokenAccount {
  readonly address: string
  /** The token program. */
  readonly program: string
}

/** A search of a program's accounts; all conditions must hold. */
export interface ProgramSearch {
  readonly program: string
  /** Size of an account, bytes. */
  readonly size: number
  /** Required bytes at offsets. */
  readonly holds: readonly { readonly at: number; readonly bytes: Uint8Array }[]
}

/** A search: its request, and the key under which a refusal is remembered. */
export interface Search<T> {
  readonly method: string
  /** Predicate for messages: "no endpoint lists a wallet's token accounts". */
  readonly what: string
  /** Object for messages: "the wallet's token accounts are too many". */
  readonly whole: string
  /** Codes of refusals that concern this request only. */
  readonly single: readonly number[]
  /** True if a timeout counts as a refusal while the endpoint has never answered. */
  readonly mayHang: boolean
  readonly read: RpcRequest<FoundRows>
  /** Decodes the answer. Throws `UpstreamError` if it does not match the request. */
  readonly finish: (rows: FoundRows) => Promise<T>
}

/** Refusal code for invalid parameters, such as an address that is not a mint. */
const WRONG_PARAMETERS = -32602
/** Refusal code for addresses that a node's index leaves out because they have too many accounts. */
const NOT_INDEXED = -32010

export const TOKEN_ACCOUNTS = {
  method: 'getTokenAccountsByOwner',
  what: "lists a wallet's token accounts",
  whole: "the wallet's token accounts",
  single: [WRONG_PARAMETERS, NOT_INDEXED],
  mayHang: false,
} as const
const PROGRAM_ACCOUNTS = {
  method: 'getProgramAccounts',
  what: "searches a program's accounts",
  whole: 'the accounts that were searched for',
  single: [WRONG_PARAMETERS],
  mayHang: true,
} as const

/** Returns the key under which a refusal to search a program is remembered: nodes exclude some programs only. */
export function getSearchKey(program: string): string {
  return `${PROGRAM_ACCOUNTS.method}:${program}`
}

/**
 * Creates the search of a wallet's token accounts. Refuses answers with accounts of another wallet, mint or program.
 */
export function tokenAccountsSearch(
  wallet: string,
  { filter, minSlot }: { readonly filter: TokenAccountsFilter; readonly minSlot: bigint },
): Search<FoundAccounts<ListedTokenAccount>> {
  const { method } = TOKEN_ACCOUNTS
  const rpcFilter = 'mint' in filter ? { mint: filter.mint } : { programId: filter.program }
  const dataSlice = { offset: 0, length: TOKEN_ACCOUNT_BYTES }
  const config = { ...COMMON, ...toMinContextSlot(minSlot), dataSlice }
  const parse = (result: unknown) => parseFoundRows(result, { minSlot })
  const read = { method, params: [wallet, rpcFilter, config], parse, rewrite: quoteLongLamports }
  return {
    ...TOKEN_ACCOUNTS,
    read,
    finish: (rows) => decodeFoundAccounts(rows, (each) => toListedAccount(each, { wallet, filter })),
  }
}

/** Creates the search of a program's accounts. Refuses answers with accounts that do not match. */
export function programSearch(search: ProgramSearch, minSlot: bigint): Search<FoundAccounts> {
  const { program, size, holds } = search
  const { method } = PROGRAM_ACCOUNTS
  const filters = [
    { dataSize: size },
    ...holds.map(({ at, bytes }) => ({ memcmp: { offset: at, bytes: base58.encode(bytes) } })),
  ]
  const config = { ...COMMON, ...toMinContextSlot(minSlot), withContext: true, filters }
  const checkAccount = (account: AddressedAccount): AddressedAccount => {
    const { owner, data } = account
    if (owner === program && data.length === size && holds.every((each) => hasBytes(data, each))) return account
    throw new UpstreamError('The endpoint found accounts that were not asked for')
  }
  const parse = (result: unknown) => parseFoundRows(result, { minSlot })
  const read = { method, params: [program, config], parse, rewrite: quoteLongLamports }
  return {
    ...PROGRAM_ACCOUNTS,
    method: getSearchKey(program),
    read,
    finish: (rows) => decodeFoundAccounts(rows, checkAccount),
  }
}

function toListedAccount(
  { address, owner: program, data }: AddressedAccount,
  { wallet, filter }: { readonly wallet: string; readonly filter: TokenAccountsFilter },
): ListedTokenAccount {
  const account = decodeTokenAccount(data)
  const isRequested =
    account?.owner === wallet && ('mint' in filter ? account.mint === filter.mint : program === filter.program)
  if (!isRequested) throw new UpstreamError('The endpoint listed accounts that were not asked for')
  return { ...account, address, program }
}

function hasBytes(data: Uint8Array, { at, bytes }: ProgramSearch['holds'][number]): boolean {
  return Buffer.compare(data.subarray(at, at + bytes.length), bytes) === 0
}

const COMMON = { encoding: 'base64', commitment: 'confirmed' } as const

/** Converts the earliest accepted slot to the request's option. */
export function toMinContextSlot(minSlot: bigint): Readonly<Record<string, number>> {
  return minSlot === 0n ? {} : { minContextSlot: Number(minSlot) }
}
