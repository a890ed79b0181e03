import { fromRlp, type Hex, keccak256 } from 'viem'

/** A node of a trie as its RLP has it. */
type Item = Hex | readonly Item[]

/** The proof does not hold what has to be read. */
export class MissingNodeError extends Error {
  override readonly name = 'MissingNodeError'
}

/** Root of a trie that holds nothing: the hash of an empty text's RLP. */
const EMPTY_ROOT: Hex = '0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421'
const BRANCH_ITEMS = 17
const WORD_CHARS = 66

/** Nodes by their hashes, which are computed here of their bytes, in any order; those that were read are counted. */
export function createNodeSet(bytes: readonly Hex[]) {
  const positions = new Map(bytes.map((node, index) => [keccak256(node), index]))
  const opened = new Map<Hex, readonly Item[]>()
  const used = new Set<number>()
  return {
    /** Positions of those that were read. */
    used,
    /** The node of a hash. Throws `MissingNodeError`. */
    at(hash: Hex): readonly Item[] {
      const known = opened.get(hash)
      if (known !== undefined) return known
      const index = positions.get(hash)
      const node = index === undefined ? undefined : bytes[index]
      if (index === undefined || node === undefined) throw new MissingNodeError('The proof lacks a node')
      const items: Item = fromRlp(node)
      if (typeof items === 'string') throw new TypeError('Expected a node of a trie')
      used.add(index)
      opened.set(hash, items)
      return items
    },
  }
}

/**
 * The value of a key in a Merkle Patricia trie, or undefined if the trie does not hold the key, which its nodes prove
 * too. Yellow Paper, appendix D. Throws `MissingNodeError`, or `TypeError` if a node is none.
 */
export function findTrieValue(nodes: ReturnType<typeof createNodeSet>, root: Hex, key: Hex): Hex | undefined {
  if (root === EMPTY_ROOT) return undefined
  const digits = key.slice(2)
  let node = nodes.at(root)
  let at = 0
  for (;;) {
    let child: Item | undefined
    if (node.length === BRANCH_ITEMS) {
      child = node[Number.parseInt(digits[at] ?? '', 16)]
      at++
    } else {
      const [path, next] = node
      if (node.length !== 2 || typeof path !== 'string') throw new TypeError('Expected a node of a trie')
      const { isLeaf, shared } = pathOf(path)
      if (!digits.startsWith(shared, at)) return undefined
      at += shared.length
      if (isLeaf) {
        if (at !== digits.length || typeof next !== 'string') throw new TypeError('Expected a leaf of a trie')
        return next
      }
      child = next
    }
    if (child === undefined) throw new TypeError('Expected a node of a trie')
    if (child === '0x') return undefined
    if (typeof child === 'string' && child.length !== WORD_CHARS) throw new TypeError('Expected the hash of a node')
    node = typeof child === 'string' ? nodes.at(child) : child
  }
}

/** Digits in the compact encoding: the first one says the kind of the node and whether their number is odd. */
function pathOf(path: Hex): { readonly isLeaf: boolean; readonly shared: string } {
  const flag = Number.parseInt(path[2] ?? '', 16)
  if (!(flag < 4)) throw new TypeError('Expected the path of a node')
  return { isLeaf: flag >= 2, shared: path.slice(flag % 2 === 1 ? 3 : 4) }
}
