import { afterAll, afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { type ServedAccounts, toFakeAddress } from '../../../support/kamino.ts'
import { portfolioStage } from '../../../support/portfolio/solana/stage.ts'
import {
  computeExpected,
  NATIVE,
  priceAccounts,
  SOL,
  type TokenFixture,
  USDC,
  WALLET,
  walletAccounts,
} from '../../../support/portfolio/solana/wallets.ts'
import { countSequentialRequests, type Fault, startSolanaDouble } from '../../../support/solana.ts'
import { TOKEN, TOKEN_2022 } from '../../../support/solana_token.ts'
import { createHurriedClock, createPatientClock } from '../../../support/test_clock.ts'

const SLOT = 432_000 * 900
const EVM_WALLET = '0xd8da6bf26964af9d7eed9e03e53415d37aa96045'
const double = startSolanaDouble()
let stage = portfolioStage([double], { clock: createHurriedClock() })

beforeEach(() => {
  stage = portfolioStage([double], { clock: createHurriedClock() })
  double.slot = SLOT
  double.always = undefined
  double.ofMethod.clear()
  double.faults.length = 0
  double.seen.length = 0
  double.answersTogether = false
  serve([USDC_TOKEN])
})

afterEach(() => {
  expect(stage.lines.join()).not.toMatch(/solana-secret|127\.0\.0\.1|upstream text/)
  stage.solana?.close()
})

afterAll(() => double.stop(), 60_000)

const USDC_TOKEN: TokenFixture = plain(USDC, 6, [2_500_000n])

function plain(mint: string, decimals: number, amounts: readonly bigint[]): TokenFixture {
  return { mint, program: TOKEN, decimals, symbol: 'T', name: 'Token', accounts: amounts.map((amount) => ({ amount })) }
}

/** Many tokens of a unit each, without decimals or with some. */
function many(count: number, decimals: number, amount: bigint): TokenFixture[] {
  return Array.from({ length: count }, (_, index) =>
    plain(toFakeAddress(`many ${decimals} ${index}`), decimals, [amount]),
  )
}

function serve(tokens: readonly TokenFixture[], { lamports = 3_000_000_000n } = {}, others: ServedAccounts = {}): void {
  const nowSec = Math.floor(Date.now() / 1_000)
  double.accounts = { ...priceAccounts(nowSec), ...walletAccounts(WALLET, { lamports, tokens }), ...others }
}

test('a balance, its coverage, slot and price', async () => {
  serve([USDC_TOKEN, plain(toFakeAddress('picture'), 0, [1n])])
  const { reply, credits } = await stage.ask('balance', { wallet: WALLET })
  expect([reply?.asOf, credits]).toEqual([[{ chainId: 101, blockNumber: BigInt(SLOT) }], 15])
  expect(reply?.data).toMatchObject({
    wallet: WALLET,
    // 3 × 151.23456789 + 2.5 × 0.999871
    net_worth_usd: '456.203381',
    debt_usd: '0.000000',
    by_chain: [{ chain_id: 101, net_worth_usd: '456.203381' }],
    by_confidence: { oracle_usd: '456.203381' },
    rows: { counted: 2, unpriced: 0, spam: 0, other_reasons: 0 },
    complete: true,
    coverage: {
      tokens_asked: 2,
      token_lists: [],
      families: ['orca-whirlpool', 'kamino'],
      nfts: 1,
      found_by: [{ family: 'kamino', complete: true, by: 'program_accounts' }],
    },
  })
})

test('rows cost two credits each, spam costs nothing, and pages contain all rows', async () => {
  const lure = { ...plain(toFakeAddress('lure'), 6, [10n]), symbol: 'CLAIM', name: 'claim at gift.xyz' }
  serve([USDC_TOKEN, lure, ...many(4, 6, 5n)])
  const { credits, reply } = await stage.ask('assets', { wallet: WALLET, limit: 25 })
  const rows = reply?.data as readonly { readonly reason: string | null; readonly token: { readonly id: string } }[]
  expect([credits, rows.length, rows.at(-1)?.reason]).toEqual([12, 7, 'spam'])
  expect(rows.slice(0, 2).map(({ token }) => token.id)).toEqual([NATIVE, USDC])
  const pages = [1, 2, 3].map((page) => stage.ask('assets', { wallet: WALLET, limit: 3, page }))
  const shown = (await Promise.all(pages)).flatMap(({ reply: each }) => each?.data as readonly unknown[])
  expect(shown).toEqual([...rows])
  expect((await stage.ask('assets', { wallet: WALLET, kind: 'liquidity' })).reply?.data).toEqual([])
})

test('a wallet with nothing costs nothing', async () => {
  const { reply, credits } = await stage.ask('balance', { wallet: toFakeAddress('nobody') })
  expect([credits, reply?.data]).toEqual([0, expect.objectContaining({ net_worth_usd: '0.000000' })])
  expect(await stage.ask('assets', { wallet: toFakeAddress('nobody') })).toMatchObject({
    credits: 0,
    reply: { data: [] },
  })
})

describe('tokens', () => {
  test('frozen accounts count, and a row says how much of it is in them, whatever a stranger adds in another account', async () => {
    const accounts = [{ amount: 5_000_000n, isFrozen: true }, { amount: 1n }]
    serve([
      { ...USDC_TOKEN, accounts },
      { ...plain(toFakeAddress('ice'), 6, []), accounts: [{ amount: 7n, isFrozen: true }] },
    ])
    const rows = await stage.assets({ wallet: WALLET })
    const marks = rows.map(({ token, frozen, frozen_amount, ...row }) => [
      [token.id, row.amount.raw, row.counted],
      [frozen, frozen_amount],
    ])
    expect(marks).toEqual([
      [
        [NATIVE, '3000000000', true],
        [undefined, undefined],
      ],
      [
        [USDC, '5000001', true],
        [undefined, { raw: '5000000', amount: '5' }],
      ],
      [
        [toFakeAddress('ice'), '7', false],
        [true, { raw: '7', amount: '0.000007' }],
      ],
    ])
  })

  test('wrapped SOL is a row of its own', async () => {
    serve([plain(SOL, 9, [2_000_000_000n])])
    const rows = await stage.assets({ wallet: WALLET })
    expect(rows.map(({ token, value_usd }) => [token.id, value_usd])).toEqual([
      [NATIVE, '453.703704'],
      [SOL, '302.469136'],
    ])
  })

  test.each([10, 25] as const)(
    'a token whose displayed amount differs has no value: extension %d',
    async (scaledBy) => {
      const mint = toFakeAddress('taxed and priced')
      serve([{ ...plain(mint, 8, [10n ** 9n]), program: TOKEN_2022, scaledBy }])
      const [, row] = await stage.assets({ wallet: WALLET })
      expect(row).toMatchObject({
        token: { id: mint },
        amount: { raw: '1000000000', amount: '10' },
        reason: 'unpriced',
      })
      expect(row?.detail).toContain('wallets show another amount')
    },
  )

  test('a transfer fee does not reduce the wallet’s balance', async () => {
    const mint = toFakeAddress('taxed and priced')
    serve([{ ...plain(mint, 8, [10n ** 16n]), program: TOKEN_2022, hasFee: true }])
    expect(await stage.assets({ wallet: WALLET })).toContainEqual(
      // 10^8 × 0.000031000000017
      expect.objectContaining({ value_usd: '3100.000002', price_usd: '0.000031000000017', counted: true }),
    )
  })

  test('a price that the market would not accept is missing, with the reason', async () => {
    const nowSec = Math.floor(Date.now() / 1_000)
    serve([USDC_TOKEN], {}, priceAccounts(nowSec, { ageSec: 600 }))
    const rows = await stage.assets({ wallet: WALLET })
    for (const { price_usd, reason, detail } of rows) {
      expect([price_usd, reason]).toEqual([null, 'unpriced'])
      expect(detail).toBe('It has no price because the price of its reserve is missing or too old')
    }
    expect((await stage.balance({ wallet: WALLET })).rows).toEqual({
      counted: 0,
      unpriced: 2,
      spam: 0,
      other_reasons: 0,
    })
  })

  test('one base unit of a token with decimals is a row, and is looked up once', async () => {
    serve([plain(toFakeAddress('dust'), 6, [1n])])
    double.answersTogether = true
    const read = async () => {
      double.seen.length = 0
      stage.pass()
      const rows = await stage.assets({ wallet: WALLET })
      return [rows.at(-1)?.amount, countSequentialRequests(double)]
    }
    expect(await read()).toEqual([{ raw: '1', amount: '0.000001' }, 3])
    expect(await read()).toEqual([{ raw: '1', amount: '0.000001' }, 1])
  })

  test('a token with only a readable amount has a row', async () => {
    serve([plain(toFakeAddress('broken'), 6, [42n])])
    double.accounts = { ...(double.accounts as ServedAccounts) }
    delete (double.accounts as Record<string, unknown>)[toFakeAddress('broken')]
    const row = (await stage.assets({ wallet: WALLET })).at(-1)
    expect(row).toMatchObject({ amount: { raw: '42', amount: null }, token: { decimals: null }, reason: 'unpriced' })
  })

  test('a mint in more accounts than one request holds is one row', async () => {
    const amounts = Array.from({ length: 250 }, (_, index) => BigInt(index + 1))
    serve([plain(USDC, 6, amounts)])
    expect((await stage.assets({ wallet: WALLET })).at(-1)?.amount.raw).toBe(String((250 * 251) / 2))
  })
})

describe('bad input is 400', () => {
  const SNAPSHOTS = /"wallet": expected an EVM address, because endpoints of Solana keep no past state/
  const PAST = /expected it for EVM chains only, because endpoints of Solana keep no past state/
  test.each([
    ['balance', { wallet: WALLET, chain_id: 1 }, /"chain_id": expected 101 or nothing for a Solana wallet, got "1"/],
    ['balance', { wallet: WALLET, chain_id: 10 }, /"chain_id": expected the id of a configured chain \(1, 101\)/],
    ['assets', { wallet: EVM_WALLET, chain_id: 101 }, /"chain_id": expected an EVM chain for an EVM wallet/],
    ['balance', { wallet: WALLET, chain_id: 101, at_block: 5 }, PAST],
    ['assets', { wallet: WALLET, at_block: 5 }, PAST],
    ['assets', { wallet: WALLET, at_time: '2026-01-01' }, PAST],
    ['assets', { wallet: WALLET, chain_id: 101, tokens: EVM_WALLET }, /"tokens": expected none for a Solana wallet/],
    ['balance', { wallet: WALLET.slice(3) }, /"wallet": expected an EVM address, .* or a Solana address/],
    ['balance', { wallet: `${WALLET.slice(1)}0` }, /"wallet": expected an EVM address/],
    ['balance', { wallet: '0xD8da6bf26964af9d7eed9e03e53415d37aa96045' }, /with a right checksum/],
    ['balance', {}, /"wallet"/],
    ['assets', { wallet: WALLET, limit: 26 }, /"limit"/],
    ['assets', { wallet: WALLET, kind: 'staked' }, /"kind"/],
    ['balance', { wallet: WALLET, allow_partial: 'yes' }, /"allow_partial": expected true or false/],
    ['snapshots', { wallet: WALLET, chain_id: 1 }, SNAPSHOTS],
    ['snapshots', { wallet: WALLET, chain_id: 101 }, SNAPSHOTS],
  ] as const)('%s %o', async (route, query, message) => {
    const answer = await stage.ask(route, query)
    expect(answer.status).toBe(400)
    expect(answer.message).toMatch(message)
    expect(double.seen).toEqual([])
  })
})

test('of too many token accounts the greatest of priced tokens are summed, and the rest is one row that is free', async () => {
  const patient = portfolioStage([double], { clock: createPatientClock() })
  // A stranger gives dust in other accounts of a priced token, too; empty accounts do not count.
  const dust = Array.from({ length: 2_100 }, () => 3n)
  serve([...many(400, 6, 5n), plain(USDC, 6, [...dust, 2_500_000n]), ...many(1_000, 0, 0n)])
  const { reply } = await patient.ask('balance', { wallet: WALLET })
  const data = reply?.data as { readonly incomplete: readonly object[] } | undefined
  // 3 × 151.23456789 + 2.505997 × 0.999871
  expect(data).toMatchObject({ net_worth_usd: '456.209377', coverage: { tokens_asked: 1 } })
  expect(data?.incomplete[0]).toMatchObject({ what: '501 more token accounts on chain 101', amount: null })
  const rows = (await patient.assets({ wallet: WALLET })).filter(({ reason }) => reason === 'dust')
  expect(rows).toMatchObject([{ kind: 'wallet', amount: { raw: '0' }, value_usd: null, position: null }])
})

test('without a Solana endpoint the answer says that none is configured', async () => {
  const { code, status } = await portfolioStage([]).ask('balance', { wallet: WALLET })
  expect([status, code]).toEqual([500, 'API_ENDPOINT_NOT_CONFIGURED'])
})

describe('an inconsistent endpoint is 502, and its data is not returned', () => {
  const LISTS = 'getTokenAccountsByOwner'
  const reply = (change: (row: Row) => unknown): Fault => ({
    kind: 'reply',
    change: ({ result, ...rest }) => ({
      ...rest,
      result: { ...result, value: result.value.map((row) => change(row as Row)) },
    }),
  })
  interface Row {
    readonly pubkey: string
    readonly account: { readonly data: readonly [string, string]; readonly owner: string }
  }
  const withData = (row: Row, change: (data: Buffer) => Buffer): Row => {
    const data = change(Buffer.from(row.account.data[0], 'base64')).toString('base64')
    return { ...row, account: { ...row.account, data: [data, 'base64'] } }
  }
  const foreign = reply((row) =>
    withData(row, (data) => Buffer.concat([data.subarray(0, 32), Buffer.alloc(32, 7), data.subarray(64)])),
  )

  test.each([
    ['rows of another owner', LISTS, foreign],
    ['rows of another program', LISTS, reply((row) => ({ ...row, account: { ...row.account, owner: SOL } }))],
    ['cut rows', LISTS, reply((row) => withData(row, (data) => data.subarray(0, 100)))],
    [
      'a row twice',
      LISTS,
      {
        kind: 'reply',
        change: ({ result, ...rest }) => ({
          ...rest,
          result: { ...result, value: [...result.value, ...result.value] },
        }),
      },
    ],
    [
      'no list',
      LISTS,
      { kind: 'reply', change: ({ result, ...rest }) => ({ ...rest, result: { ...result, value: null } }) },
    ],
    ['no rows but words', LISTS, { kind: 'body', text: 'upstream text' }],
    ['a failure', LISTS, { kind: 'http', status: 500 }],
    ['too many requests', LISTS, { kind: 'rpc', code: 429, message: 'upstream text' }],
    ['9 MB of token accounts', LISTS, { kind: 'body', text: ' '.repeat(9 << 20) }],
    ['an endless answer', LISTS, { kind: 'endless' }],
    ['accounts that fail', 'getMultipleAccounts', { kind: 'http', status: 503 }],
    ['a clock of the future', 'getMultipleAccounts', { kind: 'rpc', code: -32005, message: 'upstream text' }],
  ] as readonly (readonly [string, string, Fault])[])(
    '%s',
    async (_, method, fault) => {
      double.ofMethod.set(method, fault)
      for (const route of ['balance', 'assets']) {
        const { status, code, message } = await stage.ask(route, { wallet: WALLET })
        expect([route, status, code]).toEqual([route, 502, 'UPSTREAM_ERROR'])
        expect(message).toMatch(/^Cannot read Solana: /)
        expect(message).not.toMatch(/upstream|127\.0\.0\.1|api-key/)
      }
      const partial = await stage.ask('balance', { wallet: WALLET, allow_partial: true })
      expect(partial).toMatchObject({
        status: 200,
        credits: 0,
        reply: {
          data: {
            complete: false,
            rows: { counted: 0 },
            unread: [{ chain_id: 101, because: expect.stringContaining('Cannot read Solana') }],
          },
        },
      })
    },
    30_000,
  )
})

test('all listed rows match the accounts', async () => {
  serve([USDC_TOKEN, ...many(150, 6, 12_345n)])
  const { rows } = computeExpected(double.accounts as ServedAccounts, WALLET)
  const found = await stage.assets({ wallet: WALLET })
  expect(found.map(({ token, amount }) => `${token.id} ${amount.raw}`).toSorted()).toEqual(
    rows.map(({ mint, raw }) => `${mint} ${raw}`).toSorted(),
  )
})
