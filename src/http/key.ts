import { KEY_LENGTH_MAX } from './limits.ts'

const SCHEME = 'Bearer '

/**
 * The key of an `Authorization` header that is exactly `Bearer <key>`; nothing where it is missing or anything else.
 * Two such headers arrive joined by a comma and a space, and a space ends the grammar.
 */
export function bearerKey(authorization: string | null): string | undefined {
  if (authorization === null || !authorization.startsWith(SCHEME)) return undefined
  const key = authorization.slice(SCHEME.length)
  return key.length <= KEY_LENGTH_MAX && /^[\x21-\x7e]+$/.test(key) ? key : undefined
}
