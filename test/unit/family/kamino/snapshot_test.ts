import { afterAll, beforeEach, describe, expect, test } from 'bun:test'
import { kaminoStage } from '../../../support/family/kamino/stage.ts'
import { patchAccount, type ServedAccounts, toServedAccount } from '../../../support/kamino.ts'
import { MARKET, OBLIGATION, SLOT, SOL, scene, USDC, WALLET } from '../../../support/kamino_scene.ts'
import { startSolanaDouble } from '../../../support/solana.ts'

const double = startSolanaDouble()
afterAll(() => double.stop(), 60_000)
beforeEach(() => {
  double.slot = SLOT
  double.accounts = scene()
})

const QUERY = { wallet: WALLET, market_address: MARKET }
/** The time of the scene. */
const NOW = BigInt(Math.floor(Date.now() / 1_000))

describe('risk and list say why any wallet may liquidate an obligation of health factor 2', () => {
  test.each([
    [
      'deleveraging',
      [
        [OBLIGATION, 2321, 1, 10n],
        [OBLIGATION, 2336, 8, NOW - 80n * 3_600n],
        [MARKET, 123, 1, 1n],
        [MARKET, 3288, 8, 72n * 3_600n],
      ],
      -8 * 3_600,
    ],
    [
      'term_ended',
      [
        [OBLIGATION, 1288, 8, NOW - 40n * 86_400n],
        [USDC, 5784, 8, 30n * 86_400n],
        [MARKET, 3309, 1, 1n],
      ],
      -10 * 86_400,
    ],
  ] as const)('%s', async (reason, patches, dueInSec) => {
    const accounts = scene()
    for (const [address, at, length, value] of patches) patchAccount(accounts, address, { at, length, value })
    double.accounts = accounts
    const stage = kaminoStage([double])
    const risk = (await stage.single('risk', OBLIGATION, QUERY)).reply?.data as Record<string, unknown>
    expect(risk).toMatchObject({
      health_factor: '2.0000',
      liquidatable_because: [reason],
      safe_borrow_amount_usd: '0.000000',
      safe_withdraw_amount_usd: '0.000000',
    })
    expect(risk['due_at']).toBe(Number(NOW) + dueInSec)
    const list = (await stage.list({ wallet: WALLET })).reply?.data
    const { due_at, liquidatable_because } = risk
    const figures = { safeBorrowAmountUSD: '0.000000', safeWithdrawAmountUSD: '0.000000' }
    expect(list).toMatchObject([
      { positions: [{ healthFactor: '2.0000', liquidatable_because, due_at }], calculations: [figures] },
    ])
    stage.solana.close()
  })
})

describe('an account in a layout that is not known is a 502 that names it, in every answer', () => {
  const extend = (address: string): ServedAccounts => {
    const accounts = scene()
    const data = accounts[address]?.data ?? new Uint8Array()
    return { ...accounts, [address]: toServedAccount(Uint8Array.from([...data, 0])) }
  }
  const patched = (address: string, at: number, value: bigint, length = 1): ServedAccounts => {
    const accounts = scene()
    patchAccount(accounts, address, { at, length, value })
    return accounts
  }

  test.each([
    ['a market of another version', MARKET, () => patched(MARKET, 8, 2n), 'version 2'],
    ['a reserve of another version', SOL, () => patched(SOL, 8, 0n), 'version 0'],
    ['a longer market', MARKET, () => extend(MARKET), '4665 bytes'],
    ['a longer reserve', USDC, () => extend(USDC), '8625 bytes'],
    ['a longer obligation', OBLIGATION, () => extend(OBLIGATION), '3345 bytes'],
    ['an order of an unknown kind', OBLIGATION, () => patched(OBLIGATION, 2380, 7n), 'an order of another kind'],
    [
      'an order for something else',
      OBLIGATION,
      () => patched(OBLIGATION, 2380, 4n * 256n + 1n, 2),
      'an order of another',
    ],
  ] as const)('%s', async (_, address, accounts, what) => {
    double.accounts = accounts()
    const stage = kaminoStage([double])
    for (const figures of ['yield', 'risk'] as const) {
      const answer = await stage.single(figures, OBLIGATION, QUERY)
      expect(answer).toMatchObject({ status: 502, code: 'UPSTREAM_ERROR' })
      expect(answer.message).toContain(`account ${address} has a layout of Kamino Lend`)
      expect(answer.message).toContain(what)
    }
    expect(stage.leaks()).toEqual([])
    stage.solana.close()
  })
})
