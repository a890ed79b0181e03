import { type Hex, keccak256 } from 'viem'
import { memoizeText } from '../../lib/memoize.ts'
import type { PinnedBlock } from '../block.ts'
import type { LensCall } from '../call/bundle/bundle.ts'
import { decodeDeploylessCode, decodeDeploylessRevert } from '../call/deployless.ts'
import type { LensMode } from '../call/lens.ts'
import { type EthCall, RevertError } from '../rpc/client.ts'

/** Gas of every call that is recorded: what nodes grant unless they are told otherwise. */
export const RECORDED_GAS = 50_000_000

/** A question to a lens, and what it answered. */
export interface RecordedCall {
  /** Hash of its runtime code. */
  readonly lens: Hex
  readonly data: Hex
  readonly gas: number
  readonly answer: Hex
}

/** Any other question whose result was used, and of the result what was used. */
export interface RecordedResult {
  readonly method: string
  readonly params: readonly unknown[]
  readonly result: unknown
}

/** All that an answer was made from on one chain, in an order of its own: sorted, each question once. */
export interface ChainRecord {
  readonly chainId: number
  /** The block of all calls. */
  readonly block: PinnedBlock
  readonly calls: readonly RecordedCall[]
  readonly headers: readonly RecordedResult[]
  /** How many endpoints gave the same bytes. */
  readonly agreed: number
}

/** What a call asks, however the lens is run. */
export interface LensQuery extends Pick<LensCall, 'runtime' | 'data'> {
  readonly way: LensMode
}

/** The question of a call; undefined if it asks no lens by itself. */
export function toLensQuestion({ to, data, code, others }: EthCall): LensQuery | undefined {
  if (others !== undefined) return undefined
  if (to !== undefined) return code === undefined ? undefined : { runtime: code, data, way: 'override' }
  const opened = decodeDeploylessCode(data)
  return opened && { ...opened, way: 'deployless' }
}

/** What a call of a lens answered, which is what a deployless one reverts with. Throws as the call, or as it is read. */
export async function readLensAnswer(way: LensMode, call: () => Promise<Hex>): Promise<Hex> {
  if (way === 'override') return await call()
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

/** Hash of a lens' runtime code. */
export const hashLensCode: (runtime: Hex) => Hex = memoizeText((runtime: Hex) => keccak256(runtime), CODES_CHARS_MAX)

/** By what a call is found. */
export function getCallKey({ lens, data }: Pick<RecordedCall, 'lens' | 'data'>): string {
  return `${lens} ${data}`
}

/** By what any other question is found. */
export function getResultKey({ method, params }: Pick<RecordedResult, 'method' | 'params'>): string {
  return `${method} ${JSON.stringify(params)}`
}

/** Fields of a header that readings use, as nodes name them. */
const HEADER_FIELDS = ['hash', 'number', 'parentHash', 'timestamp'] as const

/** What is used of a result: four fields of a header, and whether there is code. Undefined if such are not recorded. */
export function pickUsedFields(method: string, result: unknown): unknown {
  if (method === 'eth_getCode') return result === '0x' ? result : keccak256(result as Hex)
  if (!isHeaderMethod(method)) return undefined
  if (result === null) return null
  const header = result as Readonly<Record<string, unknown>>
  return Object.fromEntries(HEADER_FIELDS.map((name) => [name, header[name]]))
}

/** True for the methods that read a header. */
export function isHeaderMethod(method: string): boolean {
  return method === 'eth_getBlockByNumber' || method === 'eth_getBlockByHash'
}

/** True for a question about the newest header. */
export function isLatestHeaderRequest({ method, params }: Pick<RecordedResult, 'method' | 'params'>): boolean {
  return method === 'eth_getBlockByNumber' && params[0] === 'latest'
}
