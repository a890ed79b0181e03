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
export function hasCallToAction(text: string): boolean {
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
