import { isDeepStrictEqual } from 'node:util'
import packageJson from '../../package.json' with { type: 'json' }
import type { Family } from '../family/contract.ts'
import { FAMILIES } from '../family/mod.ts'
import type { Clock } from '../lib/clock.ts'
import { computeLevel } from './level.ts'
import { type Payload, toChainRecord } from './payload.ts'
import type { CheckResult } from './proof/check.ts'
import { type ReplayedAnswer, replayAnswer } from './replay.ts'
import { parseReceiptSettings } from './settings.ts'
import { maskPaths } from './uncovered.ts'

/** A program knows only the revisions of its own release. */
const RELEASE = packageJson.version

/** The result of counting the figures again. */
export interface FiguresCheck {
  readonly verdict: CheckResult
  /** Absent if the records come to no answer. */
  readonly replayed?: ReplayedAnswer
}

/** Checks the figures: the same route, run over the records, gives the same answer. Never throws. */
export async function checkFigures(payload: Payload, clock: Clock): Promise<FiguresCheck> {
  const { family: stated, level, version, settings, request, reads, proofs } = payload
  const family = FAMILIES.find(({ name }) => name === stated.name)
  if (family === undefined) return { verdict: otherReleaseResult(version, `family "${stated.name}"`) }
  const agreed = reads.map((read) => read.agreed)
  if (level !== computeLevel({ network: family.network, agreed, isProven: proofs !== undefined })) {
    return { verdict: { is: 'false', because: `its level is not that of what it holds: ${level}` } }
  }
  if (level === 'signed') {
    return { verdict: unknownResult('the chain keeps no past: the signature alone stands for them') }
  }
  const parsed = parseSettings(family, settings)
  if ('mistakes' in parsed)
    return { verdict: { is: 'false', because: `its settings are wrong: ${parsed.mistakes[0]}` } }
  const { revision } = parsed.family
  if (revision !== stated.revision) {
    return { verdict: otherReleaseResult(version, `revision ${stated.revision} of ${stated.name}`) }
  }
  try {
    const replayed = await replayAnswer(parsed, { statement: request, records: reads.map(toChainRecord), clock })
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
export function checkLens({ reads, version }: Payload, { replayed, verdict }: FiguresCheck): CheckResult {
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

function parseSettings(family: Family, settings: Payload['settings']): ReturnType<typeof parseReceiptSettings> {
  try {
    return parseReceiptSettings(family, settings)
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

function unknownResult(because: string): CheckResult {
  return { is: 'unknown', because }
}
