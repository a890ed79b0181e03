import { createHmac, createPublicKey, hkdfSync, type KeyObject, sign } from 'node:crypto'

/*
 * Standard Webhooks 1.0.0, https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md:
 * `{id}.{timestamp}.{body}` by HMAC-SHA256 (`v1`) with the webhook's secret, and by Ed25519 (`v1a`) with the instance's
 * key, so that a holder of the secret cannot forge messages to others.
 */

/** Identifies a webhook's secret. Rotation increments the generation. */
export interface SecretName {
  readonly webhookId: string
  readonly generation: number
}

/** The instance's signing keys. Secrets. */
export interface SigningKeys {
  /** Master key from which all webhook secrets are derived. */
  readonly master: Uint8Array
  /** Ed25519. */
  readonly key: KeyObject
}

const SECRET_BYTES = 32

/** A webhook's secret in the form shown to its owner: `whsec_` and base64. */
export function deriveWebhookSecret(master: Uint8Array, name: SecretName): string {
  return `whsec_${deriveSecretBytes(master, name).toString('base64')}`
}

/** The instance's public key in the form given to receivers: `whpk_` and base64. */
export function formatPublicKey(key: KeyObject): string {
  const { x = '' } = createPublicKey(key).export({ format: 'jwk' })
  return `whpk_${Buffer.from(x, 'base64url').toString('base64')}`
}

/** Headers of one attempt. `names`: the webhook's current secret, and the previous one while both are valid. */
export function createSignatureHeaders(
  message: { readonly id: string; readonly body: string },
  { keys, names, nowMs }: { readonly keys: SigningKeys; readonly names: readonly SecretName[]; readonly nowMs: number },
): Readonly<Record<string, string>> {
  const timestamp = Math.floor(nowMs / 1_000)
  const signed = Buffer.from(`${message.id}.${timestamp}.${message.body}`)
  const shared = names.map(
    (name) => `v1,${createHmac('sha256', deriveSecretBytes(keys.master, name)).update(signed).digest('base64')}`,
  )
  return {
    'webhook-id': message.id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': [...shared, `v1a,${sign(null, signed, keys.key).toString('base64')}`].join(' '),
  }
}

function deriveSecretBytes(master: Uint8Array, { webhookId, generation }: SecretName): Buffer {
  return Buffer.from(hkdfSync('sha256', master, '', `webhook ${webhookId} ${generation}`, SECRET_BYTES))
}
