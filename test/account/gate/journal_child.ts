import { createInterface } from 'node:readline'
import { openJournal } from '../../../src/account/gate/journal.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { createLog } from '../../../src/lib/log.ts'

/*
 * A process that keeps what it is told, on Bun or Node: one JSON object a line in, `append` or `drop`; out come its
 * state after each, and its log.
 */
const [directory = '', ledger = '', lease = ''] = process.argv.slice(2)
const leaseMs = Number(lease)
const say = (line: string) => process.stdout.write(`${line}\n`)
const log = createLog({ level: 'info', write: say })
const journal = await openJournal({ directory, ledger, clock: systemClock, log, leaseMs })
const state = () => {
  const ids = journal.peek(1_000).map(({ settlementId }) => settlementId)
  return JSON.stringify({ pid: process.pid, durable: journal.durable, ids })
}
setInterval(() => journal.tend(), leaseMs / 5)
say(state())
for await (const line of createInterface({ input: process.stdin })) {
  const { append, drop } = JSON.parse(line)
  if (append !== undefined) await journal.append(append)
  if (drop !== undefined) await journal.drop(drop)
  say(state())
}
