import { type Hex, keccak256 } from 'viem'
import { memoizeText } from '../../lib/memoize.ts'
import type { PinnedBlock } from '../block.ts'
import type { LensCall } from '../call/bundle/bundle.ts'
import { decodeDeploylessCode, decodeDeploylessRevert } from '../call/deployless.ts'
import type { LensMode } from '../call/lens.ts'
import { type EthCall, RevertError } from '../rpc/client.ts'

/** Gas of every recorded call: the default gas cap of nodes. */
export const RECORDED_GAS = 50_000_000

/** A lens call and its answer. */
export interface RecordedCall {
  /** Hash of the lens' runtime code. */
  readonly lens: Hex
  readonly data: Hex
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

/** Code and data of a lens call, and the mode in which the lens runs. */
export interface LensQuery extends Pick<LensCall, 'runtime' | 'data'> {
  readonly mode: LensMode
}

/** Extracts the lens query of a call; undefined unless the call runs exactly one lens. */
export function toLensQuestion({ to, data, code, additionalCodes }: EthCall): LensQuery | undefined {
  if (additionalCodes !== undefined) return undefined
  if (to !== undefined) return code === undefined ? undefined : { runtime: code, data, mode: 'override' }
  const decoded = decodeDeploylessCode(data)
  return decoded && { ...decoded, mode: 'deployless' }
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
  at,
}: Pick<RecordedCall, 'lens' | 'data'> & {
  readonly at?: Pick<PinnedBlock, 'number'>
}): string {
  return at === undefined ? `${lens} ${data}` : `${lens} ${data} ${at.number}`
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
