import { type Hex, keccak256, numberToHex, toRlp } from 'viem'
import { computeReceiptsRoot, parseRawTransactionReceipt } from '../../../../src/chain/receipt/receipts_root.ts'
import { EMITTER, POOL_TOPIC, TOKEN_TOPIC, toTopic, toWallet } from '../../../support/history/scene.ts'
import type { Random } from '../../../support/history/simulation/random.ts'
import type { RpcLog } from '../../../support/rpc_log.ts'

/** Something that a wallet did: two logs, as `EMITTED` expects them. */
export interface Act {
  readonly wallet: Hex
  readonly amount: number
}

/** A transaction and what happened in it. */
export interface Transaction {
  readonly hash: Hex
  readonly acts: readonly Act[]
}

/** A block as a node gives it. */
export interface Block {
  readonly number: number
  readonly transactions: readonly Transaction[]
  readonly header: Readonly<Record<string, unknown>> & { readonly hash: Hex; readonly receiptsRoot: Hex }
}

/** Time of the first block, Unix seconds, and between two blocks. */
export const BASE_SEC = 1_800_000_000
/** Seconds between two blocks. */
export const BLOCK_SEC = 12

export const WALLETS: readonly Hex[] = [0, 1, 2].map(toWallet)

const ZERO = numberToHex(0, { size: 32 })
const RECEIPT = { type: '0x2', status: '0x1', cumulativeGasUsed: '0x5208', logsBloom: `0x${'00'.repeat(256)}` }

/** A block with the header that its receipts and its parent make; its hash is that of its header. */
export function makeBlock(number: number, parentHash: Hex, transactions: readonly Transaction[]): Block {
  const receiptsRoot = computeReceiptsRoot(
    transactions.map(({ acts }) => parseRawTransactionReceipt({ ...RECEIPT, logs: acts.flatMap(createContent) })),
  )
  const fields = {
    parentHash,
    sha3Uncles: ZERO,
    miner: EMITTER,
    stateRoot: ZERO,
    transactionsRoot: ZERO,
    receiptsRoot,
    logsBloom: RECEIPT.logsBloom,
    difficulty: '0x',
    number: quantity(number),
    gasLimit: '0x1c9c380',
    gasUsed: '0x5208',
    timestamp: quantity(toTimeSec(number)),
    extraData: '0x',
    mixHash: ZERO,
    nonce: '0x0000000000000000',
    baseFeePerGas: '0x07',
  }
  const hash = keccak256(toRlp(Object.values(fields).map((each) => even(each as Hex))))
  const header = { ...fields, difficulty: '0x0', number: numberToHex(number), hash, receiptsRoot }
  return { number, transactions, header: { ...header, timestamp: numberToHex(toTimeSec(number)) } }
}

/** Unix seconds of a block. */
export function toTimeSec(number: number): number {
  return BASE_SEC + number * BLOCK_SEC
}

/** A chain on which three wallets do something now and then. */
export function makeChain(random: Random, length: number): readonly Block[] {
  const blocks: Block[] = []
  for (let number = 0; number < length; number++) {
    const count = number > 0 && random.chance(0.25) ? 1 + random.below(2) : 0
    const transactions = Array.from({ length: count }, (_, index) => ({
      hash: numberToHex(number * 100 + index + 1, { size: 32 }),
      acts: Array.from({ length: 1 + random.below(2) }, () => ({
        wallet: random.pick(WALLETS),
        amount: 1 + random.below(1_000_000),
      })),
    }))
    blocks.push(makeBlock(number, blocks.at(-1)?.header.hash ?? ZERO, transactions))
  }
  return blocks
}

/** The logs of a block as a node gives them. */
export function listLogs(block: Block, timeSec: number | undefined): readonly RpcLog[] {
  let logIndex = 0
  return block.transactions.flatMap(({ hash, acts }, transactionIndex) =>
    acts.flatMap(createContent).map((content) => ({
      ...content,
      blockNumber: numberToHex(block.number),
      blockHash: block.header.hash,
      transactionHash: hash,
      transactionIndex: numberToHex(transactionIndex),
      logIndex: numberToHex(logIndex++),
      removed: false,
      ...(timeSec === undefined ? {} : { blockTimestamp: numberToHex(timeSec) }),
    })),
  )
}

/** The receipts of a block as a node gives them. */
export function createReceipts(block: Block, timeSec: number | undefined): readonly object[] {
  const logs = listLogs(block, timeSec)
  return block.transactions.map(({ hash }, index) => ({
    ...RECEIPT,
    transactionHash: hash,
    blockHash: block.header.hash,
    blockNumber: numberToHex(block.number),
    logs: logs.filter(({ transactionIndex }) => Number(transactionIndex) === index),
  }))
}

function createContent({ wallet, amount }: Act) {
  return [POOL_TOPIC, TOKEN_TOPIC].map((topic) => ({
    address: EMITTER,
    topics: [topic, toTopic(wallet)],
    data: numberToHex(amount, { size: 32 }),
  }))
}

function quantity(number: number): Hex {
  return number === 0 ? '0x' : even(numberToHex(number))
}

function even(hex: Hex): Hex {
  return hex.length % 2 === 0 ? hex : `0x0${hex.slice(2)}`
}
