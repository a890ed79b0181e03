import { afterAll, afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { deriveMetadataAddress } from '../../../../src/chain/solana/token.ts'
import { ORCA_WHIRLPOOL } from '../../../../src/family/orca_whirlpool/mod.ts'
import { derivePositionAddress } from '../../../../src/family/orca_whirlpool/read/account_cache.ts'
import { callRoute, toRouteFailure } from '../../../support/call_route.ts'
import { type OrcaAnswer, orcaStage } from '../../../support/family/orca_whirlpool/stage.ts'
import { createFamilyRoutes } from '../../../support/family.ts'
import {
  KLEND,
  reserveBytes,
  SCOPE,
  type ServedAccounts,
  scopeBytes,
  sf,
  toFakeAddress,
  toServedAccount,
} from '../../../support/kamino.ts'
import { WHIRLPOOL, WHIRLPOOL_2026 } from '../../../support/orca.ts'
import { ORCA_CASES, type OrcaCase, orcaAccounts, orcaCase } from '../../../support/orca_vectors.ts'
import { startSolanaDouble } from '../../../support/solana.ts'
import { METADATA, metadataBytes } from '../../../support/solana_token.ts'

const WALLET = orcaCase('edge/in-range').wallet
/** Slot of epoch 925, as in the states. */
const SLOT = 432_000 * 925 + 7
const double = startSolanaDouble()
let stage = orcaStage([double])

beforeEach(() => {
  stage = orcaStage([double])
  double.accounts = {}
  double.slot = SLOT
  double.clockSec = undefined
  double.slotsPerRead = 0
  double.always = undefined
  double.ofMethod.clear()
  double.faults.length = 0
  double.seen.length = 0
})

afterEach(() => {
  expect(stage.lines.join()).not.toMatch(/solana-secret|127\.0\.0\.1|upstream text/)
  stage.solana.close()
})

afterAll(() => double.stop(), 60_000)

/** Serves states as if their time were now, and shifts their timestamps by the same amount. */
function serve(states: readonly OrcaCase[], others: ServedAccounts = {}, program?: string): void {
  const nowSec = Math.floor(Date.now() / 1_000)
  const all: ServedAccounts = {}
  for (const state of states) {
    const rewardsUpdatedAt = (BigInt(state.pool.rewardsUpdatedAt) + BigInt(nowSec) - BigInt(state.unixTs)).toString()
    const moved = { ...state, pool: { ...state.pool, rewardsUpdatedAt } }
    Object.assign(all, orcaAccounts(moved, program === undefined ? {} : { program }))
  }
  double.accounts = { ...all, ...others }
  double.clockSec = nowSec
}

interface Raw {
  readonly raw: string
  readonly amount: string
  readonly after_transfer_fee?: { readonly raw: string }
}

interface Shown {
  readonly token_id: string
  readonly slot?: string
  readonly locked: boolean
  readonly is_active: boolean
  readonly manager_address: string
  readonly bundle: unknown
  readonly position_address: string
  readonly position_state: {
    readonly token0: { readonly symbol: string }
    readonly pool: {
      readonly id: string
      readonly feeTier: string
      readonly adaptiveFee: boolean
      readonly sqrtPrice?: string
    }
  }
  readonly amounts: { readonly token0: Raw; readonly token1: Raw }
  readonly uncollected_fees: { readonly token0: Raw; readonly token1: Raw }
  readonly rewards: readonly (Raw & { readonly collectable_raw: string; readonly usd: string | null })[]
  readonly in_range: boolean
  readonly usd: Record<string, string | null>
}

function shown({ reply, message }: OrcaAnswer): Shown {
  if (reply === undefined) throw new Error(message)
  return reply.data as Shown
}

function allShown({ reply, message }: OrcaAnswer): readonly Shown[] {
  if (reply === undefined) throw new Error(message)
  return reply.data as Shown[]
}

function getCounts({ reply }: OrcaAnswer) {
  return reply?.['counts']
}

/** Amount after the token's transfer fee. */
function reaching({ raw, after_transfer_fee }: Raw): string {
  return after_transfer_fee?.raw ?? raw
}

/** The figures of an answer in the form of the vectors. */
function getFigures({ amounts, uncollected_fees: fees, rewards }: Shown, { expected }: OrcaCase): OrcaCase['expected'] {
  const isRefused = expected.amountA === null
  return {
    feeA: fees.token0.raw,
    feeB: fees.token1.raw,
    rewards: rewards.map(({ raw }) => raw),
    amountA: isRefused ? null : amounts.token0.raw,
    amountB: isRefused ? null : amounts.token1.raw,
    receivedA: isRefused ? null : reaching(amounts.token0),
    receivedB: isRefused ? null : reaching(amounts.token1),
    receivedFeeA: reaching(fees.token0),
    receivedFeeB: reaching(fees.token1),
    receivedRewards: rewards.map((reward) => reward.after_transfer_fee?.raw ?? reward.collectable_raw),
  }
}

describe('GET …/{id}', () => {
  test.each(ORCA_CASES)('$name: every figure equals what the program wrote and paid', async (state) => {
    serve([state])
    const { position, pool, bundleIndex = -1, addresses } = state
    const answer = await stage.single(state.tokenId, { wallet: state.wallet, full: true })
    const data = shown(answer)
    expect(answer.credits).toBe(15)
    expect(answer.reply?.asOf).toMatchObject([{ chainId: 101, blockNumber: BigInt(SLOT) }])
    expect(getFigures(data, state)).toEqual(state.expected)
    expect(data).toMatchObject({
      token_id: state.tokenId,
      chain_id: 101,
      manager_address: WHIRLPOOL,
      position_address: addresses.position,
      bundle: addresses.bundle === null ? null : { mint: addresses.positionMint, index: bundleIndex },
      locked: state.kind === 'locked',
      wallet: state.wallet,
      is_active: position.liquidity !== '0',
      in_range: position.lower <= pool.tick && pool.tick < position.upper,
      position_state: {
        id: state.tokenId,
        owner: state.wallet,
        liquidity: position.liquidity,
        tickLower: String(position.lower),
        tickUpper: String(position.upper),
        token0: {
          id: pool.mintA,
          symbol: state.tokenA.symbol,
          decimals: state.tokenA.decimals,
          name: state.tokenA.name,
        },
        token1: {
          id: pool.mintB,
          symbol: state.tokenB.symbol,
          decimals: state.tokenB.decimals,
          name: state.tokenB.name,
        },
        pool: {
          id: addresses.pool,
          tick: String(pool.tick),
          feeTier: String(pool.feeRate),
          adaptiveFee: pool.feeTierIndex !== pool.tickSpacing,
          sqrtPrice: pool.sqrtPrice,
        },
        chain: { id: 101 },
        protocol: { code: 'orca_whirlpool' },
      },
    })
    // By its address too, for less without figures.
    stage.pass()
    const brief = await stage.single(addresses.position, { wallet: state.wallet })
    expect([shown(brief).token_id, brief.credits]).toEqual([state.tokenId, 2])
    expect(Object.keys(shown(brief))).not.toContain('amounts')
  })

  test('has no slot field, and no amount after fee if the fee is zero', async () => {
    const state = orcaCase('edge/in-range')
    serve([state])
    const data = shown(await stage.single(state.tokenId, { wallet: WALLET, full: true }))
    expect(Object.keys(data)).not.toContain('slot')
    expect(Object.keys(data.amounts.token0)).toEqual(['raw', 'amount'])
  })

  test('is that of the second program', async () => {
    const { positionMint: mint } = orcaCase('edge/in-range').addresses
    const position = derivePositionAddress(WHIRLPOOL_2026, mint)
    const state = orcaCase('edge/no-liquidity')
    const moved = { ...state, tokenId: mint, addresses: { ...state.addresses, positionMint: mint, position } }
    serve([moved], {}, WHIRLPOOL_2026)
    const data = shown(await stage.single(mint, { wallet: WALLET }))
    expect([data.manager_address, data.position_address, data.is_active]).toEqual([WHIRLPOOL_2026, position, false])
  })

  test('finds the token in an unusual account, even if it is delegated', async () => {
    const state = orcaCase('edge/in-range')
    serve([state])
    const usual = state.addresses.nftAccount
    const { [usual]: account, ...rest } = double.accounts as ServedAccounts
    if (account === undefined) throw new Error('Expected the account of the token')
    double.accounts = { ...rest, [toFakeAddress('another account')]: account }
    expect(shown(await stage.single(state.tokenId, { wallet: WALLET })).token_id).toBe(state.tokenId)
    expect(double.seen.map(({ method }) => method)).toContain('getTokenAccountsByOwner')
  })
})

describe('a position that cannot be found is 404, which says why', () => {
  const state = orcaCase('edge/in-range')

  test('there is none', async () => {
    expect(await stage.single(toFakeAddress('nothing'), { wallet: WALLET })).toMatchObject({
      status: 404,
      message: expect.stringContaining('there is no such position'),
    })
  })

  test('it is closed: its mint exists with a supply of 0', async () => {
    serve([state])
    const {
      [state.addresses.position]: _,
      [state.addresses.nftAccount]: __,
      ...rest
    } = double.accounts as ServedAccounts
    const mint = new Uint8Array(rest[state.tokenId]?.data ?? [])
    mint.fill(0, 36, 44)
    double.accounts = { ...rest, [state.tokenId]: toServedAccount(mint, rest[state.tokenId]?.owner) }
    expect(await stage.single(state.tokenId, { wallet: WALLET })).toMatchObject({
      status: 404,
      message: expect.stringContaining('it is closed'),
    })
  })

  test.each(['tokenId', 'position'] as const)('the wallet does not hold its token, by its %s', async (by) => {
    serve([state])
    const id = by === 'tokenId' ? state.tokenId : state.addresses.position
    const wallet = toFakeAddress('somebody else')
    expect(await stage.single(id, { wallet })).toMatchObject({
      status: 404,
      message: `Cannot find Orca position ${id}: wallet ${wallet} does not hold its token`,
    })
  })

  test('it was sold after the last read', async () => {
    serve([state])
    await stage.single(state.tokenId, { wallet: WALLET })
    stage.pass()
    const sold = { ...(double.accounts as ServedAccounts) }
    delete sold[state.addresses.nftAccount]
    double.accounts = sold
    expect(await stage.single(state.tokenId, { wallet: WALLET })).toMatchObject({ status: 404 })
  })
})

test('the id of a bundle is 400, and names the list', async () => {
  const state = orcaCase('edge/mixed-arrays')
  serve([state])
  for (const id of [state.addresses.positionMint, state.addresses.bundle ?? '']) {
    expect(await stage.single(id, { wallet: WALLET })).toMatchObject({
      status: 400,
      message: expect.stringContaining('/v1/positions/orca-whirlpool?wallet='),
    })
  }
})

describe('GET the list', () => {
  test('shows all positions of a wallet on pages, in order, each as the program has it', async () => {
    serve(ORCA_CASES.map((state) => ({ ...state, wallet: WALLET })))
    const active = ORCA_CASES.filter(({ position }) => position.liquidity !== '0')
    const order = active.map(({ tokenId }) => tokenId).sort()
    const pages = [await stage.list({ wallet: WALLET, full: true, limit: 25 })]
    pages.push(await stage.list({ wallet: WALLET, full: true, limit: 25, page: 2 }))
    const all = pages.flatMap(allShown)
    expect(all.map(({ token_id }) => token_id)).toEqual(order)
    for (const data of all) {
      const state = ORCA_CASES.find(({ tokenId }) => tokenId === data.token_id)
      if (state === undefined) throw new Error('Expected a state')
      expect(getFigures(data, state)).toEqual(state.expected)
    }
    expect(pages.map(({ credits }) => credits)).toEqual([25 * 15, 18 * 15])
    expect(pages[0]?.reply?.['pagination']).toMatchObject({ page: 1, limit: 25, total: 43, prev_page: null })
    expect(getCounts(pages[0] as OrcaAnswer)).toEqual({
      totalActive: 43,
      totalInactive: 2,
      total: 45,
      filtered: 43,
      errors: 0,
      spams: [],
    })
  })

  test('costs 2 credits for each position without figures, and 1 for each that is empty', async () => {
    serve(ORCA_CASES.map((state) => ({ ...state, wallet: WALLET })))
    const active = await stage.list({ wallet: WALLET })
    expect([allShown(active).length, active.credits]).toEqual([10, 20])
    const inactive = await stage.list({ wallet: WALLET, status: 'inactive' })
    expect(allShown(inactive).map(({ is_active }) => is_active)).toEqual([false, false])
    expect(inactive.credits).toBe(2)
    expect(getCounts(inactive)).toMatchObject({ filtered: 2, total: 45 })
    expect(Object.keys(allShown(active)[0] ?? {})).not.toContain('amounts')
    expect(allShown(active)[0]?.position_state.pool.sqrtPrice).toBeUndefined()
  })

  test('of a wallet without positions is empty, and says as of which slot', async () => {
    const answer = await stage.list({ wallet: toFakeAddress('nobody') })
    expect(answer).toMatchObject({ status: 200, reply: { data: [], asOf: [{ blockNumber: BigInt(SLOT) }] } })
    expect(getCounts(answer)).toMatchObject({ total: 0, filtered: 0 })
    stage.pass()
    double.seen.length = 0
    await stage.list({ wallet: toFakeAddress('nobody') })
    expect(double.seen.length).toBe(3)
  })

  test('lists both programs, the frozen one first by its name', async () => {
    serve([orcaCase('edge/in-range')])
    const first = double.accounts as ServedAccounts
    const state = orcaCase('edge/no-liquidity')
    const mint = toFakeAddress('a mint')
    const addresses = {
      ...state.addresses,
      positionMint: mint,
      position: derivePositionAddress(WHIRLPOOL_2026, mint),
      nftAccount: toFakeAddress('account'),
    }
    const liquid = { ...state, addresses, position: { ...state.position, liquidity: '1' } }
    serve([liquid], first, WHIRLPOOL_2026)
    double.accounts = { ...(double.accounts as ServedAccounts), ...first }
    const programs = allShown(await stage.list({ wallet: WALLET })).map(({ manager_address }) => manager_address)
    expect(programs).toEqual([WHIRLPOOL_2026, WHIRLPOOL])
  })

  test('leaves pools of lure tokens out, and says why', async () => {
    const [lure, other] = [orcaCase('edge/in-range'), { ...orcaCase('random/77/5'), wallet: WALLET }]
    const mint = toFakeAddress('lure')
    const pool = { ...lure.pool, mintA: mint }
    const state = {
      ...lure,
      pool,
      tokenA: { ...lure.tokenA, mint, symbol: 'GIFT', name: 'Claim your reward at x.com' },
    }
    serve([state, other])
    const answer = await stage.list({ wallet: WALLET, full: true })
    expect(allShown(answer).map(({ token_id }) => token_id)).toEqual([other.tokenId])
    expect(getCounts(answer)).toMatchObject({
      totalActive: 1,
      spams: [
        { token_id: lure.tokenId, chain_id: 101, manager_address: WHIRLPOOL, reason: expect.stringContaining(mint) },
      ],
    })
    // Asked for by its id it is answered.
    expect(shown(await stage.single(lure.tokenId, { wallet: WALLET })).token_id).toBe(lure.tokenId)
  })

  test('counts a position that is there and cannot be read', async () => {
    const [state, other] = [orcaCase('edge/in-range'), { ...orcaCase('random/77/5'), wallet: WALLET }]
    const broken = { ...state, pool: { ...state.pool, mintA: toFakeAddress('no mint') } }
    serve([broken, other])
    const answer = await stage.list({ wallet: WALLET })
    expect(getCounts(answer)).toMatchObject({ total: 1, errors: 1 })
    expect(await stage.single(broken.tokenId, { wallet: WALLET })).toMatchObject({ status: 502 })
  })
})

describe('a name', () => {
  const state = orcaCase('edge/in-range')
  const readName = async () => shown(await stage.single(state.tokenId, { wallet: WALLET })).position_state.token0

  test('of an unknown token is the first letters of its mint', async () => {
    serve([state])
    const { [deriveMetadataAddress(state.pool.mintA)]: _, ...rest } = double.accounts as ServedAccounts
    double.accounts = rest
    expect(await readName()).toMatchObject({ symbol: state.pool.mintA.slice(0, 4), name: '' })
  })

  test('is shown without invisible characters', async () => {
    serve([state], {
      [deriveMetadataAddress(state.pool.mintA)]: toServedAccount(
        metadataBytes({ mint: state.pool.mintA, symbol: 'U\u200bS', name: 'ＵＳ  Ｄ' }),
        METADATA,
      ),
    })
    expect(await readName()).toMatchObject({ symbol: 'US', name: 'US D' })
  })
})

describe('US dollars', () => {
  const state = orcaCase('edge/in-range')
  const MAIN = '7u3HeHxYDLhnCoErrtycNokbQYbWGzLs6JSDqGAv5PfF'
  const [RESERVE_A, RESERVE_B] = [
    'D6q6wuQSrifJKZYpR1M8R4YawnLDtDsMmWM1NbBmgJ59',
    'd4A2prbA2whesmvHaL88BH6Ewn5N4bTSU2Ze8P6Bc4Q',
  ]
  const FEED = toFakeAddress('feed')

  function reserves(
    options: { readonly ageSec?: number; readonly market?: string; readonly upper?: bigint } = {},
  ): ServedAccounts {
    const at = BigInt(Math.floor(Date.now() / 1_000) - (options.ageSec ?? 0))
    const common = {
      market: options.market ?? MAIN,
      maxPriceAgeSec: 120n,
      scopeFeed: FEED,
      priceSf: sf('0'),
      priceTimestampSec: at,
    }
    const bounds = { lower: 0n, upper: options.upper ?? 0n, exponent: 0n }
    return {
      [RESERVE_A]: toServedAccount(
        reserveBytes({ ...common, mint: state.pool.mintA, decimals: 6, scopeChain: [13] }),
        KLEND,
      ),
      [RESERVE_B]: toServedAccount(
        reserveBytes({ ...common, mint: state.pool.mintB, decimals: 9, scopeChain: [7], priceBounds: bounds }),
        KLEND,
      ),
      [FEED]: toServedAccount(
        scopeBytes([
          { index: 13, value: 999_900n, exponent: 6n, timestampSec: at },
          { index: 7, value: 150_00000000n, exponent: 8n, timestampSec: at },
        ]),
        SCOPE,
      ),
    }
  }

  const readUsd = async () => shown(await stage.single(state.tokenId, { wallet: WALLET, full: true }))

  test('use the prices of the main market; rewards that cannot be collected are worth nothing', async () => {
    serve([state], reserves())
    const { usd, rewards } = await readUsd()
    expect(usd).toEqual({
      token0_price: '0.999900',
      token0_price_source: 'scope',
      token0_price_confidence: 'oracle',
      token1_price: '150.000000',
      token1_price_source: 'scope',
      token1_price_confidence: 'oracle',
      // 719,299,407,691.26838 USDC and 7.246855841 SOL.
      amounts: '719227478837.527629',
      uncollected_fees: '201.399347',
      rewards: null,
      total: null,
    })
    // 982 of 10^-9 SOL are in the vault; Bonk has no price.
    expect(rewards.map(({ usd: each }) => each)).toEqual(['0.000147', null])
  })

  test.each([
    ['an old feed', () => reserves({ ageSec: 121 }), ['token0_price', 'token1_price']],
    ['a price out of bounds', () => reserves({ upper: 149n }), ['token1_price']],
    ['another market', () => reserves({ market: toFakeAddress('market') }), ['token0_price', 'token1_price']],
  ])('are null with %s', async (_, accounts, missing) => {
    serve([state], accounts())
    const { usd } = await readUsd()
    for (const field of [...missing, 'amounts', 'uncollected_fees', 'total']) expect(usd[field]).toBeNull()
  })

  test('count amounts after transfer fees, and a reward of zero as zero', async () => {
    const taxed = orcaCase('edge/taxed-next-epoch')
    const tokens = { mintA: taxed.pool.mintA, mintB: taxed.pool.mintB }
    const accounts = reserves()
    accounts[RESERVE_A] = toServedAccount(
      reserveBytes({ market: MAIN, maxPriceAgeSec: 120n, scopeFeed: FEED, mint: tokens.mintA, scopeChain: [13] }),
      KLEND,
    )
    accounts[RESERVE_B] = toServedAccount(
      reserveBytes({ market: MAIN, maxPriceAgeSec: 120n, scopeFeed: FEED, mint: tokens.mintB, scopeChain: [7] }),
      KLEND,
    )
    serve([taxed], accounts)
    const { usd } = shown(await stage.single(taxed.tokenId, { wallet: WALLET, full: true }))
    const { receivedA, receivedB, receivedFeeA, receivedFeeB } = taxed.expected
    const worth = (a: string | null, b: string | null) =>
      (Number(a) / 10 ** taxed.tokenA.decimals) * 0.9999 + (Number(b) / 10 ** taxed.tokenB.decimals) * 150
    expect(Number(usd['amounts'])).toBeCloseTo(worth(receivedA, receivedB), 4)
    expect(Number(usd['uncollected_fees'])).toBeCloseTo(worth(receivedFeeA, receivedFeeB), 4)
    expect(usd['rewards']).toBe('0.000000')
    expect(Number(usd['total'])).toBeCloseTo(worth(receivedA, receivedB) + worth(receivedFeeA, receivedFeeB), 4)
  })
})

describe('bad input is 400', () => {
  test.each([
    ['no wallet', {}],
    ['a wallet of EVM', { wallet: '0x5D39E06b825C1F2B80bf2756a73e28eFAA128ba0' }],
    ['31 bytes', { wallet: '1'.repeat(31) }],
    ['a letter that base58 has not', { wallet: `${WALLET.slice(0, -1)}0` }],
    ['another chain', { wallet: WALLET, chain_id: 1 }],
    ['a moment', { wallet: WALLET, at_block: 5 }],
    ['a time', { wallet: WALLET, at_time: '2026-01-31' }],
    ['figures of empty positions', { wallet: WALLET, full: true, status: 'inactive' }],
    ['a page of none', { wallet: WALLET, page: 0 }],
    ['a parameter that there is not', { wallet: WALLET, market: 1 }],
  ])('%s', async (_, query) => {
    expect((await stage.list(query)).status).toBe(400)
    expect(double.seen).toEqual([])
  })

  test('Solana may be named', async () => {
    expect((await stage.list({ wallet: WALLET, chain_id: 101 })).status).toBe(200)
  })
})

test('programs of a CHAINS_FILE are read beside those built in', async () => {
  const program = toFakeAddress('another program')
  const configured = orcaStage([double], { row: { whirlpoolPrograms: [program] } })
  const state = orcaCase('edge/no-liquidity')
  const mint = toFakeAddress('a mint')
  const addresses = { ...state.addresses, positionMint: mint, position: derivePositionAddress(program, mint) }
  serve([{ ...state, addresses }], {}, program)
  const { reply } = await configured.list({ wallet: WALLET, status: 'inactive' })
  expect(reply?.data).toMatchObject([{ token_id: mint, manager_address: program }])
  expect(allShown(await stage.list({ wallet: WALLET, status: 'inactive' }))).toEqual([])
  configured.solana.close()
})

test('fails with API_ENDPOINT_NOT_CONFIGURED without a Solana endpoint', async () => {
  for (const route of createFamilyRoutes(ORCA_WHIRLPOOL, {})) {
    const asked = callRoute(route, { params: { id: WALLET }, query: `wallet=${WALLET}` })
    const failure = await asked.then(
      () => undefined,
      (error) => toRouteFailure(error, route),
    )
    expect(failure).toMatchObject({ status: 500, code: 'API_ENDPOINT_NOT_CONFIGURED' })
  }
})
