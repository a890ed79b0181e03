import { randomBase62 } from '../lib/text/base62.ts'

const RANDOM_LENGTH = 20

/** Creates an id, never reused: `org_`, `key_`, `grant_` or `ses_` and 20 random base62 digits. */
export function newId(kind: 'org' | 'key' | 'grant' | 'ses'): string {
  return `${kind}_${randomBase62(RANDOM_LENGTH)}`
}
