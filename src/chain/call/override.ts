import type { Hex } from 'viem'
import { type BlockAt, type Endpoint, RpcRefusedError } from '../rpc/client.ts'

/** Code that is executed without being deployed, and what it is called with. */
export interface LensCall {
  /** Runtime bytecode. */
  readonly runtime: Hex
  /** Call data: selector and arguments. */
  readonly data: Hex
  readonly block: BlockAt
}

/** No contract and no key has this address, or one of the next hundred. It is the ASCII of the name, so that a node's log shows who called. */
export const LENS_ADDRESS: Hex = '0x77616c6c657473636f70652d2d2d2d2d2d6c656e'

/**
 * `eth_call` with `runtime` as the code of an address (state override). Only the node limits the size of code,
 * arguments and answer. Throws `RpcRefusedError` if the endpoint does not override, `RevertError` as the lens does.
 */
export async function callByOverride(endpoint: Endpoint, call: LensCall, signal: AbortSignal): Promise<Hex> {
  const { runtime, data, block } = call
  return answered(await endpoint.call({ to: LENS_ADDRESS, code: runtime, data, block }, signal))
}

/** Throws `RpcRefusedError` for the answer of an address without code: a lens always answers some bytes. */
export function answered(answer: Hex): Hex {
  if (answer === '0x') throw new RpcRefusedError(0, 'The endpoint ignored the state override')
  return answer
}
