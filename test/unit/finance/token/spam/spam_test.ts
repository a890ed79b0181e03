import { describe, expect, test } from 'bun:test'
import type { Address } from 'viem'
import { type KnownTokens, spamReason } from '../../../../../src/finance/token/spam.ts'
import type { Token } from '../../../../../src/finance/token/token.ts'
import { cpuSeconds } from '../../../../support/cpu.ts'

const ADDRESS: Address = '0x1F98431c8aD98523631AE4a59f267346ea31F984'
const NOBODY: KnownTokens = { spam: new Set(), listed: new Set() }

function token(symbol: string, name: string): Token {
  return { address: ADDRESS, symbol, name, decimals: 18, asWritten: { symbol, name } }
}

const REAL: readonly (readonly [string, string])[] = [
  ['YFI', 'yearn.finance'],
  ['YFI', 'Yearn.finance'],
  ['yCRV', 'Curve.fi yDAI/yUSDC/yUSDT/yTUSD'],
  ['yDAI+yUSDC+yUSDT+yTUSD', 'Curve.fi yDAI/yUSDC/yUSDT/yTUSD'],
  ['crvUSDC', 'Curve.Fi USDC Gauge Deposit'],
  ['AAVE', 'Aave Reward'],
  ['1INCH', '1INCH Token'],
  ['VISIT', 'Visit'],
  ['CLAIM', 'Claim Token'],
  ['USDC.e', 'USD Coin (PoS).e'],
  ['BTC.b', 'Bitcoin'],
  ['CRO', 'Crypto.com Coin'],
  ['AVA', 'Travala.com Token'],
  ['ETHFI', 'ether.fi governance token'],
  ['weETH', 'Wrapped eETH'],
  ['FREE', 'Freedom.finance'],
  ['RWD', 'Reward.network'],
  ['vETH', 'Voucher Ethereum'],
  ['GIFT', 'GIFT'],
  ['BONUS', 'Bonus Block'],
  ['stkAAVE', 'Staked Aave'],
  ['SDL', 'stake.link'],
  ['COMP', 'Compound'],
  ['ORG', 'Ogcnode Org'],
  ['ΞTH', 'Ξther'],
  ['€URO', 'Euro 100'],
  ['MKR', 'Maker'],
  ['', ''],
  ['PT-stETH-26DEC2024', 'PT Lido Staked ETH 26DEC2024'],
  ['🐸', 'Pepe 🐸 family 👨‍👩‍👧'],
  ['توکن', 'می‌خواهم'],
  ['aUSDC', 'Aave interest bearing USDC'],
  ['A', 'Version 2.0 Token v3.1'],
  ['DBET', 'Decent.Bet Token'],
  ['RPL', 'Rocket Pool\n'],
  ['USD₮0', 'USDT0'],
  ['USD₮', 'Tether USD'],
  ['αETH', 'Δ Ωmega'],
  ['ＪＰＹＣ', 'ＪＰＹ Ｃｏｉｎ'],
  ['LOVE', '❤️ Love ❤️‍🔥 1️⃣'],
  ['比特币', '葛󠄀飾'],
  ['ТОН', 'Биткоин'],
  ['⠓⠊⠀⠓⠊', 'Tiếng Việt'],
  ['ÐOGE', 'Crème brûlée'],
  ['🇨🇭', 'Swiss'],
  // Names of public token lists that are a host and nothing else.
  ['CO', 'coordinape.com'],
  ['COCAINE', 'CocaineToken.com'],
  ['FUN1', 'Sport.fun'],
  ['IO', 'io.net'],
  ['MPH', '88mph.app'],
  ['PUMP', 'Pump.fun'],
]

const SPAM: readonly (readonly [string, string, string])[] = [
  ['CLAIM', 'Visit claim-reward.example to claim your reward', 'name'],
  ['AIRDROP', 'See https://airdrop.example/claim', 'name'],
  ['REWARD', 'Claim your reward', 'name'],
  ['t.me/free_tokens', 'Ordinary', 'symbol'],
  ['Zepe.io', 'Zepe', 'symbol'],
  ['ZEPE', '! zepe.io', 'name'],
  ['USDC', '$ aavereward.com', 'name'],
  ['UNI', '! Uniswap Airdrop at uni-v4.network', 'name'],
  ['UNI', 'www.uni-swap', 'name'],
  ['ETH', 'free airdrop', 'name'],
  ['$5000 voucher', 'x', 'symbol'],
  ['x', '1000 USDC Reward', 'name'],
  ['x', 'Ｃｌａｉｍ your ＮＯＷ', 'name'],
  ['x', '𝗖𝗹𝗮𝗶𝗺 𝗿𝗲𝘄𝗮𝗿𝗱𝘀', 'name'],
  ['x', 'Go to evil.xyz', 'name'],
  ['x', 'claim-evil.xyz', 'name'],
  ['x', 'evil.xyz/now', 'name'],
  ['REWARD', 'evil.xyz', 'name'],
  ['x', 'airdrop-uni.finance', 'name'],
  ['x', 'USD\u202eNIOC', 'name'],
  ['US\u200bDC', 'x', 'symbol'],
  ['U\u200dSDC', 'x', 'symbol'],
  ['x', 'a\u001b[31mb', 'name'],
  ['USD\u0421', 'x', 'symbol'],
  ['x', 'You have won', 'name'],
  ['x', `Claim${' '.repeat(40)}your reward`, 'name'],
  ['x', 'Congrats.Visit evil.com', 'name'],
  ...[
    ...[
      'US\u3164DC',
      '\u115fUSDC',
      'U\uffa0SDC',
      'U\ufe00SDC',
      'U\u{e0100}SDC',
      '🐸\ufe01\ufe02x',
      'USDC\u2800',
      '\u2800\u2800',
    ],
    ...[
      'U\u034fSDC',
      `U${'\u0301'.repeat(3)}SDC`,
      'ＵＳＤＣ',
      '𝐔𝐒𝐃𝐂',
      'Ⓤ🅂🄳🄲',
      '🅄🆂🅳🅒',
      '🇺🇸🇩🇹',
      'ᴜꜱᴅᴄ',
      'ꓴꓢꓓꓚ',
      'ЕТН',
      'ΕΤΗ',
      'ÚSDC',
    ],
    ...['USD\u03a4', 'WETΗ', 'ՍSDC', 'USᎠC', 'USꓓC', '\u2063USDC', 'ｗＢＴＣ'],
  ].map((symbol) => [symbol, 'x', 'symbol'] as const),
  ['x', 'Ｕｓｄ　Ｃｏｉｎ', 'name'],
  ['x', 'Wrаррed Ether', 'name'],
  // Letters that grow when normalized do not push other text past the limit.
  ['x', `${'\ufdfa'.repeat(75)} visit evil.com`, 'name'],
]

/** Texts that could make a matcher scan the same characters repeatedly. */
const REPEATED = {
  '㏘, four characters each': '㏘',
  '㏂, four characters each': '㏂',
  'labels of hosts': 'a.',
  'labels that lure': 'claim.',
  'hosts with paths': 'a.com/',
  'words that point': 'at ',
  'words that take': 'get ',
  'words that promise': 'reward ',
  visits: 'visit ',
  'digits and commas': '1,',
  'sums of money': '$1 ',
  'dollar signs': '$',
  'one letter': 'a',
  hyphens: 'a-',
  'white space': ' \t',
  schemes: 'a:/',
  joiners: 'ز\u200d',
  'letters of 18': '\ufdfa',
}
const SHORT = 16
/** As much as is read of a name. */
const LONG = 256

/** Seconds of CPU for a number of verdicts, divided by that number. */
async function secondsFor(text: string): Promise<number> {
  const written = token(text, `${text}x`)
  const repeats = text.length > SHORT * 2 ? 10 : 150
  const seconds = await cpuSeconds(() => {
    for (let count = 0; count < repeats; count++) spamReason(written, NOBODY)
  }, 7)
  return seconds / repeats
}

describe('spamReason()', () => {
  for (const [symbol, name] of REAL) {
    test(`takes ${JSON.stringify(symbol)}, ${JSON.stringify(name)} as a real token`, () => {
      expect(spamReason(token(symbol, name), NOBODY)).toBeUndefined()
    })
  }

  for (const [symbol, name, field] of SPAM) {
    test(`takes ${JSON.stringify(symbol)}, ${JSON.stringify(name)} as spam and names its ${field}`, () => {
      expect(spamReason(token(symbol, name), NOBODY)).toStartWith(`Token ${ADDRESS}: its ${field} `)
    })
  }

  for (const [what, unit] of Object.entries(REPEATED)) {
    test(`takes linear time for long texts of ${what}`, async () => {
      const ofLength = (length: number) => secondsFor(unit.repeat(Math.ceil(length / unit.length)))
      const [short, long] = [await ofLength(SHORT), await ofLength(LONG)]
      // Linear time gives 16, quadratic time 256, cubic time 4,096.
      expect(long / short).toBeLessThan(64)
    })
  }

  test('checks no more of a text than is read of a name', async () => {
    const ofLength = (length: number) => secondsFor('\u0301\u0316'.repeat(length / 2))
    const [long, longest] = [await ofLength(LONG), await ofLength(LONG * 1_000)]
    expect(longest / long).toBeLessThan(64)
  })

  test('does not classify a company’s name as a call to visit it', () => {
    for (const name of ['Atom.com Token', 'Toyota.com Coin'])
      expect(spamReason(token('X', name), NOBODY)).toBeUndefined()
  })

  test('follows the operator’s list, whatever the token’s text', () => {
    const spam = new Set([ADDRESS])
    expect(spamReason(token('USDC', 'USD Coin'), { spam, listed: new Set([ADDRESS]) })).toBe(
      `Token ${ADDRESS} is on the operator's list`,
    )
  })

  test('does not take a token of a list as spam by its text', () => {
    const listed = new Set([ADDRESS])
    for (const [symbol, name] of SPAM)
      expect(spamReason(token(symbol, name), { spam: new Set(), listed })).toBeUndefined()
  })
})

test('of a name, 256 characters are read', () => {
  const spamEndingAt = (end: number) => spamReason(token('A', 'https://'.padStart(end)), NOBODY)
  expect(spamEndingAt(256)).toContain('contains a link')
  expect(spamEndingAt(257)).toBeUndefined()
})
