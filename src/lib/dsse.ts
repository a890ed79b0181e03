import { createHash, createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto'
import * as v from 'valibot'
import { isWithinJsonLimits } from './text/json.ts'

/** A private key that signs, and its id. */
export interface Signer {
  readonly keyId: string
  readonly key: KeyObject
}

/** Receipts nest less deeply. */
const DEPTH_MAX = 40
const KEY_ID_DIGITS = 16

const base64 = v.pipe(v.string(), v.check(isCanonical))

const schema = v.strictObject({
  payloadType: v.string(),
  /** The bytes that were signed. */
  payload: base64,
  signatures: v.pipe(v.array(v.strictObject({ keyid: v.string(), sig: base64 })), v.length(1)),
})

/** A signed text in a DSSE envelope: https://github.com/secure-systems-lab/dsse, protocol.md. */
export type Envelope = v.InferOutput<typeof schema>

/** Signs a text. */
export function signEnvelope(payloadType: string, text: string, { keyId, key }: Signer): Envelope {
  const bytes = Buffer.from(text)
  const sig = sign(null, preAuthentication(payloadType, bytes), key).toString('base64')
  return { payloadType, payload: bytes.toString('base64'), signatures: [{ keyid: keyId, sig }] }
}

/** Parses an envelope; undefined unless it has this type, exactly one signature and canonical base64. */
export function parseEnvelope(json: unknown, payloadType: string): Envelope | undefined {
  const parsed = v.safeParse(schema, json)
  return parsed.success && parsed.output.payloadType === payloadType ? parsed.output : undefined
}

/** Decodes the signed text; undefined if it is not UTF-8. */
export function decodeEnvelopeText({ payload }: Envelope): string | undefined {
  const bytes = Buffer.from(payload, 'base64')
  const text = bytes.toString()
  return Buffer.from(text).equals(bytes) ? text : undefined
}

/** True if the signature verifies with a public key. */
export function isSignedBy({ payloadType, payload, signatures: [signature] }: Envelope, key: KeyObject): boolean {
  if (signature === undefined) return false
  const signedBytes = preAuthentication(payloadType, Buffer.from(payload, 'base64'))
  return verify(null, signedBytes, key, Buffer.from(signature.sig, 'base64'))
}

/** Creates a signer from an Ed25519 key in PKCS #8, DER or PEM. Throws for any other key. */
export function createSigner(pkcs8: Buffer | string): Signer {
  const key = createPrivateKey(typeof pkcs8 === 'string' ? pkcs8 : { key: pkcs8, format: 'der', type: 'pkcs8' })
  if (key.asymmetricKeyType !== 'ed25519') throw new TypeError('Expected an Ed25519 key')
  return { key, keyId: computeKeyId(createPublicKey(key)) }
}

/** True if a PEM text is a key that `createSigner` accepts. */
export function isSigningKey(pem: string): boolean {
  try {
    return createSigner(pem).keyId !== ''
  } catch {
    return false
  }
}

/** Computes a key id: the first 16 hex digits of the SHA-256 of the 32 bytes of a public key. */
export function computeKeyId(key: KeyObject): string {
  const { x = '' } = key.export({ format: 'jwk' })
  return createHash('sha256').update(Buffer.from(x, 'base64url')).digest('hex').slice(0, KEY_ID_DIGITS)
}

/** Parses JSON that nests no deeper than receipts do; undefined for anything else. */
export function parseBoundedJson(text: string): unknown {
  if (!isWithinJsonLimits(text, { levelsMax: DEPTH_MAX })) return undefined
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** DSSE's pre-authentication encoding. It binds the type, so a text cannot pass as one of another type. */
function preAuthentication(payloadType: string, bytes: Buffer): Buffer {
  const head = `DSSEv1 ${Buffer.byteLength(payloadType)} ${payloadType} ${bytes.length} `
  return Buffer.concat([Buffer.from(head), bytes])
}

/** True if the base64 is canonical: no other text decodes to the same bytes. */
function isCanonical(text: string): boolean {
  return /^[A-Za-z0-9+/]*={0,2}$/.test(text) && Buffer.from(text, 'base64').toString('base64') === text
}
