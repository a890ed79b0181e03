import { KEY_LENGTH_MAX } from '../limits.ts'

/** The scheme in any case, as HTTP has it. */
const BEARER = /^bearer ([\x21-\x7e]+)$/i

/**
 * The key of an `Authorization` header that is exactly `Bearer <key>`, else undefined. Two such headers arrive joined by
 * a comma and a space, which no key has.
 */
export function bearerKey(authorization: string | null): string | undefined {
  const key = authorization === null ? undefined : BEARER.exec(authorization)?.[1]
  return key !== undefined && key.length <= KEY_LENGTH_MAX ? key : undefined
}
