import { type Address, decodeAbiParameters, encodeFunctionData, type Hex, keccak256, maxUint256, parseAbi } from 'viem'
import { BANK, TOKENS, toWalletAddress } from '../addresses.ts'
import { ownCreationCode, packageCreationCode } from '../artifacts.ts'
import type { Devnet } from '../mod.ts'
import { placeContractsAt } from '../place.ts'
import { amounts } from '../scenario.ts'
import { rangeAround } from '../ticks.ts'
import type { Transaction } from '../transaction.ts'
import type { Amounts } from '../uniswap_v3.ts'
import { collectCall, decreaseLiquidityCall, MANAGER_ABI, mintCall, type Pool, swapCall } from '../uniswap_v3_calls.ts'
import { encodeAddresses, placePeriphery, setNextId } from './periphery.ts'

const ABI = parseAbi([
  'function approve(address spender, uint256 value)',
  'function createPool(address tokenA, address tokenB, uint24 fee) returns (address)',
  'function getPool(address tokenA, address tokenB, uint24 fee) view returns (address)',
  'function initialize(uint160 sqrtPriceX96)',
  'function setFeeProtocol(address pool, uint32 feeProtocol0, uint32 feeProtocol1)',
  'function slot0() view returns (uint160 sqrtPriceX96, int24 tick, uint16, uint16, uint16, uint32 feeProtocol, bool)',
])
const AMOUNTS = [{ type: 'uint256' }, { type: 'uint256' }] as const
const CORE = '@pancakeswap/v3-core/artifacts/contracts'
/** A tier that Uniswap has not, in hundredths of a bip. */
const FEE = 2_500
const TICK_SPACING = 50
/** One token1 for one token0. */
const SQRT_PRICE_ONE = 2n ** 96n
/** 32 % of the fees, as PancakeSwap takes them: ten times what a byte holds. */
const FEE_PROTOCOL = 3_200

const FACTORY = toWalletAddress('pancakeswap factory')
const MANAGER = toWalletAddress('pancakeswap manager')
const ROUTER = toWalletAddress('pancakeswap router')
const DEPLOYER = toWalletAddress('pancakeswap deployer')
const CREATION_CODE = toWalletAddress('pancakeswap pool creation code')

/** PancakeSwap V3 on a devnet: its own factory and pool, with a manager that differs from Uniswap's as its own does. */
export interface PancakeswapDevnet {
  readonly factory: Address
  readonly manager: Address
  readonly pool: Pool
  /** Hash of the pools' creation code. */
  readonly initCodeHash: Hex
  /** In the order of their ids: in range, below, above, in range and partly withdrawn. */
  readonly owner: Address
  readonly tokenIds: readonly bigint[]
  /** `feeProtocol` of the pool: more than a byte holds. */
  readonly feeProtocol: number
  /** Swaps so much of a token. */
  trade(tokenIn: Address, amountIn: bigint): Promise<void>
  /** What withdrawing all its liquidity, then collecting everything, would pay: simulated from the owner. */
  staticDecrease(tokenId: bigint): Promise<Amounts>
  staticCollect(tokenId: bigint): Promise<Amounts>
}

/**
 * Places the contracts, mints positions in a pool of DAI and USDT, and swaps both ways. Ids begin with `firstId`, so that
 * they may be other ones than those of Uniswap's manager.
 */
export async function addPancakeswapV3(devnet: Devnet, { firstId = 1n } = {}): Promise<PancakeswapDevnet> {
  const { client, send } = devnet
  const poolCode = await packageCreationCode(`${CORE}/PancakeV3Pool.sol/PancakeV3Pool.json`)
  const initCodeHash = keccak256(poolCode)
  await placeContracts(devnet, { poolCode, initCodeHash })
  await setNextId(devnet, MANAGER, firstId)

  const [token0, token1] = [TOKENS.dai.address, TOKENS.usdt.address]
  const call = (to: Address, data: Hex): Transaction => ({ from: BANK, to, data })
  await send([
    ...[token0, token1].flatMap((token) =>
      [MANAGER, ROUTER].map((spender) =>
        call(token, encodeFunctionData({ abi: ABI, functionName: 'approve', args: [spender, maxUint256] })),
      ),
    ),
    call(FACTORY, encodeFunctionData({ abi: ABI, functionName: 'createPool', args: [token0, token1, FEE] })),
  ])
  const address = await client.readContract({
    address: FACTORY,
    abi: ABI,
    functionName: 'getPool',
    args: [token0, token1, FEE],
  })
  const pool: Pool = { address, token0, token1, fee: FEE, tickSpacing: TICK_SPACING, startTick: 0 }
  const setFeeProtocol = (share: number): Transaction =>
    call(FACTORY, encodeFunctionData({ abi: ABI, functionName: 'setFeeProtocol', args: [address, share, share] }))
  const owner = toWalletAddress('pancakeswap owner')
  const ranges = [rangeAround(pool, -600, 600), rangeAround(pool, -1_200, -300), rangeAround(pool, 300, 1_200)]
  const mint = (range: (typeof ranges)[number]): Transaction => ({
    ...mintCall({ pool, ...range, ...amounts(pool, 1_000), recipient: owner }),
    to: MANAGER,
  })
  const swap = (tokenIn: Address, amountIn: bigint): Transaction => ({
    ...swapCall({ pool, tokenIn, amountIn }),
    to: ROUTER,
  })
  await send([
    call(address, encodeFunctionData({ abi: ABI, functionName: 'initialize', args: [SQRT_PRICE_ONE] })),
    // The manager is Uniswap's, and reads a byte where PancakeSwap's pool has a larger number.
    setFeeProtocol(0),
    ...[...ranges, rangeAround(pool, -100, 200)].map(mint),
    setFeeProtocol(FEE_PROTOCOL),
    swap(token0, 20_000_000n),
    swap(token1, 31_000_000n),
  ])
  const tokenIds = [firstId, firstId + 1n, firstId + 2n, firstId + 3n] as const
  const readLiquidity = async (tokenId: bigint): Promise<bigint> => {
    const found = await client.readContract({
      address: MANAGER,
      abi: MANAGER_ABI,
      functionName: 'positions',
      args: [tokenId],
    })
    return found[7]
  }
  await send([
    {
      ...decreaseLiquidityCall({ tokenId: tokenIds[3], owner, liquidity: (await readLiquidity(tokenIds[3])) / 3n }),
      to: MANAGER,
    },
    swap(token0, 7_000_000n),
  ])
  const [, , , , , feeProtocol] = await client.readContract({ address, abi: ABI, functionName: 'slot0' })
  const simulate = async (request: Transaction): Promise<Amounts> => {
    const { data } = await client.call({ account: owner, to: MANAGER, data: request.data ?? '0x' })
    const [amount0, amount1] = decodeAbiParameters(AMOUNTS, data ?? '0x')
    return { amount0, amount1 }
  }
  return {
    factory: FACTORY,
    manager: MANAGER,
    pool,
    initCodeHash,
    owner,
    tokenIds,
    feeProtocol,
    trade: async (tokenIn, amountIn) => {
      await send([swap(tokenIn, amountIn)])
    },
    staticDecrease: async (tokenId) =>
      simulate(decreaseLiquidityCall({ tokenId, owner, liquidity: await readLiquidity(tokenId) })),
    staticCollect: (tokenId) => simulate(collectCall({ tokenId, owner })),
  }
}

async function placeContracts(
  { rpc, send }: Devnet,
  { poolCode, initCodeHash }: { readonly poolCode: Hex; readonly initCodeHash: Hex },
): Promise<void> {
  await rpc.batch([{ method: 'anvil_setCode', params: [CREATION_CODE, poolCode] }])
  const factoryPath = `${CORE}/PancakeV3Factory.sol/PancakeV3Factory.json`
  const placements = [
    { address: DEPLOYER, creationCode: ownCreationCode('PoolDeployer', encodeAddresses(CREATION_CODE)) },
    { address: FACTORY, creationCode: await packageCreationCode(factoryPath, { args: encodeAddresses(DEPLOYER) }) },
  ]
  await placeContractsAt({ rpc, send }, { placements, owner: BANK })
  await placePeriphery({ rpc, send }, { deployer: DEPLOYER, initCodeHash, manager: MANAGER, router: ROUTER })
}
