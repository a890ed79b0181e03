import { type Address, encodeFunctionData, type Hex, parseAbi, zeroAddress } from 'viem'
import { BANK, type DevnetToken, MULTICALL3, TOKENS, toWalletAddress } from '../addresses.ts'
import { createRandom, type Random } from '../random.ts'
import { usdToRaw } from '../scenario.ts'
import type { Transaction } from '../transaction.ts'
import { ADAPTIVE_CURVE, CALLS, MORPHO, type MorphoMarket, toMorphoMarket } from './calls.ts'
import { MORPHO_WALLETS, type MorphoScenario } from './scenario.ts'
import { approveCall, deployOracle, type MorphoBuilder, oraclePrice, percent, setOracleCall, warp } from './tools.ts'

const { weth, usdc, dai, wbtc, usdt } = TOKENS

const ACTIONS_PER_ROUND = 60
/** Seconds that pass between two rounds; none at all, and longer than the model's rate can move, among them. */
const PAUSES_SEC = [0, 12, 3_600, 86_400, 30 * 86_400] as const

interface RandomMarket {
  readonly market: MorphoMarket
  readonly loan: DevnetToken
  readonly collateral: DevnetToken
}

/** Wallets and markets that are acted on at random, a round at a time. */
export interface MorphoRandom {
  readonly markets: readonly MorphoMarket[]
  /** The recipient of fees is one of them. */
  readonly wallets: readonly Address[]
  /** Tries many random actions in one block, those that the contract allows happen, then lets time pass. */
  round(): Promise<void>
}

const ABI = parseAbi([
  'struct Call { address target; bool allowFailure; bytes callData; }',
  'struct Result { bool success; bytes returnData; }',
  'function aggregate3(Call[] calls) payable returns (Result[] results)',
  'function transfer(address to, uint256 value)',
])

/** How many wallets act with which seed. */
export interface RandomOptions {
  readonly seed: number
  /** @default 6 */
  readonly count?: number
}

/** Creates the markets and wallets of `seed`. Multicall3 acts for all of them, so that an action may fail alone. */
export async function startRandom(
  builder: MorphoBuilder,
  { seed, count = 6, scenario }: RandomOptions & { readonly scenario: MorphoScenario },
): Promise<MorphoRandom> {
  const { rpc, send } = builder
  const random = createRandom(seed)
  const { linearIrm } = scenario
  const pairs = [
    [usdc, weth],
    [usdc, wbtc],
    [weth, wbtc],
    [dai, weth],
    [usdt, wbtc],
    [wbtc, dai],
  ] as const
  const markets: RandomMarket[] = []
  for (const [index, [loan, collateral]] of pairs.entries()) {
    const oracle = await deployOracle(builder, oraclePrice(loan, collateral))
    const tokens = { loanToken: loan.address, collateralToken: collateral.address }
    const irm = index === 3 ? linearIrm : ADAPTIVE_CURVE
    const lltv = percent(index % 2 === 0 ? 86n : 77n)
    markets.push({ market: toMorphoMarket({ ...tokens, oracle, irm, lltv }), loan, collateral })
  }
  // Idle, like the scenario's, but of another token, because a market is its parameters.
  const idle = { collateralToken: zeroAddress, oracle: zeroAddress, irm: zeroAddress, lltv: 0n }
  markets.push({ market: toMorphoMarket({ loanToken: weth.address, ...idle }), loan: weth, collateral: usdc })

  const wallets = Array.from({ length: count }, (_, index) => toWalletAddress(`morpho random ${seed} ${index}`))
  await send([
    ...markets.map(({ market }) => CALLS.createMarket(market)),
    ...markets.slice(0, 4).map(({ market }, index) => CALLS.setFee(market, percent(BigInt(index) * 8n + 1n))),
    ...wallets.map((wallet) => CALLS.authorize(wallet, MULTICALL3)),
    CALLS.authorize(MORPHO_WALLETS.feeRecipient, MULTICALL3),
    ...Object.values(TOKENS).map((token) => ({
      from: BANK,
      to: token.address,
      data: encodeFunctionData({ abi: ABI, functionName: 'transfer', args: [MULTICALL3, usdToRaw(token, 1e9)] }),
    })),
    throughMulticall(
      Object.values(TOKENS).map(({ address }) => ({ to: address, data: approveCall(address).data })),
      false,
    ),
    ...markets.map(({ market, loan }) =>
      CALLS.supply({ market, wallet: random.pick(wallets), assets: usdToRaw(loan, 50_000) }),
    ),
  ])
  const all = [...wallets, MORPHO_WALLETS.feeRecipient]

  return {
    markets: markets.map(({ market }) => market),
    wallets: all,
    async round() {
      await send(markets.slice(0, -1).flatMap((each) => randomPrice(random, each)))
      const actions = Array.from({ length: ACTIONS_PER_ROUND }, () => randomAction(random, { markets, wallets: all }))
      await send([throughMulticall(actions, true)])
      await warp(rpc, random.pick(PAUSES_SEC) * (1 + random.below(10)) + random.below(2))
    },
  }
}

/** Prices wander by up to a fifth, so that healthy positions turn unhealthy and bad debt comes up. */
function randomPrice(random: Random, { market, loan, collateral }: RandomMarket): Transaction[] {
  const price = (oraclePrice(loan, collateral) * BigInt(800 + random.below(400))) / 1000n
  return random.below(3) === 0 ? [setOracleCall(market, { price })] : []
}

function randomAction(
  random: Random,
  { markets, wallets }: { readonly markets: readonly RandomMarket[]; readonly wallets: readonly Address[] },
): { readonly to: Address; readonly data: Hex } {
  const { market, loan, collateral } = random.pick(markets)
  const wallet = random.pick(wallets)
  const usd = random.pick([0.01, 900, 15_000, 40_000]) * (1 + random.below(1000) / 1000)
  const of = (token: DevnetToken) => ({ market, wallet, assets: usdToRaw(token, usd) + BigInt(random.below(3)) })
  const transactions = [
    () => CALLS.supply(of(loan)),
    () => CALLS.supplyCollateral(of(collateral)),
    () => CALLS.supplyCollateral(of(collateral)),
    () => CALLS.borrow(of(loan)),
    () => CALLS.borrow(of(loan)),
    () => CALLS.repay(of(loan)),
    () => CALLS.withdraw(of(loan)),
    () => CALLS.withdrawCollateral(of(collateral)),
    () => CALLS.liquidate(of(collateral)),
    () => CALLS.accrue(market),
  ]
  const { to = MORPHO, data } = random.pick(transactions)()
  return { to, data }
}

function throughMulticall(
  calls: readonly { readonly to: Address; readonly data: Hex }[],
  allowFailure: boolean,
): Transaction {
  const list = calls.map(({ to, data }) => ({ target: to, allowFailure, callData: data }))
  return {
    from: BANK,
    to: MULTICALL3,
    data: encodeFunctionData({ abi: ABI, functionName: 'aggregate3', args: [list] }),
  }
}
