import { concatHex, type Hex, numberToHex, size, slice } from 'viem'
import { type Endpoint, RevertError, RpcRefusedError } from '../rpc/client.ts'
import type { LensCall } from './bundle/bundle.ts'

/** EIP-170: longest runtime code that can be deployed. EIP-3860: longest init code, arguments included. Bytes. */
const RUNTIME_BYTES_MAX = 24_576
const INIT_CODE_BYTES_MAX = 49_152

/**
 * First word of what our init code reverts with: 31 bytes that no contract's own revert begins with, and a last byte
 * for the outcome of the call: 0 reverted, 1 returned, 2 the code could not be deployed.
 */
const MARK: Hex = '0x77616c6c657473636f7065206465706c6f796c65737320616e73776572000000'

/** Creation code that returns the bytes after it: PUSH3 length, DUP1, PUSH1 13, PUSH1 0, CODECOPY, PUSH1 0, RETURN. */
const COPY_BYTES = 13
/** Length of the program below; every number in it has a fixed width, so this is a constant. */
const PROGRAM_BYTES = 144

/**
 * `eth_call` of init code that deploys `runtime`, calls it with `data` and reverts with the outcome, so that the answer
 * has no limit. Throws `RpcRefusedError` before sending if code and arguments are longer than init code may be (49,152
 * bytes in all), and after it if the endpoint loses the answer; `RevertError` as the lens does.
 */
export async function callDeployless(endpoint: Endpoint, call: LensCall, signal: AbortSignal): Promise<Hex> {
  const { runtime, data, ...at } = call
  const code = encodeDeploylessCode(runtime, data)
  try {
    await endpoint.call({ data: code, ...at }, signal)
  } catch (error) {
    if (error instanceof RevertError) return decodeDeploylessRevert(error.data)
    throw error
  }
  throw new RpcRefusedError(0, 'The endpoint did not execute the init code')
}

/**
 * Init code that deploys `runtime`, calls it with `data`, and reverts with the mark and the call's return data. It
 * reverts because nodes take what init code returns for contract code: they limit it to 24,576 bytes and refuse it if
 * it begins with 0xEF. Throws `RpcRefusedError` (`size`) if it would be longer than nodes accept.
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
  return concatHex([program({ creationBytes, dataBytes }), copy, runtime, data])
}

/** What a call of `encodeDeploylessCode` runs and asks; undefined for any other init code. */
export function decodeDeploylessCode(code: Hex): Pick<LensCall, 'runtime' | 'data'> | undefined {
  const creationBytes = Number.parseInt(code.slice(4, 10), 16)
  const [start, end] = [PROGRAM_BYTES + COPY_BYTES, PROGRAM_BYTES + creationBytes]
  if (!(start < end && end <= size(code))) return undefined
  const opened: Pick<LensCall, 'runtime' | 'data'> = {
    runtime: slice(code, start, end),
    data: `0x${code.slice(2 + 2 * end)}`,
  }
  return encodeDeploylessCode(opened.runtime, opened.data) === code ? opened : undefined
}

/** What `encodeDeploylessCode` reverts with if the lens returns this answer. */
export function encodeDeploylessRevert(answer: Hex): Hex {
  return `${slice(MARK, 0, 31)}01${answer.slice(2)}`
}

/** Bytes of call data for which there is room beside the code in one call. */
export function getDeploylessCalldataMax(runtime: Hex): number {
  return INIT_CODE_BYTES_MAX - PROGRAM_BYTES - COPY_BYTES - size(runtime)
}

/**
 * What the deployed code returned, taken from the revert data of `encodeDeploylessCode`. Throws `RevertError` if the code
 * reverted, `RpcRefusedError` if the mark is missing (a node that hides revert data) or nothing was deployed.
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
 * The program. The comment after each line shows the stack at that point, top last. Code and data follow the program.
 */
function program({ creationBytes, dataBytes }: { creationBytes: number; dataBytes: number }): Hex {
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
