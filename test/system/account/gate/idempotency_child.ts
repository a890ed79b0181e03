import { createInterface } from 'node:readline'
import { createGate } from '../../../../src/account/gate/gate.ts'
import { openDatabase } from '../../../../src/db/connection/pool.ts'
import type { Database } from '../../../../src/db/database.ts'
import { systemClock } from '../../../../src/lib/clock.ts'
import { silentLog } from '../../../../src/lib/log.ts'
import { settlement } from '../../../support/account/scene.ts'

/*
 * A process with a gate. Each line names a caller and keys: it claims all of them at once, answers those that it gets
 * with a text of its own, and says for each key what it has been told.
 */
const CLAIM_MS = 10_000
const GATE_MS = 1_500
const [url = '', journalDir = '', name = ''] = process.argv.slice(2)
const pool = openDatabase({ url, clock: systemClock, log: silentLog })
// Claims are held up until the other process has asked too, on a busy machine for longer than a caller would wait.
const db: Database = {
  run: (text, params, options = {}) =>
    text.includes('idempotency_claim(')
      ? pool.run(text, params, { lane: 'read', deadlineMs: CLAIM_MS })
      : pool.run(text, params, { ...options, deadlineMs: Math.min(options.deadlineMs ?? GATE_MS, GATE_MS) }),
  close: () => pool.close(),
}
const gate = await createGate({ db, clock: systemClock, log: silentLog, journalDir, deadlineMs: CLAIM_MS })
process.stdout.write('ready\n')
for await (const line of createInterface({ input: process.stdin })) {
  const { keys, ...rest } = JSON.parse(line)
  const caller = { ...rest.caller, credits: BigInt(rest.caller.credits) }
  const answers = await Promise.all(
    keys.map(async (key: string, index: number) => {
      const settlementId = `${name}${key}`.padEnd(26, '-')
      const { organizationId } = caller
      const claimed = await gate.claim({ organizationId, key, hash: 'h', settlementId })
      if (claimed.kind !== 'claimed') return claimed
      // Some take longer than the other process needs to ask.
      if (index % 3 === 0) await Bun.sleep(20)
      const body = `${name} ${key}`
      const settled = await gate.settle(settlement(caller, { settlementId, credits: 3 }), { headers: {}, body })
      return { kind: settled.paid ? 'made' : 'unpaid', kept: { body } }
    }),
  )
  process.stdout.write(`${JSON.stringify(answers)}\n`)
}
