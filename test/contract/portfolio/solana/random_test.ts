import { afterAll, expect, test } from 'bun:test'
import { createRandom } from '../../../devnet/random.ts'
import { caseCount } from '../../../support/cases.ts'
import { toFakeAddress } from '../../../support/kamino.ts'
import { portfolioStage } from '../../../support/portfolio/solana/stage.ts'
import {
  computeExpected,
  NATIVE,
  PRICED,
  priceAccounts,
  type TokenFixture,
  walletAccounts,
  worthE6,
} from '../../../support/portfolio/solana/wallets.ts'
import { startSolanaDouble } from '../../../support/solana.ts'
import { TOKEN, TOKEN_2022 } from '../../../support/solana_token.ts'
import { e6 } from '../support.ts'

const WALLETS = caseCount(800)
const NOW_SEC = Math.floor(Date.now() / 1_000)
const LURE = 'Claim at solana-gift.xyz'

const double = startSolanaDouble({ slot: 432_000 * 900 })
const stage = portfolioStage([double])
afterAll(async () => {
  stage.solana?.close()
  await double.stop()
}, 60_000)

type Random = ReturnType<typeof createRandom>

function createToken(random: Random, wallet: number, index: number): TokenFixture {
  const priced = random.below(3) === 0 ? PRICED[index % PRICED.length] : undefined
  const isTaxed = priced?.mint === toFakeAddress('taxed and priced')
  const program = priced === undefined ? random.pick([TOKEN, TOKEN_2022] as const) : isTaxed ? TOKEN_2022 : TOKEN
  const isLater = program === TOKEN_2022
  const most = 10n ** BigInt(random.below(20))
  return {
    mint: priced?.mint ?? toFakeAddress(`mint ${index} of wallet ${wallet}`),
    program,
    decimals: priced?.decimals ?? random.pick([0, 0, 1, 6, 9, 18]),
    symbol: priced === undefined ? `T${index}` : priced.mint.slice(0, 5),
    name: priced !== undefined ? 'Priced' : random.below(9) === 0 ? LURE : `Token ${index}`,
    isNamedInside: isLater && random.below(2) === 0,
    hasFee: isTaxed || (isLater && random.below(3) === 0),
    ...(isLater && priced === undefined && random.below(3) === 0 ? { scaledBy: random.pick([10, 25] as const) } : {}),
    accounts: Array.from({ length: 1 + random.below(3) }, () => ({
      amount: random.pick([
        0n,
        1n,
        1n,
        BigInt(random.below(2 ** 31)),
        (most * BigInt(random.below(999_999))) / 999_999n,
      ]),
      isFrozen: random.below(4) === 0,
      isDelegated: random.below(4) === 0,
      isConfidential: isLater && random.below(3) === 0,
    })),
  }
}

test(`SOL and tokens of ${WALLETS} wallets match their accounts, and their total matches an independent sum`, async () => {
  let [rowsSeen, nftsSeen, frozenSeen, spamSeen] = [0, 0, 0, 0]
  for (let index = 0; index < WALLETS; index++) {
    const random = createRandom(index)
    const wallet = toFakeAddress(`random wallet ${index}`)
    const made = Array.from({ length: random.below(14) }, (_, at) => createToken(random, index, at))
    const tokens = [...new Map(made.map((token) => [token.mint, token])).values()]
    const lamports = random.pick([0n, 1n, BigInt(random.below(2 ** 31)), 9_007_199_254_740_991n])
    const accounts = walletAccounts(wallet, { lamports, tokens })
    double.accounts = { ...priceAccounts(NOW_SEC), ...accounts }
    const { rows, nfts } = computeExpected(accounts, wallet)

    const found = await stage.assets({ wallet })
    const told = found.map(({ token, amount, frozen, price_usd, kind, position }) => ({
      mint: token.id,
      raw: amount.raw,
      decimals: token.decimals,
      isFrozen: frozen === true,
      price: price_usd,
      kind,
      position,
    }))
    const inOrder = <Row extends { readonly mint: string }>(all: readonly Row[]) =>
      all.toSorted((a, b) => (a.mint < b.mint ? -1 : 1))
    const wanted = rows.map(({ price, ...row }) => ({
      ...row,
      price: decimalText(price),
      kind: 'wallet',
      position: null,
    }))
    expect([wallet, inOrder(told)]).toEqual([wallet, inOrder(wanted)])

    for (const { token, amount, counted, reason, price_usd } of found) {
      const fixture = tokens.find(({ mint }) => mint === token.id)
      if (token.id !== NATIVE) expect([token.symbol, token.name]).toEqual([fixture?.symbol ?? '', fixture?.name ?? ''])
      const [whole = '', part = ''] = amount.amount?.split('.') ?? []
      expect(`${whole}${part.padEnd(token.decimals ?? 0, '0')}`.replace(/^0+(?=.)/, '')).toBe(amount.raw)
      const isLure = fixture?.name === LURE
      expect([counted, reason]).toEqual(
        isLure ? [false, 'spam'] : price_usd === null ? [false, 'unpriced'] : [true, null],
      )
      if (isLure) spamSeen++
    }
    const { net_worth_usd, by_kind, rows: counts, coverage } = await stage.balance({ wallet })
    const worth = worthE6(rows)
    expect([e6(net_worth_usd), e6(by_kind['wallet_usd'] ?? '')]).toEqual([worth, worth])
    expect([coverage.nfts, counts['counted']]).toEqual([nfts, found.filter(({ counted }) => counted).length])
    rowsSeen += rows.length
    nftsSeen += nfts
    frozenSeen += rows.filter(({ isFrozen }) => isFrozen).length
  }
  expect(Math.min(rowsSeen / 3, nftsSeen * 2, frozenSeen * 5, spamSeen * 5)).toBeGreaterThan(WALLETS / 2)
}, 120_000)

function decimalText(price: { readonly value: bigint; readonly exponent: number } | undefined): string | null {
  if (price === undefined) return null
  const digits = String(price.value).padStart(price.exponent + 1, '0')
  const point = digits.length - price.exponent
  return `${digits.slice(0, point)}.${digits.slice(point)}`.replace(/\.?0+$/, '')
}
