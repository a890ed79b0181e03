import { checkProof, provenCalls } from '../../chain/receipt/proof/check.ts'
import { collectProof, UnprovenError } from '../../chain/receipt/proof/collect.ts'
import type { ProofRunner } from '../../chain/receipt/proof/runner.ts'
import type { ChainRecord, LensQuery, RecordedCall } from '../../chain/receipt/record.ts'
import type { ChainClient } from '../../chain/rpc/client.ts'
import type { Clock } from '../../lib/clock.ts'
import { CodedError, UnavailableError } from '../../lib/error.ts'
import { type Payload, toPayloadProof } from './payload.ts'

/** A record, where it was read, and the code of its calls. */
interface ProverOptions {
  readonly client: ChainClient
  readonly record: ChainRecord
  readonly asked: ReadonlyMap<RecordedCall, LensQuery>
}

export type Proofs = NonNullable<Payload['proofs']>

/** Makes proofs of records: a proof leaves only if our own verifier accepts it. */
export function createProver({ runner, clock }: { readonly runner: ProofRunner; readonly clock: Clock }) {
  const busy = new Set<string>()

  async function prove({ client, record, asked }: ProverOptions, signal: AbortSignal): Promise<Proofs[number]> {
    const calls = provenCalls(record, asked)
    if (calls === undefined) throw unproven(client, 'it rests on more than calls of lenses')
    const proof = await collectProof({ client, runner, clock }, { record, calls }, signal).catch((cause: unknown) => {
      if (cause instanceof UnprovenError) throw unproven(client, cause.message, cause)
      if (!(cause instanceof CodedError) || cause.code === 'INVALID_PARAMETER' || signal.aborted) throw cause
      throw unproven(client, 'no endpoint proves that block', cause)
    })
    const told = await checkProof(runner, { record, proof, asked }, signal)
    if (told.is !== 'true') throw unproven(client, told.because)
    return toPayloadProof(record.chainId, proof)
  }

  return {
    /** The work of an organization, of which one has one at a time. */
    async alone<T>(organizationId: string, work: () => Promise<T>): Promise<T> {
      if (busy.has(organizationId)) {
        throw new UnavailableError('Cannot prove two answers of one organization at the same time')
      }
      busy.add(organizationId)
      try {
        runner.prepare()
        return await work()
      } finally {
        busy.delete(organizationId)
      }
    },
    /** Throws `UnavailableError` if a record cannot be proven, `CodedError` if that would be too much. */
    all: (proving: readonly ProverOptions[], signal: AbortSignal): Promise<Proofs> =>
      Promise.all(proving.map((each) => prove(each, signal))),
  }
}

function unproven({ chain: { id, name } }: ChainClient, because: string, cause?: unknown): UnavailableError {
  return new UnavailableError(`Cannot prove the answer for chain ${id} (${name}) because ${because}`, { cause })
}
