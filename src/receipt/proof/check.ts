import type { Hex } from 'viem'
import { decodeHeader } from '../../chain/receipt/header.ts'
import {
  type ChainRecord,
  isHeaderMethod,
  type LensQuery,
  type RecordedCall,
  type RecordedResult,
} from '../../chain/receipt/record.ts'
import type { ProvenCall, StateProof } from './job.ts'
import type { ProofRunner } from './runner.ts'

/** Result of a check: its outcome, `unknown` if it is undecided, and the reason as the end of a sentence. */
export interface CheckResult {
  readonly is: 'true' | 'false' | 'unknown'
  readonly because: string
}

/** A record, its proof, and the code of its calls. */
export interface ProvenRecord {
  readonly record: ChainRecord
  readonly proof: StateProof
  readonly queriesByCall: ReadonlyMap<RecordedCall, LensQuery>
}

/** Upper bound of a proof's bytes, codes included. */
export const PROOF_BYTES_MAX = 2_000_000

/** Runs a record's calls over the proof alone and compares the answers. The only trusted input is the block's hash. */
export async function checkProof(
  runner: Pick<ProofRunner, 'run'>,
  { record, proof, queriesByCall }: ProvenRecord,
  signal: AbortSignal,
): Promise<CheckResult> {
  if (getProofSize(proof) > PROOF_BYTES_MAX) return createFailure('the proof is longer than any that is given')
  if (!isBlockHeader(proof.header, record)) return createFailure('the header is not that of the block')
  if (!record.headers.every((each) => isBlockHeaderResult(each, record))) {
    return { is: 'unknown', because: 'which block a time means is not proven' }
  }
  if (hasEarlierCalls(record)) return { is: 'unknown', because: EARLIER_UNPROVEN }
  const calls = toProvenCalls(record, queriesByCall)
  if (calls === undefined) return { is: 'unknown', because: 'it is not known which code was called' }
  const reply = await runner.run({ chainId: record.chainId, proof, calls, explores: false }, signal)
  if ('fault' in reply) return createFailure(reply.fault)
  const { answers, nodes, codes } = reply.run
  if (!record.calls.every(({ answer }, index) => answers[index] === answer)) {
    return createFailure('the proven state answers other bytes')
  }
  const isWhole = nodes.length === proof.nodes.length && codes.length === proof.codes.length
  if (!isWhole) return createFailure('the proof holds what no call reads')
  return { is: 'true', because: 'run over state that the hash of the block proves' }
}

/** Why calls at earlier blocks are not proven, as the end of a sentence. */
export const EARLIER_UNPROVEN = 'prices by pools rest on earlier blocks too, and one block proves only itself'

/** True if some calls of a record are of earlier blocks. */
export function hasEarlierCalls({ calls }: ChainRecord): boolean {
  return calls.some(({ at }) => at !== undefined)
}

/** Returns the calls of a record with their code; undefined if the code of a call is not known. */
export function toProvenCalls(
  { calls }: ChainRecord,
  queriesByCall: ReadonlyMap<RecordedCall, LensQuery>,
): readonly ProvenCall[] | undefined {
  const callsWithCode = calls.flatMap((call) => {
    const query = queriesByCall.get(call)
    if (query === undefined) return []
    const { mode: _, ...lens } = query
    return [{ ...lens, gas: call.gas }]
  })
  return callsWithCode.length === calls.length ? callsWithCode : undefined
}

/** Returns the size of a proof, bytes. */
export function getProofSize({ header, nodes, codes }: StateProof): number {
  return [header, ...nodes, ...codes].reduce((sum, each) => sum + each.length / 2 - 1, 0)
}

/** True if a header has the hash and the fields of the block of a record. */
function isBlockHeader(header: Hex, { block }: ChainRecord): boolean {
  try {
    const { hash, number, parentHash, timestampSec } = decodeHeader(header)
    return (
      hash === block.hash &&
      number === block.number &&
      parentHash === block.parentHash &&
      timestampSec === block.timestampSec
    )
  } catch {
    return false
  }
}

/** True for the header of the block itself. */
function isBlockHeaderResult({ method, result }: RecordedResult, { block }: ChainRecord): boolean {
  if (!isHeaderMethod(method) || typeof result !== 'object' || result === null) return false
  const { hash, number, parentHash, timestamp } = result as Readonly<Record<string, unknown>>
  return (
    hash === block.hash &&
    parentHash === block.parentHash &&
    Number(number) === Number(block.number) &&
    Number(timestamp) === Number(block.timestampSec)
  )
}

function createFailure(reason: string): CheckResult {
  return { is: 'false', because: reason }
}
