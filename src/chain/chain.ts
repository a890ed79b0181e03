import type { Address } from 'viem'

/** One EVM chain, from the table of built-in chains or from configuration. */
export interface Chain {
  readonly id: number
  readonly name: string
  /** Absent if no source gives it. */
  readonly nativeCurrency?: NativeCurrency
  /** Usual time between blocks; absent if no source gives it. */
  readonly blockTimeMs?: number
  /** How long an answer may be reused, from the time of its block: one block time, or 0 for no reuse. */
  readonly reuseMs: number
  /** Maximum distance of the newest block from the wall clock, seconds. Absent: the larger of 60 s and 20 blocks. */
  readonly maxBlockAgeSec?: number
  readonly finality: { readonly depth: number } | { readonly tag: 'safe' | 'finalized' }
  /** URL of a block explorer without a trailing slash; absent if none is known. */
  readonly explorer?: string
  /** Number of endpoints, 2 to 5, that must give the same bytes. Absent: one endpoint is enough. */
  readonly quorum?: number
  /** Endpoints, tried in order of health. The URLs may contain secrets: never log or show them. */
  readonly rpcUrls: readonly string[]
}

/** The currency of a chain's fees. */
export interface NativeCurrency {
  /** Absent if no source gives it. */
  readonly symbol?: string
  /** Full name; absent if it equals the symbol, or if no source gives it. */
  readonly name?: string
  /** Decimals of the chain's base unit. */
  readonly decimals?: number
  /** The wrapped token, worth one unit each. */
  readonly wrapped?: Address
}

/** A table whose keys are chain ids, as a map. */
export function byChain<Row>(table: Readonly<Record<number, Row>>): ReadonlyMap<number, Row> {
  return new Map(Object.entries(table).map(([id, row]) => [Number(id), row]))
}
