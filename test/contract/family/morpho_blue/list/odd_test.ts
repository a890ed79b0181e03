import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { type Address, encodeFunctionData, maxUint256, parseAbi } from 'viem'
import { createChainClient } from '../../../../../src/chain/evm/evm_client.ts'
import { silentLog } from '../../../../../src/lib/log.ts'
import { BANK, TOKENS, toWalletAddress } from '../../../../devnet/addresses.ts'
import { ownCreationCode } from '../../../../devnet/artifacts.ts'
import { createDevnetChain } from '../../../../devnet/chain.ts'
import { tokenCreationCode } from '../../../../devnet/contracts.ts'
import { type Devnet, startDevnet } from '../../../../devnet/mod.ts'
import { CALLS, type MorphoMarket, toMorphoMarket } from '../../../../devnet/morpho_blue/calls.ts'
import { morphoContracts } from '../../../../devnet/morpho_blue/compile.ts'
import type { MorphoDevnet } from '../../../../devnet/morpho_blue/mod.ts'
import { approveCall, deployOracle, percent } from '../../../../devnet/morpho_blue/tools.ts'
import { deployToken } from '../../../../devnet/scenario.ts'
import { type TestDatabase, testDatabase } from '../../../../support/database.ts'
import { type FaultyRpc, startFaultyRpc } from '../../../../support/rpc.ts'
import { createHurriedClock } from '../../../../support/test_clock.ts'
import { type Lister, startLister, type Wire } from './world.ts'

const BUILD_LIMIT_MS = 120_000
const { usdc, weth } = TOKENS
/** A chain without a Morpho of its own. */
const OTHER = 7_777
const TOKEN = parseAbi(['function mint(address to, uint256 value)'])

let devnet: Devnet
let morpho: MorphoDevnet
let other: Devnet
let database: TestDatabase
let faulty: FaultyRpc
let lister: Lister

beforeAll(async () => {
  ;[devnet, other] = await Promise.all([startDevnet({ ageSec: 3 * 365 * 86_400 }), startDevnet({ chainId: OTHER })])
  morpho = await devnet.morpho()
  faulty = await startFaultyRpc(devnet.rpcUrl)
  database = await testDatabase()
  lister = startLister(devnet, { database, rpcUrls: [faulty.url] })
}, BUILD_LIMIT_MS)
beforeEach(() => {
  faulty.rule(() => undefined)
  faulty.reset()
})
afterAll(async () => {
  await lister?.close()
  await database?.close()
  await faulty?.stop()
  await devnet?.stop()
  await other?.stop()
}, BUILD_LIMIT_MS)

type WirePosition = Wire[number]['positions'][number]

/** The position of a wallet in a market, and what is calculated of it. */
async function inMarket(wallet: Address, { id }: MorphoMarket) {
  const answer = await lister.ask({ wallet })
  expect(answer.message).toBeUndefined()
  const [entry] = answer.data
  const index = entry?.positions.findIndex(({ marketId }) => marketId === id) ?? -1
  return { position: entry?.positions[index], calculations: entry?.calculations[index] }
}

async function makeMarket(params: Partial<MorphoMarket['params']>, price = 10n ** 36n): Promise<MorphoMarket> {
  const builder = { rpc: devnet.rpc, send: devnet.send, codes: await morphoContracts() }
  const oracle = await deployOracle(builder, price)
  const usual = {
    loanToken: usdc.address,
    collateralToken: weth.address,
    irm: morpho.adaptiveCurve,
    lltv: percent(86n),
  }
  const market = toMorphoMarket({ ...usual, oracle, ...params })
  await devnet.send([CALLS.createMarket(market)])
  return market
}

async function makeToken(creationCode: `0x${string}`): Promise<Address> {
  const token = await deployToken(devnet.send, creationCode)
  const mint = encodeFunctionData({ abi: TOKEN, functionName: 'mint', args: [BANK, maxUint256 / 4n] })
  await devnet.send([{ from: BANK, to: token, data: mint }, approveCall(token)])
  return token
}

const NOTHING_TOLD = { totalCollateralUSD: null, totalDebtUSD: null, netWorthUSD: null }

describe('a third-party market', () => {
  test('whose oracle reverts has amounts, the reason, and no figure that needs it', async () => {
    const { silentOracle } = morpho.markets
    const borrower = await inMarket(morpho.wallets.borrower, silentOracle)
    expect(borrower.position).toMatchObject({ ...NOTHING_TOLD, oraclePrice: null, healthFactor: null })
    expect(borrower.position?.reason).toContain(`Cannot price the collateral of Morpho market ${silentOracle.id}`)
    expect(borrower.position?.borrowedAssets).toMatchObject([
      { symbol: 'DAI', amountBorrowedUSD: null, borrowAPY: null },
    ])
    expect(Number(borrower.position?.borrowedAssets[0]?.amount)).toBeGreaterThan(300_000)
    expect(borrower.calculations).toBeNull()
    const pledged = await inMarket(morpho.wallets.collateralOnly, silentOracle)
    expect(pledged.position).toMatchObject({ healthFactor: 'MAX', suppliedAssets: [{ isCollateral: true }] })
    // The other markets of the same wallet are answered in full.
    const { position } = await inMarket(morpho.wallets.borrower, morpho.markets.wethUsdc)
    expect(position?.reason).toBeNull()
    expect(Number(position?.totalDebtUSD)).toBeGreaterThan(300_000)
  })

  test('whose oracle returns zero has the health factor zero', async () => {
    const { position } = await inMarket(morpho.wallets.borrower, morpho.markets.zeroPrice)
    expect(position).toMatchObject({ ...NOTHING_TOLD, oraclePrice: '0', healthFactor: '0.0000' })
  })

  test('without collateral has neither its symbol nor a price, and all figures', async () => {
    const { position, calculations } = await inMarket(morpho.wallets.supplier, morpho.markets.idle)
    expect(position).toMatchObject({
      collateralSymbol: null,
      oraclePrice: null,
      lltv: '0.00000000',
      healthFactor: 'MAX',
      totalCollateralUSD: '0.000000',
      totalDebtUSD: '0.000000',
      netWorthUSD: '25000.000000',
      suppliedAssets: [{ symbol: 'USDC', amount: '25000', supplyAPY: '0.00000000', isCollateral: false }],
      borrowedAssets: [],
      reason: null,
    })
    expect(calculations).toMatchObject({ safeWithdrawAmountUSD: '25000.000000', safeBorrowAmountUSD: '0.000000' })
  })

  test('whose token has no metadata has no amount in whole tokens', async () => {
    const { position } = await inMarket(morpho.wallets.supplier, morpho.markets.undescribed)
    expect(position).toMatchObject({
      loanSymbol: '',
      suppliedAssets: [{ symbol: '', amount: null, amountSuppliedUSD: null }],
    })
    expect(position?.reason).toContain('it has no usable decimals')
  })

  test.each([
    ['32 bytes as its symbol', 'Bytes32Token', { symbol: 'MKR', amount: '0.000000000000001234' }],
    ['decimals that fit no byte', 'WideDecimalsToken', { symbol: 'WIDE', amount: null }],
    ['a symbol of a mebibyte', 'HugeSymbolToken', { symbol: '', amount: '0.000000000000001234' }],
    ['a symbol whose length is a lie', 'LyingSymbolToken', {}],
    ['calls that burn all gas', 'GasBurnerToken', { symbol: '', amount: null }],
    ['calls that revert', 'RevertingToken', { symbol: '', amount: null }],
  ] as const)('whose token has %s spoils no other', async (_, contract, wanted) => {
    const token = await makeToken(ownCreationCode(contract))
    const [loans, pledges] = [await makeMarket({ loanToken: token }), await makeMarket({ collateralToken: token })]
    const wallet = toWalletAddress(`odd ${contract}`)
    await devnet.send([
      CALLS.supply({ market: loans, wallet, assets: 1_234n }),
      CALLS.supplyCollateral({ market: pledges, wallet, assets: 1_234n }),
      CALLS.supply({ market: morpho.markets.idle, wallet, assets: 5_000_000n }),
    ])
    const { data } = await lister.ask({ wallet })
    const listAssets = ({ id }: MorphoMarket) =>
      data[0]?.positions.find(({ marketId }) => marketId === id)?.suppliedAssets as WirePosition['suppliedAssets']
    expect(data[0]?.positions).toHaveLength(3)
    expect(listAssets(loans)).toMatchObject([{ ...wanted, amountSuppliedUSD: null }])
    expect(listAssets(pledges)).toMatchObject([wanted])
    expect(listAssets(morpho.markets.idle)).toMatchObject([
      { symbol: 'USDC', amount: '5', amountSuppliedUSD: '5.000000' },
    ])
  })

  test('whose interest overflows is answered as its books stand', async () => {
    const token = await makeToken(tokenCreationCode({ name: 'Attack', symbol: 'ATTACK', decimals: 18 }))
    const market = await makeMarket({ loanToken: token, irm: morpho.linearIrm })
    const [attacker, victim] = [toWalletAddress('morpho attacker'), toWalletAddress('morpho victim')]
    await devnet.send([
      CALLS.supply({ market, wallet: victim, assets: 5n * 10n ** 18n }),
      CALLS.supplyCollateral({ market, wallet: attacker, assets: 10n ** 19n }),
      CALLS.borrow({ market, wallet: attacker, assets: 10n ** 18n }),
    ])
    await morpho.setLinearIrm({ base: 10n ** 30n, slope: 0n })
    await morpho.warp(86_400)
    const { position, calculations } = await inMarket(victim, market)
    const debtor = await inMarket(attacker, market)
    await morpho.setLinearIrm({ base: 634_195_839n, slope: 3_170_979_198n })
    expect(position?.reason).toContain('Cannot accrue interest')
    expect(position?.reason).toContain('because the contract cannot')
    const nothingTold = { amountSuppliedUSD: null, supplyAPY: null }
    expect(position?.suppliedAssets).toMatchObject([{ symbol: 'ATTACK', amount: '5', ...nothingTold }])
    expect(calculations).toBeNull()
    expect(debtor.position).toMatchObject({ healthFactor: null, totalDebtUSD: null, borrowedAssets: [{ amount: '1' }] })
  })

  test('whose model is silent is answered as its books stand', async () => {
    const { linear } = morpho.markets
    await morpho.setLinearIrm({ base: 1n, slope: 1n, silent: true })
    const silent = await inMarket(morpho.wallets.borrower, linear)
    await morpho.setLinearIrm({ base: 634_195_839n, slope: 3_170_979_198n })
    expect(silent.position).toMatchObject({ ...NOTHING_TOLD, healthFactor: null, borrowedAssets: [{ symbol: 'DAI' }] })
    expect(silent.position?.reason).toContain('its interest-rate model does not answer')
    expect((await inMarket(morpho.wallets.borrower, linear)).position?.reason).toBeNull()
  })

  test('many of which burn all gas end pages early, and all are answered', async () => {
    const wallet = toWalletAddress('morpho burnt')
    const burning: MorphoMarket[] = []
    for (let each = 0; each < 16; each++) burning.push(await makeMarket({}))
    await devnet.send([
      ...burning.map((market) => CALLS.supplyCollateral({ market, wallet, assets: 10n ** 18n })),
      CALLS.supply({ market: morpho.markets.idle, wallet, assets: 5_000_000n }),
    ])
    for (const market of burning) await morpho.setOracle(market, { price: 1n, mood: 'burns_gas' })
    const { data, message } = await lister.ask({ wallet })
    expect(message).toBeUndefined()
    expect(data[0]?.positions).toHaveLength(17)
    expect(data[0]?.positions.filter(({ reason }) => reason?.includes('its oracle does not answer'))).toHaveLength(16)
    expect(data[0]?.positions.find(({ reason }) => reason === null)?.suppliedAssets).toMatchObject([
      { symbol: 'USDC', amountSuppliedUSD: '5.000000' },
    ])
  })
})

describe('a request', () => {
  test('about one market needs no history, and has no row if there is nothing', async () => {
    const { supplier, none } = morpho.wallets
    const { wethUsdc, linear } = morpho.markets
    const one = await lister.ask({ wallet: supplier, market_id: wethUsdc.id.toUpperCase().replace('X', 'x') })
    expect(one.data[0]?.positions.map(({ marketId }) => marketId)).toEqual([wethUsdc.id])
    expect(one.credits).toBe(15)
    expect(faulty.seen.map(({ method }) => method)).toEqual(['eth_call'])
    for (const nothing of [
      await lister.ask({ wallet: none, market_id: linear.id }),
      await lister.ask({ wallet: supplier, market_id: `0x${'1'.repeat(64)}` }),
    ]) {
      expect(nothing).toMatchObject({ status: 200, data: [], credits: 0 })
      expect(nothing.reply.asOf).toHaveLength(1)
    }
  })

  test.each([
    [{ wallet: undefined }, 400, 'MISSING_PARAMETER', '"wallet"'],
    [{ wallet: '0x1234' }, 400, 'INVALID_PARAMETER', 'expected an EVM address'],
    [{ chain_id: '2' }, 400, 'INVALID_PARAMETER', 'chain_id'],
    [{ market_id: 'main' }, 400, 'INVALID_PARAMETER', '0x and 64 hexadecimal digits'],
    [{ market_id: `0x${'g'.repeat(64)}` }, 400, 'INVALID_PARAMETER', '0x and 64 hexadecimal digits'],
    [{ target_health_factor: '1' }, 400, 'INVALID_PARAMETER', 'target_health_factor'],
    [{ page: '0' }, 400, 'INVALID_PARAMETER', 'page'],
    [{ limit: '0' }, 400, 'INVALID_PARAMETER', 'limit'],
    [{ at_block: '5' }, 400, 'MISSING_PARAMETER', 'chain_id'],
    [{ at_block: '5', at_time: '1700000000', chain_id: '1' }, 400, 'INVALID_PARAMETER', 'at_'],
    [{ at_block: '99999999', chain_id: '1' }, 400, 'INVALID_PARAMETER', 'newest block'],
    [{ at_block: '0', chain_id: '1' }, 400, 'INVALID_PARAMETER', 'was not deployed'],
  ])('%p is refused', async (query, status, code, words) => {
    const answer = await lister.ask({ wallet: morpho.wallets.supplier, ...query })
    expect(answer).toMatchObject({ status, code, credits: 0 })
    expect(answer.message).toContain(words)
    expect(answer.message).not.toContain('127.0.0.1')
  })

  test('leaves a chain without Morpho out, and says if none has it', async () => {
    const chain = createDevnetChain(other)
    const client = createChainClient({ chain, clock: createHurriedClock(), log: silentLog })
    const both = startLister(devnet, { database, more: [client] })
    const { supplier } = morpho.wallets
    const answer = await both.ask({ wallet: supplier })
    const elsewhere = await both.ask({ wallet: supplier, chain_id: OTHER })
    await both.close()
    client.close()
    expect(answer.data.map(({ chain_id }) => chain_id)).toEqual([1])
    expect(answer.reply.asOf?.map(({ chainId }) => chainId)).toEqual([1])
    expect(elsewhere).toMatchObject({ status: 200, data: [], credits: 0 })
    const none = startLister(other, { database, having: [] })
    const refused = await none.ask({ wallet: supplier })
    await none.close()
    expect(refused).toMatchObject({ status: 500, code: 'API_ENDPOINT_NOT_CONFIGURED' })
  })

  test('is refused where the configured contract is missing: "no events" is no proof that nothing is owed', async () => {
    const missing = startLister(other, { database, having: [OTHER] })
    const refused = await missing.ask({ wallet: morpho.wallets.supplier })
    await missing.close()
    expect(refused).toMatchObject({ status: 503, code: 'SERVICE_UNAVAILABLE', credits: 0 })
    expect(refused.message).toContain('its Morpho contract does not answer')
  })

  test('about two chains has a page for each, charges both, and names the one that cannot be read', async () => {
    await other.morpho()
    const elsewhere = await startFaultyRpc(other.rpcUrl)
    const chain = createDevnetChain(other, { rpcUrls: [elsewhere.url] })
    const client = createChainClient({ chain, clock: createHurriedClock(), log: silentLog })
    const both = startLister(devnet, { database, more: [client], having: [1, OTHER] })
    const { supplier, none } = morpho.wallets
    const first = await both.ask({ wallet: supplier, limit: 1 })
    const second = await both.ask({ wallet: supplier, limit: 1, page: 2 })
    const third = await both.ask({ wallet: supplier, limit: 1, page: 3 })
    const only = await both.ask({ wallet: supplier, chain_id: OTHER })
    const withoutPositions = await both.ask({ wallet: none })
    elsewhere.rule(() => ({ kind: 'http', status: 500, body: 'upstream text' }))
    const failed = await both.ask({ wallet: supplier })
    const without = await both.ask({ wallet: supplier, chain_id: 1 })
    await both.close()
    client.close()
    await elsewhere.stop()
    expect([first, second, third].map(({ data }) => data.map(({ chain_id }) => chain_id))).toEqual([[1], [OTHER], []])
    expect([first, second, third, only, withoutPositions].map(({ credits }) => credits)).toEqual([30, 30, 30, 15, 0])
    expect(first.reply.pagination).toMatchObject({ total: 2, next_page: expect.stringContaining('page=2') })
    expect(withoutPositions.reply.asOf?.map(({ chainId }) => chainId)).toEqual([1, OTHER])
    expect(failed).toMatchObject({ status: 503, code: 'SERVICE_UNAVAILABLE' })
    expect(failed.message).toContain('leave it out with the "chain_id" parameter')
    expect(without.status).toBe(200)
  })
})
