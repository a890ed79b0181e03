import { concatHex, type Hex, keccak256, toRlp } from 'viem'

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
