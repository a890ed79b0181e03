import { concatHex, type Hex, keccak256, toRlp } from 'viem'

/** A node before it is encoded: lists of bytes and of short nodes, which are embedded. */
type Node = Hex | readonly Node[]

interface Item {
  /** The digits of its key. */
  readonly digits: string
  readonly value: Hex
}

/** A node of this many bytes or more is referred to by its hash. */
const HASH_BYTES = 32
const NOTHING: Node = '0x'

/**
 * Root of the Merkle Patricia trie of an ordered list, as block headers hold it of transactions and receipts: the key of
 * each value is the RLP of its position. Yellow Paper, appendix D and section 4.3.
 */
export function orderedTrieRoot(values: readonly Hex[]): Hex {
  const items = values.map((value, index) => ({ digits: keyOf(index), value }))
  return keccak256(toRlp(items.length === 0 ? NOTHING : nodeOf(items, 0)))
}

function keyOf(index: number): string {
  const digits = index === 0 ? '' : index.toString(16)
  return toRlp(`0x${digits.length % 2 === 0 ? digits : `0${digits}`}`).slice(2)
}

/** The node of all items that share the first `depth` digits. */
function nodeOf(items: readonly Item[], depth: number): Node {
  const [first] = items
  if (first === undefined) return NOTHING
  if (items.length === 1) return [pathOf(first.digits.slice(depth), 'leaf'), first.value]
  const shared = sharedDigits(items, depth)
  if (shared > depth) return [pathOf(first.digits.slice(depth, shared), 'extension'), referenceTo(items, shared)]
  const children = Array.from({ length: 16 }, (_, digit) =>
    referenceTo(
      items.filter(({ digits }) => digits[depth] === digit.toString(16)),
      depth + 1,
    ),
  )
  // No key of a list is the beginning of another, so no branch has a value.
  return [...children, NOTHING]
}

function referenceTo(items: readonly Item[], depth: number): Node {
  if (items.length === 0) return NOTHING
  const node = nodeOf(items, depth)
  const encoded = toRlp(node)
  return (encoded.length - 2) / 2 < HASH_BYTES ? node : keccak256(encoded)
}

function sharedDigits(items: readonly Item[], depth: number): number {
  const [first, ...others] = items
  if (first === undefined) return depth
  let shared = depth
  while (others.every(({ digits }) => digits[shared] !== undefined && digits[shared] === first.digits[shared])) shared++
  return shared
}

/** Digits in the compact encoding, with the kind of the node and the parity of their number in the first. */
function pathOf(digits: string, kind: 'leaf' | 'extension'): Hex {
  const flag = kind === 'leaf' ? 2 : 0
  return concatHex([digits.length % 2 === 0 ? `0x${flag}0${digits}` : `0x${flag + 1}${digits}`])
}
