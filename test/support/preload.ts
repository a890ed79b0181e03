import { afterAll } from 'bun:test'
import { closeTestDatabases } from './database.ts'

/** Servers end in a second, but a machine may be busy with other things. */
const LIMIT_MS = 60_000

// Registered before every file's own hooks, so that it runs once, after the last file.
afterAll(closeTestDatabases, LIMIT_MS)
