import { createInterface } from 'node:readline'
import { openJournal } from '../../../../src/account/gate/journal.ts'
import { systemClock } from '../../../../src/lib/clock.ts'
import { createLog } from '../../../../src/lib/log.ts'
import { createFixedClock } from '../../../support/test_clock.ts'

/*
 * A process that keeps what it is told, on Bun or Node: one JSON object a line in, `append`, `drop`, or `tend` after so
 * many milliseconds more; out come its state after each, and its log.
 */
const [directory = '', ledger = '', lease = ''] = process.argv.slice(2)
const leaseMs = Number(lease)
const say = (line: string) => process.stdout.write(`${line}\n`)
const log = createLog({ level: 'info', write: say, clock: createFixedClock() })
let aheadMs = 0
const clock = {
  ...systemClock,
  now: () => systemClock.now() + aheadMs,
  monotonicMs: () => systemClock.monotonicMs() + aheadMs,
}
const journal = await openJournal({ directory, ledger, clock, log, leaseMs })
const state = () => {
  const ids = journal.peek(1_000).map(({ settlementId }) => settlementId)
  return JSON.stringify({ pid: process.pid, durable: journal.isDurable, ids })
}
say(state())
for await (const line of createInterface({ input: process.stdin })) {
  const { append, drop, tend } = JSON.parse(line)
  if (append !== undefined) await journal.append(append)
  if (drop !== undefined) await journal.drop(drop)
  if (tend !== undefined) {
    aheadMs += tend
    await journal.tend()
  }
  say(state())
}
