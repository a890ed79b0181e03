import { expect, test } from 'bun:test'
import { createPublicKey, generateKeyPairSync, verify } from 'node:crypto'
import { Webhook } from 'standardwebhooks'
import { createSignatureHeaders, deriveWebhookSecret, formatPublicKey } from '../../../../src/trigger/deliver/sign.ts'

const master = crypto.getRandomValues(new Uint8Array(32))
const { privateKey: key } = generateKeyPairSync('ed25519')
const keys = { master, key }
const name = { webhookId: 'whk_a', generation: 2 }
const before = { ...name, generation: 1 }
const message = { id: '0190b2a0-0000-7000-8000-000000000001', body: '{"type":"trigger.fired","text":"Größe — 1.05"}' }
const headersFor = (names: readonly (typeof name)[]) =>
  createSignatureHeaders(message, { keys, names, nowMs: Date.now() })

test('the official library accepts every v1, in a rotation with both secrets', () => {
  for (const [names, accepted] of [
    [[name], [name]],
    [
      [name, before],
      [name, before],
    ],
  ] as const) {
    for (const each of accepted) {
      const receiver = new Webhook(deriveWebhookSecret(master, each))
      expect(receiver.verify(message.body, headersFor(names))).toEqual(JSON.parse(message.body))
    }
  }
  expect(() => new Webhook(deriveWebhookSecret(master, before)).verify(message.body, headersFor([name]))).toThrow()
  expect(() => new Webhook(deriveWebhookSecret(master, name)).verify(`${message.body} `, headersFor([name]))).toThrow()
  const late = { ...headersFor([name]), 'webhook-timestamp': String(Math.floor(Date.now() / 1_000) + 1) }
  expect(() => new Webhook(deriveWebhookSecret(master, name)).verify(message.body, late)).toThrow()
})

test('node:crypto accepts every v1a by the public key as it is shown', () => {
  const shown = formatPublicKey(key)
  expect(shown).toMatch(/^whpk_[A-Za-z0-9+/]{43}=$/)
  const x = Buffer.from(shown.slice('whpk_'.length), 'base64').toString('base64url')
  const publicKey = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' })
  for (const names of [[name], [name, before]]) {
    const headers = headersFor(names)
    const signatures = headers['webhook-signature']?.split(' ') ?? []
    expect(signatures.map((each) => each.split(',')[0])).toEqual([...names.map(() => 'v1'), 'v1a'])
    const signature = Buffer.from(signatures.at(-1)?.split(',')[1] ?? '', 'base64')
    const signed = (body: string) => Buffer.from(`${message.id}.${headers['webhook-timestamp']}.${body}`)
    expect(verify(null, signed(message.body), publicKey, signature)).toBe(true)
    expect(verify(null, signed(`${message.body} `), publicKey, signature)).toBe(false)
  }
})

test('each webhook and generation has a secret of its own, always the same', () => {
  const secrets = [name, before, { ...name, webhookId: 'whk_b' }].map((each) => deriveWebhookSecret(master, each))
  expect(new Set(secrets).size).toBe(3)
  expect(deriveWebhookSecret(master, { ...name })).toBe(secrets[0] ?? '')
  expect(deriveWebhookSecret(new Uint8Array(32), name)).not.toBe(secrets[0] ?? '')
})
