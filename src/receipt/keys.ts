import { createPublicKey, type KeyObject } from 'node:crypto'
import * as v from 'valibot'
import { computeKeyId, type Envelope, isSignedBy, parseBoundedJson } from '../lib/dsse.ts'
import type { CheckResult } from './proof/check.ts'

/** A public key of an instance and its signing period, seconds since the epoch. */
export interface PublishedKey {
  readonly keyId: string
  readonly key: KeyObject
  readonly fromSec: number
  /** Absent while the key is active. */
  readonly untilSec?: number | undefined
}

/** Tolerance: processes use a retired key until they notice, and clocks differ. */
const SLACK_SEC = 300

const jwk = v.object({
  kty: v.literal('OKP'),
  crv: v.literal('Ed25519'),
  x: v.pipe(v.string(), v.regex(/^[A-Za-z0-9_-]{43}$/)),
  kid: v.string(),
  iat: v.number(),
  exp: v.optional(v.number()),
})

const schema = v.object({ keys: v.array(jwk) })

/** Presents keys as an instance publishes them. */
export function presentKeys(keys: readonly PublishedKey[]) {
  return {
    keys: keys.map(({ keyId, key, fromSec, untilSec }) => ({
      kty: 'OKP',
      crv: 'Ed25519',
      use: 'sig',
      alg: 'EdDSA',
      x: key.export({ format: 'jwk' }).x ?? '',
      kid: keyId,
      iat: fromSec,
      ...(untilSec === undefined ? {} : { exp: untilSec }),
    })),
  }
}

/** Parses published keys; undefined if the text has none. */
export function parseKeys(text: string): readonly PublishedKey[] | undefined {
  const parsed = v.safeParse(schema, parseBoundedJson(text))
  if (!parsed.success) return undefined
  return parsed.output.keys.map(({ kty, crv, x, iat, exp }) => {
    const key = createPublicKey({ key: { kty, crv, x }, format: 'jwk' })
    return { keyId: computeKeyId(key), key, fromSec: iat, untilSec: exp }
  })
}

/** Checks that one of these keys signed an envelope within its period. */
export function checkSignature(
  envelope: Envelope,
  { keys, issuedAt }: { readonly keys: readonly PublishedKey[]; readonly issuedAt: string },
): CheckResult {
  const signedKeyId = envelope.signatures[0]?.keyid
  const signingKey = keys.find(({ keyId }) => keyId === signedKeyId)
  if (signingKey === undefined) return { is: 'false', because: 'none of the keys given has signed it' }
  const { key, keyId, fromSec, untilSec = Number.POSITIVE_INFINITY } = signingKey
  if (!isSignedBy(envelope, key)) return { is: 'false', because: `key ${keyId} has signed something else` }
  const issuedSec = Date.parse(issuedAt) / 1_000
  const isInTime = issuedSec >= fromSec - SLACK_SEC && issuedSec <= untilSec + SLACK_SEC
  if (!isInTime) return { is: 'false', because: `key ${keyId} did not sign at that time` }
  return { is: 'true', because: `by key ${keyId}` }
}
