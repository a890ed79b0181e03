import { afterAll, expect, test } from 'bun:test'
import { caseCount } from '../../../support/cases.ts'
import {
  marketBytes,
  obligationBytes,
  reserveBytes,
  type ServedAccounts,
  SF,
  toFakeAddress,
  toServedAccount,
} from '../../../support/kamino.ts'
import { WHIRLPOOL } from '../../../support/orca.ts'
import { type OrcaCase, orcaAccounts, orcaCase, orcaPositionBytes } from '../../../support/orca_vectors.ts'
import { portfolioStage, type SolanaRow } from '../../../support/portfolio/solana/stage.ts'
import { NATIVE, priceAccounts, SOL, USDC, WALLET, walletAccounts } from '../../../support/portfolio/solana/wallets.ts'
import { startSolanaDouble } from '../../../support/solana.ts'
import { TOKEN, TOKEN_2022, tokenAccountBytes } from '../../../support/solana_token.ts'
import { createPatientClock } from '../../../support/test_clock.ts'

const SLOT = 432_000 * 925
const NOW_SEC = Math.floor(Date.now() / 1_000)
const ANSWERS = caseCount(1_000, 40)
const AT_ONCE = 4
/** A refused request is retried. */
const FAILED_MAX = 3 + ANSWERS / 20
/** Minimum number of answers from two slots. */
const MIXED_MIN = Math.ceil(ANSWERS / 100)
/** From this slot on, the position's token belongs to another wallet. */
const SOLD_AT = SLOT + Math.floor(2.5 * ANSWERS)
/** Everything changed three times. */
const REFUSED = /changed while they were read/
const MARKET = 'DxXdAyU3kCjnyggvHmY5nAwg5cRbbmdyX3npfDMjjMek'
const [RESERVE, DEBT, OBLIGATION] = ['reserve', 'debt reserve', 'obligation'].map((name) =>
  toFakeAddress(`slot ${name}`),
) as [string, string, string]
const OTHER = toFakeAddress('moving token')
const HELD = orcaCase('edge/no-liquidity')
/** A wallet that fills two requests, so that its rows are of two slots. */
const BIG = toFakeAddress('big wallet')
const BIG_TOKENS = 120
const POOL_OF_ALL = 10n ** 12n

const double = startSolanaDouble({ slot: SLOT })
double.clockSec = NOW_SEC
double.slotsPerRead = 1
afterAll(() => double.stop(), 60_000)

/** Whole units of each asset in a slot, different in each slot. */
const at = (slot: number) => BigInt(slot - SLOT + 10)

function positionAt(slot: number): OrcaCase {
  return {
    ...HELD,
    wallet: slot < SOLD_AT ? WALLET : toFakeAddress('buyer'),
    pool: { ...HELD.pool, rewardsUpdatedAt: String(NOW_SEC - 5) },
    position: { ...HELD.position, owedA: String(slot), owedB: String(slot * 3), rewards: [] },
  }
}

const POOL = {
  market: MARKET,
  availableAmount: POOL_OF_ALL,
  collateralSupply: POOL_OF_ALL,
  curve: [
    [0, 0],
    [10_000, 0],
  ] as const,
  maxPriceAgeSec: 120n,
  priceSf: SF,
  priceTimestampSec: BigInt(NOW_SEC),
}

/** The constant accounts, and the changing ones in their first state. */
const FIRST: ServedAccounts = {
  ...priceAccounts(NOW_SEC),
  ...walletAccounts(WALLET, {
    lamports: 1n,
    tokens: [token(SOL, TOKEN, 9, 1), token(USDC, TOKEN, 6, 2), token(OTHER, TOKEN_2022, 4, 1)],
  }),
  ...walletAccounts(BIG, {
    lamports: 1n,
    tokens: Array.from({ length: BIG_TOKENS }, (_, index) => token(toFakeAddress(`big ${index}`), TOKEN, 6, 1)),
  }),
  ...orcaAccounts(positionAt(SLOT)),
  [MARKET]: toServedAccount(marketBytes()),
  [RESERVE]: toServedAccount(reserveBytes({ ...POOL, mint: SOL, decimals: 9 })),
  [DEBT]: toServedAccount(reserveBytes({ ...POOL, mint: USDC, decimals: 6 })),
}

/** Token accounts of the wallets, and how many units each holds for one of the slot's. */
const MOVING = [
  { wallet: WALLET, mint: SOL, by: [11n] },
  { wallet: WALLET, mint: USDC, by: [13n, 17n] },
  { wallet: WALLET, mint: OTHER, by: [19n] },
  ...Array.from({ length: BIG_TOKENS }, (_, index) => ({
    wallet: BIG,
    mint: toFakeAddress(`big ${index}`),
    by: [BigInt(index + 1)],
  })),
].flatMap(({ wallet, mint, by }) =>
  by.map((factor, index) => ({ address: toFakeAddress(`${wallet} ${mint} ${index}`), wallet, mint, factor })),
)

function chainAt(slot: number): ServedAccounts {
  const units = at(slot)
  const moved = MOVING.map(({ address, wallet, mint, factor }) => {
    const { owner = TOKEN } = FIRST[address] ?? {}
    const isExtended = owner === TOKEN_2022
    const data = tokenAccountBytes({ mint, owner: wallet, amount: units * factor, isExtended })
    return [address, { owner, data }] as const
  })
  const sold = positionAt(slot)
  const { position, nftAccount, positionMint, nftProgram } = sold.addresses
  const held = { mint: positionMint, owner: sold.wallet, isExtended: nftProgram === TOKEN_2022 }
  const native = { owner: NATIVE, data: new Uint8Array(), lamports: units * 7n }
  return {
    ...FIRST,
    ...Object.fromEntries(moved),
    [WALLET]: native,
    [BIG]: native,
    [position]: toServedAccount(orcaPositionBytes(sold), WHIRLPOOL),
    [nftAccount]: toServedAccount(tokenAccountBytes(held), nftProgram),
    [OBLIGATION]: toServedAccount(
      obligationBytes({
        market: MARKET,
        owner: WALLET,
        lastUpdateSlot: BigInt(slot),
        deposits: [{ reserve: RESERVE, collateralAmount: units * 23n }],
        borrows: [{ reserve: DEBT, amountSf: units * 29n * SF }],
      }),
    ),
  }
}

function token(mint: string, program: typeof TOKEN | typeof TOKEN_2022, decimals: number, accounts: number) {
  const held = Array.from({ length: accounts }, () => ({ amount: 1n }))
  return { mint, program, decimals, symbol: 'T', name: 'T', accounts: held }
}

/** The expected rows in a slot. */
function truth(wallet: string, slot: number): Readonly<Record<string, bigint>> {
  const units = at(slot)
  const native = { [`wallet ${NATIVE}`]: units * 7n }
  if (wallet === BIG) {
    const own = Array.from(
      { length: BIG_TOKENS },
      (_, index) => [`wallet ${toFakeAddress(`big ${index}`)}`, units * BigInt(index + 1)] as const,
    )
    return { ...native, ...Object.fromEntries(own) }
  }
  const { mintA, mintB } = HELD.pool
  const fees = { [`fees ${mintA}`]: BigInt(slot), [`fees ${mintB}`]: BigInt(slot * 3) }
  return {
    ...native,
    [`wallet ${SOL}`]: units * 11n,
    [`wallet ${USDC}`]: units * 30n,
    [`wallet ${OTHER}`]: units * 19n,
    ...(slot < SOLD_AT ? fees : {}),
    [`supplied ${SOL}`]: units * 23n,
    [`borrowed ${USDC}`]: units * 29n,
  }
}

test(`${ANSWERS} answers match the slot that each names, while every account changes with each request`, async () => {
  double.accounts = chainAt
  // The cluster's clock stands still, and so does ours: a slow machine answers later than the cluster's clock allows.
  const clock = { ...createPatientClock(), now: () => NOW_SEC * 1_000 }
  const stages = [0, 1].map(() => portfolioStage([double], { clock }))
  const slots = new Set<string>()
  let [asked, answered, failed, sold, mixed] = [0, 0, 0, 0, 0]

  async function askOnce(index: number): Promise<void> {
    const stage = stages[index % 2] as (typeof stages)[number]
    const wallet = index % 10 === 9 ? BIG : WALLET
    stage.pass()
    // One page holds all rows of the first wallet; of the other each page is an answer of its own.
    const { reply, status, message } = await stage.ask('assets', {
      wallet,
      limit: 25,
      page: 1 + (index % 3) * Number(wallet === BIG),
    })
    if (status === 502) {
      expect(message).toMatch(REFUSED)
      failed++
      return
    }
    if (reply === undefined) throw new Error(message)
    answered++
    const slot = String(reply.asOf?.[0]?.blockNumber)
    slots.add(slot)
    const rows = reply.data as readonly SolanaRow[]
    if (wallet === WALLET) {
      const wanted = truth(WALLET, Number(slot))
      expect(rows.map(getKey).toSorted()).toEqual(Object.keys(wanted).toSorted())
      if (Number(slot) >= SOLD_AT) sold++
    } else if (rows.some((row) => row.slot !== undefined)) mixed++
    for (const row of rows) {
      expect(Number(row.slot ?? slot)).toBeGreaterThanOrEqual(Number(slot))
      expect([getKey(row), row.amount.raw]).toEqual([
        getKey(row),
        String(truth(wallet, Number(row.slot ?? slot))[getKey(row)]),
      ])
    }
  }

  const worker = async () => {
    // Of ten answers one is about the big wallet, and chance decides whether its requests are of two slots.
    const goesOn = () => answered < ANSWERS || (mixed < MIXED_MIN && answered < 4 * ANSWERS)
    while (goesOn() && failed < FAILED_MAX) await askOnce(asked++)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
  for (const stage of stages) stage.solana?.close()
  expect(failed).toBeLessThan(FAILED_MAX)
  expect(sold).toBeGreaterThan(ANSWERS / 20)
  expect(mixed).toBeGreaterThanOrEqual(MIXED_MIN)
  expect(slots.size).toBeGreaterThan(ANSWERS / 10)
}, 240_000)

function getKey({ kind, token: { id }, position }: SolanaRow): string {
  return `${position?.['part'] ?? kind} ${id}`
}
