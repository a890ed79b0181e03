import { type Address, encodeAbiParameters, encodeFunctionData, type Hex, keccak256, maxUint256, parseAbi } from 'viem'
import { BANK, TOKENS, toWalletAddress } from './addresses.ts'
import { ownCreationCode, packageCreationCode } from './artifacts.ts'
import type { Devnet } from './mod.ts'
import { encodeAddresses, type Placing, placeFront, placePeriphery, setNextId } from './pancakeswap_v3/periphery.ts'
import { placeContractsAt } from './place.ts'
import { amounts, usdToRaw } from './scenario.ts'
import { rangeAround } from './ticks.ts'
import type { Transaction } from './transaction.ts'
import { MANAGER_ABI, mintCall, type Pool, squareRoot, swapCall } from './uniswap_v3_calls.ts'

export const GAUGE_ABI = parseAbi([
  'function deposit(uint256 tokenId)',
  'function withdraw(uint256 tokenId)',
  'function getReward(uint256 tokenId)',
  'function earned(address wallet, uint256 tokenId) returns (uint256)',
  'function decreaseStakedLiquidity(uint256 tokenId, uint128 liquidity, uint256, uint256, uint256)',
])
const ABI = parseAbi([
  'function approve(address spender, uint256 value)',
  'function createPool(address token0, address token1, int24 tickSpacing, uint24 fee, uint160 sqrtPriceX96)',
  'function getPool(address tokenA, address tokenB, int24 tickSpacing) view returns (address)',
  'function slot0() view returns (uint160 sqrtPriceX96, int24 tick, uint16, uint16, uint16, bool)',
  'function gauges(address pool) view returns (address)',
  'function createGauge(address gaugeFactory, address factory, address pool)',
  'function setPenalty(address pool, uint256 rate, uint256 minStakeTime)',
  'function notifyReward(address gauge, uint256 amount, uint256 duration)',
  'function mint(address to, uint256 value)',
])
const POOL_CODE = '@pancakeswap/v3-core/artifacts/contracts/PancakeV3Pool.sol/PancakeV3Pool.json'

const FACTORY = toWalletAddress('slipstream factory')
const MANAGER = toWalletAddress('slipstream manager')
const ROUTER = toWalletAddress('slipstream router')
const VOTER = toWalletAddress('slipstream voter')
const GAUGE_FACTORY = toWalletAddress('slipstream gauge factory')
const CREATION_CODE = toWalletAddress('slipstream pool creation code')
const REWARD = toWalletAddress('slipstream reward')
const REWARD_FEED = toWalletAddress('slipstream reward feed')
/** US dollars of the reward when the devnet starts, 8 decimals. */
const REWARD_USD = 120_000_000n
/** What the gauge pays within a week. */
export const PERIOD_SEC = 7 * 86_400
const PERIOD_REWARD = 7_000n * 10n ** 18n

const TICK_SPACING = 100
/** Hundredths of a basis point; no pool is named by it. */
const FEE = 400

/** Stand-ins of Slipstream on a devnet, with positions of one owner. */
export interface SlipstreamDevnet {
  readonly factory: Address
  readonly manager: Address
  readonly voter: Address
  readonly pool: Pool
  readonly gauge: Address
  readonly reward: Address
  /** Chainlink aggregator of the reward against USD, 8 decimals. */
  readonly rewardFeed: Address
  readonly owner: Address
  /** In the order of their ids: in range, wider, and above the price; none is staked. */
  readonly tokenIds: readonly [bigint, bigint, bigint]
  /** Stakes a position of its owner's in a gauge, by default that of the pool. */
  stake(owner: Address, tokenId: bigint, gauge?: Address): readonly Transaction[]
  /** Takes a position out of the gauge, with its reward. */
  unstake(owner: Address, tokenId: bigint): Transaction
  claim(owner: Address, tokenId: bigint): Transaction
  /** Takes liquidity from a staked position, as gauges of the first generation can. */
  decreaseStaked(owner: Address, tokenId: bigint, liquidity: bigint): Transaction
  /** Makes the gauge pay for a period, beside what is left of the one before. */
  pay(): readonly Transaction[]
  /** Sets the part of a reward, in basis points, that is lost within so many seconds after staking. */
  setPenalty(bps: number, sec: number): Transaction
  /** Mints a position around the price to each, so many ticks to both sides; returns their ids. */
  mintMany(requests: readonly { readonly recipient: Address; readonly ticks: number }[]): Promise<readonly bigint[]>
  /** Swaps so much of a token. */
  trade(tokenIn: Address, amountIn: bigint): Promise<void>
  /** Makes a pool of other tokens, its gauge, and a position of the owner's in it. */
  addPool(tokens: readonly [Address, Address]): Promise<{
    readonly pool: Pool
    readonly gauge: Address
    readonly tokenId: bigint
  }>
}

/**
 * Places the contracts, mints positions in a pool of USDC and WETH, begins a period of its gauge's, and swaps both ways.
 * Ids begin with `firstId`, so that they may be other ones than those of Uniswap's manager.
 */
export async function addSlipstream(devnet: Devnet, { firstId = 1n } = {}): Promise<SlipstreamDevnet> {
  const { rpc, send } = devnet
  await placeContracts(devnet)
  await setNextId(devnet, MANAGER, firstId)
  const { usdc, weth } = TOKENS
  const owner = toWalletAddress('slipstream owner')
  const toGaugeCall = (
    from: Address,
    gauge: Address,
    functionName: 'deposit' | 'withdraw' | 'getReward',
    id: bigint,
  ) => ({
    from,
    to: gauge,
    data: encodeFunctionData({ abi: GAUGE_ABI, functionName, args: [id] }),
  })
  const swap = (pool: Pool, tokenIn: Address, amountIn: bigint): Transaction => ({
    ...swapCall({ pool: { ...pool, fee: TICK_SPACING }, tokenIn, amountIn }),
    to: ROUTER,
  })
  const mint = (pool: Pool, range: ReturnType<typeof rangeAround>, recipient = owner): Transaction => ({
    ...mintCall({ pool: { ...pool, fee: TICK_SPACING }, ...range, ...amounts(pool, 1_000), recipient }),
    to: MANAGER,
  })
  const { pool, gauge } = await createPool(devnet, [usdc.address, weth.address])
  const pay = (): readonly Transaction[] => [
    call(REWARD, { functionName: 'mint', args: [VOTER, PERIOD_REWARD] }),
    call(VOTER, { functionName: 'notifyReward', args: [gauge, PERIOD_REWARD, BigInt(PERIOD_SEC)] }),
  ]
  const ranges = [rangeAround(pool, -600, 600), rangeAround(pool, -6_000, 6_000), rangeAround(pool, 1_200, 2_400)]
  await send([
    ...ranges.map((range) => mint(pool, range)),
    ...pay(),
    swap(pool, usdc.address, usdToRaw(usdc, 60)),
    swap(pool, weth.address, usdToRaw(weth, 40)),
  ])
  let nextId = firstId + 3n
  return {
    factory: FACTORY,
    manager: MANAGER,
    voter: VOTER,
    pool,
    gauge,
    reward: REWARD,
    rewardFeed: REWARD_FEED,
    owner,
    tokenIds: [firstId, firstId + 1n, firstId + 2n],
    stake: (from, tokenId, at = gauge) => [
      {
        from,
        to: MANAGER,
        data: encodeFunctionData({ abi: ABI, functionName: 'approve', args: [at, tokenId] }),
      },
      toGaugeCall(from, at, 'deposit', tokenId),
    ],
    unstake: (from, tokenId) => toGaugeCall(from, gauge, 'withdraw', tokenId),
    claim: (from, tokenId) => toGaugeCall(from, gauge, 'getReward', tokenId),
    decreaseStaked: (from, tokenId, liquidity) => ({
      from,
      to: gauge,
      data: encodeFunctionData({
        abi: GAUGE_ABI,
        functionName: 'decreaseStakedLiquidity',
        args: [tokenId, liquidity, 0n, 0n, maxUint256],
      }),
    }),
    pay,
    setPenalty: (bps, sec) =>
      call(GAUGE_FACTORY, { functionName: 'setPenalty', args: [pool.address, BigInt(bps), BigInt(sec)] }),
    async mintMany(requests) {
      await send(requests.map(({ recipient, ticks }) => mint(pool, rangeAround(pool, -ticks, ticks), recipient)))
      return requests.map(() => nextId++)
    },
    trade: async (tokenIn, amountIn) => {
      await send([swap(pool, tokenIn, amountIn)])
    },
    async addPool(tokens) {
      const more = await createPool({ rpc, send, client: devnet.client }, tokens)
      await send([mint(more.pool, rangeAround(more.pool, -600, 600))])
      return { ...more, tokenId: nextId++ }
    },
  }
}

/** The first id of Slipstream's manager in demos: an id of one manager alone needs no address beside it. */
const DEMO_ID = 600_001n

/**
 * Adds Slipstream and stakes its owner's first position; `row` has them for a `CHAINS_FILE`. The bank's nonce stays, so
 * that what it deploys later has the addresses that it has without.
 */
export async function addStakedSlipstream(devnet: Devnet) {
  const nonce = await devnet.rpc.call('eth_getTransactionCount', BANK, 'latest')
  const slipstream = await addSlipstream(devnet, { firstId: DEMO_ID })
  const { owner, tokenIds, manager, factory, voter, pool } = slipstream
  await devnet.send(slipstream.stake(owner, tokenIds[0]))
  await slipstream.trade(pool.token0, usdToRaw(TOKENS.usdc, 30))
  await devnet.rpc.call('anvil_setNonce', BANK, nonce)
  const code = 'aerodrome_slipstream'
  const row = { slipstream: [{ manager, factory, voter, code }] }
  return { ...slipstream, row, usdFeeds: { [slipstream.reward]: slipstream.rewardFeed } }
}

async function placeContracts({ rpc, send }: Placing): Promise<void> {
  const poolCode = await packageCreationCode(POOL_CODE)
  await rpc.batch([{ method: 'anvil_setCode', params: [CREATION_CODE, poolCode] }])
  const token = encodeAbiParameters(
    [{ type: 'string' }, { type: 'string' }, { type: 'uint8' }],
    ['Aerodrome', 'AERO', 18],
  )
  const feed = encodeAbiParameters(
    [{ type: 'uint8' }, { type: 'string' }, { type: 'int256' }],
    [8, 'AERO / USD', REWARD_USD],
  )
  const placements = [
    { address: REWARD, creationCode: ownCreationCode('Token', token) },
    { address: REWARD_FEED, creationCode: ownCreationCode('Feed', feed) },
    { address: VOTER, creationCode: ownCreationCode('SlipstreamVoter') },
    {
      address: FACTORY,
      creationCode: ownCreationCode('SlipstreamFactory', encodeAddresses(CREATION_CODE, VOTER)),
    },
    {
      address: GAUGE_FACTORY,
      creationCode: ownCreationCode('SlipstreamGaugeFactory', encodeAddresses(MANAGER, REWARD)),
    },
  ]
  await placeContractsAt({ rpc, send }, { placements, owner: BANK })
  const initCodeHash = keccak256(poolCode)
  await placePeriphery({ rpc, send }, { deployer: FACTORY, initCodeHash, manager: MANAGER, router: ROUTER })
  await placeFront({ rpc, send }, MANAGER, (target) =>
    ownCreationCode('SlipstreamManager', encodeAddresses(target, FACTORY)),
  )
}

/** Creates a pool of two tokens at their prices in US dollars, and its gauge. */
async function createPool(
  { rpc, send, client }: Placing & Pick<Devnet, 'client'>,
  [tokenA, tokenB]: readonly [Address, Address],
): Promise<{ readonly pool: Pool; readonly gauge: Address }> {
  const [token0, token1] = BigInt(tokenA) < BigInt(tokenB) ? [tokenA, tokenB] : [tokenB, tokenA]
  const named = { token0, token1, fee: FEE, tickSpacing: TICK_SPACING, startTick: 0 }
  const { amount0, amount1 } = amounts({ ...named, address: FACTORY }, 1_000_000)
  const sqrtPriceX96 = squareRoot((amount1 << 192n) / amount0)
  const approve = (token: Address, spender: Address) =>
    call(token, { functionName: 'approve', args: [spender, maxUint256] })
  await send([
    ...[token0, token1].flatMap((token) => [approve(token, MANAGER), approve(token, ROUTER)]),
    call(FACTORY, { functionName: 'createPool', args: [token0, token1, TICK_SPACING, FEE, sqrtPriceX96] }),
  ])
  const address = await client.readContract({
    address: FACTORY,
    abi: ABI,
    functionName: 'getPool',
    args: [token0, token1, TICK_SPACING],
  })
  await placeFront({ rpc, send }, address, (target) =>
    ownCreationCode('SlipstreamPool', encodeAddresses(target, MANAGER)),
  )
  await send([call(VOTER, { functionName: 'createGauge', args: [GAUGE_FACTORY, FACTORY, address] })])
  const [, startTick] = await client.readContract({ address, abi: ABI, functionName: 'slot0' })
  const gauge = await client.readContract({ address: VOTER, abi: ABI, functionName: 'gauges', args: [address] })
  return { pool: { ...named, address, startTick }, gauge }
}

/** A call of the bank's. */
function call(to: Address, encoded: { readonly functionName: string; readonly args: readonly unknown[] }): Transaction {
  return { from: BANK, to, data: encodeFunctionData({ abi: ABI, ...encoded } as never) as Hex }
}

/** Reads a position's liquidity. */
export async function readLiquidity({ client }: Pick<Devnet, 'client'>, tokenId: bigint): Promise<bigint> {
  const words = await client.readContract({
    address: MANAGER,
    abi: MANAGER_ABI,
    functionName: 'positions',
    args: [tokenId],
  })
  return words[7]
}
