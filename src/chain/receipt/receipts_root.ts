import { concatHex, type Hex, toRlp } from 'viem'
import { parseLowerBytes } from '../rpc/value.ts'
import { computeOrderedTrieRoot } from './trie.ts'

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
