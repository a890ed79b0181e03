import { afterAll } from 'bun:test'
import { closeTestDatabases } from './database.ts'

/** Servers end in a second, but a machine may be busy with other things. */
const LIMIT_MS = 30_000

// Registered before every file's own hooks, so that it runs once, after the last file.
afterAll(async () => {
  let step = ''
  const closed = closeTestDatabases((next) => {
    step = next
  }).then(() => 'closed')
  const { promise: late, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, LIMIT_MS)
  const first = await Promise.race([closed, late])
  clearTimeout(timer)
  if (first === 'closed') return
  // Every server ends with this process, by its watchdog; that servers stop in time has tests of its own.
  console.error(`The tests' databases were not closed within ${LIMIT_MS} ms: still at "${step}"`)
}, 2 * LIMIT_MS)
