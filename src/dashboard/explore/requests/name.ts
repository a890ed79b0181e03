import { isEnsName } from '../../lib/address.ts'
import type { Answer, Failure } from '../../lib/api.ts'
import { requestUnlessGone } from '../../lib/api.ts'
import { rememberName } from '../../lib/session.ts'
import type { EnsName } from '../../lib/shapes.ts'

/**
 * Resolves an ENS name to a wallet and stores the name for the tab. An address is returned as it is. Returns undefined
 * if `signal` fires first.
 */
async function resolveWallet(
  text: string,
  options: { key: string; signal: AbortSignal },
): Promise<{ wallet: string } | { wallet?: never; fault: string } | undefined> {
  if (!isEnsName(text)) return { wallet: text }
  const answer: Answer<EnsName> | Failure | undefined = await requestUnlessGone(
    `v1/names?name=${encodeURIComponent(text)}`,
    options,
  )
  if (answer === undefined) return undefined
  if (!answer.ok) return { fault: `${answer.message.replace(/\.$/, '')}.` }
  const { name, wallet } = answer.body.data
  rememberName(wallet, name)
  return { wallet }
}

/** Resolves several texts; undefined if `signal` fires first. */
export async function resolveWallets(texts: readonly string[], options: { key: string; signal: AbortSignal }) {
  const results = await Promise.all(texts.map((text) => resolveWallet(text, options)))
  const found = results.flatMap((result) => result ?? [])
  return options.signal.aborted || found.length < results.length ? undefined : found
}
