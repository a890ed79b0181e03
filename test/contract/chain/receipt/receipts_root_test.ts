import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type Hex, keccak256, numberToHex, toHex, toRlp } from 'viem'
import { parseBlockClaim } from '../../../../src/chain/receipt/header.ts'
import {
  computeOrderedTrieRoot,
  computeReceiptsRoot,
  parseRawTransactionReceipt,
} from '../../../../src/chain/receipt/receipts_root.ts'
import { type Anvil, startAnvil } from '../../../devnet/anvil.ts'
import { createRpc, type Rpc } from '../../../devnet/rpc.ts'
import { deployEmitter, EMITTER, POOL_TOPIC, toTopic, toWallet } from '../../../support/history/scene.ts'

let anvil: Anvil
let rpc: Rpc
const SENDER = `0x${'5e'.repeat(20)}` as Hex
/** Positions beyond 127 have keys of two bytes. */
const TRANSACTIONS = 140

beforeAll(async () => {
  anvil = await startAnvil({ chainId: 31_337 })
  rpc = createRpc(anvil.rpcUrl)
  await deployEmitter(rpc)
}, 60_000)
afterAll(() => anvil?.stop(), 60_000)

const TYPES = ['0x0', '0x1', '0x2'] as const

/** A block with `count` transactions of all types, each with some logs. */
async function mine(transactions: number): Promise<number> {
  await rpc.call('evm_setAutomine', false)
  await rpc.call('anvil_setBalance', SENDER, '0xffffffffffffffff')
  await rpc.call('anvil_impersonateAccount', SENDER)
  for (let index = 0; index < transactions; index++) {
    const words = Array.from({ length: index % 4 }, () => [
      POOL_TOPIC,
      toTopic(toWallet(index)),
      toHex(index, { size: 32 }),
    ])
    const data = `0x${words
      .flat()
      .map((each) => each.slice(2))
      .join('')}`
    const type = TYPES[index % 3]
    const price =
      type === '0x2' ? { maxFeePerGas: '0x77359400', maxPriorityFeePerGas: '0x1' } : { gasPrice: '0x77359400' }
    const access = type === '0x0' ? {} : { accessList: [] }
    await rpc.call('eth_sendTransaction', {
      from: SENDER,
      to: EMITTER,
      data,
      gas: '0x30d40',
      ...price,
      ...access,
      type,
    })
  }
  await rpc.call('evm_mine')
  await rpc.call('evm_setAutomine', true)
  return Number(await rpc.call<string>('eth_blockNumber'))
}

test.each([0, 1, 2, 17, TRANSACTIONS])(
  'the root of %i receipts is the header’s, and the header’s hash proves it',
  async (count) => {
    const number = count === 0 ? 0 : await mine(count)
    const block = await rpc.call<{ readonly receiptsRoot: Hex; readonly transactions: readonly Hex[] }>(
      'eth_getBlockByNumber',
      toHex(number),
      false,
    )
    const receipts = await rpc.call<readonly object[]>('eth_getBlockReceipts', toHex(number))
    expect(receipts.length).toBe(count)
    expect(computeReceiptsRoot(receipts.map(parseRawTransactionReceipt))).toBe(block.receiptsRoot)
    expect(parseBlockClaim(block, number)).toMatchObject({ isProven: true, receiptsRoot: block.receiptsRoot })
    // With any other root the header does not have the hash.
    const other = { ...block, receiptsRoot: numberToHex(7, { size: 32 }) }
    expect(parseBlockClaim(other, number)?.isProven).toBe(false)
    if (count === 0) return
    const changed = receipts.map((each, index) => (index === count - 1 ? { ...each, status: '0x0' } : each))
    expect(computeReceiptsRoot(changed.map(parseRawTransactionReceipt))).not.toBe(block.receiptsRoot)
    expect(computeReceiptsRoot(receipts.slice(1).map(parseRawTransactionReceipt))).not.toBe(block.receiptsRoot)
  },
)

test('short values are embedded in their node', () => {
  const leaf = (path: Hex, value: Hex): Hex[] => [path, value]
  const children: (Hex | Hex[])[] = Array.from({ length: 17 }, () => '0x')
  children[0] = leaf('0x31', '0x02')
  children[8] = leaf('0x30', '0x01')
  expect(computeOrderedTrieRoot(['0x01', '0x02'])).toBe(keccak256(toRlp(children)))
})

test('a deposit of the OP Stack is encoded with its nonce and version only if it has a version', () => {
  const raw = {
    type: '0x7e',
    status: '0x1',
    cumulativeGasUsed: '0xb729',
    logsBloom: '0x00',
    logs: [],
    depositNonce: '0x5',
  }
  const computeRoot = (payload: (Hex | Hex[])[]) => computeOrderedTrieRoot([`0x7e${toRlp(payload).slice(2)}`])
  expect(computeReceiptsRoot([parseRawTransactionReceipt(raw)])).toBe(computeRoot(['0x01', '0xb729', '0x00', []]))
  const since = { ...raw, depositReceiptVersion: '0x1' }
  expect(computeReceiptsRoot([parseRawTransactionReceipt(since)])).toBe(
    computeRoot(['0x01', '0xb729', '0x00', [], '0x05', '0x01']),
  )
})

test('malformed receipts and blocks are refused', () => {
  for (const value of [
    null,
    7,
    {},
    { logs: [] },
    { logs: [null], status: '0x1', cumulativeGasUsed: '0x1', logsBloom: '0x' },
  ])
    expect(() => parseRawTransactionReceipt(value)).toThrow(TypeError)
  expect(parseBlockClaim(null, 1)).toBeUndefined()
  for (const value of [7, {}, { transactions: [], number: '0x2' }])
    expect(() => parseBlockClaim(value, 1)).toThrow(TypeError)
})
