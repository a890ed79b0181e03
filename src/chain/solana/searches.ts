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
import { decodeTokenAccount, TOKEN_ACCOUNT_BYTES, type TokenAccount } from './token_account.ts'

/** Which of a wallet's token accounts are wanted: those that one token program keeps, or those of one mint. */
export type TokenAccountsFilter = { readonly program: string } | { readonly mint: string }

/** One token account of a wallet. */
export interface ListedTokenAccount extends TokenAccount {
  readonly address: string
  /** The token program. */
  readonly program: string
}

/** Which accounts of a program are wanted: all conditions together. */
export interface ProgramSearch {
  readonly program: string
  /** Bytes that an account has. */
  readonly size: number
  /** Bytes that it has at places. */
  readonly holds: readonly { readonly at: number; readonly bytes: Uint8Array }[]
}

/** A search: its request, and by which name a refusal of it is remembered. */
export interface Search<T> {
  readonly method: string
  /** In the middle of a sentence: "no endpoint lists a wallet's token accounts". */
  readonly what: string
  /** What it finds, in the middle of a sentence: "the wallet's token accounts are too many". */
  readonly whole: string
  /** Codes of refusals that are about one question alone. */
  readonly single: readonly number[]
  /** True if an endpoint that gives no answer in time, and never gave one, counts as one that refuses. */
  readonly mayHang: boolean
  readonly read: RpcRequest<FoundRows>
  /** Makes of the answer what was asked for. Throws `UpstreamError` for one that is not to be believed. */
  readonly finish: (found: FoundRows) => Promise<T>
}

/** Nodes refuse so what they cannot look for, such as the address of no mint. */
const WRONG_PARAMETERS = -32602
/** A node may leave addresses out of its index that have too many accounts. */
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

/** The name under which a refusal to search a program is remembered: nodes leave out some programs and not others. */
export function getSearchKey(program: string): string {
  return `${PROGRAM_ACCOUNTS.method}:${program}`
}

/** Asks for a wallet's token accounts. An answer with accounts of another wallet, mint or program is not believed. */
export function tokenAccountsSearch(
  wallet: string,
  { of, minSlot }: { readonly of: TokenAccountsFilter; readonly minSlot: bigint },
): Search<FoundAccounts<ListedTokenAccount>> {
  const { method } = TOKEN_ACCOUNTS
  const filter = 'mint' in of ? { mint: of.mint } : { programId: of.program }
  const dataSlice = { offset: 0, length: TOKEN_ACCOUNT_BYTES }
  const config = { ...COMMON, ...toMinContextSlot(minSlot), dataSlice }
  const parse = (result: unknown) => parseFoundRows(result, { minSlot })
  const read = { method, params: [wallet, filter, config], parse, rewrite: quoteLongLamports }
  return {
    ...TOKEN_ACCOUNTS,
    read,
    finish: (found) => decodeFoundAccounts(found, (each) => listed(each, { wallet, of })),
  }
}

/** Asks for accounts of a program. An answer with an account that does not fit is not believed. */
export function programSearch(search: ProgramSearch, minSlot: bigint): Search<FoundAccounts> {
  const { program, size, holds } = search
  const { method } = PROGRAM_ACCOUNTS
  const filters = [
    { dataSize: size },
    ...holds.map(({ at, bytes }) => ({ memcmp: { offset: at, bytes: base58.encode(bytes) } })),
  ]
  const config = { ...COMMON, ...toMinContextSlot(minSlot), withContext: true, filters }
  const wanted = (account: AddressedAccount): AddressedAccount => {
    const { owner, data } = account
    if (owner === program && data.length === size && holds.every((each) => isHeld(data, each))) return account
    throw new UpstreamError('The endpoint found accounts that were not asked for')
  }
  const parse = (result: unknown) => parseFoundRows(result, { minSlot })
  const read = { method, params: [program, config], parse, rewrite: quoteLongLamports }
  return {
    ...PROGRAM_ACCOUNTS,
    method: getSearchKey(program),
    read,
    finish: (found) => decodeFoundAccounts(found, wanted),
  }
}

function listed(
  { address, owner: program, data }: AddressedAccount,
  { wallet, of }: { readonly wallet: string; readonly of: TokenAccountsFilter },
): ListedTokenAccount {
  const account = decodeTokenAccount(data)
  const isWanted = account?.owner === wallet && ('mint' in of ? account.mint === of.mint : program === of.program)
  if (!isWanted) throw new UpstreamError('The endpoint listed accounts that were not asked for')
  return { ...account, address, program }
}

function isHeld(data: Uint8Array, { at, bytes }: ProgramSearch['holds'][number]): boolean {
  return Buffer.compare(data.subarray(at, at + bytes.length), bytes) === 0
}

const COMMON = { encoding: 'base64', commitment: 'confirmed' } as const

/** The option for the earliest slot that may answer. */
export function toMinContextSlot(minSlot: bigint): Readonly<Record<string, number>> {
  return minSlot === 0n ? {} : { minContextSlot: Number(minSlot) }
}
