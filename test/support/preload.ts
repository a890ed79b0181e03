import { afterAll, setDefaultTimeout } from 'bun:test'
import { closeTestDatabases } from './database.ts'

/** For tests and hooks that name no limit: most take milliseconds, but a machine may be busy with other things. */
setDefaultTimeout(60_000)

// Registered before every file's own hooks, so that it runs once, after the last file.
afterAll(closeTestDatabases)
