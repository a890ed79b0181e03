import { afterAll, afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { base58 } from '@scure/base'
import { deriveProgramAddress } from '../../../../src/chain/solana/program_address.ts'
import { kaminoStage } from '../../../support/family/kamino/stage.ts'
import {
  KLEND,
  obligationBytes,
  type ServedAccounts,
  SF,
  toFakeAddress,
  toServedAccount,
} from '../../../support/kamino.ts'
import { MARKET, OBLIGATION, SLOT, SOL, scene, USDC } from '../../../support/kamino_scene.ts'
import { type Fault, startSolanaDouble } from '../../../support/solana.ts'
import { waitFor } from '../../../support/wait_for.ts'

const ROWS = [{ market: MARKET, reserves: [SOL, USDC] }]

const double = startSolanaDouble({ slot: SLOT })
let stage = kaminoStage([double], { rows: ROWS })
afterAll(() => double.stop(), 60_000)

beforeEach(() => {
  double.faults.length = 0
  double.seen.length = 0
  double.always = undefined
  double.ofMethod.clear()
  double.pass = undefined
  double.refusedEvery = undefined
  double.latencyMs = 0
  double.slot = SLOT
  double.slotsPerRead = 0
  stage = kaminoStage([double], { rows: ROWS })
})

afterEach(() => expect(stage.leaks()).toEqual([]))

const toWallet = (index: number) => toFakeAddress(`wallet ${index}`)

/** The plain obligation of a wallet, or one of other seeds. */
function deriveAddress(wallet: string, number = 0): string {
  const keys = [base58.decode(wallet), base58.decode(MARKET), new Uint8Array(32), new Uint8Array(32)]
  return deriveProgramAddress(KLEND, [Uint8Array.of(0), Uint8Array.of(number), ...keys])
}

function chain(count: number, isHolder: (index: number) => boolean = () => true): ServedAccounts {
  const { [OBLIGATION]: _, ...rest } = scene()
  const own = Array.from({ length: count }, (_, index) => index)
    .filter(isHolder)
    .map((index) => {
      const deposits = [{ reserve: SOL, collateralAmount: 10n ** 9n * BigInt(1 + index) }]
      const borrows = index % 2 === 0 ? [] : [{ reserve: USDC, amountSf: 10n ** 6n * SF * BigInt(1 + index) }]
      const bytes = obligationBytes({ market: MARKET, owner: toWallet(index), deposits, borrows })
      return [deriveAddress(toWallet(index)), toServedAccount(bytes)] as const
    })
  return { ...rest, ...Object.fromEntries(own) }
}

const listWallets = (count: number) => Array.from({ length: count }, (_, index) => toWallet(index))

function getEntries({ reply, message }: Awaited<ReturnType<typeof stage.batch>>): readonly Entry[] {
  if (reply === undefined) throw new Error(message)
  return reply.data as readonly Entry[]
}

interface Entry {
  readonly wallet: string
  readonly positions: readonly { readonly obligation_address: string }[]
}

describe('POST /v1/lending/kamino/batch', () => {
  test.each([
    ['search', false],
    ['refuse to search', true],
  ])('over endpoints that %s answers what each list does, in the order of the wallets', async (_, refuses) => {
    if (refuses) double.ofMethod.set('getProgramAccounts', { kind: 'rpc', code: -32601 })
    double.accounts = chain(12, (index) => index % 3 !== 0)
    const wallets = listWallets(12).reverse()
    const answer = await stage.batch({ wallets: [...wallets, wallets[0]], target_health_factor: 2 })
    const { reply, credits } = answer
    const entries = getEntries(answer)
    expect(entries.map(({ wallet }) => wallet)).toEqual(wallets.filter((_, index) => (11 - index) % 3 !== 0))
    expect(credits).toBe(15 * 8)
    for (const entry of entries) {
      const listed = await stage.list({ wallet: entry.wallet, target_health_factor: 2 })
      expect(getEntries(listed)[0]).toMatchObject(entry)
    }
    const derived = { complete: false, by: 'derived_addresses', markets: 1 }
    expect(reply).toMatchObject({
      coverage: refuses ? derived : { complete: true, by: 'program_accounts' },
      pagination: { total: 8, page: 1 },
      asOf: [{ chainId: 101, blockNumber: BigInt(SLOT) }],
    })
  })

  test('costs less for each of 100 wallets or more, counted before the page', async () => {
    double.accounts = chain(101)
    const query = { limit: 5, page: 3 }
    const of = async (count: number) => stage.batch({ wallets: listWallets(count) }, query)
    const [few, many] = [await of(99), await of(101)]
    expect([few.credits, many.credits]).toEqual([99 * 15, 101 * 12])
    expect(getEntries(many).map(({ wallet }) => wallet)).toEqual(listWallets(101).slice(10, 15))
  })

  test('derives only number 0, and reads obligations that are cached', async () => {
    double.ofMethod.set('getProgramAccounts', { kind: 'http', status: 410 })
    const wallet = toWallet(1)
    const second = deriveAddress(wallet, 1)
    const bytes = obligationBytes({ market: MARKET, owner: wallet, deposits: [{ reserve: SOL, collateralAmount: 1n }] })
    double.accounts = { ...chain(2), [second]: toServedAccount(bytes) }
    const found = async () => {
      return getEntries(await stage.batch({ wallets: [wallet] }))[0]?.positions.map((each) => each.obligation_address)
    }
    expect(await found()).toEqual([deriveAddress(wallet)])
    await stage.single('risk', second, { wallet, market_address: MARKET })
    stage.pass(180_000)
    expect(await found()).toEqual([deriveAddress(wallet), second].sort())
  })

  test('looks again each time: an obligation that was opened since is there', async () => {
    const wallet = toWallet(1)
    double.accounts = chain(2)
    const list = async () => {
      return getEntries(await stage.batch({ wallets: [wallet] }))[0]?.positions.map((each) => each.obligation_address)
    }
    expect(await list()).toEqual([deriveAddress(wallet)])
    const opened = toFakeAddress('opened since')
    const bytes = obligationBytes({ market: MARKET, owner: wallet, deposits: [{ reserve: SOL, collateralAmount: 1n }] })
    double.accounts = { ...chain(2), [opened]: toServedAccount(bytes) }
    stage.pass()
    expect(await list()).toEqual([deriveAddress(wallet), opened].sort())
  })

  test.each([
    ['no wallets', { wallets: [] }],
    ['an EVM wallet', { wallets: ['0x0000000000000000000000000000000000000001'] }],
    ['501 wallets', { wallets: listWallets(501) }],
    ['a past block', { wallets: [toWallet(1)], at_block: 7 }],
    ['a past time', { wallets: [toWallet(1)], at_time: 1_700_000_000 }],
    ['another chain', { wallets: [toWallet(1)], chain_id: 1 }],
    ['a target of 1', { wallets: [toWallet(1)], target_health_factor: 1 }],
    ['an unknown field', { wallets: [toWallet(1)], market_id: MARKET }],
  ])('with %s is refused before anything is read', async (_, body) => {
    expect(await stage.batch(body)).toMatchObject({ status: 400, code: 'INVALID_PARAMETER' })
    expect(double.seen).toEqual([])
  })

  test('fails as a whole if one obligation cannot be read, and names it', async () => {
    double.accounts = {
      ...chain(3),
      [deriveAddress(toWallet(1))]: toServedAccount(
        obligationBytes({
          market: MARKET,
          owner: toWallet(1),
          deposits: [{ reserve: toFakeAddress('no reserve'), collateralAmount: 1n }],
        }),
      ),
    }
    const answer = await stage.batch({ wallets: listWallets(3) })
    expect(answer).toMatchObject({ status: 502, code: 'UPSTREAM_ERROR' })
    expect(answer.message).toContain(deriveAddress(toWallet(1)))
  })

  test('fails as an upstream error, long before its time is over, if the endpoint does', async () => {
    double.always = { kind: 'http', status: 500 }
    expect(await stage.batch({ wallets: listWallets(20) })).toMatchObject({ status: 502, code: 'UPSTREAM_ERROR' })
    expect(double.seen.length).toBeLessThan(10)
  })

  test('aborts all other searches if one fails', async () => {
    double.accounts = chain(40)
    const late: Fault = { kind: 'late', ms: 0 }
    // The clock and the first search; of those that go together, one is refused as often as it asks.
    double.faults.push(late, late, ...Array.from({ length: 15 }, (): Fault => ({ kind: 'hang' })))
    double.always = { kind: 'http', status: 500 }
    expect(await stage.batch({ wallets: listWallets(40) })).toMatchObject({ status: 502, code: 'UPSTREAM_ERROR' })
    const hanging = double.seen.slice(2, 17)
    await waitFor('all searches to be aborted', () => hanging.every(({ isLeft }) => isLeft === true), 1_000)
    expect(double.seen.length).toBeLessThan(22)
  })
})

describe('500 wallets and an endpoint that is slow and refuses one request of four', () => {
  const wallets = listWallets(500)

  test.each([
    ['that searches', false],
    ['that searches nothing', true],
  ])(
    '%s end in 504, and each try gets further than the one before',
    async (_, refuses) => {
      if (refuses) double.ofMethod.set('getProgramAccounts', { kind: 'rpc', code: -32601 })
      double.accounts = chain(500)
      stage = kaminoStage([double], { rows: ROWS, skipsPauses: true })
      // Time at which even 50 requests for derived addresses are late.
      double.pass = () => stage.pass(refuses ? 500 : 200)
      double.refusedEvery = 4
      const tries: number[] = []
      for (let attempt = 0; attempt < 2; attempt++) {
        const { status, code, message, credits } = await stage.batch({ wallets })
        expect([status, code, credits]).toEqual([504, 'GATEWAY_TIMEOUT', undefined])
        expect(message).toMatch(/^Cannot answer: read \d+ of 500 wallets in time; retry with fewer wallets/)
        expect(message?.includes('no endpoint searches programs: set SOLANA_RPC_URL')).toBe(refuses)
        tries.push(Number(message?.match(/read (\d+)/)?.[1]))
      }
      const [first = 0, second = 0] = tries
      expect(first).toBeGreaterThan(0)
      expect(second).toBeGreaterThan(first)
      expect(second).toBeLessThan(500)
      double.pass = undefined
      double.refusedEvery = undefined
      double.seen.length = 0
      const last = await stage.batch({ wallets })
      expect([last.status, last.credits]).toEqual([200, 500 * 12])
      const searches = double.seen.filter(({ method }) => method === 'getProgramAccounts').length
      if (!refuses) expect(searches).toBeLessThan(500)
    },
    60_000,
  )
})
