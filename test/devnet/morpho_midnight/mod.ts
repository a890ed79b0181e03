import { type Address, concatHex, type Hex, numberToHex, pad, toHex } from 'viem'
import { MORPHO_MIDNIGHT_DEPLOYMENTS } from '../../../src/family/morpho_midnight/table.ts'
import { placeReplay, type RecordedCall } from '../aave_v4/replay.ts'
import type { Rpc } from '../rpc.ts'
import type { Send } from '../transaction.ts'
import { recordCheckpoint } from './record.ts'
import { type Checkpoint, decodeData, encodeTerms, type VectorLog, type Vectors } from './vectors.ts'

const SENDER: Address = '0x00000000000000000000000000000000000A4302'

/** Answers ten words of zero to every call: a wallet has nothing in any market. */
const EMPTY: Hex = '0x6101405ff3'

/** Emits the log that its call data describe: the number of topics, four topics, and the data. */
const LOGGER: Hex = concatHex([
  '0x365f5f37', //                memory = call data
  '0x608051606051604051602051', // topics, the first on top
  '0x60a0360360a0', //            length of the data, and where they are
  '0x5f51600314602057', //        three topics: 0x20
  '0xa400', //                    a log with four
  '0x5ba300', //             0x20 a log with three
])

/** Puts Midnight where Ethereum has it, without any market: every service over Ethereum asks it. */
export async function placeMidnight(rpc: Rpc): Promise<void> {
  const midnight = MORPHO_MIDNIGHT_DEPLOYMENTS.get(1)?.midnight
  await rpc.call('anvil_setCode', midnight, EMPTY)
}

/** Has the contract at an address emit logs, in their order. */
export async function emitLogs(
  { rpc, send }: { readonly rpc: Rpc; readonly send: Send },
  { address, logs }: { readonly address: Address; readonly logs: readonly VectorLog[] },
): Promise<void> {
  await rpc.call('anvil_setCode', address, LOGGER)
  await send(
    logs.map((log) => {
      const [, , topics] = log
      const words = [numberToHex(topics.length, { size: 32 }), ...topics, ...(topics.length < 4 ? [pad('0x')] : [])]
      return { from: SENDER, to: address, data: concatHex([...words, decodeData(log)]) }
    }),
  )
}

/** Puts what the contracts answered at a checkpoint in place; `changes` replace single answers. */
export async function placeCheckpoint(
  rpc: Rpc,
  vectors: Vectors,
  { checkpoint, changes = [] }: { readonly checkpoint: Checkpoint; readonly changes?: readonly RecordedCall[] },
): Promise<void> {
  await placeReplay(rpc, [...recordCheckpoint(vectors, checkpoint), ...changes])
  await rpc.batch(
    vectors.markets.map((market) => ({
      method: 'anvil_setCode',
      params: [`0x${market.id.slice(-40)}`, encodeTerms(market)],
    })),
  )
}

/** Mines a block at the checkpoint's time, and another one, which keeps its state; returns its number. */
export async function mineAt(rpc: Rpc, timeSec: number): Promise<number> {
  await rpc.call('evm_setNextBlockTimestamp', toHex(timeSec))
  await rpc.call('evm_mine')
  const block = Number(await rpc.call<string>('eth_blockNumber'))
  await rpc.call('evm_mine')
  return block
}
