import { concatHex, type Hex, numberToHex, size, slice } from 'viem'
import type { Work } from '../../lib/async/work.ts'
import { type Endpoint, RevertError, RpcRefusedError } from '../rpc/client.ts'
import type { LensCall } from './bundle/bundle.ts'

/** Size limits of runtime code (EIP-170) and of init code with arguments (EIP-3860), bytes. */
const RUNTIME_BYTES_MAX = 24_576
const INIT_CODE_BYTES_MAX = 49_152

/**
 * First word of the init code's revert data: 31 bytes that no contract's own revert starts with, and a last byte with
 * the outcome of the call: 0 reverted, 1 returned, 2 the code could not be deployed.
 */
const MARK: Hex = '0x77616c6c657473636f7065206465706c6f796c65737320616e73776572000000'

/** Creation code that returns the bytes after it: PUSH3 length, DUP1, PUSH1 13, PUSH1 0, CODECOPY, PUSH1 0, RETURN. */
const COPY_BYTES = 13
/** Length of the program below; every number in it has a fixed width, so this is a constant. */
const PROGRAM_BYTES = 144

/**
 * Calls a lens by `eth_call` of init code that deploys `runtime`, calls it with `data` and reverts with the outcome, so
 * that the answer's size is not limited. Throws `RpcRefusedError` before sending if code and arguments exceed the limit
 * of init code (49,152 bytes), and after it if the endpoint drops the answer; `RevertError` if the lens reverts.
 */
export async function callDeployless(endpoint: Endpoint, call: LensCall, work: Work): Promise<Hex> {
  const { runtime, data, ...at } = call
  const code = encodeDeploylessCode(runtime, data)
  try {
    await endpoint.call({ data: code, ...at }, work)
  } catch (error) {
    if (error instanceof RevertError) return decodeDeploylessRevert(error.data)
    throw error
  }
  throw new RpcRefusedError(0, 'The endpoint did not execute the init code')
}

/**
 * Encodes init code that deploys `runtime`, calls it with `data`, and reverts with the mark and the call's return data.
 * It reverts because nodes treat data returned by init code as contract code: they limit it to 24,576 bytes and refuse
 * it if it starts with 0xEF. Throws `RpcRefusedError` (`size`) if it would be longer than nodes accept.
 */
export function encodeDeploylessCode(runtime: Hex, data: Hex): Hex {
  const creationBytes = COPY_BYTES + size(runtime)
  const dataBytes = size(data)
  if (size(runtime) > RUNTIME_BYTES_MAX) throw new RpcRefusedError(0, 'The lens is too long to be deployed', 'kind')
  const bytes = PROGRAM_BYTES + creationBytes + dataBytes
  if (bytes > INIT_CODE_BYTES_MAX) {
    throw new RpcRefusedError(0, `The call is ${bytes} bytes long, above ${INIT_CODE_BYTES_MAX}`, 'size')
  }
  const copy = concatHex(['0x62', uint24(size(runtime)), '0x80', '0x600d', '0x6000', '0x39', '0x6000', '0xf3'])
  return concatHex([createProgram({ creationBytes, dataBytes }), copy, runtime, data])
}

/** Decodes code and data from init code of `encodeDeploylessCode`; undefined for any other init code. */
export function decodeDeploylessCode(code: Hex): Pick<LensCall, 'runtime' | 'data'> | undefined {
  const creationBytes = Number.parseInt(code.slice(4, 10), 16)
  const [start, end] = [PROGRAM_BYTES + COPY_BYTES, PROGRAM_BYTES + creationBytes]
  if (!(start < end && end <= size(code))) return undefined
  const decoded: Pick<LensCall, 'runtime' | 'data'> = {
    runtime: slice(code, start, end),
    data: `0x${code.slice(2 + 2 * end)}`,
  }
  return encodeDeploylessCode(decoded.runtime, decoded.data) === code ? decoded : undefined
}

/** Encodes the revert data of `encodeDeploylessCode` for a lens that returns this answer. */
export function encodeDeploylessRevert(answer: Hex): Hex {
  return `${slice(MARK, 0, 31)}01${answer.slice(2)}`
}

/** Returns the maximum size of call data beside this code, bytes. */
export function getDeploylessCalldataMax(runtime: Hex): number {
  return INIT_CODE_BYTES_MAX - PROGRAM_BYTES - COPY_BYTES - size(runtime)
}

/**
 * Decodes the lens' answer from the revert data of `encodeDeploylessCode`. Throws `RevertError` if the lens reverted,
 * `RpcRefusedError` if the mark is missing (the node hides revert data) or the lens was not deployed.
 */
export function decodeDeploylessRevert(revertData: Hex): Hex {
  // 2 characters of "0x", 31 bytes of mark, 1 byte of outcome.
  const head = revertData.slice(0, 64).toLowerCase()
  const outcome = revertData.slice(64, 66)
  const answer: Hex = `0x${revertData.slice(66)}`
  if (head !== MARK.slice(0, 64)) throw new RpcRefusedError(0, 'The endpoint does not pass on what a call reverts with')
  if (outcome === '01') return answer
  if (outcome === '00') throw new RevertError(answer)
  throw new RpcRefusedError(0, 'The endpoint did not deploy the lens')
}

/**
 * Creates the program. The comment after each line shows the stack at that point, top last. Code and data follow it.
 */
function createProgram({ creationBytes, dataBytes }: { creationBytes: number; dataBytes: number }): Hex {
  const code = uint24(creationBytes)
  const length = uint24(dataBytes)
  const failed = '0x0066'
  return concatHex([
    // memory[0..] = creation code; address = CREATE(0, memory)
    ...(['0x62', code, '0x62', uint24(PROGRAM_BYTES), '0x6000', '0x39'] as const),
    ...(['0x62', code, '0x6000', '0x6000', '0xf0'] as const), // address
    ...(['0x80', '0x15', '0x61', failed, '0x57'] as const), // jump to `failed` if the address is zero
    // memory[0..] = data; success = CALL(gas, address, 0, 0, length, 0, 0)
    ...(['0x62', length, '0x62', uint24(PROGRAM_BYTES + creationBytes), '0x6000', '0x39'] as const),
    ...(['0x6000', '0x6000', '0x62', length, '0x6000', '0x6000'] as const), // address 0 0 length 0 0
    ...(['0x85', '0x5a', '0xf1'] as const), // address success
    // memory[0..32] = mark + success; memory[32..] = return data; revert with both
    ...(['0x3d', '0x6000', '0x6020', '0x3e'] as const), // address success
    ...(['0x7f', MARK, '0x01', '0x6000', '0x52'] as const), // address
    ...(['0x3d', '0x6020', '0x01', '0x6000', '0xfd'] as const),
    // failed: memory[0..32] = mark + 2; revert with it
    ...(['0x5b', '0x7f', slice(MARK, 0, 31), '0x02', '0x6000', '0x52', '0x6020', '0x6000', '0xfd'] as const),
  ])
}

function uint24(value: number): Hex {
  return numberToHex(value, { size: 3 })
}
