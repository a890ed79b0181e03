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
export function findImitation(text: string): string | undefined {
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
