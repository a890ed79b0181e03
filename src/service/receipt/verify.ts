import packageJson from '../../../package.json' with { type: 'json' }
import { createChainClient } from '../../chain/evm/evm_client.ts'
import { type CheckResult, compareBlock, compareCall } from '../../chain/receipt/compare.ts'
import { decodeEnvelopeText, type Envelope, parseBoundedJson, parseEnvelope } from '../../chain/receipt/envelope.ts'
import { checkProof } from '../../chain/receipt/proof/check.ts'
import type { ProofRunner } from '../../chain/receipt/proof/runner.ts'
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

/** What is looked at, in the order of the report. */
export const CHECKS = ['signature', 'figures', 'answers', 'lens', 'block'] as const
export type Check = (typeof CHECKS)[number]

export type { CheckResult }

/** What a verifier was given besides the receipt. */
export interface Evidence {
  /** Keys that the instance has published; undefined if none were given. */
  readonly keys: readonly PublishedKey[] | undefined
  /** Endpoints of the verifier's own choice. */
  readonly rpcUrls: readonly string[]
  /** Hashes of blocks that the verifier believes, by chain. */
  readonly blockHashes: ReadonlyMap<number, string>
  readonly clock: Clock
  readonly signal: AbortSignal
  /** Runs calls over proofs. */
  readonly runner: ProofRunner
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>
}

/** What came of it. */
export interface VerificationResult {
  readonly payload: Payload | undefined
  readonly verdicts: Readonly<Record<Check, CheckResult>>
  /** The worst of the verdicts that were asked for. */
  readonly is: CheckResult['is']
}

const NO_KEYS = 'no keys were given (--key)'

/** Programs know the revisions of their own release alone. */
const RELEASE = packageJson.version

/**
 * Checks a receipt. Needs nothing but what it is given, and asks nothing but the endpoints that it is given. Never
 * throws.
 */
export async function verifyReceipt(text: string, evidence: Evidence): Promise<VerificationResult> {
  const { receipt, beside } = apart(parseBoundedJson(text))
  const envelope = parseEnvelope(receipt, PAYLOAD_TYPE)
  const payload = envelope && payloadIn(envelope)
  if (envelope === undefined || payload === undefined) {
    const is: CheckResult = { is: 'false', because: 'it is not a receipt as this version writes them' }
    return {
      payload: undefined,
      verdicts: { signature: is, figures: is, answers: is, lens: is, block: is },
      is: 'false',
    }
  }
  const { keys, rpcUrls, blockHashes } = evidence
  const again = beside === undefined || isBeside(payload, beside) ? await figuresOf(payload, evidence.clock) : BESIDE
  const isSigned = payload.level === 'signed'
  const restsOnSignature = isSigned || payload.uncovered.length > 0
  const asked = new Set<Check>([
    ...(keys === undefined && !restsOnSignature ? [] : ['signature' as const]),
    // What is beside a signed receipt may be false all the same.
    ...(isSigned && again.verdict.is !== 'false' ? [] : ['figures' as const, 'lens' as const]),
    ...(payload.level === 'proven' ? ['answers' as const] : []),
    ...(rpcUrls.length === 0 ? [] : ['answers' as const, 'block' as const]),
    ...(blockHashes.size === 0 ? [] : ['block' as const]),
  ])
  const verdicts = {
    signature:
      keys === undefined
        ? unknown(restsOnSignature ? `${NO_KEYS}: nothing else stands for what is not covered` : NO_KEYS)
        : checkSignature(envelope, { keys, issuedAt: payload.issued_at }),
    figures: again.verdict,
    lens: lensOf(payload, again),
    ...(await seenBy(payload, { again, evidence })),
  }
  const seen = CHECKS.filter((check) => asked.has(check)).map((check) => verdicts[check].is)
  const is = seen.includes('false') ? 'false' : seen.includes('unknown') ? 'unknown' : 'true'
  return { payload, verdicts, is }
}

/** A receipt by itself, or as an answer has it beside its data. */
function apart(json: unknown): { readonly receipt: unknown; readonly beside?: Readonly<Record<string, unknown>> } {
  if (typeof json !== 'object' || json === null || !('receipt' in json)) return { receipt: json }
  const { receipt, ...beside } = json
  return { receipt, beside }
}

/** True if the figures beside a receipt are those that it states. */
function isBeside({ answer }: Payload, beside: Readonly<Record<string, unknown>>): boolean {
  return (['data', 'counts'] as const).every((name) => JSON.stringify(beside[name]) === JSON.stringify(answer[name]))
}

function payloadIn(envelope: Envelope): Payload | undefined {
  const text = decodeEnvelopeText(envelope)
  return text === undefined ? undefined : parsePayload(parseBoundedJson(text))
}

/** The figures counted again, and what came of it. */
interface CountedCheck {
  readonly verdict: CheckResult
  readonly chains: ReadonlyMap<number, FinanceChain>
  readonly again?: ReplayedAnswer
}

const BESIDE: CountedCheck = {
  verdict: { is: 'false', because: 'the answer beside the receipt is another' },
  chains: new Map(),
}

async function figuresOf(payload: Payload, clock: Clock): Promise<CountedCheck> {
  const { family: stated, level, version, settings, request, reads, answer } = payload
  const known = FAMILIES.find(({ name }) => name === stated.name)
  const refused = (verdict: CheckResult): CountedCheck => ({ verdict, chains: new Map() })
  if (known === undefined) return refused(elsewhere(version, `family "${stated.name}"`))
  if (level === 'signed') return refused(unknown('the chain keeps no past: the signature alone stands for them'))
  const read = settingsIn(known, settings)
  if ('mistakes' in read) return refused({ is: 'false', because: `its settings are wrong: ${read.mistakes[0]}` })
  const { revision } = read.family
  if (revision !== stated.revision) return refused(elsewhere(version, `revision ${stated.revision} of ${stated.name}`))
  const { chains } = read
  try {
    const again = await replayAnswer(read, { statement: request, records: reads.map(toChainRecord), clock })
    const { uncovered } = again
    if (JSON.stringify(payload.uncovered) !== JSON.stringify(uncovered)) {
      return refused({ is: 'false', because: 'it says to leave out what it does not' })
    }
    const [fault] = again.faults
    const [own, stated] = [again.answer, answer].map((each) => JSON.stringify(maskPaths(each, uncovered)))
    const isSame = own === stated
    const counted = `counted again from the recorded answers${uncovered.length === 0 ? '' : ', but for what is not covered'}`
    const because = fault ?? (isSame ? counted : 'the recorded answers come to others')
    return { chains, again, verdict: { is: fault === undefined && isSame ? 'true' : 'false', because } }
  } catch (error) {
    const because = `the recorded answers come to none: ${error instanceof Error ? error.message : 'nothing'}`
    return { chains, verdict: { is: 'false', because } }
  }
}

function settingsIn(family: Family, settings: Payload['settings']): ReturnType<typeof parseReceiptSettings> {
  try {
    return parseReceiptSettings(family, settings)
  } catch {
    return { mistakes: ['they cannot be read'] }
  }
}

function elsewhere(version: string, what: string): CheckResult {
  return unknown(`this is release ${RELEASE}: ${what} is known to release ${version}`)
}

function unknown(because: string): CheckResult {
  return { is: 'unknown', because }
}

function lensOf({ reads, version }: Payload, { again, verdict }: CountedCheck): CheckResult {
  const calls = reads.flatMap((read) => read.calls)
  if (calls.length === 0) return unknown('nothing was called')
  if (again === undefined)
    return verdict.is === 'false' ? { is: 'false', because: 'its calls are not those of the route' } : verdict
  const own = new Set([...again.asked.keys()].map(({ lens }) => lens))
  if (calls.every(({ lens }) => own.has(lens))) return { is: 'true', because: `of release ${RELEASE}` }
  return version === RELEASE
    ? { is: 'false', because: `of no lens of release ${RELEASE}` }
    : elsewhere(version, 'its lens')
}

/** What endpoints say of the answers and of the blocks, and what the verifier believes of these. */
async function seenBy(
  payload: Payload,
  { again: { chains, again }, evidence }: { readonly again: CountedCheck; readonly evidence: Evidence },
): Promise<Pick<Record<Check, CheckResult>, 'answers' | 'block'>> {
  const { rpcUrls, blockHashes, clock, signal, fetch } = evidence
  const isProven = payload.level === 'proven'
  const answers: CheckResult[] = isProven ? await provenBy(payload, { again, evidence }) : []
  const blocks: CheckResult[] = []
  for (const record of payload.reads.map(toChainRecord)) {
    const { chainId, block } = record
    const believed = blockHashes.get(chainId)
    if (believed !== undefined) blocks.push(isBlock(block.hash, believed))
    else if (rpcUrls.length === 0)
      blocks.push(unknown(`nothing was given about chain ${chainId} (--block-hash, --rpc)`))
    const row = chains.get(chainId)
    for (const url of row === undefined ? [] : rpcUrls) {
      const chain = { ...row, id: chainId, name: '', rpcUrls: [url], reuseMs: 0, finality: { depth: 0 } }
      const client = createChainClient({ chain, clock, log: silentLog, ...(fetch && { fetch }) })
      try {
        blocks.push(await compareBlock(client, block, signal))
        for (const call of isProven ? [] : record.calls) {
          const question = again?.asked.get(call)
          answers.push(
            question === undefined
              ? unknown('it is not known which code was called')
              : await compareCall(client, { call, question, block }, signal),
          )
        }
      } finally {
        client.close()
      }
    }
  }
  return { answers: worstOf(answers, 'no endpoint was given (--rpc)'), block: worstOf(blocks, 'nothing was read') }
}

/** Whether the calls of a receipt answer the same over nothing but its proofs. */
async function provenBy(
  { reads, proofs = [] }: Payload,
  { again, evidence: { runner, signal } }: { readonly again: ReplayedAnswer | undefined; readonly evidence: Evidence },
): Promise<CheckResult[]> {
  const records = reads.map(toChainRecord)
  if (again === undefined) return [unknown('its figures are not those of its calls')]
  const isEach = proofs.length === records.length && records.length > 0
  if (!isEach) return [{ is: 'false', because: 'it does not prove each chain' }]
  const told: CheckResult[] = []
  for (const [at, proof] of proofs.entries()) {
    const record = records[at]
    if (record?.chainId !== proof.chain_id) return [{ is: 'false', because: 'it proves another chain' }]
    try {
      told.push(await checkProof(runner, { record, proof, asked: again.asked }, signal))
    } catch {
      told.push(unknown('the proof could not be run'))
    }
  }
  return told
}

function isBlock(hash: string, believed: string): CheckResult {
  return hash === believed.toLowerCase()
    ? { is: 'true', because: 'it is the block that was given' }
    : { is: 'false', because: 'it is another block than was given' }
}

/** One that is false decides, then one that cannot be told. */
function worstOf(verdicts: readonly CheckResult[], none: string): CheckResult {
  const found = (['false', 'unknown', 'true'] as const).map((is) => verdicts.find((each) => each.is === is))
  return found.find((each) => each !== undefined) ?? unknown(none)
}
