import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Address } from 'viem'
import type { FinanceChain } from '../../../src/finance/chain.ts'
import type { AaveDevnet } from '../../devnet/aave_v3/mod.ts'
import { sharedAave } from '../../devnet/aave_v3/shared.ts'
import { BANK, TOKENS, toWalletAddress, UNISWAP_V3 } from '../../devnet/addresses.ts'
import { createDevnetChain } from '../../devnet/chain.ts'
import { mintSpamPositions } from '../../devnet/mint_spam.ts'
import type { Devnet } from '../../devnet/mod.ts'
import { usdToRaw } from '../../devnet/scenario.ts'
import { toRouteFailure } from '../../support/call_route.ts'
import { type FaultyRpc, startFaultyRpc } from '../../support/rpc.ts'
import { createCode, deploy, mintCall, transferCall } from '../finance/token/balance/world.ts'
import { allRows, countedClient, createPortfolio, listing, toFigures, type WireRow } from './support.ts'

const HOLDER = toWalletAddress('portfolio holder')
const CROWDED = toWalletAddress('portfolio crowded')
const STRANGER = toWalletAddress('portfolio stranger')
const NATIVE = '0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE'

let devnet: Devnet
let aave: AaveDevnet
let rpc: FaultyRpc
/** On no list. */
let unlisted: Address

beforeAll(async () => {
  const shared = await sharedAave()
  devnet = shared.devnet
  aave = shared.aave
  rpc = await startFaultyRpc(devnet.rpcUrl)
  await devnet.mintMany(HOLDER, 100)
  await aave.supply({ market: 'main', wallet: HOLDER, asset: 'usdc', amount: 5_000_000_000n })
  await aave.supply({ market: 'main', wallet: HOLDER, asset: 'weth', amount: 2n * 10n ** 18n })
  await devnet.send(
    Object.values(TOKENS).map((token) =>
      transferCall(token.address, { from: BANK, to: HOLDER, value: usdToRaw(token, 500) }),
    ),
  )
  ;[unlisted = BANK] = await deploy(devnet, [createCode('FeeToken')])
  await devnet.send([mintCall(unlisted, HOLDER, 10n ** 20n)])
  await mintSpamPositions(devnet, { wallet: CROWDED, pool: devnet.pools.daiWeth10000, count: 2_050 })
}, 300_000)

afterAll(() => rpc?.stop())

function chain(overrides: Partial<FinanceChain> = {}, tokens: readonly Address[] = []): FinanceChain {
  return listing(createDevnetChain(devnet, overrides), tokens)
}

/** Portfolios over one chain, and the requests that it received. */
function setUp(overrides: Partial<FinanceChain> = {}) {
  const { client, requests } = countedClient(chain(overrides))
  return { portfolio: createPortfolio([client]), requests }
}

/** The failure of a route as the app answers it. */
async function failure(portfolio: ReturnType<typeof createPortfolio>, path: 'balance' | 'assets', query: string) {
  const error = await portfolio[path](query).then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  if (error === undefined) throw new Error(`Expected a failure of ${query}`)
  const { status, code, message } = toRouteFailure(error, portfolio.routeAt(path))
  return { status, code, message }
}

describe('one call', () => {
  test('reads all listed tokens, a hundred positions and Aave in one request', async () => {
    const { portfolio, requests } = setUp()
    const { rows } = toFigures(await portfolio.balance(`wallet=${HOLDER}`))
    expect(requests).toEqual(['eth_call'])
    expect(rows['counted']).toBeGreaterThan(150)
    requests.length = 0
    expect((await portfolio.assets(`wallet=${HOLDER}`)).reply.pagination?.total).toBe(
      Object.values(rows).reduce((sum, each) => sum + each, 0),
    )
    expect(requests).toEqual(['eth_call'])
  })

  test('at a past block is one request after the block, and one before about contracts without a first block', async () => {
    const { number } = await devnet.client.getBlock()
    const { portfolio, requests } = setUp()
    await portfolio.balance(`wallet=${HOLDER}&chain_id=1&at_block=${number - 1n}`)
    expect(requests.filter((method) => method === 'eth_call').length).toBe(2)
    expect(requests).not.toContain('eth_getCode')
  })

  test('reads unlisted tokens of positions in a second request, and next time in the first', async () => {
    const { dai, ...others } = TOKENS
    const usdFeeds = Object.fromEntries(
      Object.values(others).map(({ address, feed }) => [address, { feed, heartbeatSec: 86_400 }]),
    )
    const { portfolio, requests } = setUp({ prices: { usdFeeds, stablecoins: [] } })
    const first = await allRows(portfolio, `wallet=${HOLDER}`)
    const held = first.filter(({ token, kind }) => token.id === dai.address && kind === 'wallet')
    // The position vouches for its own amounts only.
    expect(held).toMatchObject([{ counted: false, reason: 'unlisted' }])
    requests.length = 0
    await portfolio.balance(`wallet=${HOLDER}`)
    expect(requests).toEqual(['eth_call'])
  })
})

describe('tokens', () => {
  test('that the caller names are listed, and counted only if that is asked for', async () => {
    const usdFeeds = { ...chain().prices.usdFeeds, [unlisted]: { feed: TOKENS.weth.feed, heartbeatSec: 86_400 } }
    const { client } = countedClient({ ...chain(), prices: { usdFeeds, stablecoins: [] } })
    const portfolio = createPortfolio([client])
    const named = `wallet=${HOLDER}&chain_id=1&tokens=${unlisted}`
    const readRow = async (query: string): Promise<WireRow | undefined> =>
      (await allRows(portfolio, query)).find(({ token }) => token.id === unlisted)
    expect(await readRow(`wallet=${HOLDER}&chain_id=1`)).toBeUndefined()
    expect(await readRow(named)).toMatchObject({
      counted: false,
      reason: 'unlisted',
      price_source: 'feed',
      value_usd: null,
    })
    expect(await readRow(`${named}&include_unlisted=true`)).toMatchObject({ counted: true, reason: null })
    const [without, withIt] = await Promise.all([
      portfolio.balance(named),
      portfolio.balance(`${named}&include_unlisted=true`),
    ])
    expect(toFigures(withIt).net).toBeGreaterThan(toFigures(without).net)
    expect(toFigures(without).rows['other_reasons']).toBe(1)
  })

  test('may be a hundred, repeated, listed already, or no contracts at all', async () => {
    const { portfolio } = setUp()
    const known = toFigures(await portfolio.balance(`wallet=${HOLDER}`))
    const many = Array.from({ length: 99 }, (_, index) => toWalletAddress(`no contract ${index}`))
    const tokens = [...many, TOKENS.usdc.address, TOKENS.usdc.address.toLowerCase()].join()
    const { kinds, rows } = toFigures(await portfolio.balance(`wallet=${HOLDER}&chain_id=1&tokens=${tokens}`))
    expect(kinds).toEqual(known.kinds)
    expect(rows).toEqual(known.rows)
  })

  test.each([
    [
      '101 of them',
      `chain_id=1&tokens=${Array.from({ length: 101 }, (_, i) => toWalletAddress(`t${i}`)).join()}`,
      'expected 1 to 100',
    ],
    ['no address', 'chain_id=1&tokens=0x12', 'EVM address'],
    ['an empty one among them', `chain_id=1&tokens=${TOKENS.usdc.address},`, 'EVM address'],
    ['a wrong checksum', `chain_id=1&tokens=0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB4F`, 'checksum'],
    ['the zero address', `chain_id=1&tokens=0x${'0'.repeat(40)}`, 'expected no native token'],
    ['the native token under its other name', `chain_id=1&tokens=${NATIVE}`, 'expected no native token'],
  ])('are refused: %s', async (_, query, words) => {
    const { portfolio, requests } = setUp()
    for (const path of ['balance', 'assets'] as const) {
      const { status, code, message } = await failure(portfolio, path, `wallet=${HOLDER}&${query}`)
      expect({ status, code }).toEqual({ status: 400, code: 'INVALID_PARAMETER' })
      expect(message).toContain(words)
    }
    expect(requests).toEqual([])
  })

  test('are refused if the operator names them as another name of the native token', async () => {
    const { portfolio, requests } = setUp({ nativeDoubles: [unlisted] })
    const expected = {
      status: 400,
      code: 'INVALID_PARAMETER' as const,
      message: `Cannot read parameter "tokens": expected no native token, which is always asked, got "${unlisted}"`,
    }
    const query = `wallet=${HOLDER}&chain_id=1&tokens=${TOKENS.usdc.address},${unlisted}`
    expect(await failure(portfolio, 'balance', query)).toEqual(expected)
    expect(await failure(portfolio, 'assets', query)).toEqual(expected)
    expect(requests).toEqual([])
  })

  test('need their chain', async () => {
    const { portfolio } = setUp()
    expect(await failure(portfolio, 'balance', `wallet=${HOLDER}&tokens=${unlisted}`)).toEqual({
      status: 400,
      code: 'MISSING_PARAMETER',
      message: 'Parameter "chain_id" is missing: it is required with "tokens"',
    })
  })
})

describe('bad input', () => {
  test.each([
    ['kind=all', 'INVALID_PARAMETER'],
    ['kind=Wallet', 'INVALID_PARAMETER'],
    ['counted=yes', 'INVALID_PARAMETER'],
    ['include_unlisted=1', 'INVALID_PARAMETER'],
    ['allow_partial=maybe', 'INVALID_PARAMETER'],
    ['at_block=5', 'MISSING_PARAMETER'],
    ['chain_id=1&at_block=5&at_time=2026-01-01', 'INVALID_PARAMETER'],
    ['chain_id=1&at_block=0', 'INVALID_PARAMETER'],
    ['chain_id=1&at_block=99999999', 'INVALID_PARAMETER'],
    ['at_time=1970-01-02', 'INVALID_PARAMETER'],
    ['chain_id=10', 'INVALID_PARAMETER'],
    ['limit=0', 'INVALID_PARAMETER'],
    ['limit=26', 'INVALID_PARAMETER'],
    ['page=0', 'INVALID_PARAMETER'],
    ['status=inactive', 'INVALID_PARAMETER'],
  ])('%s is %s', async (query, code) => {
    const { portfolio } = setUp()
    expect(await failure(portfolio, 'assets', `wallet=${HOLDER}&${query}`)).toMatchObject({ status: 400, code })
  })

  test('of thousands of positions that strangers gave a wallet the first ones are summed, and the rest is told', async () => {
    const { portfolio } = setUp()
    const { reply } = await portfolio.balance(`wallet=${CROWDED}`)
    const omitted = {
      what: '50 more positions of uniswap-v3 on chain 1',
      amount: null,
      why: 'A sum has the first 2000 of them on a chain',
    }
    const { incomplete, coverage } = reply.data as {
      readonly incomplete: readonly object[]
      readonly coverage: { readonly not_read: readonly string[] }
    }
    expect(incomplete).toContainEqual(omitted)
    expect(coverage.not_read).toContain(omitted.what)
    const rows = await portfolio.assets(`wallet=${CROWDED}&limit=1`)
    expect(rows.reply.pagination?.total).toBeGreaterThanOrEqual(2_000)
    const dust = (await allRows(portfolio, `wallet=${CROWDED}&counted=false&kind=liquidity`)).filter(
      ({ reason }) => reason === 'dust',
    )
    expect(dust).toMatchObject([
      {
        detail: '50 more positions of uniswap-v3: a sum has the first 2000 on a chain',
        amount: { raw: '0', amount: null },
        value_usd: null,
        withdrawable: null,
        limited_by: null,
        position: { family: 'uniswap-v3' },
      },
    ])
  })

  test('a wallet without anything is answered, and costs nothing', async () => {
    const { portfolio } = setUp()
    const balance = await portfolio.balance(`wallet=${STRANGER}`)
    expect(balance.credits).toBe(0)
    expect(toFigures(balance)).toMatchObject({ net: 0n, chains: [], rows: { counted: 0 } })
    const assets = await portfolio.assets(`wallet=${STRANGER}`)
    expect(assets.credits).toBe(0)
    expect(assets.reply.data).toEqual([])
  })

  test('before Uniswap, Aave and tokens were deployed, a wallet has its balance of that time', async () => {
    const { portfolio } = setUp()
    const { net, rows } = toFigures(await portfolio.balance(`wallet=${HOLDER}&chain_id=1&at_block=1`))
    expect(net).toBe(0n)
    expect(rows['counted']).toBe(0)
  })

  test('a contract of the protocols is a wallet like any other', async () => {
    const { portfolio } = setUp()
    for (const wallet of [UNISWAP_V3.manager, UNISWAP_V3.factory, TOKENS.usdc.address]) {
      expect(toFigures(await portfolio.balance(`wallet=${wallet}`)).net).toBeGreaterThanOrEqual(0n)
    }
  })
})

describe('pages', () => {
  test('hold every row once, cost two credits a row, and can be narrowed', async () => {
    const { number } = await devnet.client.getBlock()
    const { portfolio } = setUp()
    const query = `wallet=${HOLDER}&chain_id=1&at_block=${number}`
    const all = await allRows(portfolio, query)
    const kinds: WireRow[] = []
    for (const kind of ['wallet', 'liquidity', 'supplied', 'borrowed']) {
      kinds.push(...(await allRows(portfolio, `${query}&kind=${kind}`)))
    }
    const text = (rows: readonly WireRow[]) => rows.map((row) => JSON.stringify(row)).sort()
    expect(text(kinds)).toEqual(text(all))
    const counted = await allRows(portfolio, `${query}&counted=true`)
    const others = await allRows(portfolio, `${query}&counted=false`)
    expect(text([...counted, ...others])).toEqual(text(all))
    expect(counted.every((row) => row.counted)).toBe(true)
    const { credits, reply } = await portfolio.assets(`${query}&limit=7&page=2`)
    expect(reply.data).toEqual(all.slice(7, 14))
    expect(credits).toBe(14)
    const values = counted.map(({ value_usd }) => Number(value_usd))
    expect(values).toEqual([...values].sort((a, b) => b - a))
  })

  test('end with spam, which costs nothing', async () => {
    const { portfolio } = setUp({ spamTokens: [TOKENS.dai.address] })
    const all = await allRows(portfolio, `wallet=${HOLDER}`)
    const first = all.findIndex(({ reason }) => reason === 'spam')
    expect(first).toBeGreaterThan(0)
    expect(all.slice(first).every(({ reason, value_usd }) => reason === 'spam' && value_usd === null)).toBe(true)
    const { credits } = await portfolio.assets(`wallet=${HOLDER}&counted=false`)
    expect(credits).toBe(0)
  })
})

describe('an endpoint', () => {
  const figures = async (query = `wallet=${HOLDER}`) => {
    const portfolio = createPortfolio([countedClient(chain({ rpcUrls: [rpc.url] })).client])
    const { net, kinds, rows } = toFigures(await portfolio.balance(query))
    return { net, kinds, rows, assets: await allRows(portfolio, query) }
  }

  test.each(['ignore', 'refuse'] as const)(
    'that does not override (%s) gives the same figures',
    async (how) => {
      rpc.rule(() => undefined)
      const query = `wallet=${HOLDER}&chain_id=1&at_block=${(await devnet.client.getBlock()).number}`
      const [now, then] = [await figures(), await figures(query)]
      rpc.rule(() => ({ kind: 'no_overrides', how }))
      rpc.reset()
      expect(await figures()).toEqual(now)
      expect(await figures(query)).toEqual(then)
      expect(rpc.seen.length).toBeGreaterThan(4)
      rpc.rule(() => undefined)
    },
    60_000,
  )

  test('that is down makes its chain unreadable: 502, or omitted with allow_partial', async () => {
    rpc.rule(() => ({ kind: 'http', status: 500, body: 'down' }))
    const good = countedClient(chain())
    const bad = countedClient({ ...chain({ rpcUrls: [rpc.url], name: 'Broken' }), id: 10 })
    const portfolio = createPortfolio([good.client, bad.client])
    for (const path of ['balance', 'assets'] as const) {
      const { status, code, message } = await failure(portfolio, path, `wallet=${HOLDER}`)
      expect({ status, code }).toEqual({ status: 502, code: 'UPSTREAM_ERROR' })
      expect(message).toContain('Cannot read chain 10 (Broken)')
      expect(message).toContain('leave it out with the "chain_id" parameter')
      expect(message).not.toContain('127.0.0.1')
      // Nothing can be left out of an answer about one chain.
      const alone = await failure(portfolio, path, `wallet=${HOLDER}&chain_id=10`)
      expect(alone.status).toBe(502)
      expect(alone.message).toMatch(/^Cannot read chain 10 \(Broken\) after \d attempts?$/)
    }
    const partial = await portfolio.balance(`wallet=${HOLDER}&allow_partial=true`)
    const whole = await portfolio.balance(`wallet=${HOLDER}&chain_id=1`)
    expect(partial.reply.data).toMatchObject({
      ...(whole.reply.data as object),
      complete: false,
      unread: [{ chain_id: 10, because: expect.stringContaining('Cannot read chain 10 (Broken)') }],
    })
    expect(partial.reply.asOf?.map(({ chainId }) => chainId)).toEqual([1])
    expect(partial.credits).toBe(whole.credits)
    const nothing = await portfolio.balance(`wallet=${HOLDER}&chain_id=10&allow_partial=true`)
    expect(nothing.credits).toBe(0)
    expect(nothing.reply.data).toMatchObject({ net_worth_usd: '0.000000', complete: false })
    expect(nothing.reply.asOf).toEqual([])
    rpc.rule(() => undefined)
  }, 60_000)

  test('without the state of a past block is 502 there, and serves the newest block', async () => {
    const { number } = await devnet.client.getBlock()
    rpc.rule(({ method, params }) =>
      method === 'eth_call' && typeof params[1] === 'object'
        ? { kind: 'error', error: { code: -32_000, message: 'missing trie node' } }
        : undefined,
    )
    const portfolio = createPortfolio([countedClient(chain({ rpcUrls: [rpc.url] })).client])
    const past = `wallet=${HOLDER}&chain_id=1&at_block=${number - 20n}`
    expect(await failure(portfolio, 'balance', past)).toMatchObject({ status: 502, code: 'UPSTREAM_ERROR' })
    expect(toFigures(await portfolio.balance(`wallet=${HOLDER}`)).net).toBeGreaterThan(0n)
    rpc.rule(() => undefined)
  }, 60_000)

  test('that lags answers about its own block and names it', async () => {
    const behind = (await devnet.client.getBlock()).number - 3n
    rpc.rule(() => ({ kind: 'lag', blocks: 3 }))
    const portfolio = createPortfolio([countedClient(chain({ rpcUrls: [rpc.url] })).client])
    const { reply } = await portfolio.balance(`wallet=${HOLDER}`)
    expect(reply.asOf).toMatchObject([{ chainId: 1, blockNumber: behind }])
    rpc.rule(() => undefined)
    const { reply: then } = await portfolio.balance(`wallet=${HOLDER}&chain_id=1&at_block=${behind}`)
    expect(reply.data).toEqual(then.data)
  })
})

test('a configuration that leaves built-in contracts out names them among what is not read, debts first', async () => {
  const { reply } = await setUp().portfolio.balance(`wallet=${HOLDER}`)
  const { coverage } = reply.data as { readonly coverage: { readonly not_read: readonly string[] } }
  const isDebt = (text: string) => text.startsWith('debts in')
  const isPosition = (text: string) => text.startsWith('positions in uniswap-v3')
  // The devnet's rows stand in place of Ethereum's markets and managers.
  expect(coverage.not_read).toContain('debts in aave-v3 market horizon')
  expect(coverage.not_read.findIndex(isPosition)).toBeGreaterThan(coverage.not_read.findLastIndex(isDebt))
})

test('without any served chain, portfolios are not configured', async () => {
  const portfolio = createPortfolio([])
  expect(await failure(portfolio, 'balance', `wallet=${HOLDER}`)).toMatchObject({
    status: 500,
    code: 'API_ENDPOINT_NOT_CONFIGURED',
  })
})
