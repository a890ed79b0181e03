import type { Hex } from 'viem'
import type { Work } from '../../lib/async/work.ts'
import type { Clock } from '../../lib/clock.ts'
import { UnavailableError, UpstreamError } from '../../lib/error.ts'
import type { Log } from '../../lib/log.ts'
import type { Block, PinnedBlock } from '../block.ts'
import type { Chain } from '../chain.ts'
import type { Refusal } from './refusal.ts'

/** Priority of a call: a caller waits for it, or it is background work. */
export type Priority = 'caller' | 'background'

/** One RPC endpoint of a chain. Every answer is checked. */
export interface Endpoint {
  /** Index in the configuration, for logs; the URL is a secret. */
  readonly index: number
  /** Priority of the requests that are sent here. */
  readonly priority: Priority
  /**
   * Whether light lens calls of one turn of the event loop are bundled in one request: always, only while many calls
   * are running, or never.
   */
  readonly bundling: 'always' | 'crowded' | 'never'
  /**
   * `eth_call`. Throws `RevertError` (with the revert data) if the contract reverts, `RpcRefusedError` if the endpoint
   * refuses the request (unsupported override, gas cap, size), `UpstreamError` for everything else. If the endpoint
   * lacks a block other than the latest, the call is retried for about a second: nodes behind one address may differ by
   * a block.
   */
  call(request: EthCall, work: Work): Promise<Hex>
  /** Reports the result of a lens call that was sent inside a bundle. */
  onBundledAnswer?(request: EthCall, answer: Hex): void
  /** Sends any other read; `parse` must check the shape and throw `TypeError` or `UpstreamError` otherwise. */
  request<T>(request: RpcRequest<T>, work: Work): Promise<T>
  /**
   * Reports the block that a read at `latest` was answered from. Throws `UpstreamError` if it belongs to another chain,
   * is further from the wall clock than the chain allows, or is far off the heads of other endpoints. In the last case
   * the other endpoints are tried, and this one again only if none of them answers.
   */
  observeBlock(block: Pick<Block, 'chainId' | 'number' | 'timestampSec'>): void
  /** Facts learned about this endpoint, by topic, such as the lens mode that works. `untilMs` is monotonic. */
  readonly learned: Map<string, { readonly value: string; readonly untilMs: number }>
}

/** One JSON-RPC request; `parse` must check the shape and throw if it is unexpected. */
export interface RpcRequest<T> {
  readonly method: string
  readonly params: readonly unknown[]
  readonly parse: (result: unknown) => T
  /** Time limit from sending to the last byte, milliseconds. @default {the endpoint's limit} */
  readonly timeoutMs?: number
  /** Rewrites the text of an answer before it is parsed, for example numbers that JSON would round. */
  readonly rewrite?: (text: string) => string
  /**
   * Takes the text of a result before it is parsed, if the answer is nothing but an envelope around it; undefined
   * leaves it to `parse`. The text may be anything.
   */
  readonly takeText?: (result: string) => T | undefined
  /** Maps a refusal of this request to an error; undefined for the default mapping. */
  readonly mapRefusal?: (refusal: Refusal) => Error | undefined
}

/** One endpoint for background work, which chooses among a chain's endpoints by itself. */
export interface BackgroundEndpoint extends Pick<Endpoint, 'index'> {
  /** False if the endpoint serves another chain, or currently fails. */
  readonly usable: boolean
  /**
   * Sends a request when callers leave a slot free. The outcome does not affect the endpoint's health. Throws the error
   * of `mapRefusal`, and otherwise as `Endpoint.request`.
   */
  request<T>(request: RpcRequest<T>, work: Work): Promise<T>
}

/** The block that a call sees. */
export type CallBlock = Pick<PinnedBlock, 'hash'> | bigint | 'latest'

/** One read-only call. Without `to` the data is init code (a deployless call). */
export interface EthCall {
  /** Who calls; only with `to`. @default {the zero address} */
  readonly from?: Hex
  readonly to?: Hex
  readonly data: Hex
  readonly block: CallBlock
  /** Runtime code at `to` during this call (state override). */
  readonly code?: Hex
  /** Runtime code at additional addresses during this call. */
  readonly additionalCodes?: Readonly<Record<Hex, Hex>>
  /** Words of storage that contracts are to have during this call. */
  readonly storage?: readonly StorageWord[]
  /** Gas limit of the call. @default {the endpoint's gas cap} */
  readonly gas?: number
  /** Overrides of block fields. Few endpoints support them. */
  readonly blockOverrides?: BlockOverrides
  /** False to fail at once if the endpoint does not have the block. @default {true} */
  readonly mustWait?: boolean
  /**
   * True if an answer rests on this call at an earlier block, named by its height, besides its own block: receipts
   * record it with that block. @default {false}
   */
  readonly isEarlier?: boolean
}

/** A word of a contract's storage. */
export interface StorageWord {
  readonly address: Hex
  readonly slot: Hex
  readonly word: Hex
}

/** Overrides of the block that a call sees, and of earlier block hashes. */
export interface BlockOverrides {
  readonly baseFeePerGas: Hex
  /** Block hashes by height, in decimal digits. */
  readonly blockHash: Readonly<Record<string, Hex>>
}

/** Reads one chain over its endpoints. `Row` may describe the chain in more detail. */
export interface ChainClient<Row extends Chain = Chain> {
  readonly chain: Row
  /** Number of endpoints that give the same bytes for each call with priority `caller`. @default {1} */
  readonly agreed?: number
  readonly clock: Clock
  /** Log for endpoint events; endpoints are identified by index. */
  readonly log: Log
  /**
   * Runs `attempt` against the healthiest endpoint, then against others, within one budget (2.5 s by default). A
   * `RevertError` passes through. If all endpoints fail, throws `UnavailableError` with the chain's name and no URL.
   */
  read<T>(attempt: (endpoint: Endpoint, work: Work) => Promise<T>, options: ReadOptions): Promise<T>
  /** Every endpoint in configured order, for background work. */
  readonly background: readonly BackgroundEndpoint[]
}

/** Limits of one read, and the past state that it needs. */
export interface ReadOptions {
  readonly work: Work
  /** @default {2500} */
  readonly budgetMs?: number
  /**
   * The past data that the read needs: the header of a block, or a block's state. If an endpoint has pruned it, the
   * other endpoints are tried and its health is not affected. For state, endpoints known to reach the block come first;
   * how far each one reached is remembered, and is part of the error if none does.
   */
  readonly past?: 'header' | PastBlock
  /** Background reads leave slots free for callers, and their failures do not affect health. @default {'caller'} */
  readonly priority?: Priority
  /**
   * True if light lens calls wait for the end of the event-loop turn: calls of all reads started in it, at the same
   * block and for the same requester, are bundled in one `eth_call`, whatever their lenses. @default {false}
   */
  readonly isBundled?: boolean
  /** True if the caller compares the answers of several endpoints itself. @default {false} */
  readonly isCompared?: boolean
}

/** A block by its height and time; with its hashes, an endpoint can be asked to show that it has the block's state. */
export type PastBlock = Pick<Block, 'number' | 'timestampSec'> & Partial<Pick<PinnedBlock, 'hash' | 'parentHash'>>

/** The contract reverted. `data` is the ABI-encoded reason, possibly empty. */
export class RevertError extends Error {
  override readonly name = 'RevertError'
  readonly data: Hex

  constructor(data: Hex) {
    super('The call reverted')
    this.data = data
  }
}

/**
 * A contract does not answer: it reverts, or returns nothing as an address without code does. The endpoint's health is
 * not affected. The message names the contract, for the middle of a sentence: `market "lido" does not answer`.
 */
export class ContractUnresponsiveError extends UpstreamError {
  override readonly name = 'ContractUnresponsiveError'
  /** The request parameter that excludes the contract, if there is one. */
  readonly exclusionParameter: string | undefined

  constructor(message: string, exclusionParameter?: string) {
    super(message)
    this.exclusionParameter = exclusionParameter
  }
}

/** Why a chain could not be read, where callers decide by it. */
type UnavailableReason =
  /** No endpoint is known to have the state of the block. */
  | 'pruned'
  /** No endpoint answered, and at least one was late or rate-limited, so a retry under less load may succeed. */
  | 'late'
  /** Endpoints contradict each other, and no third one decides between them. */
  | 'disputed'
  /** Too few endpoints gave the same bytes. */
  | 'quorum'
  /** All endpoints answered, and refused the kind or the size of the request. */
  | 'refused'

/** A chain could not be read, for a reason that callers decide by. */
export class ChainUnavailableError extends UnavailableError {
  readonly reason: UnavailableReason

  constructor(reason: UnavailableReason, message: string, options?: ConstructorParameters<typeof UnavailableError>[1]) {
    super(message, options)
    this.reason = reason
  }
}

/** True if a chain could not be read for one of these reasons. */
export function isUnavailable(
  error: unknown,
  ...reasons: readonly UnavailableReason[]
): error is ChainUnavailableError {
  return error instanceof ChainUnavailableError && reasons.includes(error.reason)
}

/** The endpoint answered with a JSON-RPC error about the request, which does not affect its health. */
export class RpcRefusedError extends Error {
  override readonly name = 'RpcRefusedError'
  readonly code: number
  /**
   * `kind`: unsupported kind of request. `size`: gas, bytes or time ran out, so a smaller request may work. `lens`: no
   * mode of lenses is supported; `cause` is the last refusal.
   */
  readonly reason: 'kind' | 'size' | 'lens'

  constructor(
    code: number,
    message: string,
    reason: RpcRefusedError['reason'] = 'kind',
    options?: { readonly cause: RpcRefusedError },
  ) {
    super(message, options)
    this.code = code
    this.reason = reason
  }
}

/** The error of an endpoint that supports no mode of lenses; `cause` is its last refusal. */
export function lensUnsupportedError(cause: RpcRefusedError): RpcRefusedError {
  return new RpcRefusedError(cause.code, 'The endpoint runs no lens', 'lens', { cause })
}
