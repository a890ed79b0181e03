import type { ChainRecord, LensQuery, RecordedCall } from '../chain/receipt/record.ts'
import type { ChainClient } from '../chain/rpc/client.ts'
import type { ReadContext } from '../http/route/route.ts'
import type { Clock } from '../lib/clock.ts'
import { CodedError, UnavailableError } from '../lib/error.ts'
import { type Payload, toPayloadProof } from './payload.ts'
import { checkProof, EARLIER_UNPROVEN, hasEarlierCalls, toProvenCalls } from './proof/check.ts'
import { collectProof, UnprovenError } from './proof/collect.ts'
import type { ProofRunner } from './proof/runner.ts'

/** A record, its chain's client, and the code of its calls. */
interface ProverOptions {
  readonly client: ChainClient
  readonly record: ChainRecord
  readonly queries: ReadonlyMap<RecordedCall, LensQuery>
}

const NO_PROOF = `Cannot read parameter "receipt": expected true, because ${EARLIER_UNPROVEN}, got "proof"`

export type Proofs = NonNullable<Payload['proofs']>

/** Creates proofs of records; returns a proof only if our own verifier accepts it. */
export function createProver({ runner, clock }: { readonly runner: ProofRunner; readonly clock: Clock }) {
  const busyOrganizations = new Set<string>()

  async function prove(
    { client, record, queries }: ProverOptions,
    organizationId: string,
    signal: AbortSignal,
  ): Promise<Proofs[number]> {
    const ownRunner: Pick<ProofRunner, 'run'> = { run: (job, within) => runner.run(job, within, organizationId) }
    // Lasting, unlike what endpoints cannot prove now.
    if (hasEarlierCalls(record)) throw new CodedError('INVALID_PARAMETER', NO_PROOF)
    const calls = toProvenCalls(record, queries)
    if (calls === undefined) throw unprovenError(client, 'it rests on more than calls of lenses')
    const proof = await collectProof({ client, runner: ownRunner, clock }, { record, calls }, signal).catch(
      (cause: unknown) => {
        if (cause instanceof UnprovenError) throw unprovenError(client, cause.message, cause)
        if (!(cause instanceof CodedError) || cause.code === 'INVALID_PARAMETER' || signal.aborted) throw cause
        throw unprovenError(client, 'no endpoint proves that block', cause)
      },
    )
    const result = await checkProof(ownRunner, { record, proof, queriesByCall: queries }, signal)
    if (result.is !== 'true') throw unprovenError(client, result.because)
    return toPayloadProof(record.chainId, proof)
  }

  return {
    /** Runs the work of an organization, one at a time per organization. */
    async alone<T>(organizationId: string, work: () => Promise<T>): Promise<T> {
      if (busyOrganizations.has(organizationId)) {
        throw new UnavailableError('Cannot prove two answers of one organization at the same time')
      }
      busyOrganizations.add(organizationId)
      try {
        runner.prepare()
        return await work()
      } finally {
        busyOrganizations.delete(organizationId)
      }
    },
    /** Throws `UnavailableError` if a record cannot be proven, `CodedError` if that would be too much. */
    all: (
      proving: readonly ProverOptions[],
      { organizationId, signal }: Pick<ReadContext, 'organizationId' | 'signal'>,
    ): Promise<Proofs> => Promise.all(proving.map((each) => prove(each, organizationId, signal))),
  }
}

function unprovenError({ chain: { id, name } }: ChainClient, reason: string, cause?: unknown): UnavailableError {
  return new UnavailableError(`Cannot prove the answer for chain ${id} (${name}) because ${reason}`, { cause })
}
