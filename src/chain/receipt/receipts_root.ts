import { concatHex, type Hex, keccak256, toRlp } from 'viem'
import { parseLowerBytes } from '../rpc/value.ts'

/** The fields of a node's receipt that its encoding needs, all hexadecimal. */
export interface RawTransactionReceipt {
  readonly type: Hex
  /** The status, or the state root before Byzantium. */
  readonly outcome: Hex
  readonly cumulativeGasUsed: Hex
  readonly logsBloom: Hex
  readonly logs: readonly { readonly address: Hex; readonly topics: readonly Hex[]; readonly data: Hex }[]
  /** Nonce and version of an OP Stack deposit since Canyon; before Canyon the root does not cover them. */
  readonly deposit: { readonly nonce: Hex; readonly version: Hex } | undefined
}

/** OP Stack's type of a deposit. */
const DEPOSIT_TYPE = 0x7e
const QUANTITY = /^0x[0-9a-f]{1,64}$/i

/**
 * Parses the fields that the encoding of a receipt needs. Throws `TypeError` if one is missing. Fields that a chain
 * adds are not supported: the computed root then differs.
 */
export function parseRawTransactionReceipt(value: unknown): RawTransactionReceipt {
  const receipt = (typeof value === 'object' && value !== null ? value : {}) as Readonly<Record<string, unknown>>
  const { type, status, root, cumulativeGasUsed, logsBloom, logs, depositNonce, depositReceiptVersion } = receipt
  if (!Array.isArray(logs)) throw new TypeError('Expected the logs of a receipt')
  const isDeposit = typeof depositReceiptVersion === 'string'
  return {
    type: type === undefined || type === null ? '0x' : toRlpQuantity(type),
    outcome: typeof status === 'string' ? toRlpQuantity(status) : parseLowerBytes(root),
    cumulativeGasUsed: toRlpQuantity(cumulativeGasUsed),
    logsBloom: parseLowerBytes(logsBloom),
    logs: logs.map((log: { readonly address?: unknown; readonly topics?: unknown; readonly data?: unknown }) => ({
      address: parseLowerBytes(log?.address),
      topics: Array.isArray(log?.topics) ? log.topics.map(parseLowerBytes) : [],
      data: parseLowerBytes(log?.data),
    })),
    deposit: isDeposit
      ? { nonce: toRlpQuantity(depositNonce), version: toRlpQuantity(depositReceiptVersion) }
      : undefined,
  }
}

/** Computes the receipts root of a block from all its receipts in order. EIP-2718, and the OP Stack's deposits. */
export function computeReceiptsRoot(receipts: readonly RawTransactionReceipt[]): Hex {
  return computeOrderedTrieRoot(receipts.map(encodeReceipt))
}

function encodeReceipt({ type, outcome, cumulativeGasUsed, logsBloom, logs, deposit }: RawTransactionReceipt): Hex {
  const kind = type === '0x' ? 0 : Number(type)
  const payload = toRlp([
    outcome,
    cumulativeGasUsed,
    logsBloom,
    logs.map(({ address, topics, data }) => [address, topics, data]),
    ...(kind === DEPOSIT_TYPE && deposit !== undefined ? [deposit.nonce, deposit.version] : []),
  ])
  return kind === 0 ? payload : concatHex([type, payload])
}

/** Converts a JSON-RPC quantity to an RLP number: no leading zeros, empty for zero. */
export function toRlpQuantity(value: unknown): Hex {
  if (typeof value !== 'string' || !QUANTITY.test(value)) throw new TypeError('Expected a quantity')
  const digits = value.slice(2).toLowerCase().replace(/^0+/, '')
  return `0x${digits.length % 2 === 0 ? digits : `0${digits}`}`
}

/** An unencoded node: nested lists of bytes; short nodes are embedded. */
type Node = Hex | readonly Node[]

interface Item {
  /** Hex digits of the key. */
  readonly digits: string
  readonly value: Hex
}

/** A node of this many bytes or more is referred to by its hash. */
const HASH_BYTES = 32
const NOTHING: Node = '0x'

/**
 * Computes the root of the Merkle Patricia trie of an ordered list, as in block headers: the key of each value is the
 * RLP of its index. Yellow Paper, appendix D and section 4.3.
 */
export function computeOrderedTrieRoot(values: readonly Hex[]): Hex {
  const items = values.map((value, index) => ({ digits: encodeKey(index), value }))
  return keccak256(toRlp(items.length === 0 ? NOTHING : buildNode(items, 0)))
}

function encodeKey(index: number): string {
  const digits = index === 0 ? '' : index.toString(16)
  return toRlp(`0x${digits.length % 2 === 0 ? digits : `0${digits}`}`).slice(2)
}

/** Builds the node of items that share the first `depth` digits. */
function buildNode(items: readonly Item[], depth: number): Node {
  const [first] = items
  if (first === undefined) return NOTHING
  if (items.length === 1) return [encodePath(first.digits.slice(depth), 'leaf'), first.value]
  const shared = countSharedDigits(items, depth)
  if (shared > depth) return [encodePath(first.digits.slice(depth, shared), 'extension'), toReference(items, shared)]
  const children = Array.from({ length: 16 }, (_, digit) =>
    toReference(
      items.filter(({ digits }) => digits[depth] === digit.toString(16)),
      depth + 1,
    ),
  )
  // No key of a list is a prefix of another, so no branch has a value.
  return [...children, NOTHING]
}

function toReference(items: readonly Item[], depth: number): Node {
  if (items.length === 0) return NOTHING
  const node = buildNode(items, depth)
  const encoded = toRlp(node)
  return (encoded.length - 2) / 2 < HASH_BYTES ? node : keccak256(encoded)
}

function countSharedDigits(items: readonly Item[], depth: number): number {
  const [first, ...remaining] = items
  if (first === undefined) return depth
  let shared = depth
  while (remaining.every(({ digits }) => digits[shared] !== undefined && digits[shared] === first.digits[shared]))
    shared++
  return shared
}

/** Encodes a path compactly: the first digit holds the node's kind and the parity of the length. */
function encodePath(digits: string, kind: 'leaf' | 'extension'): Hex {
  const flag = kind === 'leaf' ? 2 : 0
  return concatHex([digits.length % 2 === 0 ? `0x${flag}0${digits}` : `0x${flag + 1}${digits}`])
}
