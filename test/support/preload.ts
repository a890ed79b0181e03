import { afterAll } from 'bun:test'
import { closeTestDatabases } from './database.ts'

// Registered before every file's own hooks, so that it runs once, after the last file.
afterAll(closeTestDatabases)
