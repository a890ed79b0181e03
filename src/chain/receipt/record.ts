import { type Hex, keccak256 } from 'viem'
import { groupBy } from '../../lib/group_by.ts'
import { memoizeText } from '../../lib/memoize.ts'
import type { PinnedBlock } from '../block.ts'
import { BUNDLE_ADDRESS, type LensCall } from '../call/bundle/bundle.ts'
import { decodeDeploylessCode, decodeDeploylessRevert } from '../call/deployless.ts'
import type { LensMode } from '../call/lens.ts'
import { type EthCall, RevertError, type StorageWord } from '../rpc/client.ts'

/** Gas of every recorded call: the default gas cap of nodes. */
export const RECORDED_GAS = 50_000_000

/** What an account beside the lens has in place of its own during a call. */
export interface RecordedAccount {
  /** Lower case. */
  readonly address: Hex
  /** Hash of its runtime code. */
  readonly code?: Hex
  readonly storage?: readonly Pick<StorageWord, 'slot' | 'word'>[]
}

/** A lens call and its answer. */
export interface RecordedCall {
  /** Hash of the lens' runtime code. */
  readonly lens: Hex
  readonly data: Hex
  /** By address, ascending. */
  readonly others?: readonly RecordedAccount[]
  readonly gas: number
  readonly answer: Hex
  /** An earlier block, named by its height, if the answer is of that one. */
  readonly at?: PinnedBlock
}

/** A request of a header, and the used part of its result. */
export interface RecordedResult {
  readonly method: string
  readonly params: readonly unknown[]
  readonly result: unknown
}

/** Everything that an answer read from one chain, sorted, each request once. */
export interface ChainRecord {
  readonly chainId: number
  /** The block of all calls that do not name an earlier one. */
  readonly block: PinnedBlock
  readonly calls: readonly RecordedCall[]
  readonly headers: readonly RecordedResult[]
  /** How many endpoints gave the same bytes. */
  readonly agreed: number
}

/** Code and data of a lens call, what other accounts have during it, and the mode in which the lens runs. */
export interface LensQuery extends Pick<LensCall, 'runtime' | 'data' | 'additionalCodes' | 'storage'> {
  readonly mode: LensMode
}

/** Extracts the lens query of a call; undefined unless the call runs exactly one lens. */
export function toLensQuestion({ to, data, code, additionalCodes, storage }: EthCall): LensQuery | undefined {
  if (to !== undefined) {
    if (code === undefined || to === BUNDLE_ADDRESS) return undefined
    return {
      runtime: code,
      data,
      mode: 'override',
      ...(additionalCodes && { additionalCodes }),
      ...(storage && { storage }),
    }
  }
  const decoded = decodeDeploylessCode(data)
  return decoded && { ...decoded, mode: 'deployless' }
}

/** Lists the accounts beside the lens that have other code or storage during its call. */
export function listOthers({
  additionalCodes = {},
  storage = [],
}: Pick<LensQuery, 'additionalCodes' | 'storage'>): Pick<RecordedCall, 'others'> {
  const codes = new Map(Object.entries(additionalCodes).map(([address, code]) => [address.toLowerCase() as Hex, code]))
  const words = groupBy(storage, ({ address }) => address.toLowerCase() as Hex)
  const addresses = [...new Set([...codes.keys(), ...words.keys()])].sort()
  const others = addresses.map((address): RecordedAccount => {
    const [code, slots] = [codes.get(address), words.get(address)]
    return {
      address,
      ...(code && { code: hashLensCode(code) }),
      ...(slots && { storage: slots.map(({ slot, word }) => ({ slot, word })) }),
    }
  })
  return others.length === 0 ? {} : { others }
}

/** Reads the answer of a lens call; a deployless call reverts with it. Throws as the call or its decoding does. */
export async function readLensAnswer(mode: LensMode, call: () => Promise<Hex>): Promise<Hex> {
  if (mode === 'override') return await call()
  try {
    await call()
  } catch (error) {
    if (error instanceof RevertError) return decodeDeploylessRevert(error.data)
    throw error
  }
  throw new RevertError('0x')
}

/** Lenses are few and their code is long. */
const CODES_CHARS_MAX = 2_000_000

/** Hashes a lens' runtime code, memoized. */
export const hashLensCode: (runtime: Hex) => Hex = memoizeText((runtime: Hex) => keccak256(runtime), CODES_CHARS_MAX)

/** Returns the lookup key of a lens call. */
export function getCallKey({
  lens,
  data,
  others,
  at,
}: Pick<RecordedCall, 'lens' | 'data' | 'others'> & {
  readonly at?: Pick<PinnedBlock, 'number'>
}): string {
  const key = at === undefined ? `${lens} ${data}` : `${lens} ${data} ${at.number}`
  return others === undefined ? key : `${key} ${JSON.stringify(others)}`
}

/** Returns the lookup key of any other request. */
export function getResultKey({ method, params }: Pick<RecordedResult, 'method' | 'params'>): string {
  return `${method} ${JSON.stringify(params)}`
}

/** Header fields that reads use, by their JSON-RPC names. */
const HEADER_FIELDS = ['hash', 'number', 'parentHash', 'timestamp'] as const

/** Picks the used part of a header; null for a block that does not exist. */
export function pickUsedFields(result: unknown): unknown {
  if (result === null) return null
  const header = result as Readonly<Record<string, unknown>>
  return Object.fromEntries(HEADER_FIELDS.map((name) => [name, header[name]]))
}

/** True for the methods that read a header. */
export function isHeaderMethod(method: string): boolean {
  return method === 'eth_getBlockByNumber' || method === 'eth_getBlockByHash'
}

/** True for a request of the newest header. */
export function isLatestHeaderRequest({ method, params }: Pick<RecordedResult, 'method' | 'params'>): boolean {
  return method === 'eth_getBlockByNumber' && params[0] === 'latest'
}
