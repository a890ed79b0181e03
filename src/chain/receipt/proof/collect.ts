import { type Hex, keccak256 } from 'viem'
import { forEachLimit } from '../../../lib/async/for_each_limit.ts'
import type { Clock } from '../../../lib/clock.ts'
import { CodedError } from '../../../lib/error.ts'
import type { ChainClient, Endpoint } from '../../rpc/client.ts'
import { MissingStateError, UnsupportedRequestError } from '../../rpc/error.ts'
import { parseBytes, parseLowerBytes } from '../../rpc/value.ts'
import { encodeHeader } from '../header.ts'
import type { ChainRecord } from '../record.ts'
import { getProofSize, PROOF_BYTES_MAX } from './check.ts'
import { type AccessHint, readHints } from './hint.ts'
import type { MissingState, ProofRun, ProvenCall, StateProof } from './job.ts'
import type { ProofRunner } from './runner.ts'

/** Slots that one receipt may rest on, and keys that nodes take in one request. */
const SLOTS_MAX = 1_000
/** Accounts that are fetched because a hint names them. */
const HINTED_ACCOUNTS_MAX = 500
/** Further rounds in which the machine finds what hints did not name. */
const ROUNDS_MAX = 64
/** Requests under way at the same time. */
const TOGETHER_MAX = 16
const BUDGET_MS = 25_000

const NO_PROOF = 'no endpoint proves that block'

/** No proof can be had; the message is the end of a sentence. */
export class UnprovenError extends Error {
  override readonly name = 'UnprovenError'
}

/** Lists are read whole, whatever their page. */
function tooMuch(what: string): CodedError {
  const said = `expected no proof of an answer that rests on more than ${what}, whatever its "limit"`
  return new CodedError('INVALID_PARAMETER', `Cannot read parameter "receipt": ${said}; receipt=true gives one`)
}

interface CollectContext {
  readonly client: ChainClient
  readonly runner: ProofRunner
  readonly clock: Clock
}

interface ProofRequest {
  readonly record: ChainRecord
  readonly calls: readonly ProvenCall[]
}

/** What has been fetched of a state so far. The machine hashes it: here it would hold up callers. */
interface Draft {
  readonly nodes: Set<Hex>
  readonly codes: Set<Hex>
}

/**
 * Collects what proves the calls of a record, from the first endpoint that gives it: nothing more than the calls read.
 * Throws `UnprovenError`, `CodedError` INVALID_PARAMETER if it is too much, or as `ChainClient.read`.
 */
export async function collectProof(
  { client, runner, clock }: CollectContext,
  { record, calls }: ProofRequest,
  signal: AbortSignal,
): Promise<StateProof> {
  const { block } = record
  let untold: UnprovenError | undefined
  try {
    return await client.read(
      async (endpoint, within) => {
        try {
          return await collectAt(endpoint, { record, calls, runner, clock }, within)
        } catch (cause) {
          // State that is not proven may still be read there.
          const error = cause instanceof MissingStateError ? new UnprovenError(NO_PROOF) : cause
          if (!(error instanceof UnprovenError)) throw error
          untold = error
          throw new UnsupportedRequestError('The endpoint gives no proof', { cause: error })
        }
      },
      { signal, budgetMs: BUDGET_MS, past: block },
    )
  } catch (error) {
    if (untold !== undefined && !signal.aborted) throw untold
    throw error
  }
}

async function collectAt(
  endpoint: Endpoint,
  { record, calls, runner, clock }: ProofRequest & Omit<CollectContext, 'client'>,
  signal: AbortSignal,
): Promise<StateProof> {
  const { chainId, block } = record
  const blockHash = block.hash
  const [header, hints] = await Promise.all([
    readHeaderBytes(endpoint, blockHash, signal),
    readHints(endpoint, { calls, blockHash, nowMs: clock.monotonicMs() }, signal),
  ])
  const draft: Draft = { nodes: new Set(hints.nodes), codes: new Set(hints.codes) }
  let lacking: MissingState = { accounts: soFar(hints.accounts), codes: {} }
  for (let round = 0; round < ROUNDS_MAX; round++) {
    await fetchLacking(endpoint, { draft, lacking, blockHash }, signal)
    const proof = { header, nodes: [...draft.nodes], codes: [...draft.codes] }
    const reply = await runner.run({ chainId, proof, calls, explores: true }, signal)
    if ('fault' in reply) throw new UnprovenError(reply.fault)
    const { run } = reply
    if (run.slots > SLOTS_MAX) throw tooMuch(`${SLOTS_MAX} slots`)
    if (isWhole(run)) return usedOf(proof, run)
    if (JSON.stringify(lacking) === JSON.stringify(run.lacking)) {
      throw new UnprovenError('what an endpoint gives does not prove that block')
    }
    lacking = run.lacking
  }
  throw new UnprovenError('its calls read more than an endpoint proves')
}

/** What a hint names, as far as it may be of use: what it leaves out the machine asks for. */
function soFar(accounts: AccessHint['accounts']): MissingState['accounts'] {
  let room = SLOTS_MAX
  const named = [...accounts].slice(0, HINTED_ACCOUNTS_MAX).map(([address, slots]) => {
    const taken = [...slots].slice(0, room)
    room -= taken.length
    return [address, taken] as const
  })
  return Object.fromEntries(named)
}

function isWhole({ lacking: { accounts, codes } }: ProofRun): boolean {
  return Object.keys(accounts).length === 0 && Object.keys(codes).length === 0
}

/** A proof without what was not read. */
function usedOf({ header, nodes, codes }: StateProof, run: ProofRun): StateProof {
  const [usedNodes, usedCodes] = [new Set(run.nodes), new Set(run.codes)]
  const proof = {
    header,
    nodes: nodes.filter((_, at) => usedNodes.has(at)).sort(),
    codes: codes.filter((_, at) => usedCodes.has(at)).sort(),
  }
  if (getProofSize(proof) > PROOF_BYTES_MAX) throw tooMuch('2 MB')
  return proof
}

/**
 * RLP of the header of a block, from its fields. Throws `UnprovenError` if it does not hash to the block's hash, else as
 * `Endpoint.request`.
 */
export async function readHeaderBytes(endpoint: Endpoint, blockHash: Hex, signal: AbortSignal): Promise<Hex> {
  const parse = (result: unknown): Hex => {
    if (typeof result !== 'object' || result === null) throw new TypeError('Expected a block')
    return encodeHeader(result as Readonly<Record<string, unknown>>) ?? '0x'
  }
  const header = await endpoint.request({ method: 'eth_getBlockByHash', params: [blockHash, false], parse }, signal)
  if (keccak256(header) !== blockHash) throw new UnprovenError("the chain's header does not hash to its hash")
  return header
}

async function fetchLacking(
  endpoint: Endpoint,
  { draft, lacking, blockHash }: { readonly draft: Draft; readonly lacking: MissingState; readonly blockHash: Hex },
  signal: AbortSignal,
): Promise<void> {
  const at = { blockHash }
  const accounts = Object.entries(lacking.accounts)
  await forEachLimit(
    [
      ...accounts.map(([address, slots]) => ({
        method: 'eth_getProof',
        params: [address, slots, at],
        parse: (result: unknown) => addProofNodes(draft.nodes, result),
      })),
      ...Object.keys(lacking.codes).map((address) => ({
        method: 'eth_getCode',
        params: [address, at],
        parse: (result: unknown) => void draft.codes.add(parseLowerBytes(parseBytes(result))),
      })),
    ],
    TOGETHER_MAX,
    (request, shared) => endpoint.request(request, shared),
    signal,
  )
}

/** Adds the nodes of an answer of `eth_getProof`. Throws `TypeError` if it is none. */
export function addProofNodes(nodes: Set<Hex>, result: unknown): void {
  const { accountProof, storageProof } = (result ?? {}) as Readonly<Record<string, unknown>>
  if (!Array.isArray(accountProof) || !Array.isArray(storageProof)) throw new TypeError('Expected a proof')
  const all: unknown[] = [...accountProof]
  for (const each of storageProof) {
    const { proof } = (each ?? {}) as { readonly proof?: unknown }
    if (!Array.isArray(proof)) throw new TypeError('Expected the proof of a slot')
    all.push(...proof)
  }
  for (const each of all) nodes.add(parseLowerBytes(each))
}
