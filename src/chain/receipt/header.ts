import { fromRlp, type Hex, keccak256, toRlp } from 'viem'
import { parseLowerBytes } from '../rpc/value.ts'
import { toRlpQuantity } from './receipts_root.ts'

/** What a header says of its block and of the state after it. */
export interface BlockHeader {
  readonly hash: Hex
  readonly parentHash: Hex
  readonly miner: Hex
  readonly stateRoot: Hex
  readonly difficulty: bigint
  readonly number: bigint
  readonly gasLimit: bigint
  readonly timestampSec: bigint
  readonly mixHash: Hex
  readonly baseFee: bigint
  readonly excessBlobGas: bigint
}

/** The fields of a header in the order of its RLP; later forks added those at the end. Yellow Paper 4.3, EIP-7685. */
const FIELDS = [
  ...(['parentHash', 'sha3Uncles', 'miner', 'stateRoot', 'transactionsRoot', 'receiptsRoot', 'logsBloom'] as const),
  ...(['difficulty', 'number', 'gasLimit', 'gasUsed', 'timestamp'] as const),
  ...(['extraData', 'mixHash', 'nonce'] as const),
  ...(['baseFeePerGas', 'withdrawalsRoot', 'blobGasUsed', 'excessBlobGas', 'parentBeaconBlockRoot'] as const),
  'requestsHash' as const,
]
type Field = (typeof FIELDS)[number]

/** Every header has so many fields, up to the nonce. */
const FIELDS_MIN = 15
const QUANTITIES: ReadonlySet<Field> = new Set([
  ...(['difficulty', 'number', 'gasLimit', 'gasUsed', 'timestamp'] as const),
  ...(['baseFeePerGas', 'blobGasUsed', 'excessBlobGas'] as const),
])

/** The RLP of a header from a node's answer; undefined if it lacks a field that every Ethereum header has. */
export function encodeHeader(block: Readonly<Record<string, unknown>>): Hex | undefined {
  const absent = FIELDS.findIndex((name, at) => at >= FIELDS_MIN && (block[name] === undefined || block[name] === null))
  try {
    const fields = FIELDS.slice(0, absent < 0 ? FIELDS.length : absent)
    return toRlp(
      fields.map((name): Hex => (QUANTITIES.has(name) ? toRlpQuantity(block[name]) : parseLowerBytes(block[name]))),
    )
  } catch (error) {
    if (error instanceof TypeError) return undefined
    throw error
  }
}

/** Reads the RLP of a header. Throws for anything else. */
export function decodeHeader(header: Hex): BlockHeader {
  const decoded = fromRlp(header)
  if (!Array.isArray(decoded) || decoded.length < FIELDS_MIN) throw new TypeError('Expected a header')
  const text = (name: Field): Hex => parseLowerBytes(decoded[FIELDS.indexOf(name)] ?? '0x')
  const number = (name: Field) => (text(name) === '0x' ? 0n : BigInt(text(name)))
  return {
    hash: keccak256(header),
    parentHash: text('parentHash'),
    miner: text('miner'),
    stateRoot: text('stateRoot'),
    difficulty: number('difficulty'),
    number: number('number'),
    gasLimit: number('gasLimit'),
    timestampSec: number('timestamp'),
    mixHash: text('mixHash'),
    baseFee: number('baseFeePerGas'),
    excessBlobGas: number('excessBlobGas'),
  }
}
