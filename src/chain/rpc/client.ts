import type { Hex } from 'viem'
import { UnavailableError, UpstreamError } from '../../lib/error.ts'
import type { Log } from '../../lib/log.ts'
import type { Block, PinnedBlock } from '../block.ts'
import type { Chain } from '../chain.ts'
import type { Priority } from './limiter/limiter.ts'
import type { Refusal } from './refusal.ts'

/** One RPC endpoint of a chain. Every answer is checked. */
export interface Endpoint {
  /** Position in the configuration, for logs; the URL is a secret. */
  readonly index: number
  /** Who waits for what is asked here. */
  readonly priority: Priority
  /**
   * Which light calls of lenses leave in one request with others of their turn of the event loop: all, those that come
   * while many are under way, or none.
   */
  readonly together: 'always' | 'crowded' | 'never'
  /**
   * `eth_call`. Throws `RevertError` (with the revert data) if the contract reverts, `RpcRefusedError` if the endpoint
   * refuses the request (unsupported override, gas cap, size), `UpstreamError` for everything else. If the endpoint
   * does not have a block other than the latest, it is asked again a few times, for about a second: behind one address
   * there may be nodes that differ by a block.
   */
  call(request: EthCall, signal: AbortSignal): Promise<Hex>
  /** Told what a call of a lens got that was sent within another one, together with others. */
  heard?(request: EthCall, answer: Hex): void
  /** Any other read; `parse` must check the shape and throw on nonsense. */
  request<T>(request: RpcRequest<T>, signal: AbortSignal): Promise<T>
  /**
   * Tells the client which block a read at `latest` was answered from. Throws `UpstreamError` if it belongs to another
   * chain, is further from the wall clock than the chain allows, or is far off what other endpoints have shown. In the
   * last case the others are then asked, and this endpoint again only if none of them answers.
   */
  observeBlock(block: Pick<Block, 'chainId' | 'number' | 'timestampSec'>): void
  /** What was learned about this endpoint, by topic: which way of reading works there. `untilMs` is monotonic. */
  readonly learned: Map<string, { readonly value: string; readonly untilMs: number }>
}

/** One JSON-RPC request; `parse` must check the shape and throw on nonsense. */
export interface RpcRequest<T> {
  readonly method: string
  readonly params: readonly unknown[]
  readonly parse: (result: unknown) => T
  /** From sending to the last byte, milliseconds. @default {as the endpoint's limits say} */
  readonly timeoutMs?: number
  /** Changes the text of an answer before it is parsed, such as numbers that JSON's would round. */
  readonly rewrite?: (text: string) => string
  /** What a refusal of this request means, if it is not what it would mean for any other; undefined if it is. */
  readonly refusal?: (refusal: Refusal) => Error | undefined
}

/** One endpoint for work that no caller waits for, which chooses among a chain's endpoints by itself. */
export interface BackgroundEndpoint extends Pick<Endpoint, 'index'> {
  /** False if it serves another chain, or fails callers at the moment. */
  readonly usable: boolean
  /**
   * Sends a request when callers leave a slot free. How it ends says nothing about the endpoint's health. Throws what
   * `refusal` makes, and otherwise as `Endpoint.request`.
   */
  request<T>(request: RpcRequest<T>, signal: AbortSignal): Promise<T>
}

/** The block that a call sees. */
export type CallBlock = Pick<PinnedBlock, 'hash'> | bigint | 'latest'

/** One read-only call. Without `to` the data is init code (a deployless call). */
export interface EthCall {
  readonly to?: Hex
  readonly data: Hex
  readonly block: CallBlock
  /** Runtime code at `to` during this call (state override). */
  readonly code?: Hex
  /** The same at further addresses. */
  readonly others?: Readonly<Record<Hex, Hex>>
  /** Gas that the call may use. @default what the endpoint grants */
  readonly gas?: number
  /** What the call sees in place of the block's own. Few endpoints take it. */
  readonly surroundings?: BlockOverrides
  /** False to be told at once that the endpoint does not have the block. @default {true} */
  readonly waits?: boolean
}

/** What a call sees of its block and of those before. */
export interface BlockOverrides {
  readonly baseFeePerGas: Hex
  /** By height, in decimal digits. */
  readonly blockHash: Readonly<Record<string, Hex>>
}

/** Reads of one chain over its endpoints. Whoever makes it may describe the chain in more detail. */
export interface ChainClient<Row extends Chain = Chain> {
  readonly chain: Row
  /** So many endpoints give the same bytes to each call that a caller waits for. @default {1} */
  readonly agreed?: number
  /** Where it is told what endpoints do, by their position. */
  readonly log: Log
  /**
   * Runs `attempt` against the healthiest endpoint, then against others, within one budget (2.5 s by default). A
   * `RevertError` passes through. If all endpoints fail, throws `UnavailableError` with the chain's name and no URL.
   */
  read<T>(attempt: (endpoint: Endpoint, signal: AbortSignal) => Promise<T>, options: ReadOptions): Promise<T>
  /** Every endpoint, in the order of the configuration, for work that chooses by itself. */
  readonly background: readonly BackgroundEndpoint[]
}

/** What one read may take, and what it needs of the past. */
export interface ReadOptions {
  readonly signal: AbortSignal
  /** @default {2500} */
  readonly budgetMs?: number
  /**
   * The past that the read needs: the header of a block, or a block's state. An endpoint that does not keep it is not
   * blamed, and the others are asked. For state, those that are known to reach the block come first; how far each one
   * reached is remembered and named in the error if none does.
   */
  readonly past?: 'header' | PastBlock
  /** In the background it leaves slots free for callers, and no failure counts against an endpoint. @default {'caller'} */
  readonly priority?: Priority
  /**
   * True if the light calls of lenses wait for the end of the turn of the event loop: those of all reads that were begun
   * in it at the same block, for the same asker, leave in one `eth_call`, whatever their lenses. @default {false}
   */
  readonly together?: boolean
}

/** A block by its height and time. */
export type PastBlock = Pick<Block, 'number' | 'timestampSec'>

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
 * A contract does not answer: it reverts, or answers nothing, as if it did not stand there. No endpoint is to blame; the
 * message says which contract, for the middle of a sentence: `market "lido" does not answer`.
 */
export class ContractUnresponsiveError extends UpstreamError {
  override readonly name = 'ContractUnresponsiveError'
  /** The parameter of the request that leaves the contract out, if there is one. */
  readonly leftOutBy: string | undefined

  constructor(message: string, leftOutBy?: string) {
    super(message)
    this.leftOutBy = leftOutBy
  }
}

/** No endpoint keeps the state of the block, as far as is known. */
export class StatePrunedError extends UnavailableError {}

/** No endpoint answered, and one that may yet was late or asked for a pause: with fewer questions at once it might. */
export class EndpointsTimedOutError extends UnavailableError {}

/** The endpoint answered with a JSON-RPC error that is about the request, not about its health. */
export class RpcRefusedError extends Error {
  override readonly name = 'RpcRefusedError'
  readonly code: number
  /** `kind`: it takes none of this kind. `size`: gas, bytes or time ran out, so a smaller request may work. */
  readonly reason: 'kind' | 'size'

  constructor(code: number, message: string, reason: RpcRefusedError['reason'] = 'kind') {
    super(message)
    this.code = code
    this.reason = reason
  }
}

/** The endpoint can run a lens in no known way; `cause` is its last refusal. */
export class LensUnsupportedError extends RpcRefusedError {
  constructor(cause: RpcRefusedError) {
    super(cause.code, 'The endpoint runs no lens')
    this.cause = cause
  }
}
