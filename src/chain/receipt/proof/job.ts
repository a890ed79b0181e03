import type { Hex } from 'viem'

/** What makes a block's state known as far as some calls read it: found by their hashes, in no order. */
export interface StateProof {
  /** RLP of the block's header. */
  readonly header: Hex
  /** Nodes of the state's tries. */
  readonly nodes: readonly Hex[]
  /** Runtime codes. */
  readonly codes: readonly Hex[]
}

/** A lens to be run over a proof. */
export interface ProvenCall {
  readonly runtime: Hex
  readonly data: Hex
  readonly gas: number
}

/** Calls to be run over nothing but a proof. */
export interface ProofJob {
  readonly chainId: number
  readonly proof: StateProof
  readonly calls: readonly ProvenCall[]
  /** True to go on with nothing in place of what the proof lacks, and to list it. */
  readonly explores: boolean
}

/** What calls read and a proof lacks. */
export interface MissingState {
  /** Accounts, each with the slots that were read there. */
  readonly accounts: Readonly<Record<Hex, readonly Hex[]>>
  /** Accounts whose code is lacking, by the hash of the code. */
  readonly codes: Readonly<Record<Hex, Hex>>
}

/** What came of a job. Without `explores` nothing is lacking. */
export interface ProofRun {
  /** What each call answered; undefined if it reverted. */
  readonly answers: readonly (Hex | undefined)[]
  readonly lacking: MissingState
  /** How many slots were read. */
  readonly slots: number
  /** Positions of the nodes and codes that were read. */
  readonly nodes: readonly number[]
  readonly codes: readonly number[]
}

/** What the worker sends back; `fault` is the end of a sentence. */
export type ProofReply = { readonly run: ProofRun } | { readonly fault: string }
