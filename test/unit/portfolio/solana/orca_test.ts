import { afterAll, expect, test } from 'bun:test'
import { createSolanaClient } from '../../../../src/chain/solana/client.ts'
import { listWalletTokens } from '../../../../src/chain/solana/wallet_tokens.ts'
import { createOrcaReader } from '../../../../src/family/orca_whirlpool/read/read.ts'
import { WHIRLPOOL_PROGRAMS } from '../../../../src/family/orca_whirlpool/table.ts'
import { createPriceMarket } from '../../../../src/finance/price/table/kamino.ts'
import { createWork } from '../../../../src/lib/async/work.ts'
import { silentLog } from '../../../../src/lib/log.ts'
import { IS_FULL } from '../../../support/cases.ts'
import { orcaStage } from '../../../support/family/orca_whirlpool/stage.ts'
import { toFakeAddress } from '../../../support/kamino.ts'
import { ORCA_CASES, type OrcaCase, orcaAccounts, orcaCase } from '../../../support/orca_vectors.ts'
import { portfolioStage, SLOT_MS } from '../../../support/portfolio/solana/stage.ts'
import { type TokenFixture, walletAccounts } from '../../../support/portfolio/solana/wallets.ts'
import { startSolanaDouble } from '../../../support/solana.ts'
import { TOKEN } from '../../../support/solana_token.ts'
import { createPatientClock } from '../../../support/test_clock.ts'

const SLOT = 432_000 * 925 + 7
const double = startSolanaDouble({ slot: SLOT })
afterAll(() => double.stop(), 60_000)

interface Paid {
  readonly raw: string
  readonly after_transfer_fee?: { readonly raw: string }
}

interface Listed {
  readonly token_id: string
  readonly position_state: { readonly token0: { readonly id: string }; readonly token1: { readonly id: string } }
  readonly amounts: { readonly token0: Paid; readonly token1: Paid }
  readonly uncollected_fees: { readonly token0: Paid; readonly token1: Paid }
  readonly rewards: readonly (Paid & { readonly token: { readonly id: string }; readonly collectable_raw: string })[]
}

/** Serves a state as if its time were now. */
function serve(state: OrcaCase): void {
  const nowSec = Math.floor(Date.now() / 1_000)
  const { rewardsUpdatedAt } = state.pool
  const moved = (BigInt(rewardsUpdatedAt) + BigInt(nowSec) - BigInt(state.unixTs)).toString()
  double.clockSec = nowSec
  double.accounts = orcaAccounts({ ...state, pool: { ...state.pool, rewardsUpdatedAt: moved } })
}

/** Amounts that would reach the wallet, by part and token; zero has no entry. */
function toParts({ position_state, amounts, uncollected_fees: fees, rewards }: Listed): Record<string, string> {
  const sums = new Map<string, bigint>()
  const add = (key: string, raw: string) => sums.set(key, (sums.get(key) ?? 0n) + BigInt(raw))
  for (const [part, both] of [['principal', amounts] as const, ['fees', fees] as const]) {
    for (const each of ['token0', 'token1'] as const) {
      add(`${part} ${position_state[each].id}`, both[each].after_transfer_fee?.raw ?? both[each].raw)
    }
  }
  for (const { token, collectable_raw, after_transfer_fee } of rewards) {
    add(`rewards ${token.id}`, after_transfer_fee?.raw ?? collectable_raw)
  }
  return Object.fromEntries([...sums].filter(([, raw]) => raw > 0n).map(([key, raw]) => [key, String(raw)]))
}

function toGift(
  name: string,
  { decimals, amount }: { readonly decimals: number; readonly amount: bigint },
): TokenFixture {
  return { mint: toFakeAddress(name), program: TOKEN, decimals, symbol: 'G', name: 'Gift', accounts: [{ amount }] }
}

async function readRows(wallet: string): Promise<Record<string, string>> {
  const stage = portfolioStage([double])
  const rows = await stage.assets({ wallet })
  const { coverage } = await stage.balance({ wallet })
  stage.solana?.close()
  expect([rows.filter(({ kind }) => kind !== 'liquidity'), coverage.nfts]).toEqual([[], 0])
  const sums = new Map<string, bigint>()
  for (const { position, token, amount } of rows) {
    const key = `${position?.['part']} ${token.id}`
    sums.set(key, (sums.get(key) ?? 0n) + BigInt(amount.raw))
  }
  return Object.fromEntries([...sums].map(([key, raw]) => [key, String(raw)]))
}

test('positions have the rows of the position list, and their own tokens have none', async () => {
  const all = ORCA_CASES.filter(({ position }) => position.liquidity !== '0')
  // One of four, and each with `SEEDS=full`.
  const states = all.filter((_, index) => IS_FULL || index % 4 === 0)
  let parts = 0
  for (const state of states) {
    serve(state)
    const list = orcaStage([double])
    const { reply, message } = await list.list({ wallet: state.wallet, full: true })
    list.solana.close()
    const [listed] = (reply?.data ?? []) as readonly Listed[]
    if (listed === undefined) throw new Error(message ?? `Nothing is listed of ${state.name}`)
    const wanted = toParts(listed)
    expect([state.name, await readRows(state.wallet)]).toEqual([state.name, wanted])
    parts += Object.keys(wanted).length
  }
  expect([all.length > 35, parts > 2 * states.length]).toEqual([true, true])
}, 60_000)

test('a position without liquidity has rows of its owed amounts', async () => {
  const state = orcaCase('edge/no-liquidity')
  serve({ ...state, position: { ...state.position, owedA: '12', owedB: '34', rewards: [] } })
  expect(await readRows(state.wallet)).toEqual({
    [`fees ${state.pool.mintA}`]: '12',
    [`fees ${state.pool.mintB}`]: '34',
  })
})

test('positions stay where strangers give a wallet more token accounts than are read', async () => {
  const state = orcaCase('edge/in-range')
  serve(state)
  const expected = await readRows(state.wallet)
  const gifts = Array.from({ length: 2_001 }, (_, index) => toGift(`gift ${index}`, { decimals: 6, amount: 5n }))
  Object.assign(double.accounts, walletAccounts(state.wallet, { lamports: 0n, tokens: gifts }))
  const stage = portfolioStage([double], { clock: createPatientClock() })
  const rows = await stage.assets({ wallet: state.wallet, kind: 'liquidity' })
  const { reply } = await stage.ask('balance', { wallet: state.wallet })
  stage.solana?.close()
  const sums = rows.map(({ position, token, amount }) => [`${position?.['part']} ${token.id}`, amount.raw])
  expect(Object.fromEntries(sums)).toEqual(expected)
  // The token of the position is none of the accounts that were not read.
  const data = reply?.data as { readonly incomplete: readonly { readonly what: string }[] } | undefined
  expect(data?.incomplete[0]?.what).toBe('1 more token accounts on chain 101')
})

test('of too many tokens of one unit each read resolves some more, and says how many are left', async () => {
  const state = orcaCase('edge/in-range')
  serve(state)
  const gifts = Array.from({ length: 7 }, (_, index) => toGift(`unit ${index}`, { decimals: 0, amount: 1n }))
  Object.assign(double.accounts, walletAccounts(state.wallet, { lamports: 0n, tokens: gifts }))
  const clock = createPatientClock()
  const endpoints = { rpcUrls: [double.url], maxSlotAgeSec: 60, slotMs: SLOT_MS, clock, log: silentLog }
  const solana = createSolanaClient(endpoints)
  const reader = createOrcaReader({ solana, programs: WHIRLPOOL_PROGRAMS, ...createPriceMarket(), clock })
  const read = () =>
    solana.read(
      async (session) => {
        const listed = listWalletTokens(session, state.wallet, 0n)
        const query = { wallet: state.wallet, minSlot: 0n, listed, positionsMax: 3 }
        const plan = await reader.holdings.plan(session, query)
        return await plan.read(await session.grouped(plan.items))
      },
      { work: createWork(new AbortController().signal) },
    )
  const reads = [await read(), await read(), await read()]
  solana.close()
  const notRead = reads.map((each) => (each === 'changed' ? each : each.notRead))
  const words = (count: number) => [`${count} tokens of one unit that may be positions of orca-whirlpool`]
  expect(notRead).toEqual([words(5), words(2), []])
  expect(reads.at(-1)).toMatchObject({ ownTokens: [state.addresses.positionMint] })
})

test('a wallet that sold the token of a position has no rows of it', async () => {
  serve({ ...orcaCase('edge/in-range'), wallet: toFakeAddress('buyer') })
  expect(await readRows(orcaCase('edge/in-range').wallet)).toEqual({})
})
