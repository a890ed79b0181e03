import { isEnsName } from '../../lib/address.js'
import { requestUnlessGone } from '../../lib/api.js'
import { rememberName } from '../../lib/session.js'

/**
 * Resolves an ENS name to a wallet and stores the name for the tab. An address is returned as it is.
 * @param {string} text
 * @param {{ key: string, signal: AbortSignal }} options
 * @returns {Promise<{ wallet: string } | { wallet?: never, fault: string } | undefined>} undefined if `signal` fires first
 */
async function resolveWallet(text, options) {
  if (!isEnsName(text)) return { wallet: text }
  /** @type {import('../../lib/api.js').Answer<import('../../lib/shapes.d.ts').EnsName> | import('../../lib/api.js').Failure | undefined} */
  const answer = await requestUnlessGone(`v1/names?name=${encodeURIComponent(text)}`, options)
  if (answer === undefined) return undefined
  if (!answer.ok) return { fault: `${answer.message.replace(/\.$/, '')}.` }
  const { name, wallet } = answer.body.data
  rememberName(wallet, name)
  return { wallet }
}

/**
 * Resolves several texts; undefined if `signal` fires first.
 * @param {readonly string[]} texts
 * @param {{ key: string, signal: AbortSignal }} options
 */
export async function resolveWallets(texts, options) {
  const results = await Promise.all(texts.map((text) => resolveWallet(text, options)))
  const found = results.flatMap((result) => result ?? [])
  return options.signal.aborted || found.length < results.length ? undefined : found
}
