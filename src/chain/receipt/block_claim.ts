import { type Hex, keccak256, toRlp } from 'viem'
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

const BYTES = /^0x([0-9a-f]{2})*$/i
const WORD = /^0x[0-9a-f]{64}$/i

/**
 * Reads the result of `eth_getBlockByNumber` without bodies; undefined if the endpoint does not have the block. Throws
 * `TypeError` if it is another block, or none.
 */
export function parseBlockClaim(result: unknown, number: number): BlockClaim | undefined {
  if (result === null) return undefined
  const block = (typeof result === 'object' ? result : {}) as Readonly<Record<string, unknown>>
  const { transactions } = block
  if (!Array.isArray(transactions) || Number(block['number']) !== number) throw new TypeError('Expected a block')
  const hash = word(block['hash'])
  return {
    hash,
    receiptsRoot: word(block['receiptsRoot']),
    isProven: hashOf(block) === hash,
    transactions: transactions.map(word),
  }
}

/** The hash of a header from its fields; undefined if it lacks one that every Ethereum header has. */
function hashOf(block: Readonly<Record<string, unknown>>): Hex | undefined {
  const added = ADDED.map(([name, kind]) => [block[name], kind] as const)
  const absent = added.findIndex(([value]) => value === undefined || value === null)
  try {
    return keccak256(
      toRlp([
        ...WORDS_BEFORE.map((name) => bytes(block[name])),
        ...QUANTITIES.map((name) => quantity(block[name])),
        ...WORDS_AFTER.map((name) => bytes(block[name])),
        ...added
          .slice(0, absent < 0 ? added.length : absent)
          .map(([value, kind]) => (kind === 'bytes' ? bytes(value) : quantity(value))),
      ]),
    )
  } catch (error) {
    if (error instanceof TypeError) return undefined
    throw error
  }
}

function bytes(value: unknown): Hex {
  if (typeof value === 'string' && BYTES.test(value)) return value.toLowerCase() as Hex
  throw new TypeError('Expected the bytes of a header')
}

function word(value: unknown): Hex {
  if (typeof value === 'string' && WORD.test(value)) return value.toLowerCase() as Hex
  throw new TypeError('Expected the words of a header')
}
