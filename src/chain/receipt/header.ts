import { fromRlp, type Hex, keccak256, toRlp } from 'viem'
import { parseLowerBytes, parseLowerWord } from '../rpc/value.ts'
import { toRlpQuantity } from './receipts_root.ts'

/** Decoded header of a block; `stateRoot` is the state after the block. */
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

/** Number of fields that every header has, up to the nonce. */
const FIELDS_MIN = 15
const QUANTITIES: ReadonlySet<Field> = new Set([
  ...(['difficulty', 'number', 'gasLimit', 'gasUsed', 'timestamp'] as const),
  ...(['baseFeePerGas', 'blobGasUsed', 'excessBlobGas'] as const),
])

/** Encodes a header as RLP from a node's answer; undefined if a field that every Ethereum header has is missing. */
export function encodeHeader(block: Readonly<Record<string, unknown>>): Hex | undefined {
  const firstAbsent = FIELDS.findIndex(
    (name, index) => index >= FIELDS_MIN && (block[name] === undefined || block[name] === null),
  )
  try {
    const fields = FIELDS.slice(0, firstAbsent < 0 ? FIELDS.length : firstAbsent)
    return toRlp(
      fields.map((name): Hex => (QUANTITIES.has(name) ? toRlpQuantity(block[name]) : parseLowerBytes(block[name]))),
    )
  } catch (error) {
    if (error instanceof TypeError) return undefined
    throw error
  }
}

/** Decodes the RLP of a header. Throws for anything else. */
export function decodeHeader(header: Hex): BlockHeader {
  const decoded = fromRlp(header)
  if (!Array.isArray(decoded) || decoded.length < FIELDS_MIN) throw new TypeError('Expected a header')
  const readHex = (name: Field): Hex => parseLowerBytes(decoded[FIELDS.indexOf(name)] ?? '0x')
  const readNumber = (name: Field) => (readHex(name) === '0x' ? 0n : BigInt(readHex(name)))
  return {
    hash: keccak256(header),
    parentHash: readHex('parentHash'),
    miner: readHex('miner'),
    stateRoot: readHex('stateRoot'),
    difficulty: readNumber('difficulty'),
    number: readNumber('number'),
    gasLimit: readNumber('gasLimit'),
    timestampSec: readNumber('timestamp'),
    mixHash: readHex('mixHash'),
    baseFee: readNumber('baseFeePerGas'),
    excessBlobGas: readNumber('excessBlobGas'),
  }
}

/** An endpoint's unverified answer about a block. */
export interface BlockClaim {
  readonly hash: Hex
  readonly receiptsRoot: Hex
  /** True if the header hashes to `hash`: the root is then right whenever the hash is. */
  readonly isProven: boolean
  /** Hashes of its transactions, in order. */
  readonly transactions: readonly Hex[]
}

/**
 * Parses the result of `eth_getBlockByNumber` without bodies; undefined if the endpoint does not have the block. Throws
 * `TypeError` if the result is another block or no block.
 */
export function parseBlockClaim(result: unknown, number: number): BlockClaim | undefined {
  if (result === null) return undefined
  const block = (typeof result === 'object' ? result : {}) as Readonly<Record<string, unknown>>
  const { transactions } = block
  if (!Array.isArray(transactions) || Number(block['number']) !== number) throw new TypeError('Expected a block')
  const hash = parseLowerWord(block['hash'])
  const header = encodeHeader(block)
  return {
    hash,
    receiptsRoot: parseLowerWord(block['receiptsRoot']),
    isProven: header !== undefined && keccak256(header) === hash,
    transactions: transactions.map(parseLowerWord),
  }
}
