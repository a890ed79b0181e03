import { createLru } from '../../lib/lru.ts'
import { memoize } from '../../lib/memoize.ts'
import { ACCENTS_MAX } from '../../lib/text/display_text.ts'
import type { FinanceChain } from '../chain.ts'
import { toTokenSet } from './list/list.ts'
import { type RawToken, type Token, toToken } from './token.ts'

/** Most cached tokens, about a kilobyte each at most, because no more of their texts is read. */
const TOKENS_MAX = 10_000

export interface FilteredToken {
  readonly token: Token
  /** Why the token is spam, as a sentence; undefined if it is not. */
  readonly spam: string | undefined
}

/** Decodes tokens, recognizes spam, and caches the verdicts on the latest tokens. */
export type SpamFilter = ReturnType<typeof createSpamFilter>

/** Creates the spam filter. A token whose metadata changes is re-evaluated. */
export function createSpamFilter() {
  const cache = createLru<{ readonly raw: RawToken; readonly result: FilteredToken }>({ entriesMax: TOKENS_MAX })
  return {
    classify(raw: RawToken, chain: FinanceChain): FilteredToken {
      const key = `${chain.id}:${raw.address}`
      const cached = cache.get(key)
      if (cached !== undefined && isSameText(cached.raw, raw)) return cached.result
      const token = toToken(raw)
      const result = { token, spam: spamReason(token, getKnownTokens(chain)) }
      cache.set(key, { raw, result })
      return result
    },
  }
}

/** Returns the tokens of a chain that are spam or none whatever their texts say. */
export const getKnownTokens = memoize(
  ({ spamTokens, tokens }: FinanceChain): KnownTokens => ({
    spam: new Set(spamTokens),
    listed: toTokenSet(tokens.addresses),
  }),
)

function isSameText(a: RawToken, b: RawToken): boolean {
  return a.symbol === b.symbol && a.name === b.name && a.decimals === b.decimals
}

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

/** Endings of addresses that protocols do not use in their names, unlike "finance", "fi" or "network". */
const COMMON_ENDINGS: ReadonlySet<string> = new Set(
  (
    'com net org io info xyz site online top app live club vip pro gift gifts claims events event click website space ' +
    'tech store shop win lol fun biz me cc co ru cn us gg ly cfd sbs icu bond example test'
  ).split(' '),
)
/** Words that make a host a lure, with any ending. */
const LURES = ['claim', 'airdrop', 'giveaway']
/** Words (followed by a space) and marks (with or without one) that point at the host after them. */
const POINTING_WORDS: ReadonlySet<string> = new Set('at on via see from go to join check visit'.split(' '))
const POINTING_MARKS = ':@>→⇒➜'

/** A run of letters and digits, with the characters allowed between them in an address. */
const RUN = /[\p{L}\p{N}][\p{L}\p{N}_.-]*/gu
const LABEL = /^[a-z0-9-]{1,63}$/
const ENDING = /^[a-z]{2,24}$/

/** The hosts in a text. A host is a word, a dot and a word, which a browser would try to open. */
interface HostMatches {
  readonly hasHost: boolean
  /** True if a host has an ending that is rarely part of a protocol's name. */
  readonly hasCommonHost: boolean
  /** True if a host is a link: it has a path, "www.", a pointer before it or a lure in it, or marks alone around it. */
  readonly hasLink: boolean
  /** The text without its hosts. */
  readonly textWithoutHosts: string
}

/** Finds hosts in a text in lower case with single spaces. */
export function findHosts(text: string): HostMatches {
  const flags = { hasHost: false, hasCommonHost: false, hasLink: false }
  if (!text.includes('.')) return { ...flags, textWithoutHosts: text }
  const runs = [...text.matchAll(RUN)]
  const parts: string[] = []
  let copiedTo = 0
  let previous = { word: '', end: -1 }
  for (const { 0: run, index: start } of runs) {
    const word = trimTail(run)
    const labels = word.split('.')
    const { hostEnd, hasCommonHost, endsCommon, isLuring } = findHostEnd(labels)
    const [end, hasHost] = [start + word.length, hostEnd > 0]
    const isPointedAt = hasMarkBefore(text, start) || (POINTING_WORDS.has(previous.word) && previous.end + 1 === start)
    // A host alone is a name ("Pump.fun"), but with marks around it is a link.
    const isDecorated = endsCommon && runs.length === 1 && word !== text
    const hasPath = endsCommon && text[end] === '/'
    flags.hasHost ||= hasHost
    flags.hasCommonHost ||= hasCommonHost
    flags.hasLink ||= isLuring || isDecorated || hasPath || (hasCommonHost && isPointedAt)
    if (hasHost) {
      parts.push(text.slice(copiedTo, start), ...labels.slice(hostEnd))
      copiedTo = end
    }
    previous = { word: labels.at(-1) ?? '', end }
  }
  return { ...flags, textWithoutHosts: [...parts, text.slice(copiedTo)].join(' ') }
}

/** Finds hosts among the labels of a run, and the end of the last host, 0 without one. */
function findHostEnd(labels: readonly string[]) {
  let hostEnd = 0
  let [hasCommonHost, endsCommon, isLuring, sawLure] = [false, false, false, false]
  for (const [index, part] of labels.entries()) {
    const next = labels[index + 1]
    if (next === undefined) break
    sawLure ||= LURES.some((lure) => part.includes(lure))
    const isHost = isLabel(part) && ENDING.test(next)
    endsCommon = isHost && COMMON_ENDINGS.has(next)
    if (isHost) hostEnd = index + 2
    hasCommonHost ||= endsCommon
    isLuring ||= (sawLure && ENDING.test(next)) || (part === 'www' && /^[a-z0-9]/.test(next))
  }
  return { hostEnd, hasCommonHost, endsCommon, isLuring }
}

function isLabel(part: string): boolean {
  return LABEL.test(part) && !part.startsWith('-') && !part.endsWith('-')
}

/** Removes dots, dashes and underscores at the end of a run: they belong to the sentence. */
function trimTail(run: string): string {
  let end = run.length
  while ('_.-'.includes(run.charAt(end - 1))) end--
  return run.slice(0, end)
}

/** True if a pointing mark precedes `start`, with or without a space between. */
function hasMarkBefore(text: string, start: number): boolean {
  const mark = text.charAt(text.charAt(start - 1) === ' ' ? start - 2 : start - 1)
  return mark !== '' && POINTING_MARKS.includes(mark)
}

/** Symbols and names that spam tokens imitate, in lower case. */
const KNOWN: ReadonlySet<string> = new Set([
  ...'usd usdc usdc.e usdt usdt0 dai usds usde susde usd1 pyusd fdusd tusd busd frax lusd gho crvusd eurc'.split(' '),
  ...'eth weth steth wsteth reth cbeth eeth weeth ezeth rseth btc wbtc cbbtc tbtc bnb wbnb'.split(' '),
  ...'matic pol wpol avax wavax sol wsol hype whype uni aave link crv ldo mkr comp arb shib pepe'.split(' '),
  ...['usd coin', 'tether', 'tether usd', 'dai stablecoin', 'ether', 'ethereum', 'wrapped ether', 'bitcoin'],
  ...['wrapped bitcoin', 'wrapped btc', 'uniswap', 'chainlink'],
])

/**
 * Letters of other alphabets that look like Latin letters or their small capitals: `а` of Cyrillic, `Ε` of Greek, `ꓚ`
 * of Lisu, `Ꮯ` of Cherokee, `Ս` of Armenian. Letters that NFKC converts to plain ones are not listed.
 */
const LOOKALIKES: ReadonlyMap<string, string> = new Map(
  Object.entries({
    a: 'аАαΑꓮᎪᴀ',
    b: 'вВβΒꓐᏴʙɃƀ',
    c: 'сСꓚᏟᴄȻȼ',
    d: 'ԁԀꓓᎠᴅĐđÐðƉ',
    e: 'еЕεΕꓰᎬᴇ',
    f: 'ꓝꜰ',
    g: 'ԌꓖᏀɢցɡ',
    h: 'һҺнНηΗꓧᎻʜհ',
    i: 'іІιΙꓲɪıᎥ',
    j: 'јЈꓙᎫᴊ',
    k: 'кКκΚꓗᏦᴋ',
    l: 'ӏӀꓡᏞʟłŁ',
    m: 'мМμΜꓟᎷᴍ',
    n: 'νΝꓠɴո',
    o: 'оОοΟꓳᴏօՕøØ',
    p: 'рРρΡꓑᏢᴘ',
    q: 'ԛԚզ',
    r: 'ꓣᎡʀ',
    s: 'ѕЅꓢᏚꜱՏ',
    t: 'тТτΤꓔᎢᴛŦŧ',
    u: 'ꓴᴜսՍ',
    v: 'ѵѴꓦᏙᴠ',
    w: 'ԝԜѡѠꓪᎳᴡ',
    x: 'хХχΧꓫ',
    y: 'уУυΥꓬᎽʏ',
    z: 'ζΖꓜᏃᴢ',
  }).flatMap(([latin, lookalikes]) => [...lookalikes].map((character) => [character, latin] as const)),
)
/** Letters in circles and squares, and flag letters, which NFKC does not convert; each range starts with A. */
const DRAWN_RANGES = [0x1f150, 0x1f170, 0x1f1e6]
const LETTERS = 26
/** Longer than any known text with accents. */
const LENGTH_MAX = 64
const A = 0x61

/** Finds the known symbol or name that a text imitates; undefined if there is none, or if the text is plain ASCII. */
function findImitation(text: string): string | undefined {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: it is the range of ASCII.
  if (text.length > LENGTH_MAX || /^[\x00-\x7f]*$/.test(text)) return undefined
  const plain = [...text.normalize('NFKD')].map(toLatin).join('').toLowerCase().replace(/\s+/gu, ' ').trim()
  return KNOWN.has(plain) ? plain : undefined
}

/** Returns the Latin letter that a character looks like, else the character; empty for marks and invisible ones. */
function toLatin(character: string): string {
  if (/[\p{M}\p{C}\p{Default_Ignorable_Code_Point}]/u.test(character)) return ''
  const code = character.codePointAt(0) ?? 0
  const rangeStart = DRAWN_RANGES.find((first) => code >= first && code < first + LETTERS)
  if (rangeStart !== undefined) return String.fromCharCode(A + code - rangeStart)
  return LOOKALIKES.get(character) ?? character
}

/** Keys of amounts of money among the words of a text: "$5,000" and "1000 USDC". */
const SUM = '$'
const COINS = '#'

const REWARDS = words('reward rewards airdrop airdrops bonus bonuses prize prizes gift gifts voucher vouchers')
const TAKING = ['claim', 'redeem', 'collect', 'receive', 'get'].flatMap((verb) => [verb, `${verb}s`, `${verb}ing`])
const COIN_NAMES: ReadonlySet<string> = new Set(words('usd usdc usdt dai eth btc bnb'))

/** Words that turn any host beside them into a lure. */
const CALLS: ReadonlySet<string> = new Set([...REWARDS, ...words('claim visit redeem winner free eligible presale')])

/** Pairs of words, the second at most `gap` characters after the first, that together promise something. */
const PAIRS = [
  pair([...TAKING, ...words('receiving getting')], REWARDS, 24),
  pair(words('claim redeem'), [...words('your now here free'), SUM, COINS], 12),
  pair(REWARDS, words('claim redeem visit winner eligible claimable'), 24),
  pair(['visit'], [...REWARDS, ...words('claim redeem website site')], 40),
  pair(words('free win'), words('airdrop airdrops gift gifts prize prizes mint giveaway'), 12),
  pair([SUM], [...REWARDS, 'free'], 16),
  pair([COINS], REWARDS, 16),
  pair([...REWARDS, 'won'], [SUM, COINS], 16),
]

const CONGRATULATION = /\byou(?:['’]ve| have| are)? (?:won|been selected|eligible)\b|\bcongratulations\b/
const WORD = /[$€£]|\d[\d,.]*|[a-z_][a-z0-9_]*/g

/** True if a text in lower case with single spaces promises something in return for an action. */
export function hasLure(text: string): boolean {
  if (CONGRATULATION.test(text)) return true
  const ends = new Map<object, number>()
  for (const { key, start, end } of listItems(text)) {
    for (const each of PAIRS) {
      // The last occurrence of the first word is the nearest one.
      const from = ends.get(each)
      if (from !== undefined && start - from <= each.gap && each.second.has(key)) return true
      if (each.first.has(key)) ends.set(each, end)
    }
  }
  return false
}

/** True if a text in lower case has a word that asks for an action. */
function hasCallToAction(text: string): boolean {
  return listItems(text).some(({ key }) => CALLS.has(key))
}

interface Item {
  /** A word, `SUM` or `COINS`. */
  readonly key: string
  readonly start: number
  readonly end: number
}

/** Lists words and amounts of money, in order. */
function listItems(text: string): Item[] {
  const items: Item[] = []
  let last = { word: '', start: 0, end: -1 }
  for (const { 0: word, index: start } of text.matchAll(WORD)) {
    const end = start + word.length
    const isNear = start === last.end || (start === last.end + 1 && text[last.end] === ' ')
    if (isNear && isNumber(word) && isSign(last.word)) items.push({ key: SUM, start: last.start, end })
    else if (isNear && isNumber(last.word) && COIN_NAMES.has(word)) items.push({ key: COINS, start: last.start, end })
    // Letters right after a digit, as in "1st", are not a word.
    else if (!isNumber(word) && !isSign(word) && !isDigit(text[start - 1])) items.push({ key: word, start, end })
    last = { word, start, end }
  }
  return items
}

function isNumber(word: string): boolean {
  return isDigit(word[0])
}

function isDigit(letter: string | undefined): boolean {
  return letter !== undefined && letter >= '0' && letter <= '9'
}

function isSign(word: string): boolean {
  return word !== '' && '$€£'.includes(word)
}

function words(list: string): string[] {
  return list.split(' ')
}

function pair(first: readonly string[], second: readonly string[], gap: number) {
  return { first: new Set(first), second: new Set(second), gap }
}
