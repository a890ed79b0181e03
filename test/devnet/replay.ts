import { type Address, concatHex, type Hex, keccak256, pad } from 'viem'
import type { Rpc } from './rpc.ts'

/**
 * Code that answers calls as they were recorded and knows nothing else. The answer to call data stands as code of its own
 * at the last 20 bytes of keccak256(call data ‖ own address): a zero byte and the answer, or a one for a refusal. What was
 * not recorded burns all gas that it is given, so that no reader can take it for a refusal.
 */
const REPLAY: Hex = concatHex([
  // Hash of the call data and the own address.
  '0x365f5f3730365236602001',
  '0x5f20',
  // INVALID unless code stands there.
  '0x803b80601457fe5b',
  // Its first byte tells a refusal from an answer.
  '0x805f5f843c5f5160f81c602957600190036001f35b5f5ffd',
])

/** A recorded call; without an answer the contract refused it. */
export interface RecordedCall {
  readonly to: Address
  readonly data: Hex
  readonly answer: Hex | undefined
}

/** Puts recorded answers behind their addresses. */
export async function replayCalls(rpc: Rpc, calls: readonly RecordedCall[]): Promise<void> {
  const contracts = [...new Set(calls.map(({ to }) => to))].map((to) => [to, REPLAY] as const)
  const answers = calls.map(({ to, data, answer }) => {
    const place: Hex = `0x${keccak256(concatHex([data, pad(to)])).slice(-40)}`
    return [place, answer === undefined ? '0x01' : concatHex(['0x00', answer])] as const
  })
  await rpc.batch([...contracts, ...answers].map((params) => ({ method: 'anvil_setCode', params })))
}
