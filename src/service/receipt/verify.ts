import packageJson from '../../../package.json' with { type: 'json' }
import type { PinnedBlock } from '../../chain/block.ts'
import { createChainClient } from '../../chain/evm/evm_client.ts'
import { type CheckResult, compareBlock, compareCall } from '../../chain/receipt/compare.ts'
import { decodeEnvelopeText, type Envelope, parseBoundedJson, parseEnvelope } from '../../chain/receipt/envelope.ts'
import { checkProof } from '../../chain/receipt/proof/check.ts'
import type { ProofRunner } from '../../chain/receipt/proof/runner.ts'
import type { ChainRecord } from '../../chain/receipt/record.ts'
import type { Family } from '../../family/family.ts'
import { FAMILIES } from '../../family/mod.ts'
import type { FinanceChain } from '../../finance/chain.ts'
import type { Clock } from '../../lib/clock.ts'
import { silentLog } from '../../lib/log.ts'
import { checkSignature, type PublishedKey } from './keys.ts'
import { PAYLOAD_TYPE, type Payload, parsePayload, toChainRecord } from './payload.ts'
import { type ReplayedAnswer, replayAnswer } from './replay.ts'
import { parseReceiptSettings } from './settings.ts'
import { maskPaths } from './uncovered.ts'

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
  /** The worst of the requested verdicts. */
  readonly is: CheckResult['is']
}

const NO_KEYS = 'no keys were given (--key)'

/** A program knows only the revisions of its own release. */
const RELEASE = packageJson.version

/**
 * Checks a receipt, using only the given evidence and sending requests only to the given endpoints. Never throws.
 */
export async function verifyReceipt(text: string, evidence: Evidence): Promise<VerificationResult> {
  const { receipt, beside: besideReceipt } = splitReceipt(parseBoundedJson(text))
  const envelope = parseEnvelope(receipt, PAYLOAD_TYPE)
  const payload = envelope && decodePayload(envelope)
  if (envelope === undefined || payload === undefined) {
    const is: CheckResult = { is: 'false', because: 'it is not a receipt as this version writes them' }
    return {
      payload: undefined,
      verdicts: { signature: is, figures: is, answers: is, lens: is, block: is },
      is: 'false',
    }
  }
  const { keys, rpcUrls, blockHashes } = evidence
  const counted =
    besideReceipt === undefined || matchesBeside(payload, besideReceipt)
      ? await checkFigures(payload, evidence.clock)
      : BESIDE_DIFFERS
  const isSigned = payload.level === 'signed'
  const restsOnSignature = isSigned || payload.uncovered.length > 0
  const requested = new Set<Check>([
    ...(keys === undefined && !restsOnSignature ? [] : ['signature' as const]),
    // The answer beside a signed receipt may still be false.
    ...(isSigned && counted.verdict.is !== 'false' ? [] : ['figures' as const, 'lens' as const]),
    ...(payload.level === 'proven' ? ['answers' as const] : []),
    ...(rpcUrls.length === 0 ? [] : ['answers' as const, 'block' as const]),
    ...(blockHashes.size === 0 ? [] : ['block' as const]),
  ])
  const verdicts = {
    signature:
      keys === undefined
        ? unknownResult(restsOnSignature ? `${NO_KEYS}: nothing else stands for what is not covered` : NO_KEYS)
        : checkSignature(envelope, { keys, issuedAt: payload.issued_at }),
    figures: counted.verdict,
    lens: checkLens(payload, counted),
    ...(await checkWithEndpoints(payload, { again: counted, evidence })),
  }
  const requestedVerdicts = CHECKS.filter((check) => requested.has(check)).map((check) => verdicts[check].is)
  const is = requestedVerdicts.includes('false') ? 'false' : requestedVerdicts.includes('unknown') ? 'unknown' : 'true'
  return { payload, verdicts, is }
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

/** True if the figures beside a receipt are the stated ones. */
function matchesBeside({ answer }: Payload, beside: Readonly<Record<string, unknown>>): boolean {
  return (['data', 'counts'] as const).every((name) => JSON.stringify(beside[name]) === JSON.stringify(answer[name]))
}

function decodePayload(envelope: Envelope): Payload | undefined {
  const text = decodeEnvelopeText(envelope)
  return text === undefined ? undefined : parsePayload(parseBoundedJson(text))
}

/** The result of replaying the figures. */
interface CountedCheck {
  readonly verdict: CheckResult
  readonly chains: ReadonlyMap<number, FinanceChain>
  readonly again?: ReplayedAnswer
}

const BESIDE_DIFFERS: CountedCheck = {
  verdict: { is: 'false', because: 'the answer beside the receipt is another' },
  chains: new Map(),
}

async function checkFigures(payload: Payload, clock: Clock): Promise<CountedCheck> {
  const { family: stated, level, version, settings, request, reads, answer } = payload
  const definition = FAMILIES.find(({ name }) => name === stated.name)
  const withoutChains = (verdict: CheckResult): CountedCheck => ({ verdict, chains: new Map() })
  if (definition === undefined) return withoutChains(otherReleaseResult(version, `family "${stated.name}"`))
  if (level === 'signed')
    return withoutChains(unknownResult('the chain keeps no past: the signature alone stands for them'))
  const read = parseSettings(definition, settings)
  if ('mistakes' in read) return withoutChains({ is: 'false', because: `its settings are wrong: ${read.mistakes[0]}` })
  const { revision } = read.family
  if (revision !== stated.revision)
    return withoutChains(otherReleaseResult(version, `revision ${stated.revision} of ${stated.name}`))
  const { chains } = read
  try {
    const replayed = await replayAnswer(read, { statement: request, records: reads.map(toChainRecord), clock })
    const { uncovered } = replayed
    if (JSON.stringify(payload.uncovered) !== JSON.stringify(uncovered)) {
      return withoutChains({ is: 'false', because: 'it says to leave out what it does not' })
    }
    const [fault] = replayed.faults
    const [replayedText, statedText] = [replayed.answer, answer].map((each) =>
      JSON.stringify(maskPaths(each, uncovered)),
    )
    const isSame = replayedText === statedText
    const success = `counted again from the recorded answers${uncovered.length === 0 ? '' : ', but for what is not covered'}`
    const because = fault ?? (isSame ? success : 'the recorded answers come to others')
    return { chains, again: replayed, verdict: { is: fault === undefined && isSame ? 'true' : 'false', because } }
  } catch (error) {
    const because = `the recorded answers come to none: ${error instanceof Error ? error.message : 'nothing'}`
    return { chains, verdict: { is: 'false', because } }
  }
}

function parseSettings(family: Family, settings: Payload['settings']): ReturnType<typeof parseReceiptSettings> {
  try {
    return parseReceiptSettings(family, settings)
  } catch {
    return { mistakes: ['they cannot be read'] }
  }
}

function otherReleaseResult(version: string, what: string): CheckResult {
  return unknownResult(`this is release ${RELEASE}: ${what} is known to release ${version}`)
}

function unknownResult(because: string): CheckResult {
  return { is: 'unknown', because }
}

function checkLens({ reads, version }: Payload, { again, verdict }: CountedCheck): CheckResult {
  const calls = reads.flatMap((read) => read.calls)
  if (calls.length === 0) return unknownResult('nothing was called')
  if (again === undefined)
    return verdict.is === 'false' ? { is: 'false', because: 'its calls are not those of the route' } : verdict
  const own = new Set([...again.queries.keys()].map(({ lens }) => lens))
  if (calls.every(({ lens }) => own.has(lens))) return { is: 'true', because: `of release ${RELEASE}` }
  return version === RELEASE
    ? { is: 'false', because: `of no lens of release ${RELEASE}` }
    : otherReleaseResult(version, 'its lens')
}

/** Checks answers and blocks with the given endpoints, and blocks with the trusted hashes. */
async function checkWithEndpoints(
  payload: Payload,
  { again: { chains, again }, evidence }: { readonly again: CountedCheck; readonly evidence: Evidence },
): Promise<Pick<Record<Check, CheckResult>, 'answers' | 'block'>> {
  const { rpcUrls, blockHashes, clock, signal, fetch } = evidence
  const isProven = payload.level === 'proven'
  const answers: CheckResult[] = isProven ? await checkProofs(payload, { again, evidence }) : []
  const blocks: CheckResult[] = []
  for (const record of payload.reads.map(toChainRecord)) {
    const { chainId, block } = record
    const trustedHash = blockHashes.get(chainId)
    if (trustedHash !== undefined) blocks.push(checkBlockHash(block.hash, trustedHash))
    else if (rpcUrls.length === 0)
      blocks.push(unknownResult(`nothing was given about chain ${chainId} (--block-hash, --rpc)`))
    const row = chains.get(chainId)
    for (const url of row === undefined ? [] : rpcUrls) {
      const chain = { ...row, id: chainId, name: '', rpcUrls: [url], reuseMs: 0, finality: { depth: 0 } }
      const client = createChainClient({ chain, clock, log: silentLog, ...(fetch && { fetch }) })
      try {
        blocks.push(await compareBlock(client, block, signal))
        for (const call of isProven ? [] : record.calls) {
          const question = again?.queries.get(call)
          answers.push(
            question === undefined
              ? unknownResult('it is not known which code was called')
              : await compareCall(client, { call, question, block: call.at ?? block }, signal),
          )
        }
        for (const earlier of collectEarlierBlocks(record)) blocks.push(await compareBlock(client, earlier, signal))
      } finally {
        client.close()
      }
    }
  }
  return { answers: getWorst(answers, 'no endpoint was given (--rpc)'), block: getWorst(blocks, 'nothing was read') }
}

/** Checks that the calls of a receipt give the same answers over its proofs alone. */
async function checkProofs(
  { reads, proofs = [] }: Payload,
  { again, evidence: { runner, signal } }: { readonly again: ReplayedAnswer | undefined; readonly evidence: Evidence },
): Promise<CheckResult[]> {
  const records = reads.map(toChainRecord)
  if (again === undefined) return [unknownResult('its figures are not those of its calls')]
  const hasAllProofs = proofs.length === records.length && records.length > 0
  if (!hasAllProofs) return [{ is: 'false', because: 'it does not prove each chain' }]
  const results: CheckResult[] = []
  for (const [at, proof] of proofs.entries()) {
    const record = records[at]
    if (record?.chainId !== proof.chain_id) return [{ is: 'false', because: 'it proves another chain' }]
    try {
      results.push(await checkProof(runner, { record, proof, queriesByCall: again.queries }, signal))
    } catch {
      results.push(unknownResult('the proof could not be run'))
    }
  }
  return results
}

/** Collects the earlier blocks of a record's calls, each once: prices by pools rest on them. */
function collectEarlierBlocks({ calls }: ChainRecord): PinnedBlock[] {
  return [...new Map(calls.flatMap(({ at }) => (at === undefined ? [] : [[at.hash, at] as const]))).values()]
}

function checkBlockHash(hash: string, trustedHash: string): CheckResult {
  return hash === trustedHash.toLowerCase()
    ? { is: 'true', because: 'it is the block that was given' }
    : { is: 'false', because: 'it is another block than was given' }
}

/** Worst first: false, then unknown, then true. */
function getWorst(verdicts: readonly CheckResult[], fallback: string): CheckResult {
  const candidates = (['false', 'unknown', 'true'] as const).map((is) => verdicts.find((each) => each.is === is))
  return candidates.find((each) => each !== undefined) ?? unknownResult(fallback)
}
