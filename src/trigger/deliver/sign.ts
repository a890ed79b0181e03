import { createHmac, createPublicKey, hkdfSync, type KeyObject, sign } from 'node:crypto'

/*
 * Standard Webhooks 1.0.0, https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md:
 * `{id}.{timestamp}.{body}` by HMAC-SHA256 (`v1`), which is the webhook's own, and by Ed25519 (`v1a`), which is the
 * instance's, so that whoever knows a webhook's secret cannot sign for it before others.
 */

/** Of which webhook a secret is. Rotating it counts its generation on. */
export interface SecretName {
  readonly webhookId: string
  readonly generation: number
}

/** What the instance signs with. Secrets. */
export interface SigningKeys {
  /** What all secrets of webhooks are derived from. */
  readonly master: Uint8Array
  /** Ed25519. */
  readonly key: KeyObject
}

const SECRET_BYTES = 32

/** A webhook's secret as its owner gets it: `whsec_` and base64. */
export function webhookSecret(master: Uint8Array, name: SecretName): string {
  return `whsec_${secretOf(master, name).toString('base64')}`
}

/** The instance's public key as receivers get it: `whpk_` and base64. */
export function webhookPublicKey(key: KeyObject): string {
  const { x = '' } = createPublicKey(key).export({ format: 'jwk' })
  return `whpk_${Buffer.from(x, 'base64url').toString('base64')}`
}

/** Headers of one try. `names`: the webhook's present secret, and the one before it as long as both are valid. */
export function signatureHeaders(
  message: { readonly id: string; readonly body: string },
  { keys, names, nowMs }: { readonly keys: SigningKeys; readonly names: readonly SecretName[]; readonly nowMs: number },
): Readonly<Record<string, string>> {
  const timestamp = Math.floor(nowMs / 1_000)
  const signed = Buffer.from(`${message.id}.${timestamp}.${message.body}`)
  const shared = names.map(
    (name) => `v1,${createHmac('sha256', secretOf(keys.master, name)).update(signed).digest('base64')}`,
  )
  return {
    'webhook-id': message.id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': [...shared, `v1a,${sign(null, signed, keys.key).toString('base64')}`].join(' '),
  }
}

function secretOf(master: Uint8Array, { webhookId, generation }: SecretName): Buffer {
  return Buffer.from(hkdfSync('sha256', master, '', `webhook ${webhookId} ${generation}`, SECRET_BYTES))
}
