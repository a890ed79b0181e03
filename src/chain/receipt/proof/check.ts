import type { Hex } from 'viem'
import type { CheckResult } from '../compare.ts'
import { decodeHeader } from '../header.ts'
import { type ChainRecord, isHeaderMethod, type LensQuery, type RecordedCall, type RecordedResult } from '../record.ts'
import type { ProvenCall, StateProof } from './job.ts'
import type { ProofRunner } from './runner.ts'

/** A record with what proves it, and the code of its calls. */
export interface ProvenRecord {
  readonly record: ChainRecord
  readonly proof: StateProof
  readonly asked: ReadonlyMap<RecordedCall, LensQuery>
}

/** Most bytes of a proof, codes included. */
export const PROOF_BYTES_MAX = 2_000_000

/** True if a record's calls answer the same bytes over nothing but the proof, to whoever believes the block's hash. */
export async function checkProof(
  runner: ProofRunner,
  { record, proof, asked }: ProvenRecord,
  signal: AbortSignal,
): Promise<CheckResult> {
  if (getProofSize(proof) > PROOF_BYTES_MAX) return wrong('the proof is longer than any that is given')
  if (!isHeaderOf(proof.header, record)) return wrong('the header is not that of the block')
  if (!record.headers.every((each) => isOfBlock(each, record))) {
    return { is: 'unknown', because: 'which block a time means is not proven' }
  }
  const calls = provenCalls(record, asked)
  if (calls === undefined) return { is: 'unknown', because: 'it is not known which code was called' }
  const reply = await runner.run({ chainId: record.chainId, proof, calls, explores: false }, signal)
  if ('fault' in reply) return wrong(reply.fault)
  const { answers, nodes, codes } = reply.run
  if (!record.calls.every(({ answer }, at) => answers[at] === answer)) {
    return wrong('the proven state answers other bytes')
  }
  const isWhole = nodes.length === proof.nodes.length && codes.length === proof.codes.length
  if (!isWhole) return wrong('the proof holds what no call reads')
  return { is: 'true', because: 'run over state that the hash of the block proves' }
}

/** The calls of a record with their code; undefined if that of one is not known. */
export function provenCalls(
  { calls }: ChainRecord,
  asked: ReadonlyMap<RecordedCall, LensQuery>,
): readonly ProvenCall[] | undefined {
  const known = calls.flatMap((call) => {
    const runtime = asked.get(call)?.runtime
    return runtime === undefined ? [] : [{ runtime, data: call.data, gas: call.gas }]
  })
  return known.length === calls.length ? known : undefined
}

/** Bytes of a proof. */
export function getProofSize({ header, nodes, codes }: StateProof): number {
  return [header, ...nodes, ...codes].reduce((sum, each) => sum + each.length / 2 - 1, 0)
}

/** True if a header has the hash and the fields of the block of a record. */
function isHeaderOf(header: Hex, { block }: ChainRecord): boolean {
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
function isOfBlock({ method, result }: RecordedResult, { block }: ChainRecord): boolean {
  if (!isHeaderMethod(method) || typeof result !== 'object' || result === null) return false
  const { hash, number, parentHash, timestamp } = result as Readonly<Record<string, unknown>>
  return (
    hash === block.hash &&
    parentHash === block.parentHash &&
    Number(number) === Number(block.number) &&
    Number(timestamp) === Number(block.timestampSec)
  )
}

function wrong(because: string): CheckResult {
  return { is: 'false', because }
}
