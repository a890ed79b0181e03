import { type Hex, keccak256, toRlp } from 'viem'
import { lowerBytes, lowerWord } from '../rpc/value.ts'
import { quantity } from './receipts_root.ts'

/** What one endpoint says of a block. */
export interface BlockClaim {
  readonly hash: Hex
  readonly receiptsRoot: Hex
  /** True if the header with this root has this hash: then the root is right if the hash is. */
  readonly isProven: boolean
  /** Hashes of its transactions, in order. */
  readonly transactions: readonly Hex[]
}

/** The fields of a header in the order of its RLP; later forks added those at the end. Yellow Paper 4.3, EIP-7685. */
const WORDS_BEFORE = ['parentHash', 'sha3Uncles', 'miner', 'stateRoot', 'transactionsRoot', 'receiptsRoot', 'logsBloom']
const QUANTITIES = ['difficulty', 'number', 'gasLimit', 'gasUsed', 'timestamp']
const WORDS_AFTER = ['extraData', 'mixHash', 'nonce']
const ADDED = [
  ['baseFeePerGas', 'quantity'],
  ['withdrawalsRoot', 'bytes'],
  ['blobGasUsed', 'quantity'],
  ['excessBlobGas', 'quantity'],
  ['parentBeaconBlockRoot', 'bytes'],
  ['requestsHash', 'bytes'],
] as const

/**
 * Reads the result of `eth_getBlockByNumber` without bodies; undefined if the endpoint does not have the block. Throws
 * `TypeError` if it is another block, or none.
 */
export function parseBlockClaim(result: unknown, number: number): BlockClaim | undefined {
  if (result === null) return undefined
  const block = (typeof result === 'object' ? result : {}) as Readonly<Record<string, unknown>>
  const { transactions } = block
  if (!Array.isArray(transactions) || Number(block['number']) !== number) throw new TypeError('Expected a block')
  const hash = lowerWord(block['hash'])
  return {
    hash,
    receiptsRoot: lowerWord(block['receiptsRoot']),
    isProven: hashOf(block) === hash,
    transactions: transactions.map(lowerWord),
  }
}

/** The hash of a header from its fields; undefined if it lacks one that every Ethereum header has. */
function hashOf(block: Readonly<Record<string, unknown>>): Hex | undefined {
  const added = ADDED.map(([name, kind]) => [block[name], kind] as const)
  const absent = added.findIndex(([value]) => value === undefined || value === null)
  try {
    return keccak256(
      toRlp([
        ...WORDS_BEFORE.map((name) => lowerBytes(block[name])),
        ...QUANTITIES.map((name) => quantity(block[name])),
        ...WORDS_AFTER.map((name) => lowerBytes(block[name])),
        ...added
          .slice(0, absent < 0 ? added.length : absent)
          .map(([value, kind]) => (kind === 'bytes' ? lowerBytes(value) : quantity(value))),
      ]),
    )
  } catch (error) {
    if (error instanceof TypeError) return undefined
    throw error
  }
}
