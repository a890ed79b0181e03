import type { Address } from 'viem'
import type { Token } from './token.ts'

/*
 * What makes a token spam: it lures its holder somewhere, or hides what it says. A name with a dot in it is no link by
 * itself ("yearn.finance", "Curve.fi yDAI", "USDC.e"), a reward is no lure by itself ("Aave Reward").
 */

/** A word and a dot and a word: what a browser would try to open. */
const HOST = String.raw`(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+`
/** Endings of addresses that no protocol uses as its own name, unlike "finance", "fi" or "network". */
const COMMON =
  'com|net|org|io|info|xyz|site|online|top|app|live|club|vip|pro|gift|gifts|claims|events|event|click|website|space|tech|store|shop|win|lol|fun|biz|me|cc|co|ru|cn|us|gg|ly|cfd|sbs|icu|bond|example|test'
const COMMON_HOST = `${HOST}(?:${COMMON})`
const END = String.raw`(?![\p{L}\p{N}_-])`
const START = String.raw`(?<![\p{L}\p{N}_-])`

const URL_LIKE = new RegExp(String.raw`\b[a-z][a-z0-9+-]{1,9}:\/\/|${START}www\.[a-z0-9]|${START}${COMMON_HOST}\/`, 'u')
const ANY_HOST = new RegExp(`${START}${HOST}[a-z]{2,24}${END}`, 'gu')
const HOST_IN_SYMBOL = new RegExp(`${START}${COMMON_HOST}${END}`, 'u')
const BARE_HOST = new RegExp(`^[^\\p{L}\\p{N}]*${COMMON_HOST}[^\\p{L}\\p{N}]*$`, 'u')
const POINTED_HOST = new RegExp(
  String.raw`(?:${START}(?:at|on|via|see|from|go|to|join|check|visit)|[:@>→⇒➜])\s*${COMMON_HOST}${END}`,
  'u',
)
/** A host that says itself what it is after, whatever its ending. */
const LURING_HOST = new RegExp(
  `${START}(?:${HOST})?[a-z0-9-]*(?:claim|airdrop|giveaway)[a-z0-9-]*\\.(?:${HOST})?[a-z]{2,24}${END}`,
  'u',
)
/** Words that turn any host beside them into a lure. */
const CALL =
  /\b(?:claim|visit|rewards?|airdrops?|vouchers?|bonus|gifts?|redeem|prizes?|winner|free|eligible|presale)\b/u

const LURES: readonly RegExp[] = [
  /\b(?:claim|redeem|collect|receive|get)(?:s|ing)?\b.{0,24}\b(?:rewards?|airdrops?|bonus(?:es)?|prizes?|gifts?|vouchers?)\b/u,
  /\b(?:claim|redeem)\b.{0,12}(?:\b(?:your|now|here|free)\b|[$€£]\s?\d|\b\d[\d,.]*\s?(?:usd[ct]?|dai|eth|btc|bnb)\b)/u,
  /\b(?:rewards?|airdrops?|bonus|prizes?|gifts?|vouchers?)\b.{0,24}\b(?:claim|redeem|visit|winner|eligible|claimable)\b/u,
  /\bvisit\b.{0,40}\b(?:claim|redeem|rewards?|airdrops?|bonus|prizes?|gifts?|vouchers?|website|site)\b/u,
  /\b(?:free|win)\b.{0,12}\b(?:airdrops?|gifts?|prizes?|mint|giveaway)\b/u,
  /[$€£]\s?\d[\d,.]*\s?k?\b.{0,16}\b(?:rewards?|airdrops?|bonus|gifts?|vouchers?|prizes?|free)\b/u,
  /\b(?:rewards?|airdrops?|bonus|gifts?|vouchers?|prizes?|won)\b.{0,16}(?:[$€£]\s?\d|\b\d[\d,.]*\s?(?:usd[ct]?|dai|eth|btc|bnb)\b)/u,
  /\b\d[\d,.]*\s?(?:usd[ct]?|dai|eth|btc|bnb)\b.{0,16}\b(?:rewards?|airdrops?|bonus|gifts?|vouchers?|prizes?)\b/u,
  /\byou(?:'ve| have| are)? (?:won|been selected|eligible)\b|\bcongratulations\b/u,
]

/** Characters that turn text around or are not seen: U+061C, U+200B to U+200F, U+202A to U+202E, U+2060 and on. */
const INVISIBLE = /\p{Cc}|[\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\u{e0000}-\u{e007f}]/u
/** Joiners mean something between emoji and in some scripts, nothing beside these. */
const STRAY_JOINER =
  /[\p{Script=Latin}\p{Script=Cyrillic}\p{Script=Greek}\p{Nd}][\u200c\u200d]|[\u200c\u200d][\p{Script=Latin}\p{Nd}]/u
/** One word in two alphabets that look alike. */
const MIXED_WORD = /\p{Script=Latin}\p{Script=Cyrillic}|\p{Script=Cyrillic}\p{Script=Latin}/u

/** Why a token is spam, as a sentence that names token and rule; undefined where it is not. */
export function spamReason(token: Token, listed: ReadonlySet<Address>): string | undefined {
  if (listed.has(token.address)) return `Token ${token.address} is on the operator's list`
  const { symbol, name } = token.asWritten
  const texts = [['symbol', symbol] as const, ['name', name] as const]
  for (const [field, text] of texts) {
    const trimmed = text.trim()
    if (INVISIBLE.test(trimmed) || STRAY_JOINER.test(trimmed)) return reason(token, field, 'hides characters')
    if (MIXED_WORD.test(trimmed)) return reason(token, field, 'mixes alphabets that look alike')
  }
  const isLureItself = /^(?:claim|airdrop|voucher|reward)s?$/u.test(folded(symbol).trim())
  for (const [field, text] of texts) {
    const plain = folded(text)
    if (isLink(plain)) return reason(token, field, 'contains a link')
    if (withoutHosts(plain) !== plain && (isLureItself || CALL.test(withoutHosts(plain))))
      return reason(token, field, 'calls to a link')
    if (field === 'symbol' && HOST_IN_SYMBOL.test(plain)) return reason(token, field, 'is a link')
    if (LURES.some((lure) => lure.test(plain))) return reason(token, field, 'promises a reward to claim')
  }
  return undefined
}

function isLink(text: string): boolean {
  return [URL_LIKE, BARE_HOST, POINTED_HOST, LURING_HOST].some((link) => link.test(text))
}

function withoutHosts(text: string): string {
  return text.replace(ANY_HOST, '')
}

function reason(token: Token, field: string, rule: string): string {
  return `Token ${token.address}: its ${field} ${rule}`
}

/** Letters in one form and case: full-width and mathematical letters, and dots of other scripts, fool nobody. */
function folded(text: string): string {
  return text
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[。．｡]/gu, '.')
}
