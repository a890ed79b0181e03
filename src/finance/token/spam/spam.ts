import { ACCENTS_MAX } from '../../../lib/text/display_text.ts'
import { findHosts } from './hosts.ts'
import { findImitation } from './lookalikes.ts'
import { hasCallToAction, hasLure } from './lures.ts'

/*
 * A token is spam if its text lures the holder somewhere or hides characters. A dot alone does not make a name a link
 * ("yearn.finance", "Curve.fi yDAI", "USDC.e"). A reward alone does not make it a lure ("Aave Reward").
 *
 * The texts are untrusted, so the time for a verdict must be linear in their length. A text is split into words once,
 * and the rules look words up. No pattern here repeats anything that another part of it could also match.
 */

/** Most characters of a name or symbol to check. */
const WRITTEN_LENGTH_MAX = 256
/**
 * Longest text to check after normalization. 256 bytes cannot expand beyond it (one letter of three bytes, U+FDFA,
 * becomes 18), so nothing can hide behind this limit.
 */
const FOLDED_LENGTH_MAX = 1_536

/** Any scheme before an address, such as "https://". */
const SCHEME = /[a-z0-9+-]:\/\//
/** Symbols that are a lure if the name contains a host. */
const LURING_SYMBOLS: ReadonlySet<string> = new Set(
  ['claim', 'airdrop', 'voucher', 'reward'].flatMap((word) => [word, `${word}s`]),
)

/** Characters that fonts omit or that reverse text, except those that join emoji or vary their look. */
const INVISIBLE = /(?!\u200c|\u200d|\p{Variation_Selector})[\p{Cc}\p{Default_Ignorable_Code_Point}]/u
/**
 * Joiners and variation selectors where they have no meaning: next to the characters below, except on keycaps (U+20E3).
 * They are legitimate after emoji and in some scripts.
 */
const STRAY =
  /[\p{Script=Latin}\p{Script=Cyrillic}\p{Script=Greek}\p{Nd}](?:\u200c|\u200d|\p{Variation_Selector})(?!\u20e3)|[\u200c\u200d][\p{Script=Latin}\p{Nd}]|\p{Variation_Selector}{2}/u
/** A braille cell without dots, outside of braille. */
const BLANK = /(?<![\u2801-\u28ff])\u2800(?![\u2801-\u28ff])/u
const STACKED = new RegExp(`(?:(?=\\p{M})\\p{Script=Inherited}){${ACCENTS_MAX + 1}}`, 'u')
/**
 * Letters of alphabets that look like Latin. Of Greek only the letters that look Latin, because names use others
 * (αETH).
 */
const ALIKE =
  '[\\p{Script=Cyrillic}\\p{Script=Armenian}\\p{Script=Cherokee}\\p{Script=Lisu}\\p{Script=Coptic}ΑΒΕΖΗΙΚΜΝΟΡΤΥΧο]'
const MIXED_WORD = new RegExp(`\\p{Script=Latin}${ALIKE}|${ALIKE}\\p{Script=Latin}`, 'u')

/** A token's address and its own texts. */
export interface RawTokenText {
  readonly address: string
  /** Before any characters are removed. */
  readonly asWritten: { readonly symbol: string; readonly name: string }
}

/** Addresses of a chain's tokens that need no look at their texts. */
export interface KnownTokens {
  /** Tokens that the operator calls spam. */
  readonly spam: ReadonlySet<string>
  /** Tokens of the lists that are read for every wallet: whatever they are called, they are no spam. */
  readonly listed: ReadonlySet<string>
}

/** Returns why a token is spam, as a sentence that names token and rule; undefined if it is not. */
export function spamReason(token: RawTokenText, { spam, listed }: KnownTokens): string | undefined {
  if (spam.has(token.address)) return `Token ${token.address} is on the operator's list`
  if (listed.has(token.address)) return undefined
  const symbol = token.asWritten.symbol.slice(0, WRITTEN_LENGTH_MAX)
  const name = token.asWritten.name.slice(0, WRITTEN_LENGTH_MAX)
  const texts = [['symbol', symbol] as const, ['name', name] as const]
  for (const [field, text] of texts) {
    const trimmed = text.trim()
    if ([INVISIBLE, STRAY, BLANK].some((rule) => rule.test(trimmed)))
      return formatReason(token, field, 'hides characters')
    if (STACKED.test(trimmed)) return formatReason(token, field, 'buries letters under accents')
    if (MIXED_WORD.test(trimmed)) return formatReason(token, field, 'mixes alphabets that look alike')
    const original = findImitation(trimmed)
    if (original !== undefined) return formatReason(token, field, `imitates "${original}"`)
  }
  const isLuringSymbol = LURING_SYMBOLS.has(fold(symbol))
  for (const [field, text] of texts) {
    const brokenRule = findBrokenRule(fold(text), { isSymbol: field === 'symbol', isLuringSymbol })
    if (brokenRule !== undefined) return formatReason(token, field, brokenRule)
  }
  return undefined
}

function findBrokenRule(
  text: string,
  { isSymbol, isLuringSymbol }: { readonly isSymbol: boolean; readonly isLuringSymbol: boolean },
): string | undefined {
  const { hasHost, hasCommonHost, hasLink, textWithoutHosts } = findHosts(text)
  if (SCHEME.test(text) || hasLink) return 'contains a link'
  if (hasHost && (isLuringSymbol || hasCallToAction(textWithoutHosts))) return 'calls to a link'
  if (isSymbol && hasCommonHost) return 'is a link'
  return hasLure(text) ? 'promises a reward to claim' : undefined
}

function formatReason(token: RawTokenText, field: string, rule: string): string {
  return `Token ${token.address}: its ${field} ${rule}`
}

/**
 * Converts letters to one form and case, with single spaces, so that full-width and mathematical letters, dots of other
 * scripts and wide gaps do not hide a lure.
 */
function fold(text: string): string {
  return text
    .normalize('NFKC')
    .slice(0, FOLDED_LENGTH_MAX)
    .toLowerCase()
    .replace(/[。．｡]/gu, '.')
    .replace(/\s+/gu, ' ')
    .trim()
}
