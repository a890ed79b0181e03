import type { Clock } from '../lib/clock.ts'
import { decodeEnvelopeText, type Envelope, parseBoundedJson, parseEnvelope } from '../lib/dsse.ts'
import { matchesBeside } from './beside.ts'
import { compareWithEndpoints, type EndpointResults, type RecordQuestion } from './check_endpoints.ts'
import { checkFigures, checkLens, type FiguresCheck } from './check_figures.ts'
import { checkSignature, type PublishedKey } from './keys.ts'
import { PAYLOAD_TYPE, type Payload, parsePayload, toChainRecord } from './payload.ts'
import type { CheckResult } from './proof/check.ts'
import { checkProof } from './proof/check.ts'
import type { ProofRunner } from './proof/runner.ts'
import type { ReplayedAnswer } from './replay.ts'

/** Checks of a receipt, in the order of the report. */
export const CHECKS = ['signature', 'figures', 'answers', 'lens', 'block'] as const
export type Check = (typeof CHECKS)[number]

export type { CheckResult }

/** Inputs of a verifier besides the receipt. */
export interface Evidence {
  /** Published keys of the instance; undefined if none were given. */
  readonly keys: readonly PublishedKey[] | undefined
  /** Endpoints of the verifier's own choice. */
  readonly rpcUrls: readonly string[]
  /** Hashes of blocks that the verifier trusts, by chain. */
  readonly blockHashes: ReadonlyMap<number, string>
  readonly clock: Clock
  readonly signal: AbortSignal
  /** Runs calls over proofs. */
  readonly runner: ProofRunner
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>
}

/** The result of a verification. */
export interface VerificationResult {
  readonly payload: Payload | undefined
  readonly verdicts: Readonly<Record<Check, CheckResult>>
  /** False if nothing was given that stands for the recorded answers besides the receipt itself. */
  readonly isIndependent: boolean
  /** The worst of the requested verdicts; never true without independent evidence. */
  readonly is: CheckResult['is']
}

const NO_KEYS = 'no keys were given (--key)'

/**
 * Checks a receipt, using only the given evidence and sending requests only to the given endpoints. Never throws.
 */
export async function verifyReceipt(text: string, evidence: Evidence): Promise<VerificationResult> {
  const { receipt, beside } = splitReceipt(parseBoundedJson(text))
  const envelope = parseEnvelope(receipt, PAYLOAD_TYPE)
  const payload = envelope && decodePayload(envelope)
  if (envelope === undefined || payload === undefined) {
    const result: CheckResult = { is: 'false', because: 'it is not a receipt as this version writes them' }
    const verdicts = { signature: result, figures: result, answers: result, lens: result, block: result }
    return { payload: undefined, verdicts, isIndependent: false, is: 'false' }
  }
  const { keys, rpcUrls, blockHashes } = evidence
  const isSigned = payload.level === 'signed'
  const isProven = payload.level === 'proven'
  const figures: FiguresCheck =
    beside === undefined || matchesBeside(payload.answer, beside)
      ? await checkFigures(payload, evidence.clock)
      : { verdict: { is: 'false', because: 'the answer beside the receipt is another' } }
  const restsOnSignature = isSigned || payload.uncovered.length > 0
  const requested = new Set<Check>([
    ...(keys === undefined && !restsOnSignature ? [] : ['signature' as const]),
    // The answer beside a signed receipt, or its level, may still be false.
    ...(isSigned && figures.verdict.is !== 'false' ? [] : ['figures' as const, 'lens' as const]),
    ...(isProven ? ['answers' as const] : []),
    ...(rpcUrls.length === 0 ? [] : ['answers' as const, 'block' as const]),
    ...(blockHashes.size === 0 ? [] : ['block' as const]),
  ])
  const verdicts = {
    signature:
      keys === undefined
        ? unknownResult(restsOnSignature ? `${NO_KEYS}: nothing else stands for what is not covered` : NO_KEYS)
        : checkSignature(envelope, { keys, issuedAt: payload.issued_at }),
    figures: figures.verdict,
    lens: checkLens(payload, figures),
    ...(await checkReads(payload, { replayed: figures.replayed, evidence })),
  }
  // The hash of a block stands for answers only if they are proven from it.
  const isIndependent = keys !== undefined || rpcUrls.length > 0 || (isProven && blockHashes.size > 0)
  const results = CHECKS.filter((check) => requested.has(check)).map((check) => verdicts[check].is)
  const isUndecided = !isIndependent || results.includes('unknown')
  return {
    payload,
    verdicts,
    isIndependent,
    is: results.includes('false') ? 'false' : isUndecided ? 'unknown' : 'true',
  }
}

/** Separates a receipt from the answer that may contain it. */
function splitReceipt(json: unknown): {
  readonly receipt: unknown
  readonly beside?: Readonly<Record<string, unknown>>
} {
  if (typeof json !== 'object' || json === null || !('receipt' in json)) return { receipt: json }
  const { receipt, ...beside } = json
  return { receipt, beside }
}

function decodePayload(envelope: Envelope): Payload | undefined {
  const text = decodeEnvelopeText(envelope)
  return text === undefined ? undefined : parsePayload(parseBoundedJson(text))
}

interface ReadsEvidence {
  readonly replayed: ReplayedAnswer | undefined
  readonly evidence: Evidence
}

/** Checks answers and blocks with the given endpoints or over proofs, and blocks with the trusted hashes. */
async function checkReads(
  payload: Payload,
  { replayed, evidence }: ReadsEvidence,
): Promise<Pick<Record<Check, CheckResult>, 'answers' | 'block'>> {
  const { reads, level } = payload
  const results: EndpointResults[] = []
  for (const record of reads.map(toChainRecord)) results.push(await checkRead({ record, level, replayed }, evidence))
  const answers =
    level === 'proven'
      ? await checkProofs(payload, { replayed, evidence })
      : results.flatMap((result) => result.answers)
  const blocks = results.flatMap((result) => result.blocks)
  return { answers: getWorst(answers, 'nothing was called'), block: getWorst(blocks, 'nothing was read') }
}

/** Checks one record with the trusted hash and the endpoints of its chain. */
async function checkRead(
  { record, level, replayed }: Pick<RecordQuestion, 'record' | 'level'> & Pick<ReadsEvidence, 'replayed'>,
  evidence: Evidence,
): Promise<EndpointResults> {
  const { chainId, block } = record
  const trustedHash = evidence.blockHashes.get(chainId)
  const trusted = trustedHash === undefined ? [] : [checkBlockHash(block.hash, trustedHash)]
  const compared = replayed && (await compareWithEndpoints({ record, level, replayed }, evidence))
  if (compared !== undefined) return { answers: compared.answers, blocks: [...trusted, ...compared.blocks] }
  const isNotAsked = replayed === undefined && evidence.rpcUrls.length > 0
  const undecided = unknownResult(
    isNotAsked ? 'its figures are not those of its calls' : `no endpoint of chain ${chainId} was given (--rpc)`,
  )
  const untold =
    replayed?.atTimeSec === undefined ? [] : [unknownResult('which block a time means takes an endpoint (--rpc)')]
  return { answers: [undecided], blocks: trusted.length === 0 ? [undecided] : [...trusted, ...untold] }
}

/** Checks that the calls of a receipt give the same answers over its proofs alone. */
async function checkProofs(
  { reads, proofs = [] }: Payload,
  { replayed, evidence: { runner, signal } }: ReadsEvidence,
): Promise<readonly CheckResult[]> {
  const records = reads.map(toChainRecord)
  if (replayed === undefined) return [unknownResult('its figures are not those of its calls')]
  const hasAllProofs = proofs.length === records.length && records.length > 0
  if (!hasAllProofs) return [{ is: 'false', because: 'it does not prove each chain' }]
  const results: CheckResult[] = []
  for (const [at, proof] of proofs.entries()) {
    const record = records[at]
    if (record?.chainId !== proof.chain_id) return [{ is: 'false', because: 'it proves another chain' }]
    try {
      results.push(await checkProof(runner, { record, proof, queriesByCall: replayed.queries }, signal))
    } catch {
      results.push(unknownResult('the proof could not be run'))
    }
  }
  return results
}

function checkBlockHash(hash: string, trustedHash: string): CheckResult {
  return hash === trustedHash.toLowerCase()
    ? { is: 'true', because: 'it is the block that was given' }
    : { is: 'false', because: 'it is another block than was given' }
}

function unknownResult(because: string): CheckResult {
  return { is: 'unknown', because }
}

/** Worst first: false, then unknown, then true. */
function getWorst(verdicts: readonly CheckResult[], fallback: string): CheckResult {
  const candidates = (['false', 'unknown', 'true'] as const).map((is) => verdicts.find((each) => each.is === is))
  return candidates.find((each) => each !== undefined) ?? unknownResult(fallback)
}
