import { fromRlp, type Hex, keccak256 } from 'viem'

/** RLP item of a trie node. */
type Item = Hex | readonly Item[]

/** Calls cannot be proven; the message is the end of a sentence. */
export class ProofError extends Error {
  override readonly name = 'ProofError'
  /** True if the proof does not contain a node or code that has to be read. */
  readonly isIncomplete: boolean

  constructor(message: string, { isIncomplete = false } = {}) {
    super(message)
    this.isIncomplete = isIncomplete
  }
}

/** The error of a proof that lacks a node or a code. */
export function incompleteProofError(): ProofError {
  return new ProofError('the proof lacks what a contract reads', { isIncomplete: true })
}

/** True if a proof lacks a node or a code. */
export function isIncompleteProof(error: unknown): boolean {
  return error instanceof ProofError && error.isIncomplete
}

/** Root of the empty trie: the hash of the RLP of an empty string. */
const EMPTY_ROOT: Hex = '0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421'
const BRANCH_ITEMS = 17
const WORD_CHARS = 66

/** Creates a set of nodes, looked up by the hash of their bytes, that notes which nodes were read. */
export function createNodeSet(bytes: readonly Hex[]) {
  const positions = new Map(bytes.map((node, index) => [keccak256(node), index]))
  const itemsByHash = new Map<Hex, readonly Item[]>()
  const usedIndexes = new Set<number>()
  return {
    /** Indexes of the nodes that were read. */
    used: usedIndexes,
    /** Returns the node with a hash. Throws `ProofError` if it is missing. */
    getNode(hash: Hex): readonly Item[] {
      const decoded = itemsByHash.get(hash)
      if (decoded !== undefined) return decoded
      const index = positions.get(hash)
      const node = index === undefined ? undefined : bytes[index]
      if (index === undefined || node === undefined) throw incompleteProofError()
      const items: Item = fromRlp(node)
      if (typeof items === 'string') throw new TypeError('Expected a node of a trie')
      usedIndexes.add(index)
      itemsByHash.set(hash, items)
      return items
    },
  }
}

/**
 * Finds the value of a key in a Merkle Patricia trie; undefined if the nodes prove that the trie does not contain the
 * key. Yellow Paper, appendix D. Throws `ProofError` for a missing node, `TypeError` for a malformed one.
 */
export function findTrieValue(nodes: ReturnType<typeof createNodeSet>, root: Hex, key: Hex): Hex | undefined {
  if (root === EMPTY_ROOT) return undefined
  const digits = key.slice(2)
  let node = nodes.getNode(root)
  let position = 0
  for (;;) {
    let child: Item | undefined
    if (node.length === BRANCH_ITEMS) {
      child = node[Number.parseInt(digits[position] ?? '', 16)]
      position++
    } else {
      const [path, next] = node
      if (node.length !== 2 || typeof path !== 'string') throw new TypeError('Expected a node of a trie')
      const { isLeaf, shared } = decodePath(path)
      if (!digits.startsWith(shared, position)) return undefined
      position += shared.length
      if (isLeaf) {
        if (position !== digits.length || typeof next !== 'string') throw new TypeError('Expected a leaf of a trie')
        return next
      }
      child = next
    }
    if (child === undefined) throw new TypeError('Expected a node of a trie')
    if (child === '0x') return undefined
    if (typeof child === 'string' && child.length !== WORD_CHARS) throw new TypeError('Expected the hash of a node')
    node = typeof child === 'string' ? nodes.getNode(child) : child
  }
}

/** Decodes the compact encoding of a path: the first digit holds the node's kind and the parity of the length. */
function decodePath(path: Hex): { readonly isLeaf: boolean; readonly shared: string } {
  const flag = Number.parseInt(path[2] ?? '', 16)
  if (!(flag < 4)) throw new TypeError('Expected the path of a node')
  return { isLeaf: flag >= 2, shared: path.slice(flag % 2 === 1 ? 3 : 4) }
}
