import { ACCENTS_MAX } from '../../../lib/text/display_text.ts'
import { findHosts } from './hosts.ts'
import { findImitation } from './lookalikes.ts'
import { hasCallToAction, hasLure } from './lures.ts'

/*
 * A token is spam if it lures its holder somewhere or hides what it says. A dot alone does not make a name a link
 * ("yearn.finance", "Curve.fi yDAI", "USDC.e"). A reward alone does not make it a lure ("Aave Reward").
 *
 * Strangers choose these texts, so the time for a verdict must not grow faster than their length. A text is split into
 * words once, and the rules look words up. No pattern here repeats anything that another part of it could also match.
 */

/** Most characters of a name that are read and checked. */
const WRITTEN_LENGTH_MAX = 256
/**
 * Longest text that is checked after normalization. 256 bytes cannot become more (one letter of three bytes, U+FDFA,
 * becomes 18), so nothing can hide behind this limit.
 */
const FOLDED_LENGTH_MAX = 1_536

/** Any scheme before an address, such as "https://". */
const SCHEME = /[a-z0-9+-]:\/\//
/** Symbols that are a lure as soon as the name has a host in it. */
const LURING_SYMBOLS: ReadonlySet<string> = new Set(
  ['claim', 'airdrop', 'voucher', 'reward'].flatMap((word) => [word, `${word}s`]),
)

/** Characters that fonts leave out or that reverse text, but for those that join emoji or vary their look. */
const INVISIBLE = /(?!\u200c|\u200d|\p{Variation_Selector})[\p{Cc}\p{Default_Ignorable_Code_Point}]/u
/**
 * Those have a meaning after emoji and in some scripts, but not next to the characters below, which keys of phones
 * excepted.
 */
const STRAY =
  /[\p{Script=Latin}\p{Script=Cyrillic}\p{Script=Greek}\p{Nd}](?:\u200c|\u200d|\p{Variation_Selector})(?!\u20e3)|[\u200c\u200d][\p{Script=Latin}\p{Nd}]|\p{Variation_Selector}{2}/u
/** A braille cell without dots, outside of braille. */
const BLANK = /(?<![\u2801-\u28ff])\u2800(?![\u2801-\u28ff])/u
const STACKED = new RegExp(`(?:(?=\\p{M})\\p{Script=Inherited}){${ACCENTS_MAX + 1}}`, 'u')
/** One word in two alphabets that look alike. Greek has its place in names (αETH), but for letters that look Latin. */
const ALIKE =
  '[\\p{Script=Cyrillic}\\p{Script=Armenian}\\p{Script=Cherokee}\\p{Script=Lisu}\\p{Script=Coptic}ΑΒΕΖΗΙΚΜΝΟΡΤΥΧο]'
const MIXED_WORD = new RegExp(`\\p{Script=Latin}${ALIKE}|${ALIKE}\\p{Script=Latin}`, 'u')

/** What a token says about itself, and where it is on its chain. */
export interface RawTokenText {
  readonly address: string
  /** Before any characters are removed. */
  readonly asWritten: { readonly symbol: string; readonly name: string }
}

/** Why a token is spam, as a sentence that names token and rule; undefined if it is not. */
export function spamReason(token: RawTokenText, listed: ReadonlySet<string>): string | undefined {
  if (listed.has(token.address)) return `Token ${token.address} is on the operator's list`
  const symbol = token.asWritten.symbol.slice(0, WRITTEN_LENGTH_MAX)
  const name = token.asWritten.name.slice(0, WRITTEN_LENGTH_MAX)
  const texts = [['symbol', symbol] as const, ['name', name] as const]
  for (const [field, text] of texts) {
    const trimmed = text.trim()
    if ([INVISIBLE, STRAY, BLANK].some((rule) => rule.test(trimmed))) return reason(token, field, 'hides characters')
    if (STACKED.test(trimmed)) return reason(token, field, 'buries letters under accents')
    if (MIXED_WORD.test(trimmed)) return reason(token, field, 'mixes alphabets that look alike')
    const original = findImitation(trimmed)
    if (original !== undefined) return reason(token, field, `imitates "${original}"`)
  }
  const isLureItself = LURING_SYMBOLS.has(folded(symbol))
  for (const [field, text] of texts) {
    const rule = ruleOf(folded(text), { isSymbol: field === 'symbol', isLureItself })
    if (rule !== undefined) return reason(token, field, rule)
  }
  return undefined
}

function ruleOf(
  text: string,
  { isSymbol, isLureItself }: { readonly isSymbol: boolean; readonly isLureItself: boolean },
): string | undefined {
  const { hasHost, hasCommonHost, hasLink, rest } = findHosts(text)
  if (SCHEME.test(text) || hasLink) return 'contains a link'
  if (hasHost && (isLureItself || hasCallToAction(rest))) return 'calls to a link'
  if (isSymbol && hasCommonHost) return 'is a link'
  return hasLure(text) ? 'promises a reward to claim' : undefined
}

function reason(token: RawTokenText, field: string, rule: string): string {
  return `Token ${token.address}: its ${field} ${rule}`
}

/**
 * Letters in one form and case, with single spaces, so that full-width and mathematical letters, dots of other scripts
 * and wide gaps do not hide a lure.
 */
function folded(text: string): string {
  return text
    .normalize('NFKC')
    .slice(0, FOLDED_LENGTH_MAX)
    .toLowerCase()
    .replace(/[。．｡]/gu, '.')
    .replace(/\s+/gu, ' ')
    .trim()
}
