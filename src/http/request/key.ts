import { KEY_LENGTH_MAX } from '../limits.ts'

const SCHEME = 'Bearer '

/**
 * The key of an `Authorization` header that is exactly `Bearer <key>`, else undefined. Two such headers arrive joined by
 * a comma and a space, which no key has.
 */
export function bearerKey(authorization: string | null): string | undefined {
  if (authorization === null || !authorization.startsWith(SCHEME)) return undefined
  const key = authorization.slice(SCHEME.length)
  return key.length <= KEY_LENGTH_MAX && /^[\x21-\x7e]+$/.test(key) ? key : undefined
}
