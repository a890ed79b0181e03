import { concatHex, type Hex, toRlp } from 'viem'
import { parseLowerBytes } from '../rpc/value.ts'
import { orderedTrieRoot } from './trie.ts'

/** A receipt as nodes give it; only what its encoding needs, all hexadecimal. */
export interface RawTransactionReceipt {
  readonly type: Hex
  /** The status, or the state root before Byzantium. */
  readonly outcome: Hex
  readonly cumulativeGasUsed: Hex
  readonly logsBloom: Hex
  readonly logs: readonly { readonly address: Hex; readonly topics: readonly Hex[]; readonly data: Hex }[]
  /** Of deposits of the OP Stack since Canyon; before, the root does not cover them. */
  readonly deposit: { readonly nonce: Hex; readonly version: Hex } | undefined
}

/** OP Stack's type of a deposit. */
const DEPOSIT_TYPE = 0x7e
const QUANTITY = /^0x[0-9a-f]{1,64}$/i

/**
 * Reads what the encoding of a receipt needs from a node's answer. Throws `TypeError` if anything is not there. Fields
 * that a chain adds are not known here: then the root is another one.
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

/** The root of all receipts of a block, in order, as its header holds it. EIP-2718; the OP Stack's deposits. */
export function computeReceiptsRoot(receipts: readonly RawTransactionReceipt[]): Hex {
  return orderedTrieRoot(receipts.map(encodeReceipt))
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

/** As RLP has numbers: without leading zeros, nothing for zero. */
export function toRlpQuantity(value: unknown): Hex {
  if (typeof value !== 'string' || !QUANTITY.test(value)) throw new TypeError('Expected a quantity')
  const digits = value.slice(2).toLowerCase().replace(/^0+/, '')
  return `0x${digits.length % 2 === 0 ? digits : `0${digits}`}`
}
