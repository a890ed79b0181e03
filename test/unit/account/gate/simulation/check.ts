import { NO_ENDPOINT } from '../../../../../src/account/request_log.ts'
import type { Settlement } from '../../../../../src/http/exchange/gate.ts'
import { getLimitName, type LogRow, POISON } from '../../../../support/account/gate/simulation/ledger.ts'
import type { Outcome, World } from './world.ts'

const DAY_MS = 86_400_000
const SPENT_MAX = 10_000

/** Compares answers with the log, and the log with balances and limits. Returns what differs. */
export function checkWorld(
  { ledger, outcomes, organizations }: World,
  { sessions, budget }: { readonly sessions: readonly string[]; readonly budget: number },
): readonly string[] {
  const wrong: string[] = []
  const changedKeys = new Map<string, number>()
  const bySettlement = new Map(outcomes.map((each) => [each.settlement.settlementId, each]))
  for (const outcome of outcomes) {
    const { settlement } = outcome
    const row = ledger.log.get(settlement.settlementId)
    const found = row === undefined ? 'no row' : `${row.status} ${row.credits}`
    const allowed = listAllowedRows(outcome)
    if (!allowed.includes(found))
      wrong.push(`${settlement.settlementId} was answered ${format(outcome.answer)}, its row is ${found}`)
    if (row !== undefined) wrong.push(...compareRow(row, settlement))
    const times = ledger.changed.filter((each) => each === settlement.settlementId).length
    const isPaid = row !== undefined && row.status === settlement.status && settlement.isChange === true
    if (times !== (isPaid ? 1 : 0))
      wrong.push(`${settlement.settlementId} was made ${times} times, its row is ${found}`)
    if (isPaid && outcome.idempotencyKey !== undefined) {
      const name = `${row.organizationId} ${outcome.idempotencyKey}`
      changedKeys.set(name, (changedKeys.get(name) ?? 0) + 1)
    }
    const granted = organizations.find(({ id }) => id === settlement.caller.organizationId)?.granted ?? 0
    wrong.push(...checkRemaining(outcome, granted))
  }
  for (const { settlementId } of ledger.log.values())
    if (!bySettlement.has(settlementId)) wrong.push(`${settlementId} is in the log, but was never sent`)

  // Books: what is spent of each limit is what the log charged to it.
  const expected = new Map<string, number>()
  const chargedKeys = new Map<string, number>()
  for (const row of ledger.log.values()) {
    if (row.credits === 0) continue
    const outcome = bySettlement.get(row.settlementId)
    if (outcome === undefined) continue
    const { limits } = outcome.settlement.caller
    const names = limits
      .filter(({ most }) => most !== undefined)
      .map(({ id, period }) =>
        getLimitName(row.organizationId, id, period === 'day' ? Math.floor(row.requestedAtMs / DAY_MS) : 0),
      )
    for (const name of [getLimitName(row.organizationId), ...names])
      expected.set(name, (expected.get(name) ?? 0) + row.credits)
    if (outcome.idempotencyKey !== undefined) {
      const name = `${row.organizationId} ${outcome.idempotencyKey}`
      chargedKeys.set(name, (chargedKeys.get(name) ?? 0) + 1)
    }
  }
  for (const name of new Set([...expected.keys(), ...ledger.spent.keys()])) {
    const [spent, charged] = [ledger.spent.get(name) ?? 0, expected.get(name) ?? 0]
    if (spent !== charged) wrong.push(`${name} has spent ${spent}, the log charged ${charged}`)
  }
  for (const { id } of organizations) {
    if (ledger.balance(id) < 0) wrong.push(`the balance of ${id} is ${ledger.balance(id)}`)
    for (const session of sessions) {
      const spent = ledger.spent.get(getLimitName(id, session)) ?? 0
      if (spent > budget) wrong.push(`${session} of ${id} has spent ${spent} of ${budget}`)
    }
  }
  for (const [name, times] of changedKeys) if (times > 1) wrong.push(`the key ${name} made ${times} changes`)
  for (const [name, times] of chargedKeys) if (times > 1) wrong.push(`the key ${name} was charged ${times} times`)
  return wrong
}

/** Rows, as status and credits, that the log may hold after an answer. */
function listAllowedRows({ settlement, process, isBeforeOpening, answer }: Outcome): readonly string[] {
  const paid = `${settlement.status} ${settlement.credits}`
  if (answer === 'none') return process.state === 'dead' ? ['no row', '503 0', '402 0', '409 0', paid] : []
  if (answer === 'failed') {
    // A row that the database rejects for its content cannot be logged at all.
    if (isBeforeOpening || settlement.method === POISON) return ['no row', '503 0']
    // A change that was committed stays. One that lost its key, or could not be paid, has a row of its own.
    return settlement.isChange ? ['503 0', '402 0', paid] : ['503 0']
  }
  if (answer.isSuperseded) return ['409 0']
  return answer.paid ? [paid] : ['402 0']
}

/** Checks the balance that an answer tells: it is part of what was granted, and too low if it refused. */
function checkRemaining({ settlement, answer }: Outcome, granted: number): readonly string[] {
  if (typeof answer === 'string' || !settlement.admitted) return []
  const { creditsRemaining, creditsCharged, refusedBy } = answer
  const isTooHigh = creditsRemaining + BigInt(creditsCharged) > granted
  // No organization spends more than this in a run.
  const isTooLow = creditsRemaining < granted - SPENT_MAX || creditsRemaining < 0
  const isEnough = refusedBy === 'organization' && creditsRemaining >= settlement.credits
  if (!isTooHigh && !isTooLow && !isEnough) return []
  return [`${settlement.settlementId} was answered ${format(answer)} with ${creditsRemaining} of ${granted} left`]
}

function compareRow(row: LogRow, settlement: Settlement): readonly string[] {
  const { caller, requestId, routed, path, requestedAtMs, admitted } = settlement
  const isOwnId = requestId === `req_${settlement.settlementId}`
  const asked = [caller.organizationId, caller.apiKeyId, isOwnId ? '' : requestId, routed ? path : NO_ENDPOINT]
  const logged = [row.organizationId, row.apiKeyId, row.requestId, row.path]
  const isSame = asked.every((each, index) => each === logged[index])
  if (isSame && row.requestedAtMs === requestedAtMs && row.admitted === admitted) return []
  return [`${row.settlementId} is logged as ${logged}, asked as ${asked}`]
}

function format(answer: Outcome['answer']): string {
  if (typeof answer === 'string') return answer
  return answer.isSuperseded ? 'superseded' : answer.paid ? 'paid' : 'unpaid'
}
