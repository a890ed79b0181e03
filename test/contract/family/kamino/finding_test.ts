import { afterAll, beforeEach, describe, expect, test } from 'bun:test'
import { base58 } from '@scure/base'
import { deriveProgramAddress } from '../../../../src/chain/solana/program_address.ts'
import { deriveObligationAddress } from '../../../../src/family/kamino/read/find.ts'
import { createWork } from '../../../../src/lib/async/work.ts'
import { kaminoStage } from '../../../support/family/kamino/stage.ts'
import {
  KLEND,
  marketBytes,
  type ObligationFixture,
  obligationBytes,
  reserveBytes,
  type ServedAccounts,
  SF,
  tableAccount,
  toFakeAddress,
  toServedAccount,
  userBytes,
} from '../../../support/kamino.ts'
import {
  FEED,
  MARKET,
  OBLIGATION,
  SLOT,
  SOL,
  SOL_MINT,
  scene,
  USDC,
  USDC_MINT,
  WALLET,
} from '../../../support/kamino_scene.ts'
import { countSequentialRequests, type Fault, startSolanaDouble } from '../../../support/solana.ts'

const OTHER_MARKET = toFakeAddress('another market')
const OTHER_USDC = toFakeAddress('USDC reserve of another market')
const UNKNOWN_MARKET = toFakeAddress('a market that nobody named')
const TABLE = toFakeAddress('lookup table of the wallet')
const NONE = '11111111111111111111111111111111'
const ROWS = [
  { market: MARKET, reserves: [SOL, USDC] },
  { market: OTHER_MARKET, reserves: [OTHER_USDC] },
]

const double = startSolanaDouble({ slot: SLOT })
afterAll(() => double.stop(), 60_000)

beforeEach(() => {
  double.faults.length = 0
  double.seen.length = 0
  double.ofMethod.clear()
  double.slot = SLOT
  double.answersTogether = false
})

/** Derives an address from the seeds of the program's source: tag, number, wallet, market and two keys. */
function deriveAddress(tag: number, number: number, market: string, keys: readonly [string, string] = [NONE, NONE]) {
  const bytes = [WALLET, market, ...keys].map((each) => base58.decode(each))
  return deriveProgramAddress(KLEND, [Uint8Array.of(tag), Uint8Array.of(number), ...bytes])
}

test('the address of a plain obligation equals that of a known one', () => {
  const seeds = { market: '988f2LFXdsEzr26Qaj6tGrqztquREHH4JdHhvWVTTCCu', tag: 0, number: 0 } as const
  const keys = [new Uint8Array(32), new Uint8Array(32)] as const
  const wallet = 'EHJJU1pCuz5m8ot1JeMn47jqjBxTyaEphoD4YBAZWcfN'
  expect(deriveObligationAddress(KLEND, wallet, { ...seeds, keys })).toBe(
    '6i2C1zyPdhpPAFCSR9hF8RMYTAQZgKgdCxpVvxiuJRVK',
  )
})

function obligation(fixture: Partial<ObligationFixture> = {}) {
  const deposits = [{ reserve: SOL, collateralAmount: 10n ** 9n }]
  return toServedAccount(obligationBytes({ market: MARKET, owner: WALLET, deposits, ...fixture }))
}

/** The usual scene and a second market with a reserve of its own, in which a wallet may borrow what it supplies. */
function chain(obligations: ServedAccounts): ServedAccounts {
  const { [OBLIGATION]: _, ...rest } = scene()
  const market = { market: OTHER_MARKET, mint: USDC_MINT, name: 'USDC', scopeFeed: FEED, scopeChain: [13] }
  const reserve = reserveBytes({ ...market, maxPriceAgeSec: 120n, maxLtvPct: 80, liquidationThresholdPct: 90 })
  return {
    ...rest,
    [OTHER_MARKET]: toServedAccount(marketBytes({ name: 'Other' })),
    [OTHER_USDC]: toServedAccount(reserve),
    ...obligations,
  }
}

const inOther = { market: OTHER_MARKET, deposits: [{ reserve: OTHER_USDC, collateralAmount: 5n }] }

async function found(stage: ReturnType<typeof kaminoStage>, market?: string) {
  const { obligations, by } = await stage.wallet(WALLET, market)
  return { addresses: obligations.map(({ address }) => address), by }
}

function sorted(rows: readonly (readonly [market: string, address: string])[]): string[] {
  return rows
    .map((row) => row.join(':'))
    .sort()
    .map((text) => text.split(':')[1] ?? '')
}

const REFUSALS: readonly (readonly [string, Fault])[] = [
  ['HTTP 410', { kind: 'http', status: 410 }],
  ['410 in the body', { kind: 'rpc', code: 410 }],
  ['HTTP 403', { kind: 'http', status: 403 }],
  ['an unknown method', { kind: 'rpc', code: -32601 }],
  ['a program outside its index', { kind: 'rpc', code: -32010 }],
]

describe('an endpoint that searches the program’s accounts', () => {
  test('finds obligations of any seeds and market, in order, and leaves out empty ones and those of others', async () => {
    const anywhere = toFakeAddress('an obligation of unknown seeds')
    const fixed = deriveAddress(5, 200, OTHER_MARKET, [OTHER_USDC, OTHER_USDC])
    double.accounts = chain({
      [anywhere]: obligation(),
      [fixed]: obligation(inOther),
      [deriveAddress(0, 0, MARKET)]: obligation({ borrows: [{ reserve: USDC, amountSf: SF }], deposits: [] }),
      [deriveAddress(0, 1, MARKET)]: obligation({ deposits: [] }),
      [deriveAddress(0, 2, MARKET)]: obligation({ owner: toFakeAddress('somebody else') }),
    })
    const stage = kaminoStage([double])
    const expected = sorted([
      [MARKET, anywhere],
      [OTHER_MARKET, fixed],
      [MARKET, deriveAddress(0, 0, MARKET)],
    ])
    expect(await found(stage)).toEqual({ addresses: expected, by: 'search' })
    stage.pass()
    expect(await found(stage, OTHER_MARKET)).toEqual({ addresses: [fixed], by: 'search' })
  })

  test('takes two requests in a row if reserves are known, three if not, and one if the wallet was asked before', async () => {
    double.accounts = chain({
      [deriveAddress(0, 0, MARKET)]: obligation(),
      [toFakeAddress('the same of another wallet')]: obligation({ owner: toFakeAddress('another wallet') }),
    })
    const stage = kaminoStage([double])
    await stage.wallet(toFakeAddress('another wallet'))
    expect(countSequentialRequests(double)).toBe(3)
    double.seen.length = 0
    await found(stage)
    expect(countSequentialRequests(double)).toBe(2)
    stage.pass()
    double.seen.length = 0
    double.answersTogether = true
    await found(stage)
    expect([countSequentialRequests(double), double.seen.length]).toEqual([1, 2])
  })

  test('finds what was opened since the wallet was asked before, and forgets what was closed', async () => {
    const [first, second] = [toFakeAddress('first'), toFakeAddress('second')]
    double.accounts = chain({ [first]: obligation() })
    const stage = kaminoStage([double])
    expect((await found(stage)).addresses).toEqual([first])
    stage.pass()
    double.accounts = chain({ [second]: obligation() })
    expect((await found(stage)).addresses).toEqual([second])
    stage.pass()
    double.accounts = chain({ [second]: obligation({ owner: toFakeAddress('the next owner') }) })
    expect((await found(stage)).addresses).toEqual([])
  })

  test('answers an empty list as of a slot with a checked clock', async () => {
    double.accounts = chain({})
    double.clockSec = Math.floor(Date.now() / 1_000) - 61
    await expect(found(kaminoStage([double]))).rejects.toThrow('Cannot read Solana')
    double.clockSec = undefined
    expect(await found(kaminoStage([double]))).toEqual({ addresses: [], by: 'search' })
  })

  test('is rejected if it lists obligations of another wallet', async () => {
    double.accounts = chain({})
    const account = { data: [Buffer.from(obligation({ owner: toFakeAddress('x') }).data).toString('base64'), 'base64'] }
    double.ofMethod.set('getProgramAccounts', {
      kind: 'reply',
      change: (reply) => ({
        ...reply,
        result: {
          ...reply.result,
          value: [{ pubkey: OBLIGATION, account: { ...account, owner: KLEND, lamports: 1 } }],
        },
      }),
    })
    const stage = kaminoStage([double])
    await expect(found(stage)).rejects.toThrow('Cannot read Solana')
  })

  test('fails naming the obligation that cannot be read, and leaves none out', async () => {
    double.accounts = chain({
      [deriveAddress(0, 0, MARKET)]: obligation(),
      [deriveAddress(0, 0, OTHER_MARKET)]: obligation({ ...inOther, elevationGroup: 9 }),
    })
    const stage = kaminoStage([double])
    const message = `Cannot read Kamino obligation ${deriveAddress(0, 0, OTHER_MARKET)}: its elevation group is unknown`
    await expect(found(stage)).rejects.toThrow(message)
    stage.pass()
    expect((await found(stage, MARKET)).addresses).toEqual([deriveAddress(0, 0, MARKET)])
  })
})

describe('endpoints that search nothing', () => {
  const refuse = (fault: Fault = { kind: 'rpc', code: -32601 }) => double.ofMethod.set('getProgramAccounts', fault)
  const pair = [SOL_MINT, USDC_MINT] as const
  const derivable = {
    [deriveAddress(0, 0, MARKET)]: obligation(),
    [deriveAddress(0, 4, OTHER_MARKET)]: obligation(inOther),
    [deriveAddress(1, 0, MARKET, pair)]: obligation(),
    [deriveAddress(3, 0, MARKET, [USDC_MINT, SOL_MINT])]: obligation(),
    [deriveAddress(2, 0, MARKET, [USDC_MINT, USDC_MINT])]: obligation(),
  }
  const hidden = {
    [deriveAddress(0, 5, MARKET)]: obligation(),
    [deriveAddress(1, 1, MARKET, pair)]: obligation(),
    [deriveAddress(4, 0, MARKET, [SOL, USDC])]: obligation(),
    [deriveAddress(0, 0, UNKNOWN_MARKET)]: obligation(),
  }
  const addresses = sorted(
    Object.entries(derivable).map(([address]) => [
      address === deriveAddress(0, 4, OTHER_MARKET) ? OTHER_MARKET : MARKET,
      address,
    ]),
  )

  test.each(REFUSALS)(
    'because of %s, derive usual seeds; the answer says that others may be missing',
    async (_, fault) => {
      refuse(fault)
      double.accounts = chain({ ...derivable, ...hidden })
      const stage = kaminoStage([double], { rows: ROWS })
      expect(await found(stage)).toEqual({ addresses, by: { markets: 2 } })
      expect(stage.solana.report().map(({ state }) => state)).toEqual(['ready'])
      expect(stage.leaks()).toEqual([])
    },
  )

  test('count as unable to search for a while if they hang and never searched', async () => {
    refuse({ kind: 'hang' })
    double.accounts = chain(derivable)
    const stage = kaminoStage([double], { rows: ROWS })
    expect(await found(stage)).toEqual({ addresses, by: { markets: 2 } })
    stage.pass()
    double.seen.length = 0
    expect(await found(stage)).toEqual({ addresses, by: { markets: 2 } })
    expect(double.seen.map(({ method }) => method)).not.toContain('getProgramAccounts')
    stage.pass(60_000)
    double.ofMethod.clear()
    expect((await found(stage)).by).toBe('search')
  }, 30_000)

  test('get one sequential request for a wallet that was read before', async () => {
    refuse()
    double.accounts = chain({ ...derivable, ...hidden })
    const stage = kaminoStage([double], { rows: ROWS })
    await found(stage)
    stage.pass()
    double.seen.length = 0
    double.answersTogether = true
    expect((await found(stage)).addresses).toEqual(addresses)
    expect(countSequentialRequests(double)).toBe(1)
    expect(double.seen.map(({ method }) => method)).not.toContain('getProgramAccounts')
  })

  test('find the obligations in a wallet’s lookup table, and those added later', async () => {
    refuse()
    const [named, later] = [deriveAddress(0, 77, MARKET), deriveAddress(6, 3, MARKET, [SOL, USDC])]
    const user = deriveProgramAddress(KLEND, ['user_meta', base58.decode(WALLET)])
    const withTable = (keys: readonly string[]) =>
      chain({
        [user]: toServedAccount(userBytes(TABLE)),
        [TABLE]: tableAccount([SOL_MINT, ...keys]),
        [named]: obligation(),
        [later]: obligation(),
      })
    double.accounts = withTable([named])
    const stage = kaminoStage([double], { rows: ROWS })
    expect((await found(stage)).addresses).toEqual([named])
    stage.pass()
    double.accounts = withTable([named, later])
    expect((await found(stage)).addresses).toEqual([named, later].sort())
    stage.pass()
    double.seen.length = 0
    double.answersTogether = true
    expect((await found(stage)).addresses).toEqual([named, later].sort())
    expect(countSequentialRequests(double)).toBe(1)
  })

  test('find an obligation of other seeds after it was read by its address', async () => {
    refuse()
    double.accounts = scene()
    const stage = kaminoStage([double], { rows: ROWS })
    expect((await found(stage)).addresses).toEqual([])
    const target = { address: OBLIGATION, market: MARKET, wallet: WALLET }
    await stage.reader.readObligation(target, createWork(new AbortController().signal))
    stage.pass()
    expect((await found(stage)).addresses).toEqual([OBLIGATION])
  })

  test('learn the reserves of a market from its lookup table, and a wallet’s obligations from them', async () => {
    refuse()
    const table = toFakeAddress('lookup table of the market')
    const keys = [FEED, USDC, toFakeAddress('nothing'), SOL, OTHER_USDC]
    double.accounts = { ...chain(derivable), [table]: tableAccount(keys) }
    const rows = [{ market: MARKET, lookupTable: table, reserves: [] }]
    const stage = kaminoStage([double], { rows })
    const own = addresses.filter((each) => each !== deriveAddress(0, 4, OTHER_MARKET))
    expect(await found(stage)).toEqual({ addresses: own, by: { markets: 1 } })
  })

  test('ignore configured rows that do not match their accounts', async () => {
    refuse()
    double.accounts = {
      ...chain(derivable),
      [toFakeAddress('copy')]: toServedAccount(marketBytes(), toFakeAddress('another program')),
    }
    const rows = [
      ...ROWS,
      { market: toFakeAddress('copy'), reserves: [] },
      { market: SOL, reserves: [MARKET] },
      { market: toFakeAddress('nothing'), lookupTable: USDC, reserves: [] },
    ]
    expect(await found(kaminoStage([double], { rows }))).toEqual({ addresses, by: { markets: 2 } })
  })

  test('learn no market and no reserve from what callers ask about', async () => {
    refuse()
    const others = Array.from({ length: 70 }, (_, index) => toFakeAddress(`market ${index} of a stranger`))
    const served = Object.fromEntries(others.map((each) => [each, toServedAccount(marketBytes())]))
    double.accounts = chain({ ...derivable, ...served })
    const stage = kaminoStage([double], { rows: ROWS })
    for (const market of others) {
      const query = { wallet: toFakeAddress('stranger'), market_address: market }
      expect((await stage.single('risk', toFakeAddress('nothing'), query)).status).toBe(404)
    }
    expect(await found(stage)).toEqual({ addresses, by: { markets: 2 } })
  }, 30_000)

  test('try the pairs of the first market however many others are configured', async () => {
    refuse()
    const others = Array.from({ length: 70 }, (_, index) => toFakeAddress(`market ${index}`))
    const served = Object.fromEntries(others.map((each) => [each, toServedAccount(marketBytes())]))
    double.accounts = chain({ ...derivable, ...served })
    const rows = [...ROWS, ...others.map((market) => ({ market, reserves: [] }))]
    const ofFirst = addresses.filter((each) => each !== deriveAddress(0, 4, OTHER_MARKET))
    const all = (await found(kaminoStage([double], { rows }))).addresses
    expect(ofFirst.filter((each) => !all.includes(each))).toEqual([])
  })

  test('search only the requested market, known or not', async () => {
    refuse()
    const accounts = {
      [UNKNOWN_MARKET]: toServedAccount(marketBytes()),
      [deriveAddress(0, 2, UNKNOWN_MARKET)]: obligation({ market: UNKNOWN_MARKET, deposits: [], borrows: [] }),
    }
    double.accounts = chain({ ...derivable, ...accounts })
    const stage = kaminoStage([double], { rows: ROWS })
    expect(await found(stage, OTHER_MARKET)).toEqual({
      addresses: [deriveAddress(0, 4, OTHER_MARKET)],
      by: { markets: 1 },
    })
    expect(await found(stage, UNKNOWN_MARKET)).toEqual({ addresses: [], by: { markets: 1 } })
  })
})

test('one endpoint that searches is enough, at any position', async () => {
  const second = startSolanaDouble({ slot: SLOT })
  double.ofMethod.set('getProgramAccounts', { kind: 'http', status: 403 })
  double.accounts = chain({ [OBLIGATION]: obligation() })
  second.accounts = double.accounts
  const stage = kaminoStage([double, second])
  expect(await found(stage)).toEqual({ addresses: [OBLIGATION], by: 'search' })
  await second.stop()
})
