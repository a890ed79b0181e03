import { createKey, revokeKey } from '../../../src/account/api_key.ts'
import { CLI_ACTOR } from '../../../src/account/audit.ts'
import { grantCredits } from '../../../src/account/credit.ts'
import { type AccountGate, createGate } from '../../../src/account/gate/gate.ts'
import { setOrganizationState } from '../../../src/account/organization.ts'
import { openDatabase } from '../../../src/db/connection/pool.ts'
import type { Database } from '../../../src/db/database.ts'
import type { Settlement, SettlementResult } from '../../../src/http/exchange/gate.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { CodedError, UnavailableError } from '../../../src/lib/error.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { temporaryDirectory } from '../../support/database.ts'
import { type Account, admitKey, admitted, createAccount, readBooks, settlement } from '../scene.ts'

/** Options of a run. */
export interface ModelOptions {
  readonly url: string
  /** A connection of its own, which no fault hits. */
  readonly admin: Database
  readonly seed: number
  /** The run goes on for longer, up to `EXTRA_MS`, until each kind of answer has come `EACH_MIN` times. */
  readonly durationMs: number
  readonly gates: number
  /** Called again and again while the gates work, with a choice from 0 to 1 and a time that is longer than they wait. */
  readonly fault: (choice: number, tooLongMs: number) => Promise<void>
  /** True if a fault may crash PostgreSQL, which may then admit as much more as was in flight. */
  readonly crashes: boolean
}

/** Result of a run, already checked. */
export interface ModelResult {
  readonly settled: number
  readonly unpaid: number
  readonly failed: number
  readonly admitted: number
  readonly limited: number
  readonly wrong: readonly string[]
}

interface Actor extends Account {
  readonly rateLimit: number
  /** The main key and others, some revoked meanwhile. */
  readonly keys: string[]
  readonly admittedAtMs: number[]
}

interface Outcome {
  readonly asked: Settlement
  /** Undefined if the answer was 503. */
  readonly settled: SettlementResult | undefined
}

/** The gates' deadline: short, but a multiple of what their first calls take here. The longest is what the database allows. */
const DEADLINE_MS = { least: 300, most: 1_500, firsts: 5 }
/** The server would cancel abandoned statements if they were held up for longer. */
const TOO_LONG_MS = 50
const HOUR_MS = 3_600_000
/** What a busy machine is given to come to enough answers of each kind. */
const EXTRA_MS = 80_000
const EACH_MIN = 10
/** Charges between two faults, or so long. */
const BETWEEN_FAULTS = 5
const WAITS_MAX = 100
const WAIT_MS = 20
const WORKERS = 18
const BETWEEN_CALLS_MS = 5
const PATHS = ['/v1/a', '/v1/b/{id}', '/v1/"quoted", {braces} \\ \u00e9\u{1f600}', `/v1/${'long'.repeat(60)}`]
/** The first of them run out of credits while many of their calls are under way. */
const POOR = 6
const LIMITS: readonly [credits: number, rateLimit: number][] = [
  [0, 100_000],
  [3, 100_000],
  [7, 100_000],
  [12, 100_000],
  [25, 100_000],
  [60, 100_000],
  [500, 150],
  [100_000, 1],
  [100_000, 7],
  [100_000, 100],
  [100_000, 400],
  [100_000, 100_000],
]

/** Sessions of agents, and the budgets that their requests set. */
const SESSIONS = ['session-a', 'session-b']
const BUDGETS = [30n, 60n]

/**
 * Several gates with connections of their own serve random requests of few organizations while credits are granted and
 * taken back, keys revoked, organizations suspended and deleted, and faults strike. Afterwards every answer is compared
 * with the log, and balances, rollups and windows with what a plain count of the answers says.
 */
export async function runModel(options: ModelOptions): Promise<ModelResult> {
  const { admin, durationMs, fault } = options
  const random = randomFrom(options.seed)
  const pick = <T>(all: readonly T[]): T => all[Math.floor(random() * all.length)] as T
  const actors = await Promise.all(LIMITS.map((limits) => createActor(admin, limits)))
  const deadlineMs = await deadlineHere(options.url, admin)
  const instances = await Promise.all(Array.from({ length: options.gates }, () => openGate(options.url, deadlineMs)))
  const outcomes: Outcome[] = []
  const wrong: string[] = []
  const endMs = performance.now() + durationMs
  const answers = { settled: 0, unpaid: 0, failed: 0, limited: 0 }
  const isOver = () => performance.now() >= endMs
  const lacks = (count: number) => count < EACH_MIN
  const sought = () => (isOver() && lacks(answers.unpaid) ? actors.slice(0, POOR) : actors)
  const goesOn = () => !isOver() || (performance.now() < endMs + EXTRA_MS && Object.values(answers).some(lacks))

  /** False if the gate could not reach its database. */
  async function call(gate: AccountGate, actor: Actor): Promise<boolean> {
    const session = { id: pick(SESSIONS), creditsMax: pick(BUDGETS), isNew: random() < 0.3 }
    const admission = await admitKey(gate, {
      key: pick(actor.keys),
      endpoint: 'GET /v1/a',
      session: random() < 0.3 ? session : undefined,
    }).catch(ignoreUnavailable)
    if (admission === undefined) return false
    if (admission.kind === 'unknown_key') return true
    const isAdmitted = admission.kind === 'admitted'
    if (isAdmitted) actor.admittedAtMs.push(admission.requestedAtMs)
    else if (admission.code === 'RATE_LIMIT_EXCEEDED') answers.limited++
    if (random() < 0.3) await Bun.sleep(random() * 30)
    const status = isAdmitted ? pick([200, 200, 200, 201, 404, 402]) : 429
    // Some were rich when they were admitted, as if others had spent it all since.
    const caller = random() < 0.3 ? { ...admission.caller, credits: 1_000_000n } : admission.caller
    const asked = settlement(caller, {
      // Some began before the hour or before the day.
      requestedAtMs: admission.requestedAtMs - pick([0, 0, 0, 0, HOUR_MS, 30 * HOUR_MS]),
      requestId: pick([undefined, 'repeated_1']) ?? `req_${random()}`,
      admitted: isAdmitted,
      path: pick(PATHS),
      routed: random() < 0.8,
      status,
      credits: status < 300 ? pick([0, 1, 2, 5]) : 0,
    })
    const settled = await gate.settle(asked).catch(ignoreUnavailable)
    outcomes.push({ asked, settled })
    if (settled === undefined) answers.failed++
    else if (settled.paid) answers.settled++
    else answers.unpaid++
    if (settled?.refusedBy === 'organization' && settled.creditsRemaining >= BigInt(asked.credits)) {
      wrong.push(
        `${asked.settlementId} was refused ${asked.credits} credits while ${settled.creditsRemaining} are left`,
      )
    }
    return settled !== undefined
  }

  async function work(): Promise<void> {
    while (goesOn()) {
      const { gate } = pick(instances)
      const actor = pick(sought())
      const reached = await Promise.all(
        Array.from({ length: pick([1, 1, 3, 20]) }, () => call(gate, random() < 0.7 ? actor : pick(actors))),
      )
      // Refused at once, they would take the time that a slow machine needs to connect again.
      await Bun.sleep(random() * (reached.includes(false) ? deadlineMs : BETWEEN_CALLS_MS))
    }
  }

  async function administer(): Promise<void> {
    while (goesOn()) {
      const { db } = pick(instances)
      const { organizationId, keys, apiKeyId } = pick(sought())
      const verb = pick(['grant', 'take', 'suspend', 'restore', 'restore', 'restore', 'revoke'])
      try {
        if (verb === 'grant' || verb === 'take') {
          await grantCredits(db, { by: CLI_ACTOR, organizationId, credits: verb === 'grant' ? 9 : -4, reason: verb })
        } else if (verb === 'suspend') await setOrganizationState(db, 'suspend', { id: organizationId, by: CLI_ACTOR })
        else if (verb === 'restore') await setOrganizationState(db, 'restore', { id: organizationId, by: CLI_ACTOR })
        else if (verb === 'revoke' && keys.length < 30) {
          const made = await createKey(db, {
            by: CLI_ACTOR,
            organizationId,
            name: 'more',
            limits: random() < 0.5 ? { creditsPerDay: 200 } : {},
          })
          keys.push(made.key)
          if (random() < 0.5)
            await revokeKey(db, { by: CLI_ACTOR, organizationId, keyId: random() < 0.1 ? apiKeyId : made.id })
        }
      } catch (error) {
        if (!(error instanceof CodedError)) ignoreUnavailable(error)
      }
      await Bun.sleep(random() * 20)
    }
  }

  /** One organization is deleted while it is busy. */
  async function remove(): Promise<void> {
    await Bun.sleep(durationMs / 2)
    await setOrganizationState(admin, 'delete', { id: actors.at(-1)?.organizationId ?? '', by: CLI_ACTOR }).catch(
      ignoreUnavailable,
    )
  }

  async function strike(): Promise<void> {
    while (goesOn()) {
      await Bun.sleep(100 + random() * 200)
      // A slow machine is still getting up again from the last one.
      const until = answers.settled + BETWEEN_FAULTS
      for (let waits = 0; answers.settled < until && goesOn(); waits++) {
        if (waits === WAITS_MAX && !isOver()) break
        await Bun.sleep(WAIT_MS)
      }
      // What other answers still lack comes sooner without faults.
      if (!isOver() || lacks(answers.failed)) await fault(random(), deadlineMs + TOO_LONG_MS).catch(ignoreUnavailable)
    }
  }

  await Promise.all([...Array.from({ length: WORKERS }, work), administer(), administer(), remove(), strike()])
  await drained(instances, admin)
  wrong.push(...(await whenThere(() => compareLog(admin, { actors, outcomes }))))
  for (const actor of actors) wrong.push(...(await whenThere(() => compareBooks(admin, actor))))
  for (const actor of actors) wrong.push(...(await whenThere(() => compareSessions(admin, { actor, outcomes }))))
  if (!options.crashes) wrong.push(...actors.flatMap(fullerThanAllowed))
  for (const each of instances) {
    await each.gate.close(2_000)
    await each.db.close()
  }
  const admitted = actors.reduce((sum, { admittedAtMs }) => sum + admittedAtMs.length, 0)
  return { ...answers, admitted, wrong }
}

async function createActor(db: Database, [credits, rateLimit]: readonly [number, number]): Promise<Actor> {
  const account = await createAccount(db, { credits, rateLimit })
  return { ...account, rateLimit, keys: [account.key], admittedAtMs: [] }
}

/** On a slow machine a short deadline would let nothing through, not even a connection. */
async function deadlineHere(url: string, admin: Database): Promise<number> {
  const { least, most, firsts } = DEADLINE_MS
  const { db, gate } = await openGate(url, most)
  const { key } = await createAccount(admin)
  const startMs = performance.now()
  await Promise.all(
    Array.from({ length: WORKERS }, async () => {
      const admission = await admitKey(gate, { key, endpoint: 'GET /v1/a' })
      await gate.settle(settlement(admitted(admission).caller))
    }),
  )
  const tookMs = performance.now() - startMs
  await gate.close(most)
  await db.close()
  return Math.min(most, Math.max(least, firsts * tookMs))
}

async function openGate(
  url: string,
  deadlineMs: number,
): Promise<{ readonly db: Database; readonly gate: AccountGate }> {
  const db = openDatabase({ url, clock: systemClock, log: silentLog })
  const options = { db, clock: systemClock, log: silentLog, journalDir: temporaryDirectory(), deadlineMs }
  // Every refusal has its row here, so that each answer can be looked for in the log.
  return { db, gate: await createGate({ ...options, refusalRowsMax: Number.POSITIVE_INFINITY }) }
}

/** Waits until every void is done and no statement of the gates is left running. */
async function drained(instances: readonly { readonly gate: AccountGate }[], admin: Database): Promise<void> {
  for (const endMs = performance.now() + 15_000; ; await Bun.sleep(20)) {
    const busy = await admin
      .run<{ count: string }>(
        `select count(*) from pg_stat_activity where application_name = 'walletscope' and state = 'active'
         and pid <> pg_backend_pid()`,
        [],
      )
      .catch(() => [])
    if (busy[0]?.count === '0' && instances.every(({ gate }) => gate.voidsWaiting === 0)) return
    if (performance.now() > endMs) throw new Error('Waited too long until the voids were done')
  }
}

/** Every request is there once, and says what its answer said. */
async function compareLog(
  admin: Database,
  { actors, outcomes }: { readonly actors: readonly Actor[]; readonly outcomes: readonly Outcome[] },
): Promise<readonly string[]> {
  const rows = await admin.run<{ line: string }>(
    `select concat_ws(' ', settlement_id, organization_id, api_key_id, request_id, method, path, routed, latency_ms, admitted,
       floor(extract(epoch from requested_at) * 1000)::bigint, status, credits) as line
     from request_log_entry where organization_id = any ($1)`,
    [actors.map(({ organizationId }) => organizationId)],
    { deadlineMs: 10_000 },
  )
  const expected = outcomes.map(({ asked, settled }) => {
    const { caller, admitted } = asked
    const ending = settled === undefined ? '503 0' : settled.paid ? `${asked.status} ${asked.credits}` : '402 0'
    const texts = [asked.settlementId, caller.organizationId, caller.apiKeyId, asked.requestId, asked.method]
    const [routed, isAdmitted] = [asked.routed, admitted].map((flag) => (flag ? 't' : 'f'))
    const rest = [asked.path.slice(0, 200), routed, asked.latencyMs, isAdmitted, asked.requestedAtMs, ending]
    return [...texts, ...rest].join(' ')
  })
  const logged = new Set(rows.map(({ line }) => line))
  const asked = new Set(expected)
  return [
    ...expected.filter((line) => !logged.has(line)).map((line) => `not in the log: ${line}`),
    ...[...logged].filter((line) => !asked.has(line)).map((line) => `not asked for: ${line}`),
    ...(rows.length === expected.length ? [] : [`${rows.length} rows, ${expected.length} requests`]),
  ]
}

/** The balance is what was granted less what the log charged, and the rollups count the log: `readBooks` throws. */
async function compareBooks(admin: Database, { organizationId }: Actor): Promise<readonly string[]> {
  try {
    const { granted } = await readBooks(admin, organizationId)
    const [row] = await admin.run<{ given: string }>(
      'select coalesce(sum(credits), 0) as given from credit_grant where organization_id = $1',
      [organizationId],
    )
    return Number(row?.given) === granted ? [] : [`${organizationId} was given ${row?.given}, not ${granted}`]
  } catch (error) {
    if (error instanceof UnavailableError) throw error
    return [`${organizationId}: ${String(error)}`]
  }
}

/** What sessions have spent is what their paid requests cost, and never above the highest budget. */
async function compareSessions(
  admin: Database,
  { actor, outcomes }: { readonly actor: Actor; readonly outcomes: readonly Outcome[] },
): Promise<readonly string[]> {
  const { organizationId } = actor
  const expected = new Map<string, number>()
  for (const { asked, settled } of outcomes) {
    const limit = asked.caller.limits.find(({ scope }) => scope === 'session')
    if (asked.caller.organizationId !== organizationId || limit === undefined || settled?.paid !== true) continue
    expected.set(limit.id, (expected.get(limit.id) ?? 0) + asked.credits)
  }
  const rows = await admin.run<{ scope: string; spent: string }>(
    'select scope, spent from spending_limit where organization_id = $1 and scope = any ($2)',
    [organizationId, SESSIONS],
  )
  const most = Math.max(...BUDGETS.map(Number))
  const spent = new Map(rows.map((row) => [row.scope, Number(row.spent)]))
  return SESSIONS.filter((id) => (spent.get(id) ?? 0) !== (expected.get(id) ?? 0) || (spent.get(id) ?? 0) > most).map(
    (id) => `${organizationId}, ${id} spent ${spent.get(id)}, not ${expected.get(id)}`,
  )
}

/** Asks again while the last crash is not over. */
async function whenThere<T>(read: () => Promise<T>): Promise<T> {
  for (const endMs = performance.now() + 5_000; ; await Bun.sleep(50)) {
    try {
      return await read()
    } catch (error) {
      if (!(error instanceof UnavailableError) || performance.now() > endMs) throw error
    }
  }
}

/** Seconds with more admissions than the limit. Times are cut to milliseconds: a second may look 1 ms shorter. */
function fullerThanAllowed({ organizationId, rateLimit, admittedAtMs }: Actor): readonly string[] {
  const timesMs = [...admittedAtMs].sort((a, b) => a - b)
  return timesMs
    .filter((firstMs, index) => (timesMs[index + rateLimit] ?? Infinity) - firstMs < 999)
    .map((firstMs) => `${organizationId} had more than ${rateLimit} admissions in the second from ${firstMs}`)
}

function ignoreUnavailable(error: unknown): undefined {
  if (!(error instanceof UnavailableError)) throw error
}

/** Numbers from 0 to 1 that a seed repeats (Marsaglia's xorshift, 32 bits). */
function randomFrom(seed: number): () => number {
  let state = (seed * 2_654_435_761) >>> 0 || 1
  return () => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    state >>>= 0
    return state / 4_294_967_296
  }
}
