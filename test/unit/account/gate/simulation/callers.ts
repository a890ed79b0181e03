import { type Settlement, UnknownOutcomeError } from '../../../../../src/http/exchange/gate.ts'
import { UnavailableError } from '../../../../../src/lib/error.ts'
import { POISON } from '../../../../support/account/gate/simulation/ledger.ts'
import { DEADLINE_MS, type SimulatedProcess } from './process.ts'
import { LATE_MS } from './server.ts'
import type { Outcome, World } from './world.ts'

/** Sessions of agents, and what each may spend. */
export const SESSIONS = ['session_a', 'session_b']
export const BUDGET = 12
const PATHS = ['/v1/a', '/v1/b']
/** Longer than a claim of an idempotency key lasts. */
const CLAIM_MS = 70_000
/** Batches that a process has under way at once; with fewer calls none waits for another. */
const BATCHES = 4
/** Turns until a batch starts, and the journal's writes before a failure is answered. */
const SLACK_MS = 150

interface Call {
  readonly process: SimulatedProcess
  readonly what: 'admit' | 'claim' | 'settle' | 'settle with an answer' | 'change' | 'release'
}

/** Creates callers of the gates; `onFailure` is called when a process has just answered that it could not settle. */
export function createCallers(
  world: World,
  { onFailure }: { readonly onFailure: (process: SimulatedProcess) => void },
) {
  const { clock, random, pick, between, wrong, counts, faults } = world
  const calls = new Set<Call>()
  const sending = new Set<{ readonly process: SimulatedProcess }>()
  let settlements = 0

  /** Waits for an answer in time; undefined if there is none, for which there must be a reason. */
  async function waitFor<T>(call: Call & { readonly mayFail?: boolean }, answer: Promise<T>): Promise<T | undefined> {
    const { process, what, mayFail = false } = call
    const others = [...calls].filter((each) => each.process === process && each.what === what).length
    const isQueued = others >= BATCHES - 1
    // Waits for another batch, for the journal to open, or as a settlement of its own after it was superseded.
    const waits = [
      isQueued,
      process.isBeforeOpening,
      what === 'settle with an answer',
      what === 'settle with an answer',
      what === 'change',
    ]
    // A change has a batch of its own, and waits for all before it.
    const turns = what === 'change' ? Math.floor(others / BATCHES) : 0
    const maxMs = DEADLINE_MS * (1 + turns + waits.filter(Boolean).length) + SLACK_MS
    const [startMs, stoppedMs] = [clock.monotonicMs(), process.stoppedMs]
    calls.add(call)
    const end = () => {
      calls.delete(call)
      const tookMs = clock.monotonicMs() - startMs - (process.stoppedMs - stoppedMs)
      if (tookMs > maxMs) wrong.push(`${what} took ${tookMs} of ${maxMs} ms`)
    }
    try {
      const value = await answer
      end()
      return value
    } catch (error) {
      end()
      if (!(error instanceof UnavailableError) && (!(error instanceof Error) || error.name !== 'SqlError'))
        wrong.push(`${what}: ${error}`)
      const isWell = faults.active === 0 && startMs > faults.lastMs + DEADLINE_MS + LATE_MS
      if (isWell && !mayFail) wrong.push(`${what} failed while all was well: ${error}`)
      return undefined
    }
  }

  async function send(process: SimulatedProcess): Promise<void> {
    const { gate } = process
    if (gate === undefined) return
    const organizationId = pick(world.organizations).id
    const session =
      random() < 0.3 ? { id: pick(SESSIONS), creditsMax: BigInt(BUDGET), isNew: random() < 0.5 } : undefined
    const principal = { kind: 'key', hash: organizationId } as const
    const admitting = gate.admit({ principal, endpoint: null, session })
    const admission = await waitFor({ process, what: 'admit' }, admitting)
    if (admission === undefined || admission.kind === 'unknown_key') return
    settlements++
    const settlementId = `s${String(settlements).padStart(25, '0')}`
    const isAdmitted = admission.kind === 'admitted'
    let idempotencyKey = isAdmitted && random() < 0.3 ? `key_${Math.floor(random() * 6)}` : undefined
    let status = isAdmitted ? pick([200, 200, 200, 404]) : 429
    if (idempotencyKey !== undefined) {
      const claiming = gate.claim({ organizationId, key: idempotencyKey, hash: 'hash', settlementId })
      const claimed = await waitFor({ process, what: 'claim' }, claiming)
      if (claimed?.kind === 'answered') counts.replayed++
      if (claimed?.kind === 'changed') counts.found++
      if (claimed?.kind !== 'claimed') {
        idempotencyKey = undefined
        status = claimed === undefined ? 503 : 409
      }
    }
    if (random() < 0.5) await process.clock.sleep(between(0, pick([200, 200, DEADLINE_MS])))
    if (idempotencyKey !== undefined && random() < 0.05) await process.clock.sleep(CLAIM_MS)
    const settlement: Settlement = {
      settlementId,
      requestId: random() < 0.2 ? 'repeated' : `req_${settlementId}`,
      // Some had more when they were admitted, as if others had spent it since.
      caller: random() < 0.3 ? { ...admission.caller, credits: 1_000_000n } : admission.caller,
      admitted: isAdmitted,
      requestedAtMs: admission.requestedAtMs,
      method: random() < 0.01 ? POISON : 'GET',
      path: pick(PATHS),
      routed: random() < 0.9,
      status,
      credits: status === 200 ? pick([0, 1, 2, 4]) : 0,
      latencyMs: 1,
      ...(status === 200 && random() < 0.25 ? { isChange: true } : {}),
    }
    const outcome: Outcome = {
      settlement,
      idempotencyKey,
      process,
      isBeforeOpening: process.isBeforeOpening,
      answer: 'none',
    }
    world.outcomes.push(outcome)
    const stored = status === 200 && idempotencyKey !== undefined ? { headers: {}, body: settlementId } : undefined
    const isKept = idempotencyKey !== undefined
    const what = settlement.isChange ? 'change' : stored === undefined ? 'settle' : 'settle with an answer'
    let isUnknown = false
    const settling = (
      settlement.isChange
        ? gate.settleChange(settlement, { kind: 'test', details: {} }, { isKept }).then((result) => {
            if (result.refusal !== undefined) throw new Error(`It was refused: ${result.refusal}`)
            return result
          })
        : gate.settle(settlement, stored)
    ).catch((error: unknown) => {
      isUnknown = error instanceof UnknownOutcomeError
      throw error
    })
    outcome.answer = (await waitFor({ process, what, mayFail: settlement.method === POISON }, settling)) ?? 'failed'
    if (outcome.answer === 'failed') onFailure(process)
    if (
      process.state !== 'dead' &&
      idempotencyKey !== undefined &&
      (outcome.answer === 'failed' || stored === undefined || !outcome.answer.paid) &&
      !(settlement.isChange && (isUnknown || outcome.answer !== 'failed'))
    )
      await waitFor({ process, what: 'release' }, gate.release(settlementId, { isVoided: isUnknown }))
  }

  return {
    /** Sends a request; to a dead process nothing is sent. */
    send(process: SimulatedProcess): void {
      if (process.state === 'dead') return
      const own = { process }
      sending.add(own)
      void send(process)
        .catch((error: unknown) => void wrong.push(String(error)))
        .finally(() => sending.delete(own))
    },
    /** True while a request has no answer; those to dead processes never get one. */
    get isWaiting(): boolean {
      return [...sending].some(({ process: { state } }) => state !== 'dead')
    },
  }
}
