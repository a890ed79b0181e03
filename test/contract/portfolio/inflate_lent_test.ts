import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type Address, encodeAbiParameters, getAddress, parseAbi } from 'viem'
import { VAULTS } from '../../../src/family/vaults/mod.ts'
import { BANK, TOKENS, toWalletAddress } from '../../devnet/addresses.ts'
import { type Devnet, startDevnet } from '../../devnet/mod.ts'
import { ADAPTIVE_CURVE, CALLS, type MorphoMarket, toMorphoMarket } from '../../devnet/morpho_blue/calls.ts'
import { morphoContracts } from '../../devnet/morpho_blue/compile.ts'
import type { MorphoDevnet } from '../../devnet/morpho_blue/mod.ts'
import { approveCall, deployOracle, percent } from '../../devnet/morpho_blue/tools.ts'
import { createRandom } from '../../devnet/random.ts'
import { vaultContracts } from '../../devnet/vaults/compile.ts'
import { depositCalls, startMorphoVaults, withdrawCall } from '../../devnet/vaults/morpho.ts'
import { type TestDatabase, testDatabase } from '../../support/database.ts'
import { type Lister, startLister } from '../family/morpho_blue/list/world.ts'
import { newToken, pooledChain, toRaw } from '../finance/price/pool/world.ts'
import { transferCall } from '../finance/token/balance/world.ts'
import { allRows, countedClient, createPortfolio, e6, toFigures, type WireRow } from './support.ts'

/** Price of one unit of collateral by the attacker's oracle, times 10^36. */
const ANY_SUM = 10n ** 48n
const CHAIN_ID = 10
const DAY_SEC = 86_400
const { usdc } = TOKENS

let devnet: Devnet
let morpho: MorphoDevnet
let database: TestDatabase
let lister: Lister
let portfolio: ReturnType<typeof createPortfolio>
/** The attacker's own token, used as collateral. */
let worthless: Address
/** Wallets of the attacker's. */
const attackers: Address[] = []

beforeAll(async () => {
  devnet = await startDevnet({ chainId: CHAIN_ID, ageSec: 30 * DAY_SEC })
  morpho = await devnet.morpho()
  worthless = await newToken(devnet, 18)
  await devnet.send([approveCall(worthless)])
  database = await testDatabase()
  const { prices } = pooledChain(devnet)
  lister = startLister(devnet, { database, overrides: { prices } })
  portfolio = createPortfolio([lister.client], { db: database.db, history: lister.history })
}, 180_000)

afterAll(async () => {
  await lister?.close()
  await database?.close()
  await devnet?.stop()
}, 60_000)

function attacker(name: string): Address {
  const wallet = toWalletAddress(`self-lending ${name}`)
  attackers.push(wallet)
  return wallet
}

/** A market of the attacker's own, which lends dollars against his token, and a wallet that may borrow any sum there. */
async function ownMarket(borrower: Address, lltvPct = 86n): Promise<MorphoMarket> {
  const market = await addMarket(worthless, { price: ANY_SUM, lltvPct })
  await morpho.supplyCollateral({ market, wallet: borrower, assets: toRaw(1_000_000, 18) })
  return market
}

/** A market that lends dollars against a token, by an oracle that always says this. */
async function addMarket(
  collateralToken: Address,
  { price, lltvPct = 86n }: { readonly price: bigint; readonly lltvPct?: bigint },
): Promise<MorphoMarket> {
  const codes = await morphoContracts()
  const oracle = await deployOracle({ rpc: devnet.rpc, send: devnet.send, codes }, price)
  const tokens = { loanToken: usdc.address, collateralToken }
  const market = toMorphoMarket({ ...tokens, oracle, irm: ADAPTIVE_CURVE, lltv: percent(lltvPct) })
  await devnet.send([CALLS.createMarket(market)])
  return market
}

/** Takes what is lent out of the market again, so that the same dollars can be lent once more. */
async function takeOut(market: MorphoMarket, borrower: Address, assets: bigint): Promise<void> {
  await morpho.borrow({ market, wallet: borrower, assets })
  await devnet.send([transferCall(usdc.address, { from: borrower, to: BANK, value: assets })])
}

/** What a market can pay, by the contract itself. */
async function readIdle(market: MorphoMarket): Promise<bigint> {
  const { totalSupplyAssets, totalBorrowAssets } = await morpho.readAccrued(market, BANK)
  return totalSupplyAssets - totalBorrowAssets
}

/** The value of a wallet if everything is counted, and its rows. */
async function look(wallet: Address) {
  const query = `wallet=${wallet}&chain_id=${CHAIN_ID}&tokens=${worthless}&include_unlisted=true`
  const { net } = toFigures(await portfolio.balance(query))
  const rows = await allRows(portfolio, query)
  return { net, rows, lent: rows.find(({ position }) => position?.['part'] === 'lent') }
}

test('a wallet that lends the same dollars to itself ten times is worth no more than the market’s idle dollars', async () => {
  const [lender, borrower, honest] = [attacker('lender'), attacker('borrower'), attacker('beside')]
  const market = await ownMarket(borrower)
  const turn = toRaw(100_000, usdc.decimals)
  for (let turns = 0; turns < 10; turns++) {
    await morpho.supply({ market, wallet: lender, assets: turn })
    await takeOut(market, borrower, turn)
  }
  expect(await readIdle(market)).toBe(0n)
  const claimed = await look(lender)
  expect(BigInt(claimed.lent?.amount.raw ?? 0)).toBeGreaterThanOrEqual(10n * turn - 10n)
  expect(claimed).toMatchObject({ net: 0n, lent: { counted: false, reason: 'exceeds_liquidity', value_usd: null } })
  // The borrower owes all of it, and its collateral is worth nothing for any answer of the market's oracle.
  const owing = await look(borrower)
  expect(owing.net).toBeLessThanOrEqual(-10n * turn)
  expect(owing.rows.find(({ token }) => token.id === worthless)).toMatchObject({ counted: false, reason: 'unpriced' })

  // Idle dollars count for a lender that lent no more than them.
  await morpho.supply({ market, wallet: honest, assets: turn })
  const idle = await readIdle(market)
  // For who lent more, no more than them either.
  const crowded = await look(lender)
  expect(crowded.lent).toMatchObject({ counted: true, not_counted: { reason: 'exceeds_liquidity' } })
  expect(crowded.net).toBeGreaterThan(0n)
  expect(crowded.net).toBeLessThanOrEqual(idle)
  const beside = await look(honest)
  expect(beside.lent?.counted).toBe(true)
  expect(beside.net).toBeGreaterThan(0n)
  expect(beside.net).toBeLessThanOrEqual(idle)
}, 60_000)

test('a wallet that lends to itself gains nothing by it', async () => {
  const wallet = attacker('both')
  const market = await ownMarket(wallet)
  const [lent, borrowed] = [toRaw(100_000, usdc.decimals), toRaw(60_000, usdc.decimals)]
  await morpho.supply({ market, wallet, assets: lent })
  expect((await look(wallet)).net).toBeLessThanOrEqual(lent)
  await morpho.borrow({ market, wallet, assets: borrowed })
  const { net, lent: row } = await look(wallet)
  expect(row).toMatchObject({ counted: true, not_counted: { reason: 'exceeds_liquidity' } })
  expect(net).toBeLessThanOrEqual(lent - borrowed)
  await devnet.send([transferCall(usdc.address, { from: wallet, to: BANK, value: borrowed })])
  expect((await look(wallet)).net).toBeLessThanOrEqual(0n)
}, 60_000)

test('after random loans and withdrawals, no lender is worth more than the idle dollars', async () => {
  const random = createRandom(20_261_123)
  const borrower = attacker('random borrower')
  const lenders = ['a', 'b', 'c'].map((name) => attacker(`random ${name}`))
  const market = await ownMarket(borrower)
  const counts = { counted: 0, refused: 0 }
  for (let round = 0; round < 10; round++) {
    await morpho.supply({ market, wallet: random.pick(lenders), assets: toRaw(1 + random.below(90_000), 6) })
    const idle = await readIdle(market)
    const share = BigInt(random.pick([0, 30, 60, 100]))
    if (share > 0n) await takeOut(market, borrower, (idle * share) / 100n)
    await morpho.warp(random.below(DAY_SEC))
    const left = await readIdle(market)
    for (const lender of lenders) {
      const { net, lent } = await look(lender)
      expect(net).toBeLessThanOrEqual(left)
      if (lent !== undefined) counts[lent.not_counted === null ? 'counted' : 'refused']++
    }
  }
  expect(counts.counted).toBeGreaterThan(1)
  expect(counts.refused).toBeGreaterThan(1)
}, 120_000)

test('vaults that lend to one market, and who lends to it, count what transactions pay them together', async () => {
  const [wallet, borrower] = [attacker('in several vaults'), attacker('of vaults')]
  const [first, second] = [await ownMarket(borrower), await ownMarket(borrower, 77n)]
  const { entries, addQueue, addAdapter } = await startMorphoVaults(devnet, usdc.address)
  const queue = await addQueue([first, second])
  const vaults = [queue, await addQueue([first]), await addAdapter(first), await addAdapter(queue)] as const
  const wealth = createPortfolio([lister.client], {
    db: database.db,
    history: lister.history,
    more: [VAULTS],
    deployments: { vaults: entries },
  })
  const readRows = async () => {
    const rows = await allRows(wealth, `wallet=${wallet}&chain_id=${CHAIN_ID}`)
    return [undefined, ...vaults].map((vault) => {
      const row = rows.find(({ kind, position }) => kind === 'supplied' && position?.['vault'] === vault)
      return BigInt(row?.amount.raw ?? -1) - BigInt(row?.not_counted?.raw ?? 0)
    })
  }
  const sizes = [200, 300, 120, 400].map((size) => toRaw(size, usdc.decimals))
  await morpho.supply({ market: first, wallet, assets: toRaw(100, usdc.decimals) })
  for (const [index, vault] of vaults.entries()) {
    const assets = sizes[index] ?? 0n
    await devnet.send([
      transferCall(usdc.address, { from: BANK, to: wallet, value: assets }),
      ...depositCalls(vault, { asset: usdc.address, wallet, assets }),
    ])
  }
  // 660 dollars were lent to the first market, which has 160 left; the second one has more than the vaults lent to it.
  await takeOut(first, borrower, toRaw(500, usdc.decimals))
  await morpho.supply({ market: second, wallet: BANK, assets: toRaw(1_000, usdc.decimals) })
  await takeOut(second, borrower, toRaw(700, usdc.decimals))
  await morpho.warp(40 * DAY_SEC)
  const counted = await readRows()
  // What the wallet lent itself, and what the vault of both markets and the last one through it take of the second market.
  expect(counted.map((amount) => amount > 0n)).toEqual([true, true, false, true, true])
  // In a block of the same time they are paid that, one after the other, and nothing more.
  await devnet.rpc.call('anvil_setBlockTimestampInterval', 0)
  const take = (index: number, assets: bigint) => {
    const vault = vaults[index - 1]
    const withdrawal = { wallet, assets }
    return vault === undefined ? CALLS.withdraw({ market: first, ...withdrawal }) : withdrawCall(vault, withdrawal)
  }
  await devnet.send(counted.flatMap((assets, index) => (assets === 0n ? [] : [take(index, assets)])))
  const more = await devnet.send(
    counted.map((_, index) => take(index, 1n)),
    { mayRevert: true },
  )
  await devnet.rpc.call('anvil_removeBlockTimestampInterval')
  expect(more.map(({ status }) => status)).toEqual(counted.map(() => '0x0'))
  expect(await readIdle(first)).toBe(0n)
  expect((await readRows()).every((amount) => amount <= 0n)).toBe(true)
}, 60_000)

test('shares of a vault that secure a debt count by what they are worth in it, or are marked if no table names it', async () => {
  const { ERC4626Mock } = await vaultContracts()
  const argument = encodeAbiParameters([{ type: 'address' }], [usdc.address]).slice(2)
  const { addQueue } = await startMorphoVaults(devnet, usdc.address)
  const [receipt] = await devnet.send([{ from: BANK, data: `${ERC4626Mock}${argument}` }])
  const listed = getAddress(receipt?.contractAddress ?? '0x')
  const vaults = { listed, unlisted: await addQueue([await addMarket(worthless, { price: ANY_SUM })]) }
  const { prices } = pooledChain(devnet, { wrappers: { [listed]: { kind: 'erc4626', of: usdc.address } } })
  const { client } = countedClient({ ...lister.client.chain, prices })
  const priced = createPortfolio([client], { db: database.db, history: lister.history })
  const shares = toRaw(1_000, usdc.decimals)
  const [debt, gift] = [toRaw(100, usdc.decimals), 161_254_750n]
  const read = async (vault: Address) => {
    const wallet = attacker(`with shares of ${vault}`)
    await devnet.send([
      ...depositCalls(vault, { asset: usdc.address, wallet: BANK, assets: shares }),
      approveCall(vault),
      transferCall(usdc.address, { from: BANK, to: vault, value: gift }),
    ])
    // Its own oracle calls a share three dollars.
    const market = await addMarket(vault, { price: 3n * 10n ** 36n })
    await morpho.supplyCollateral({ market, wallet, assets: shares })
    await morpho.supply({ market, wallet: BANK, assets: debt })
    await morpho.borrow({ market, wallet, assets: debt })
    const rows = await allRows(priced, `wallet=${wallet}&chain_id=${CHAIN_ID}`)
    const { data } = await lister.ask({ wallet, chain_id: CHAIN_ID })
    const find = (part: string) => rows.find(({ kind, position }) => (position?.['part'] ?? kind) === part)
    return { collateral: find('collateral'), owed: find('borrowed'), inMarket: data[0]?.positions[0] }
  }
  const { collateral, owed, inMarket } = await read(vaults.listed)
  const worth = await devnet.client.readContract({
    address: vaults.listed,
    abi: parseAbi(['function convertToAssets(uint256) view returns (uint256)']),
    functionName: 'convertToAssets',
    args: [shares],
  })
  expect(worth).toBeGreaterThan(shares)
  expect(collateral).toMatchObject({ counted: true, price_source: 'wrapper', amount: { raw: String(shares) } })
  // A dollar is one here. The price is not rounded to a whole unit of the asset, as what the vault would pay is.
  expect(owed?.price_usd).toBe('1')
  expect(e6(collateral?.value_usd ?? '0') - worth).toBeOneOf([0n, 1n])
  const other = await read(vaults.unlisted)
  expect(other.collateral).toMatchObject({ counted: false, reason: 'unpriced', value_usd: null })
  expect(other.collateral?.not_counted?.raw).toBe(String(shares))
  // Beside both stands what the market's own oracle says.
  for (const { totalCollateralUSD } of [inMarket, other.inMarket].map((each) => each ?? { totalCollateralUSD: null })) {
    expect(totalCollateralUSD).toBe('3000.000000')
  }
}, 60_000)

/** A wallet's amount in a market, by a row or by the list. */
type Part = readonly [market: string | undefined, part: string, symbol: string, amount: string | null]

test("rows of a portfolio are the list of a wallet's markets at the same block", async () => {
  const block = await devnet.client.getBlockNumber()
  const seen: Record<string, number> = {}
  for (const wallet of [...Object.values(morpho.wallets), ...attackers]) {
    const at = `chain_id=${CHAIN_ID}&at_block=${block}`
    const rows = await allRows(portfolio, `wallet=${wallet}&${at}`)
    const { status, data } = await lister.ask({ wallet, chain_id: CHAIN_ID, at_block: Number(block) })
    expect(status).toBe(200)
    const listed = (data[0]?.positions ?? []).flatMap(({ marketId, suppliedAssets, borrowedAssets }): Part[] => [
      ...suppliedAssets.map(({ symbol, amount, isCollateral }): Part => {
        return [marketId, isCollateral ? 'collateral' : 'lent', symbol, amount]
      }),
      ...borrowedAssets.map(({ symbol, amount }): Part => [marketId, 'borrowed', symbol, amount]),
    ])
    const held = rows.filter(({ position }) => position?.['family'] === 'morpho-blue').map(toPart)
    expect(held.sort()).toEqual(listed.sort())
    for (const [, part] of held) seen[part] = (seen[part] ?? 0) + 1
  }
  expect(Object.keys(seen).sort()).toEqual(['borrowed', 'collateral', 'lent'])
  expect(Math.min(...Object.values(seen))).toBeGreaterThan(5)
}, 60_000)

function toPart({ position, kind, token, amount }: WireRow): Part {
  return [position?.['market_id'], position?.['part'] ?? kind, token.symbol, amount.amount]
}
