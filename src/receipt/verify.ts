import { isDeepStrictEqual } from 'node:util'
import packageJson from '../../package.json' with { type: 'json' }
import type { Work } from '../lib/async/work.ts'
import type { Clock } from '../lib/clock.ts'
import { decodeEnvelopeText, type Envelope, parseBoundedJson, parseEnvelope } from '../lib/dsse.ts'
import { isJsonObject } from '../lib/text/json.ts'
import { compareWithEndpoints, type EndpointResults, type RecordQuestion } from './check_endpoints.ts'
import { checkSignature, type PublishedKey } from './keys.ts'
import {
  computeLevel,
  listTold,
  maskPaths,
  PAYLOAD_TYPE,
  type Payload,
  parsePayload,
  type StatedAnswer,
  toChainRecord,
} from './payload.ts'
import { type CheckResult, checkProof } from './proof/check.ts'
import type { ProofRunner } from './proof/runner.ts'
import { type ReplayedAnswer, replayAnswer } from './replay.ts'
import { parseReceiptSettings } from './settings.ts'
import { findSubject, type Subject } from './subject.ts'

/** Checks of a receipt, in the order of the report. */
export const CHECKS = ['signature', 'figures', 'answers', 'lens', 'block'] as const
type Check = (typeof CHECKS)[number]

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
  readonly work: Work
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
  const restsOnSignature = isSigned || payload.uncovered.length > 0 || payload.testimony !== undefined
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
  { replayed, evidence: { runner, work } }: ReadsEvidence,
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
      results.push(await checkProof(runner, { record, proof, queriesByCall: replayed.queries }, work.signal))
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

/**
 * True if the answer beside a receipt is the stated one, whatever the order of its keys. Its `request_id` differs from
 * answer to answer, and its links have a host.
 */
function matchesBeside(answer: StatedAnswer, beside: Readonly<Record<string, unknown>>): boolean {
  const { request_id: _, pagination, ...rest } = beside
  const { pagination: statedPagination, ...statedRest } = answer
  return isDeepStrictEqual(rest, statedRest) && matchesPagination(statedPagination, pagination)
}

function matchesPagination(stated: unknown, beside: unknown): boolean {
  if (!isJsonObject(stated) || !isJsonObject(beside)) return stated === undefined && beside === undefined
  const withoutHosts = Object.entries(beside).map(([name, value]) => [name, removeHost(value, stated[name])])
  return isDeepStrictEqual(Object.fromEntries(withoutHosts), stated)
}

/** Returns the stated link if a link differs from it by what stands before the path alone, else the link itself. */
function removeHost(link: unknown, stated: unknown): unknown {
  if (typeof link !== 'string' || typeof stated !== 'string' || !link.endsWith(stated)) return link
  return /^https?:\/\/[^?#]+$/.test(link.slice(0, -stated.length)) ? stated : link
}

/** A program knows only the revisions of its own release. */
const RELEASE = packageJson.version

/** The result of counting the figures again. */
interface FiguresCheck {
  readonly verdict: CheckResult
  /** Absent if the records come to no answer. */
  readonly replayed?: ReplayedAnswer
}

/** Checks the figures: the same route, run over the records, gives the same answer. Never throws. */
async function checkFigures(payload: Payload, clock: Clock): Promise<FiguresCheck> {
  const { family: stated, level, version, settings, request, reads, proofs } = payload
  const subject = findSubject(stated.name)
  if (subject === undefined) return { verdict: otherReleaseResult(version, `family "${stated.name}"`) }
  const agreed = reads.map((read) => read.agreed)
  if (level !== computeLevel({ network: subject.network, agreed, isProven: proofs !== undefined })) {
    return { verdict: { is: 'false', because: `its level is not that of what it holds: ${level}` } }
  }
  if (level === 'signed') {
    return { verdict: unknownResult('the chain keeps no past: the signature alone stands for them') }
  }
  const parsed = parseSettings(subject, settings)
  if ('mistakes' in parsed)
    return { verdict: { is: 'false', because: `its settings are wrong: ${parsed.mistakes[0]}` } }
  const { revision } = subject
  if (revision !== stated.revision) {
    return { verdict: otherReleaseResult(version, `revision ${stated.revision} of ${stated.name}`) }
  }
  try {
    const replayed = await replayAnswer(parsed, {
      statement: request,
      records: reads.map(toChainRecord),
      told: listTold(payload),
      clock,
    })
    return { replayed, verdict: compareReplayed(payload, replayed) }
  } catch (error) {
    const because = `the recorded answers come to none: ${error instanceof Error ? error.message : 'nothing'}`
    return { verdict: { is: 'false', because } }
  }
}

function compareReplayed(payload: Payload, { answer, uncovered, faults, receipt }: ReplayedAnswer): CheckResult {
  const [fault] = faults
  if (fault !== undefined) return { is: 'false', because: fault }
  if (receipt !== (payload.level === 'proven' ? 'proof' : 'true')) {
    return { is: 'false', because: 'its request asks for another receipt' }
  }
  if (!isDeepStrictEqual(payload.uncovered, uncovered)) {
    return { is: 'false', because: 'it says to leave out what it does not' }
  }
  const [replayed, stated] = [answer, payload.answer].map((each) => maskPaths(toJson(each), uncovered))
  if (!isDeepStrictEqual(replayed, stated)) return { is: 'false', because: 'the recorded answers come to others' }
  const rest = uncovered.length === 0 ? '' : ', but for what is not covered'
  return { is: 'true', because: `counted again from the recorded answers${rest}` }
}

/** Checks that the called code is that of this release. */
function checkLens({ reads, version }: Payload, { replayed, verdict }: FiguresCheck): CheckResult {
  const calls = reads.flatMap((read) => read.calls)
  if (calls.length === 0) return unknownResult('nothing was called')
  if (replayed === undefined)
    return verdict.is === 'false' ? { is: 'false', because: 'its calls are not those of the route' } : verdict
  const own = new Set([...replayed.queries.keys()].map(({ lens }) => lens))
  if (calls.every(({ lens }) => own.has(lens))) return { is: 'true', because: `of release ${RELEASE}` }
  return version === RELEASE
    ? { is: 'false', because: `of no lens of release ${RELEASE}` }
    : otherReleaseResult(version, 'its lens')
}

function parseSettings(subject: Subject, settings: Payload['settings']): ReturnType<typeof parseReceiptSettings> {
  try {
    return parseReceiptSettings(subject, settings)
  } catch {
    return { mistakes: ['they cannot be read'] }
  }
}

/** Converts an answer to its JSON form, which has no absent fields. */
function toJson<Value>(value: Value): Value {
  return JSON.parse(JSON.stringify(value))
}

function otherReleaseResult(version: string, what: string): CheckResult {
  return unknownResult(`this is release ${RELEASE}: ${what} is known to release ${version}`)
}
