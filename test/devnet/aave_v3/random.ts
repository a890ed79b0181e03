import { type Address, decodeFunctionResult, encodeFunctionData, type Hex } from 'viem'
import { toWalletAddress } from '../addresses.ts'
import { createRandom, type Random } from '../random.ts'
import type { Rpc } from '../rpc.ts'
import type { Send, Transaction } from '../transaction.ts'
import type { AaveV3 } from './aave_v3.ts'
import { TOKEN_ABI } from './abi.ts'
import { ASSETS, type AssetName, type MarketName } from './addresses.ts'
import {
  ALL,
  borrowCall,
  repayCall,
  setEmodeCall,
  setUseAsCollateralCall,
  supplyCall,
  transferCall,
  withdrawCall,
} from './calls.ts'
import { elementAt } from './deploy.ts'
import { MARKET_SETUPS, type MarketSetup } from './reserves.ts'
import { rawUsd } from './scenario.ts'

const DAY_SEC = 86_400
/** `main` more often than the others, as in life. */
const MARKET_CHOICES = ['main', 'main', 'main', 'lido', 'etherfi', 'v3_0'] as const satisfies readonly MarketName[]
const SUPPLIES_USD = [0.000_01, 1, 50, 3_000, 60_000]
/** Above what amounts this small lose in rounding. */
const SMALLEST = 10n
const CLOSED: readonly AssetName[] = ['paused', 'frozen']
/** So that many isolated wallets stay below the debt ceiling. */
const ISOLATED_USD_MAX = 2_000

export interface RandomAaveWallets {
  readonly wallets: readonly Address[]
  /** The last block of their past. */
  readonly blockNumber: bigint
}

/** A wallet's dealings with one market. */
interface Account {
  readonly wallet: Address
  readonly market: MarketName
  readonly emode: number
  readonly isolated: boolean
  readonly supplies: Map<AssetName, bigint>
  readonly debts: Map<AssetName, bigint>
}

interface Tools {
  readonly rpc: Rpc
  readonly send: Send
  readonly aave: AaveV3
}

/** Wallets that supply, choose eModes and collateral, borrow, transfer, repay and withdraw at random, over some weeks. */
export async function randomWallets(
  tools: Tools,
  { seed, count }: { readonly seed: number; readonly count: number },
): Promise<RandomAaveWallets> {
  const { send, aave } = tools
  const random = createRandom(seed)
  const wallets = Array.from({ length: count }, (_, index) => toWalletAddress(`aave random ${seed} ${index}`))
  const accounts = wallets.flatMap((wallet) => randomAccounts(random, wallet))
  // One stage after the other: the node may take transactions of different senders in another order than they came.
  await send(accounts.flatMap(emodeCalls))
  await send(accounts.flatMap((account) => supplyCalls(random, account)))
  await send(accounts.flatMap((account) => collateralCalls(random, account)))
  await aave.warp(DAY_SEC * (1 + random.below(10)))
  await send(await randomBorrows(tools, random, accounts))
  await aave.warp(DAY_SEC * (1 + random.below(20)))
  await send(accounts.flatMap((account) => laterCalls(random, { account, aave, wallets })))
  await aave.warp(1 + random.below(DAY_SEC))
  return { wallets, blockNumber: await aave.blockNumber() }
}

function randomAccounts(random: Random, wallet: Address): Account[] {
  const markets = new Set(Array.from({ length: 1 + random.below(3) }, () => random.pick(MARKET_CHOICES)))
  return [...markets].map((market) => {
    const { emodes }: MarketSetup = MARKET_SETUPS[market]
    const isolated = market === 'main' && random.below(12) === 0
    const emode = !isolated && random.below(3) === 0 ? random.pick(emodes).id : 0
    return { wallet, market, emode, isolated, supplies: new Map(), debts: new Map() }
  })
}

function emodeCalls({ wallet, market, emode }: Account): Transaction[] {
  return emode === 0 ? [] : [setEmodeCall({ market, wallet, category: emode })]
}

function supplyCalls(random: Random, { wallet, market, emode, isolated, supplies }: Account): Transaction[] {
  if (isolated) supplies.set('isolated', rawUsd('isolated', 1 + random.below(ISOLATED_USD_MAX)))
  for (let left = 1 + random.below(4); left > 0; left--) {
    const asset = random.pick(suppliable({ market, emode }))
    const usd = random.pick(SUPPLIES_USD) * (1 + random.below(100_000) / 100_000)
    if (!supplies.has(asset)) supplies.set(asset, SMALLEST + rawUsd(asset, usd))
  }
  return [...supplies].map(([asset, amount]) => supplyCall({ market, wallet, asset, amount }))
}

/** Isolated collateral has to be switched on, other collateral may be switched off. */
function collateralCalls(random: Random, { wallet, market, isolated, supplies }: Account): Transaction[] {
  const off = [...supplies.keys()]
    .filter((asset) => asset !== 'isolated' && (isolated || random.below(7) === 0))
    .map((asset) => setUseAsCollateralCall({ market, wallet, asset, on: false }))
  if (!isolated) return off
  return [...off, setUseAsCollateralCall({ market, wallet, asset: 'isolated', on: true })]
}

function suppliable({ market, emode }: Pick<Account, 'market' | 'emode'>): AssetName[] {
  const { reserves, emodes }: MarketSetup = MARKET_SETUPS[market]
  const category = emodes.find(({ id }) => id === emode)
  const open = (Object.keys(reserves) as AssetName[]).filter(
    (asset) => !CLOSED.includes(asset) && asset !== 'isolated' && asset !== 'modal',
  )
  // Twice, so that what the eMode is for is chosen more often.
  return [...open, ...(category?.collateral ?? []), ...(category?.collateral ?? [])]
}

/** A random part of what each account may borrow, in one asset or two. */
async function randomBorrows(tools: Tools, random: Random, accounts: readonly Account[]): Promise<Transaction[]> {
  const calls: Transaction[] = []
  for (const market of new Set(accounts.map((account) => account.market))) {
    const mine = accounts.filter((account) => account.market === market)
    const wallets = mine.map(({ wallet }) => wallet)
    const data = await tools.aave.getUserAccountDataMany(market, wallets)
    const funds = await readFunds(tools, market)
    for (const [index, account] of mine.entries()) {
      calls.push(...borrowCalls(random, { account, funds, availableE8: elementAt(data, index).availableBorrowsBase }))
    }
  }
  return calls
}

interface Funds {
  readonly priceE8: bigint
  /** What the reserve still has to lend, raw units. */
  left: bigint
}

function borrowCalls(
  random: Random,
  { account, funds, availableE8 }: { account: Account; funds: ReadonlyMap<AssetName, Funds>; availableE8: bigint },
): Transaction[] {
  if (random.below(4) === 0) return []
  const { wallet, market } = account
  const permille = 1 + random.below(950)
  const assets = new Set([random.pick(borrowable(account)), random.pick(borrowable(account))])
  return [...assets].flatMap((asset) => {
    const fund = funds.get(asset)
    if (fund === undefined) throw new Error(`Cannot find ${asset} in the market ${market}`)
    const shareE8 = (availableE8 * BigInt(permille)) / 1000n / BigInt(assets.size)
    const wanted = (shareE8 * 10n ** BigInt(ASSETS[asset].decimals)) / fund.priceE8
    const amount = wanted < fund.left / 4n ? wanted : fund.left / 4n
    if (amount < SMALLEST) return []
    fund.left -= amount
    account.debts.set(asset, amount)
    return [borrowCall({ market, wallet, asset, amount })]
  })
}

function borrowable({ market, emode, isolated }: Account): AssetName[] {
  const { reserves, emodes }: MarketSetup = MARKET_SETUPS[market]
  const category = emodes.find(({ id }) => id === emode)
  if (category !== undefined) return [...category.borrowable]
  return (Object.keys(reserves) as AssetName[]).filter(
    (asset) =>
      !CLOSED.includes(asset) &&
      reserves[asset]?.borrowable === true &&
      (!isolated || reserves[asset]?.borrowableInIsolation === true),
  )
}

async function readFunds({ rpc, aave }: Tools, market: MarketName): Promise<Map<AssetName, Funds>> {
  const { reserves } = aave.markets[market]
  const prices = await aave.getPrices(market)
  const call = { abi: TOKEN_ABI, functionName: 'balanceOf' } as const
  const balances = await rpc.batch<Hex>(
    reserves.map(({ asset, aToken }) => ({
      method: 'eth_call',
      params: [{ to: asset, data: encodeFunctionData({ ...call, args: [aToken] }) }, 'latest'],
    })),
  )
  return new Map(
    reserves.map(({ name }, index) => {
      const left = decodeFunctionResult({ ...call, data: elementAt(balances, index) })
      return [name, { priceE8: prices.get(name) ?? 0n, left }]
    }),
  )
}

/** What a wallet may do later without asking what it may: repay any time, move supplies where nothing is owed. */
function laterCalls(
  random: Random,
  { account, aave, wallets }: { account: Account; aave: AaveV3; wallets: readonly Address[] },
): Transaction[] {
  const { wallet, market, supplies, debts } = account
  if (debts.size > 0) {
    return [...debts].flatMap(([asset, amount]) => {
      const choice = random.below(8)
      if (choice > 1) return []
      const part = choice === 0 ? 2n * amount : SMALLEST + (amount * BigInt(random.below(900))) / 1000n
      return [repayCall({ market, wallet, asset, amount: part })]
    })
  }
  return [...supplies].flatMap(([asset, amount]) => {
    const part = SMALLEST / 2n + (amount * BigInt(random.below(500))) / 1000n
    const token = aave.reserveOf(market, asset).aToken
    switch (random.below(8)) {
      case 0:
        return [withdrawCall({ market, wallet, asset, amount: ALL })]
      case 1:
        return [withdrawCall({ market, wallet, asset, amount: part })]
      case 2:
        return [transferCall({ token, from: wallet, to: random.pick(wallets), amount: part })]
      default:
        return []
    }
  })
}
