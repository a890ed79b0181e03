import { type Hex, keccak256 } from 'viem'
import { parseLowerWord } from '../rpc/value.ts'
import { encodeHeader } from './header.ts'

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
