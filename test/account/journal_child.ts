import { openJournal } from '../../src/account/journal.ts'
import { silentLog } from '../../src/lib/log.ts'

// A process that keeps what it is told, says so, and is then killed.
const journal = await openJournal({ directory: process.argv[2] ?? '', log: silentLog })
for await (const line of console) {
  await journal.append(JSON.parse(line))
  console.log('kept')
}
