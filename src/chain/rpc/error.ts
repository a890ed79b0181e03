import type { Hex } from 'viem'
import { UpstreamError } from '../../lib/error.ts'
import { RevertError, RpcRefusedError } from './client.ts'
import type { RpcErrorObject } from './refusal.ts'
import { isBytes } from './value.ts'

/** How an endpoint failed, where callers decide by it. */
export type EndpointFault =
  /** It limits its rate. */
  | 'busy'
  /** It answered that it failed, without a reason that is known. */
  | 'failed'
  /** The node that answered does not have the block, perhaps only temporarily. */
  | 'no_block'
  /** The node has pruned the state or the body of the block, or its plan does not include it. */
  | 'no_state'
  /** The node answered from another state than that of the block, as one does that is being mended or replaced. */
  | 'wrong_state'
  /** It has not reached the requested block yet; does not affect its health. */
  | 'behind'
  /** It does not support the request, so a retry cannot help; does not affect its health. */
  | 'unsupported'
  /** The answer to a search exceeds the size limits; another endpoint's would be as long. */
  | 'long_search'
  /** It has pruned the requested past data. */
  | 'pruned'
  /** No other endpoint gave bytes to compare, perhaps because only this one has the block. */
  | 'alone'
  /** An answer exceeds the size limits. */
  | 'too_large'
  /** Too many of this service's calls already wait for it; does not affect its health. */
  | 'queue_full'
  /** The answer did not arrive in time. */
  | 'late'
  /** The answer did not arrive in time while others did; does not affect its health. */
  | 'slow'
  /** Its newest block is far off the others'; does not affect its health. */
  | 'far_head'
  /** It gave logs that cannot be right. */
  | 'false_logs'
  /** It accepts fewer topics in a filter of logs. */
  | 'wide_filter'

/** Faults that are also one of a more general kind. */
const GENERAL_FAULTS: Partial<Record<EndpointFault, EndpointFault>> = {
  wrong_state: 'no_state',
  long_search: 'unsupported',
  pruned: 'unsupported',
  alone: 'pruned',
  slow: 'late',
}

/** An endpoint failed at a request; of a Solana client, all its endpoints. */
export class EndpointError extends UpstreamError {
  readonly fault: EndpointFault
  /** The requested pause of a busy endpoint, milliseconds; undefined if it gave none. */
  readonly retryAfterMs: number | undefined

  constructor(
    fault: EndpointFault,
    message: string,
    { cause, retryAfterMs }: { readonly cause?: unknown; readonly retryAfterMs?: number | undefined } = {},
  ) {
    super(message, { cause })
    this.fault = fault
    this.retryAfterMs = retryAfterMs
  }
}

/** True if the error is an endpoint's and has one of these faults, or a special kind of one. */
export function hasFault(error: unknown, ...faults: readonly EndpointFault[]): error is EndpointError {
  let fault = error instanceof EndpointError ? error.fault : undefined
  while (fault !== undefined && !faults.includes(fault)) fault = GENERAL_FAULTS[fault]
  return fault !== undefined
}

/**
 * Messages of a reverted call: geth, Erigon, reth and anvil code 3 with data; Besu, older geth and
 * Nethermind -32000 with the words; older Nethermind and OpenEthereum -32015 with "Reverted 0x…" as data or message.
 */
const REVERTED =
  /^(execution reverted|reverted\b|vm execution error|vm exception while processing|evm revert|transaction reverted)/i
/** Prefix of every failed call on Nethermind, reverts included; the cause follows it or is the data. */
const BEFELL = /^vm execution error/i
const SHORT_OF_GAS = /out[ _]?of[ _]?gas|insufficient[ _]gas|intrinsic gas/i
/** A fault of the code other than a revert. It gives no data, so callers treat it as an empty revert. */
const FAULT =
  /invalid ?(fe)? ?opcode|opcodenotfound|bad instruction|stack ?(underflow|overflow|limit)|(invalid|bad) ?jump|write protection|starting ?with ?(0x)?ef\b|vm error=\[contract reverted/i
const RATE =
  /rate.?limit|rate exceeded|\brps limit|number of requests|too many requests|request limit|throttl|compute units|capacity|quota|over limit|slow down/i
/**
 * The block is too old for the node or for its plan, so a retry does not help. geth, bor and BSC "missing trie node",
 * "historical state … is not available"; Erigon "old data not available due to pruning", "data before txNum"; reth
 * "state at block #1 is pruned", "no state found for block"; Nethermind "No state available for block"; Besu "World
 * state unavailable"; zkSync "is pruned"; Sonic "does not maintain archive data"; Cosmos chains "lowest height is";
 * providers mention archives and plans.
 */
const NO_STATE =
  /missing trie node|prun(ed|ing)\b|\barchiv(e|al)\b|\bhistor(y|ical).{0,90}(unavailable|not (be )?(found|available|supported)|backend|no longer)|\bno historical|no state (found|available|data)|world ?state unavailable|state (not found|already discarded)|\bstate at block\b|old data not|data before .{0,40} is not available|purged for block|lowest height|maximum proof window|failed to load state|does not exist on height|just support TAG|only latest block is supported/i
/** EIP-4444: the node has dropped the bodies of old blocks. */
const PRUNED_CODE = 4444
const NOT_SYNCED = /not synced|syncing/i
/** Tested before a missing block: a method's name may contain "block". */
const NO_METHOD =
  /method.{0,60}(not (found|available|supported|allowed|whitelisted)|does ?n.t exist|does not exist|disabled)/i
/** The block is newer than the node's head, or on a fork that it does not follow. */
const NO_BLOCK =
  /invalid block height|not currently canonical|\d could not be found|header (for hash )?not found|unknown block|block ?out ?of ?range|block.{0,90}not (be )?(found|available)|(block|resource).{0,90}(does ?n.t exist|not found)|cannot find block|state.{0,90}(not available|unavailable)|unfinalized data/i
const TOO_MUCH =
  /out[ _]?of[ _]?gas|oog\b|insufficient[ _]gas|gas (required|limit|cap|allowance)|exceeds?.{0,30}gas|intrinsic gas|code ?size|contract ?size ?limit|size ?limit|too (large|big|long)|size exceed|exceeds? (the )?(maximum|max|limit|allowed)|response.{0,20}exceed|execution aborted|execution timeout|evm timeout|query timeout/i
const UNABLE =
  /too many arguments|state ?override|override|unsupported|not supported|does not support|unknown field|not implemented|method not found|not allowed|disabled/i

/** JSON-RPC's codes for a wrong request: parse error, invalid request, unknown method, invalid parameters. */
const REQUEST_CODES: ReadonlySet<number> = new Set([-32700, -32600, -32601, -32602, -32004])
/**
 * Codes used only for rate limits: Alchemy 429, QuickNode -32007, Base -32016. Infura's -32005 is matched by its
 * message.
 */
const BUSY_CODES: ReadonlySet<number> = new Set([429, -32007, -32016])

/**
 * Maps a JSON-RPC error to `RevertError`, `RpcRefusedError`, `EndpointError` (busy) or another `UpstreamError`. Reverts
 * are recognised early, because their message may quote a text that the contract's author chose. The node's own message
 * is never repeated, since it may quote a URL with a key in it.
 */
export function errorFromRpc(error: RpcErrorObject): Error {
  const { code, message } = error
  const refused = (reason: 'kind' | 'size') =>
    new RpcRefusedError(code, `The endpoint refused the call (JSON-RPC ${code})`, reason)
  if (isShortOfGas(error)) return refused('size')
  const reverted = findRevertData(error)
  if (reverted !== undefined) return new RevertError(reverted)
  if (BUSY_CODES.has(code) || RATE.test(message)) return new EndpointError('busy', 'The endpoint limits its rate')
  if (code === -32601 || NO_METHOD.test(message)) return refused('kind')
  if (code === PRUNED_CODE || NO_STATE.test(message)) {
    return new EndpointError('no_state', 'The endpoint does not have the state of the block')
  }
  if (NOT_SYNCED.test(message)) return new UpstreamError('The endpoint is not synced')
  if (NO_BLOCK.test(message)) return new EndpointError('no_block', 'The endpoint does not have the block')
  if (TOO_MUCH.test(message)) return refused('size')
  if (FAULT.test(message)) return new RevertError('0x')
  if (REQUEST_CODES.has(code) || UNABLE.test(message)) return refused('kind')
  return new EndpointError('failed', `The endpoint failed (JSON-RPC ${code})`)
}

/**
 * True if the node itself, not a contract's revert reason, reports that gas ran out: some do with the code of a revert,
 * or in `data`.
 */
function isShortOfGas({ message, data }: RpcErrorObject): boolean {
  if (REVERTED.test(message) && !BEFELL.test(message)) return false
  const bytes = findBytes(data)
  if (bytes !== undefined && bytes !== '0x') return false
  const text = typeof data === 'string' ? `${message} ${data}` : message
  return SHORT_OF_GAS.test(text) && !/revert/i.test(text)
}

/** Finds the revert data, `0x` if the node gives none; undefined if the error is not a revert. */
function findRevertData({ code, message, data }: RpcErrorObject): Hex | undefined {
  const bytes = findBytes(data) ?? (REVERTED.test(message) ? findBytes(message) : undefined)
  if (code === 3) return bytes ?? '0x'
  if (bytes !== undefined && bytes !== '0x') return bytes
  return REVERTED.test(message) || (typeof data === 'string' && /^revert/i.test(data)) ? (bytes ?? '0x') : undefined
}

/**
 * Finds the bytes in `data`: plain, after Nethermind's "Reverted " or "err: ", or inside objects of hardhat and
 * ganache.
 */
function findBytes(data: unknown, depth = 0): Hex | undefined {
  if (isBytes(data)) return data
  if (typeof data === 'string') {
    const quoted = data.match(/^(?:reverted|err:) (0x[0-9a-f]*)(?: \(supplied gas \d+\))?$/i)?.[1]
    return isBytes(quoted) ? quoted : undefined
  }
  if (typeof data !== 'object' || data === null || depth === 2) return undefined
  const wrapped = data as Record<string, unknown>
  for (const name of ['data', 'result', 'return', 'output']) {
    const nestedBytes = findBytes(wrapped[name], depth + 1)
    if (nestedBytes !== undefined) return nestedBytes
  }
  const inner = Object.values(wrapped).find((value) => typeof value === 'object' && value !== null && 'return' in value)
  return findBytes(inner, depth + 1)
}
