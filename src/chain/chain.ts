import type { Address } from 'viem'

/** One EVM chain, as the table of built-in chains or configuration describes it. */
export interface Chain {
  readonly id: number
  readonly name: string
  /** Absent if no source gives it. */
  readonly nativeCurrency?: NativeCurrency
  /** Usual time between blocks; absent if no source gives it. */
  readonly blockTimeMs?: number
  /** How long an answer may be reused, from the time of its block: a block time, or 0 for not at all. */
  readonly reuseMs: number
  /** How far the newest block may be from the wall clock, seconds. Absent: the larger of 60 s and 20 blocks. */
  readonly maxBlockAgeSec?: number
  readonly finality: { readonly depth: number } | { readonly tag: 'safe' | 'finalized' }
  /** Address of the site that shows what is on it, without a slash at its end; absent if none is known. */
  readonly explorer?: string
  /** So many endpoints, 2 to 5, must give the same bytes. Absent: one is believed. */
  readonly quorum?: number
  /** Tried in order of health. They may hold secrets: never logged, never shown. */
  readonly rpcUrls: readonly string[]
}

/** What a chain's fees are paid in. */
export interface NativeCurrency {
  /** Absent if no source gives it. */
  readonly symbol?: string
  /** What it is called in full; absent if that is the symbol, or if no source gives it. */
  readonly name?: string
  /** Of the amounts that the chain itself counts. */
  readonly decimals?: number
  /** The token that holds one unit of it each. */
  readonly wrapped?: Address
}
