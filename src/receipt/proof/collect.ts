import { type Hex, keccak256, zeroHash } from 'viem'
import { LENS_ADDRESS } from '../../chain/call/bundle/bundle.ts'
import { decodeHeader, encodeHeader } from '../../chain/receipt/header.ts'
import type { ChainRecord } from '../../chain/receipt/record.ts'
import type { ChainClient, Endpoint } from '../../chain/rpc/client.ts'
import { EndpointError, hasFault } from '../../chain/rpc/error.ts'
import { parseBytes, parseLowerBytes } from '../../chain/rpc/value.ts'
import { forEachLimit } from '../../lib/async/parallel.ts'
import type { Work } from '../../lib/async/work.ts'
import type { Clock } from '../../lib/clock.ts'
import { CodedError } from '../../lib/error.ts'
import { getProofSize, PROOF_BYTES_MAX } from './check.ts'
import { type AccessHint, readHints } from './hint.ts'
import type { MissingState, ProofRun, ProvenCall, StateProof } from './job.ts'
import { createNodeSet, findTrieValue, isIncompleteProof, ProofError } from './lookup.ts'
import type { ProofRunner } from './runner.ts'

/** Upper bound of the slots of one receipt, and of the keys that nodes accept in one request. */
const SLOTS_MAX = 1_000
/** Upper bound of the accounts that are fetched because of a hint. */
const HINTED_ACCOUNTS_MAX = 500
/** Upper bound of the rounds; each one fetches what the last run found missing. */
const ROUNDS_MAX = 64
/** Concurrent requests. */
const CONCURRENCY_MAX = 16
const BUDGET_MS = 25_000

const NO_PROOF = 'no endpoint proves that block'

/** A list is proven in full whatever page is requested, so a smaller "limit" does not help. */
function proofTooLargeError(limit: string): CodedError {
  const expectation = `expected no proof of an answer that rests on more than ${limit}, whatever its "limit"`
  return new CodedError('INVALID_PARAMETER', `Cannot read parameter "receipt": ${expectation}; receipt=true gives one`)
}

interface CollectContext {
  readonly client: ChainClient
  readonly runner: Pick<ProofRunner, 'run'>
  readonly clock: Clock
}

interface ProofRequest {
  readonly record: ChainRecord
  readonly calls: readonly ProvenCall[]
}

/** Nodes and codes fetched so far. The worker thread hashes them; hashing here would block callers. */
interface Draft {
  readonly nodes: Set<Hex>
  readonly codes: Set<Hex>
}

/**
 * Collects a minimal proof of the calls of a record from the first endpoint that gives one. Throws `ProofError`,
 * `CodedError` INVALID_PARAMETER if the proof would be too large, or as `ChainClient.read`.
 */
export async function collectProof(
  { client, runner, clock }: CollectContext,
  { record, calls }: ProofRequest,
  work: Work,
): Promise<StateProof> {
  const { block } = record
  let unprovenError: ProofError | undefined
  try {
    return await client.read(
      async (endpoint, within) => {
        try {
          return await collectFromEndpoint(endpoint, { record, calls, runner, clock }, within)
        } catch (cause) {
          // An endpoint that cannot prove the state may still serve reads of it, so this is not a missing state.
          const error = hasFault(cause, 'no_state') ? new ProofError(NO_PROOF) : cause
          if (!(error instanceof ProofError)) throw error
          unprovenError = error
          throw new EndpointError('unsupported', 'The endpoint gives no proof', { cause: error })
        }
      },
      { work, budgetMs: BUDGET_MS, past: block },
    )
  } catch (error) {
    if (unprovenError !== undefined && !work.signal.aborted) throw unprovenError
    throw error
  }
}

async function collectFromEndpoint(
  endpoint: Endpoint,
  { record, calls, runner, clock }: ProofRequest & Omit<CollectContext, 'client'>,
  work: Work,
): Promise<StateProof> {
  const { chainId, block } = record
  const blockHash = block.hash
  const [header, hints] = await Promise.all([
    readHeaderBytes(endpoint, blockHash, work),
    readHints(endpoint, { calls, blockHash, nowMs: clock.monotonicMs() }, work),
  ])
  const draft: Draft = { nodes: new Set(hints.nodes), codes: new Set(hints.codes) }
  let missing: MissingState = { accounts: limitHintedAccounts(hints.accounts), codes: {} }
  for (let round = 0; round < ROUNDS_MAX; round++) {
    await fetchMissing(endpoint, { draft, missing, blockHash }, work)
    const proof = { header, nodes: [...draft.nodes], codes: [...draft.codes] }
    const reply = await runner.run({ chainId, proof, calls, explores: true }, work.signal)
    if ('fault' in reply) throw new ProofError(reply.fault)
    const { run } = reply
    if (run.slots > SLOTS_MAX) throw proofTooLargeError(`${SLOTS_MAX} slots`)
    if (isComplete(run)) return pickUsed(proof, run)
    if (JSON.stringify(missing) === JSON.stringify(run.missing)) {
      throw new ProofError('what an endpoint gives does not prove that block')
    }
    missing = run.missing
  }
  throw new ProofError('its calls read more than an endpoint proves')
}

/** Cuts the accounts of a hint to the limits; later rounds fetch the rest if the calls read it. */
function limitHintedAccounts(accounts: AccessHint['accounts']): MissingState['accounts'] {
  let room = SLOTS_MAX
  const limited = [...accounts].slice(0, HINTED_ACCOUNTS_MAX).map(([address, slots]) => {
    const slotsTaken = [...slots].slice(0, room)
    room -= slotsTaken.length
    return [address, slotsTaken] as const
  })
  return Object.fromEntries(limited)
}

function isComplete({ missing: { accounts, codes } }: ProofRun): boolean {
  return Object.keys(accounts).length === 0 && Object.keys(codes).length === 0
}

/** Drops nodes and codes that the run did not read. */
function pickUsed({ header, nodes, codes }: StateProof, run: ProofRun): StateProof {
  const [usedNodes, usedCodes] = [new Set(run.nodes), new Set(run.codes)]
  const proof = {
    header,
    nodes: nodes.filter((_, index) => usedNodes.has(index)).sort(),
    codes: codes.filter((_, index) => usedCodes.has(index)).sort(),
  }
  if (getProofSize(proof) > PROOF_BYTES_MAX) throw proofTooLargeError('2 MB')
  return proof
}

/**
 * Reads the RLP of a block's header, encoded from its fields. Throws `ProofError` if it does not hash to the block's
 * hash, else as `Endpoint.request`.
 */
async function readHeaderBytes(endpoint: Endpoint, blockHash: Hex, work: Work): Promise<Hex> {
  const parse = (result: unknown): Hex => {
    if (typeof result !== 'object' || result === null) throw new TypeError('Expected a block')
    return encodeHeader(result as Readonly<Record<string, unknown>>) ?? '0x'
  }
  const header = await endpoint.request({ method: 'eth_getBlockByHash', params: [blockHash, false], parse }, work)
  if (keccak256(header) !== blockHash) throw new ProofError("the chain's header does not hash to its hash")
  return header
}

async function fetchMissing(
  endpoint: Endpoint,
  { draft, missing, blockHash }: { readonly draft: Draft; readonly missing: MissingState; readonly blockHash: Hex },
  work: Work,
): Promise<void> {
  const at = { blockHash }
  const accounts = Object.entries(missing.accounts)
  await forEachLimit(
    [
      ...accounts.map(([address, slots]) => ({
        method: 'eth_getProof',
        params: [address, slots, at],
        parse: (result: unknown) => addProofNodes(draft.nodes, result),
      })),
      ...Object.keys(missing.codes).map((address) => ({
        method: 'eth_getCode',
        params: [address, at],
        parse: (result: unknown) => void draft.codes.add(parseLowerBytes(parseBytes(result))),
      })),
    ],
    CONCURRENCY_MAX,
    (request, shared) => endpoint.request(request, shared),
    work,
  )
}

/** Adds the nodes of a result of `eth_getProof`. Throws `TypeError` for anything else. */
function addProofNodes(nodes: Set<Hex>, result: unknown): void {
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

/**
 * Tests whether an endpoint can prove the state of a block, with an account that does not exist. Throws `ProofError`
 * if headers of the chain do not hash to their hash, else as `Endpoint.request`.
 */
export async function canProveBlock(endpoint: Endpoint, blockHash: Hex, work: Work): Promise<boolean> {
  const header = await readHeaderBytes(endpoint, blockHash, work)
  const nodes = new Set<Hex>()
  const parse = (result: unknown) => addProofNodes(nodes, result)
  const params = [LENS_ADDRESS, [zeroHash], { blockHash }]
  await endpoint.request({ method: 'eth_getProof', params, parse }, work)
  try {
    findTrieValue(createNodeSet([...nodes]), decodeHeader(header).stateRoot, keccak256(LENS_ADDRESS))
    return true
  } catch (error) {
    if (isIncompleteProof(error)) return false
    throw error
  }
}
