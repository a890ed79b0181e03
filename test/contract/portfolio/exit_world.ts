import { expect } from 'bun:test'
import type * as v from 'valibot'
import { type Address, encodeFunctionData, erc20Abi, type Hex, toHex, zeroAddress } from 'viem'
import type { Holdings } from '../../../src/family/holding.ts'
import { SLIPSTREAM } from '../../../src/family/slipstream/mod.ts'
import { UNISWAP_V4 } from '../../../src/family/uniswap_v4/mod.ts'
import type { FinanceClient } from '../../../src/finance/chain.ts'
import type { Clock } from '../../../src/lib/clock.ts'
import { groupBy } from '../../../src/lib/group_by.ts'
import type { exitOutput } from '../../../src/portfolio/exit/schema.ts'
import { ASSETS, type AssetName, MARKETS, type MarketName } from '../../devnet/aave_v3/addresses.ts'
import { ALL, borrowCall, repayCall, supplyCall, withdrawCall } from '../../devnet/aave_v3/calls.ts'
import { exclusiveAave } from '../../devnet/aave_v3/shared.ts'
import { BANK, TOKENS, toWalletAddress, UNISWAP_V3 } from '../../devnet/addresses.ts'
import { createDevnetChain } from '../../devnet/chain.ts'
import { CALLS, MORPHO, MORPHO_ABI, type MorphoMarket } from '../../devnet/morpho_blue/calls.ts'
import { addPancakeswapFarm, FARM_ABI } from '../../devnet/pancakeswap_v3/farm.ts'
import { addPancakeswapV3 } from '../../devnet/pancakeswap_v3/mod.ts'
import { createRandom, type Random } from '../../devnet/random.ts'
import { amounts, tokenAt, usdToRaw } from '../../devnet/scenario.ts'
import { addSlipstream } from '../../devnet/slipstream.ts'
import { rangeAround } from '../../devnet/ticks.ts'
import type { Transaction } from '../../devnet/transaction.ts'
import { collectCall, decreaseLiquidityCall, MANAGER_ABI, swapCall } from '../../devnet/uniswap_v3_calls.ts'
import { burnCall, collectCall as collectV4Call, swapCall as swapV4Call } from '../../devnet/uniswap_v4/calls.ts'
import type { UniswapV4 } from '../../devnet/uniswap_v4/mod.ts'
import { liquidityWorth, usdToRaw as usdToRawV4 } from '../../devnet/uniswap_v4/pools.ts'
import { testDatabase } from '../../support/database.ts'
import { DEPLOYMENT } from '../../support/family/uniswap_v3/support.ts'
import { createPatientClock } from '../../support/test_clock.ts'
import { startLister } from '../family/morpho_blue/list/world.ts'
import { listWithdrawals } from './next_block.ts'
import { createPortfolio } from './support.ts'

/** The first id of PancakeSwap's manager, so that an id tells the manager. */
export const PANCAKESWAP_ID = 900_001n
const DRAINER = toWalletAddress('drains reserves')
/** Gas that a block holds, so that all transactions of a wallet fit in one. */
const BLOCK_GAS = 2_000_000_000n

/** An answer of the route, and a row of it. */
export type Wire = v.InferOutput<typeof exitOutput>['data']
export type WireRow = Wire['rows'][number]

export const raw = (amount: { readonly raw: string } | null) => BigInt(amount?.raw ?? 0)

export type ExitWorld = Awaited<ReturnType<typeof startExitWorld>>

/**
 * Builds random wallets with positions in all families, and reserves that cannot pay all of them; and does by
 * transactions what an answer says.
 */
export async function startExitWorld({ seed, count }: { readonly seed: number; readonly count: number }) {
  const { devnet, aave } = await exclusiveAave()
  const morpho = await devnet.morpho()
  const v4 = await devnet.uniswapV4()
  const slipstream = await addSlipstream(devnet)
  const pancakeswap = await addPancakeswapV3(devnet, { firstId: PANCAKESWAP_ID })
  const farm = await addPancakeswapFarm(devnet, pancakeswap)
  // The last one stays with its owner.
  await devnet.send(pancakeswap.tokenIds.slice(0, -1).map((id) => farm.stake(pancakeswap.owner, id)))
  const markets = new Map<string, MorphoMarket>(Object.values(morpho.markets).map((market) => [market.id, market]))
  const v4Pools = new Map<bigint, UniswapV4['pools'][keyof UniswapV4['pools']]>()
  const { wallets } = await aave.randomWallets(seed, count)
  await addPositions()
  await devnet.send([supplyCall({ market: 'main', wallet: DRAINER, asset: 'weth', amount: 10n ** 24n })])
  for (const asset of ['dai', 'usdt'] as const) await drain(asset, 5_000n)
  const database = await testDatabase()
  const quotes = (['weth', 'usdc', 'usdt', 'dai'] as const).map((name) => TOKENS[name].address)
  const { prices } = createDevnetChain(devnet)
  const heartbeatSec = 86_400
  const usdFeeds = {
    ...prices.usdFeeds,
    [slipstream.reward]: { feed: slipstream.rewardFeed, heartbeatSec },
    [farm.cake]: { feed: farm.cakeFeed, heartbeatSec },
  }
  const overrides = { prices: { ...prices, usdFeeds, uniswapV3Factory: UNISWAP_V3.factory, quotes } }
  const lister = startLister(devnet, { database, overrides })
  /** Gives the lenders and borrowers of Aave positions of all other families. */
  async function addPositions(): Promise<void> {
    const random = createRandom(seed)
    const pools = Object.values(devnet.pools)
    const pick = () => random.pick(wallets)
    await devnet.v3.mintMany(
      Array.from({ length: count }, () => {
        const pool = random.pick(pools)
        const [centre, half] = [random.pick([0, -300, 20_000]), random.pick([60, 600, 6_000])]
        return { pool, ...rangeAround(pool, centre - half, centre + half), ...amounts(pool, 900), recipient: pick() }
      }),
    )
    await devnet.send(
      pools.flatMap((pool) =>
        [pool.token0, pool.token1].map((tokenIn) =>
          swapCall({ pool, tokenIn, amountIn: usdToRaw(tokenAt(tokenIn), 9_000) }),
        ),
      ),
    )
    await addStaked(random)
    const v4pools = Object.values(v4.pools)
    const asks = Array.from({ length: Math.max(count, 2 * v4pools.length) }, (_, index) => {
      const pool = v4pools[index % v4pools.length] ?? v4.pools.plain
      const range = rangeAround(pool, random.pick([-900, 600]), random.pick([1_200, 3_000]))
      return { pool, ...range, liquidity: liquidityWorth(pool, { ...range, usd: 700 }), recipient: pick() }
    })
    const ids = await v4.mintMany(asks)
    for (const [index, { pool }] of asks.entries()) v4Pools.set(ids[index] ?? 0n, pool)
    await v4.send(
      v4pools
        .filter((pool) => pool !== v4.pools.customCurve)
        .flatMap((pool) =>
          ([0, 1] as const).map((side) =>
            swapV4Call({ pool, zeroForOne: side === 0, amountIn: usdToRawV4(pool.currencies[side], 900) }),
          ),
        ),
    )
    await devnet.send(
      Array.from({ length: count }, () => {
        const market = random.pick([morpho.markets.wethUsdc, morpho.markets.usdcWeth])
        const isUsdc = market === morpho.markets.wethUsdc
        const [loan, collateral] = isUsdc ? [TOKENS.usdc, TOKENS.weth] : [TOKENS.weth, TOKENS.usdc]
        const wallet = pick()
        const usd = random.pick([20, 900, 15_000])
        const deposit = CALLS.supplyCollateral({ market, wallet, assets: usdToRaw(collateral, usd) })
        const acts = [
          [CALLS.supply({ market, wallet, assets: usdToRaw(loan, usd) })],
          [deposit],
          [deposit, CALLS.borrow({ market, wallet, assets: usdToRaw(loan, usd * 0.6) })],
        ]
        return random.pick(acts)
      }).flat(),
      { mayRevert: true },
    )
  }

  /** Positions of Slipstream, half of them staked, of which the last ones pay a penalty if they leave. */
  async function addStaked(random: Random): Promise<void> {
    const owners = Array.from({ length: Math.ceil(count / 2) }, () => random.pick(wallets))
    const ids = await slipstream.mintMany(
      owners.map((recipient) => ({ recipient, ticks: random.pick([300, 3_000, 30_000]) })),
    )
    const staked = owners.map((owner, index) => ({ owner, id: ids[index] ?? 0n })).filter((_, index) => index % 2 === 0)
    const middle = Math.floor(staked.length / 2)
    const stake = (list: typeof staked) => devnet.send(list.flatMap(({ owner, id }) => slipstream.stake(owner, id)))
    await stake(staked.slice(0, middle))
    await devnet.rpc.call('evm_increaseTime', 2 * 86_400)
    await stake(staked.slice(middle))
    await devnet.send([...slipstream.pay(), slipstream.setPenalty(3_000, 86_400)])
    await slipstream.trade(slipstream.pool.token0, 90_000_000n)
    await devnet.rpc.call('evm_increaseTime', 3_600)
    await devnet.rpc.call('evm_mine')
  }

  /** Borrows all but a part of what a reserve has, so that many cannot withdraw all of theirs. */
  async function drain(asset: AssetName, partLeft: bigint): Promise<void> {
    const { aToken } = aave.reserveOf('main', asset)
    const { address } = ASSETS[asset]
    const args = [aToken] as const
    const idle = await devnet.client.readContract({ address, abi: erc20Abi, functionName: 'balanceOf', args })
    await devnet.send([borrowCall({ market: 'main', wallet: DRAINER, asset, amount: idle - idle / partLeft })])
  }

  /** What takes a position of another manager out, first of the gauge or MasterChef if it is there. */
  async function listStaked(
    { manager: to, custodian }: { readonly manager: Address; readonly custodian: Address },
    owner: Address,
    tokenId: bigint,
  ): Promise<Transaction[]> {
    const ask = { address: to, abi: MANAGER_ABI, args: [tokenId] } as const
    const holder = await devnet.client.readContract({ ...ask, functionName: 'ownerOf' })
    const state = await devnet.client.readContract({ ...ask, functionName: 'positions' })
    const leave =
      custodian === farm.masterChef
        ? {
            from: owner,
            to: custodian,
            data: encodeFunctionData({ abi: FARM_ABI, functionName: 'withdraw', args: [tokenId, owner] }),
          }
        : slipstream.unstake(owner, tokenId)
    return [
      ...(holder === custodian ? [leave] : []),
      { ...decreaseLiquidityCall({ tokenId, owner, liquidity: state[7] }), to },
      { ...collectCall({ tokenId, owner }), to },
    ]
  }

  /**
   * What a wallet would send, one transaction after the other, to do what the answer says; the bank repays for it. With
   * `getFree`, which tells what debts leave free of a row, the wallet repays by itself.
   */
  async function listTransactions(
    wallet: Address,
    rows: readonly WireRow[],
    getFree?: (row: WireRow) => bigint,
    isLater = false,
  ): Promise<Transaction[]> {
    const approve = (token: Address, spender: Address) => ({
      from: wallet,
      to: token,
      data: encodeFunctionData({ abi: erc20Abi, functionName: 'approve', args: [spender, ALL] }),
    })
    const repayments: Transaction[] = []
    const withdrawals: Transaction[] = []
    const seen = new Set<string>()
    for (const row of rows) {
      const { kind, token, position, arrives, blocked_by } = row
      const free = getFree?.(row) ?? 0n
      if (position === null || blocked_by === 'insolvent') continue
      const { family, market_id = '', token_id = '0', part } = position
      const tokenId = BigInt(token_id)
      if (family === 'uniswap-v3' || family === 'uniswap-v4') {
        if (seen.has(`${family} ${token_id}`)) continue
        seen.add(`${family} ${token_id}`)
        const pool = v4Pools.get(tokenId)
        if (family === 'uniswap-v4' && pool !== undefined) {
          // Of a burned position nothing can be collected.
          withdrawals.push(...[burnCall, collectV4Call].map((toCall) => toCall({ pool, owner: wallet, tokenId })))
        } else if (tokenId >= PANCAKESWAP_ID) {
          withdrawals.push(...(await listStaked({ ...pancakeswap, custodian: farm.masterChef }, wallet, tokenId)))
        } else if (family === 'uniswap-v3') {
          const { collect, all = collect } = await listWithdrawals(devnet, { owner: wallet, tokenId })
          withdrawals.push(all)
        }
      } else if (family === 'slipstream') {
        if (seen.has(`${family} ${token_id}`)) continue
        seen.add(`${family} ${token_id}`)
        withdrawals.push(...(await listStaked({ ...slipstream, custodian: slipstream.gauge }, wallet, tokenId)))
      } else if (family === 'aave-v3') {
        const [asset] = Object.entries(ASSETS).find(([, { address }]) => address === token.id) ?? []
        const movement = { market: market_id as MarketName, wallet, asset: asset as AssetName }
        if (kind === 'borrowed' && getFree) {
          if (raw(arrives) === 0n) continue
          repayments.push(approve(token.id as Address, MARKETS[movement.market].pool))
          for (const mode of ['variable', 'stable'] as const)
            repayments.push({ ...repayCall({ ...movement, amount: ALL, mode }), from: wallet })
        } else if (kind === 'borrowed') {
          const amount = 2n * raw(arrives)
          for (const mode of ['variable', 'stable'] as const) repayments.push(repayCall({ ...movement, amount, mode }))
        } else {
          withdrawals.push(withdrawCall({ ...movement, amount: ALL }))
          if (blocked_by !== null) {
            // What the pool has is all of it; what a debt leaves free is told but for some units.
            const amounts = blocked_by === 'no_liquidity' && !getFree ? [raw(arrives), 1n] : [raw(arrives)]
            for (const amount of amounts) withdrawals.push(withdrawCall({ ...movement, amount }))
          }
          if (free > 0n) withdrawals.push(withdrawCall({ ...movement, amount: free }))
        }
      } else {
        const market = markets.get(market_id)
        if (market === undefined) throw new Error(`Cannot find the market ${market_id}`)
        const args = [market.id, wallet] as const
        const [supplyShares, borrowShares, collateral] = await devnet.client.readContract({
          address: MORPHO,
          abi: MORPHO_ABI,
          functionName: 'position',
          args,
        })
        const call = (from: Address, functionName: 'repay' | 'withdraw', parameters: readonly unknown[]) => ({
          from,
          to: MORPHO,
          data: encodeFunctionData({ abi: MORPHO_ABI, functionName, args: [market.params, ...parameters] } as never),
        })
        if (kind === 'borrowed') {
          if (getFree) repayments.push(approve(market.params.loanToken, MORPHO))
          repayments.push(call(getFree ? wallet : BANK, 'repay', [0n, borrowShares, wallet, '0x']))
        } else if (part === 'collateral') {
          // What the debts left free is withdrawn already in a later round.
          const parts =
            free > 0n && free < collateral ? [isLater ? collateral - free : 0n, collateral, free] : [collateral]
          for (const assets of parts) withdrawals.push(CALLS.withdrawCollateral({ market, wallet, assets }))
        } else {
          // The recipient of fees has shares only when interest is accrued.
          const isMinted = wallet === morpho.wallets.feeRecipient
          if (isMinted) withdrawals.push(CALLS.accrue(market))
          else withdrawals.push(call(wallet, 'withdraw', [0n, supplyShares, wallet, wallet]))
          if (blocked_by !== null || isMinted) {
            const amounts = getFree ? [raw(arrives)] : [raw(arrives), 1n]
            for (const assets of amounts) withdrawals.push(CALLS.withdraw({ market, wallet, assets }))
          }
        }
      }
    }
    return [...repayments, ...withdrawals]
  }

  /**
   * What a wallet would send with its own money alone: what no debt holds first, then account by account, the worthiest
   * first, and twice, what repays it, and what it pays out or the debts leave free.
   */
  async function listOwnTransactions(
    wallet: Address,
    rows: readonly WireRow[],
    getFree: (row: WireRow) => bigint,
  ): Promise<Transaction[]> {
    const accounts = [...groupBy(rows, ({ position }) => `${position?.['family']} ${position?.['market_id']}`).values()]
    const isOwing = (account: readonly WireRow[]) => account.some(({ kind }) => kind === 'borrowed')
    const getWorth = (account: readonly WireRow[]) =>
      Math.max(...account.map(({ book }) => Math.abs(Number(book.usd ?? 0))))
    const owing = accounts.filter(isOwing).sort((a, b) => getWorth(b) - getWorth(a))
    const rounds: Transaction[] = []
    for (const isLater of [false, true])
      for (const account of owing) rounds.push(...(await listTransactions(wallet, account, getFree, isLater)))
    const free = accounts.filter((account) => !isOwing(account)).flat()
    return [...(await listTransactions(wallet, free)), ...rounds]
  }

  /** By how much the balances of the wallet and of the bank grow if the transactions are sent, in one block of that time. */
  async function bring(
    transactions: readonly Transaction[],
    tokens: readonly Address[],
    wallet: Address,
    timeSec: bigint,
  ) {
    const balances = (owner: Address) =>
      Promise.all(
        tokens.map((address) =>
          address === zeroAddress
            ? devnet.client.getBalance({ address: owner })
            : devnet.client.readContract({ address, abi: erc20Abi, functionName: 'balanceOf', args: [owner] }),
        ),
      )
    const snapshot = await devnet.rpc.call<Hex>('evm_snapshot')
    try {
      // A node refuses what the sender can only pay with what earlier transactions of the block bring.
      const held = await devnet.client.getBalance({ address: wallet })
      await devnet.rpc.call('anvil_setBalance', wallet, toHex(held + 10n ** 24n))
      const before = await Promise.all([balances(wallet), balances(BANK)])
      await devnet.rpc.call('evm_setBlockGasLimit', toHex(BLOCK_GAS))
      await devnet.rpc.call('evm_setNextBlockTimestamp', toHex(timeSec))
      const receipts = await devnet.send(transactions, { mayRevert: true })
      expect(new Set(receipts.map(({ blockNumber }) => blockNumber)).size).toBeLessThanOrEqual(1)
      const after = await Promise.all([balances(wallet), balances(BANK)])
      return after.map((list, who) => list.map((value, index) => value - (before[who]?.[index] ?? 0n)))
    } finally {
      await devnet.rpc.call('evm_revert', snapshot)
    }
  }
  const { manager, factory, voter } = slipstream
  const row = { manager, factory, voter, startBlock: 0, code: 'aerodrome_slipstream' }
  const forked = {
    manager: pancakeswap.manager,
    factory: pancakeswap.factory,
    startBlock: 0,
    code: 'pancakeswap_v3',
    custodians: [{ kind: 'masterchef', address: farm.masterChef, startBlock: 0 }],
  }
  return {
    devnet,
    /** Asks the routes of portfolios with all families, by default over the devnet itself. */
    createExits: (
      client: FinanceClient = lister.client,
      { clock = createPatientClock() as Clock, seen = (_: Holdings): void => {} } = {},
    ) =>
      createPortfolio([client], {
        db: database.db,
        history: lister.history,
        clock,
        seen,
        more: [UNISWAP_V4, SLIPSTREAM],
        deployments: { slipstream: [row], uniswapV3: [DEPLOYMENT, forked] },
      }),
    aave,
    morpho,
    wallets,
    /** Wallets with a past of their own. */
    named: [...Object.values(aave.wallets), ...Object.values(morpho.wallets), pancakeswap.owner, slipstream.owner],
    lister,
    markets,
    drain,
    listTransactions,
    listOwnTransactions,
    bring,
    async close() {
      await lister.close()
      await database.close()
      await devnet.stop()
    },
  }
}
