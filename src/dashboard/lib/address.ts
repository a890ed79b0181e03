import { isAddress } from 'viem'

const EVM_ADDRESS = /^0x[0-9a-fA-F]{40}$/
export const BASE58_ADDRESS = /^[1-9A-HJ-NP-Za-km-z]{32,44}$/

/** Returns the kind of wallet that a text looks like; the service validates it. */
export function walletKind(text: string): 'evm' | 'solana' | undefined {
  if (EVM_ADDRESS.test(text)) return 'evm'
  return BASE58_ADDRESS.test(text) ? 'solana' : undefined
}

/** Returns true if a text is a whole address, without a typo that its own checksum tells. */
export function isWallet(text: string) {
  return walletKind(text) !== undefined && describeWalletError(text) === undefined
}

/** Characters that are not seen: controls, marks of direction and width, and the soft hyphen. */
const UNSEEN = /[\p{Cc}\p{Cf}]/gu

/**
 * Returns an entry of a form as it was meant: without characters that are not seen, and an EVM address in its usual form,
 * also from a link of a wallet (`ethereum:0x…`) or with a capital X.
 */
export function cleanEntry(text: string) {
  const seen = text.replace(UNSEEN, '')
  const [, digits] = /^(?:ethereum:)?0x([0-9a-f]+)(?:@\d+)?$/i.exec(seen) ?? []
  return digits === undefined ? seen : `0x${digits}`
}

/** Returns true if a text looks like an ENS name; the service validates it. */
export function isEnsName(text: string) {
  return /^[^.]+(\.[^.]+)+$/.test(text) && !/^0x|\.sol$/i.test(text)
}

/** Returns an error message for a text that is neither a wallet nor a name; undefined if it is one. */
export function describeWalletError(text: string) {
  if (text === '') return 'Paste the address of a wallet.'
  if (walletKind(text) === 'evm' && !isAddress(text))
    return 'This address has a typo: its capital letters do not match its checksum. Paste it again.'
  if (walletKind(text) !== undefined || isEnsName(text)) return undefined
  if (/^0x[0-9a-fA-F]{64}$/.test(text)) {
    return 'This is as long as a transaction, a market id or a private key. A wallet has 40 digits after 0x. Never paste a private key anywhere.'
  }
  if (/^0x/.test(text)) return `An EVM wallet is 0x and 40 digits from 0-9 and a-f; this has ${text.length - 2}.`
  if (/\.sol$/i.test(text)) return 'Names of Solana are not looked up: paste the address that the name stands for.'
  return 'This is neither an EVM wallet (0x and 40 hexadecimal digits), an ENS name (name.eth) nor a Solana wallet (32 to 44 base58 characters).'
}

/** Shortens a text to its first and last characters. */
export function shortenAddress(text: string) {
  return text.length <= 14 ? text : `${text.slice(0, 6)}…${text.slice(-4)}`
}
