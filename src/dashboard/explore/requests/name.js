import { isEnsName } from '../../lib/address.js'
import { requestApi } from '../../lib/api.js'
import { rememberName } from '../../lib/session.js'

/**
 * Resolves an ENS name to a wallet and stores the name for the tab. An address is returned as it is.
 * @param {string} text
 * @param {string} key
 * @returns {Promise<{ wallet: string } | { wallet?: never, fault: string }>}
 */
export async function resolveWallet(text, key) {
  if (!isEnsName(text)) return { wallet: text }
  /** @type {import('../../lib/api.js').Answer<import('../../lib/shapes.d.ts').EnsName> | import('../../lib/api.js').Failure} */
  const answer = await requestApi(`v1/names?name=${encodeURIComponent(text)}`, { key })
  if (!answer.ok) return { fault: `${answer.message.replace(/\.$/, '')}.` }
  const { name, wallet } = answer.body.data
  rememberName(wallet, name)
  return { wallet }
}
