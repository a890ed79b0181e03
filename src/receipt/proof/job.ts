import type { Hex } from 'viem'
import type { LensQuery } from '../../chain/receipt/record.ts'

/** Proof of the part of a block's state that some calls read. Nodes and codes are looked up by hash, in no order. */
export interface StateProof {
  /** RLP of the block's header. */
  readonly header: Hex
  /** Nodes of the state's tries. */
  readonly nodes: readonly Hex[]
  /** Runtime codes. */
  readonly codes: readonly Hex[]
}

/** A lens call to run over a proof. */
export interface ProvenCall extends Omit<LensQuery, 'mode'> {
  readonly gas: number
}

/** Calls to run over a proof alone. */
export interface ProofJob {
  readonly chainId: number
  readonly proof: StateProof
  readonly calls: readonly ProvenCall[]
  /** True to read missing state as empty and list it, instead of failing. */
  readonly explores: boolean
}

/** State that calls read and a proof does not contain. */
export interface MissingState {
  /** Slots that were read, by account. */
  readonly accounts: Readonly<Record<Hex, readonly Hex[]>>
  /** Hash of the missing code, by account. */
  readonly codes: Readonly<Record<Hex, Hex>>
}

/** Result of a job. Without `explores` nothing is missing. */
export interface ProofRun {
  /** Answer of each call; undefined if it reverted. */
  readonly answers: readonly (Hex | undefined)[]
  readonly missing: MissingState
  /** How many slots were read. */
  readonly slots: number
  /** Indexes of the nodes and codes that were read. */
  readonly nodes: readonly number[]
  readonly codes: readonly number[]
}

/** Reply of the worker; `fault` is the end of a sentence. */
export type ProofReply = { readonly run: ProofRun } | { readonly fault: string }
