import { type Address, concatHex, encodeFunctionData, erc20Abi, type Hex, maxUint256, parseAbi, toHex } from 'viem'
import { BANK, UNISWAP_V3 } from './addresses.ts'
import type { Transaction } from './transaction.ts'

const MAX_UINT128 = 2n ** 128n - 1n

export const MANAGER_ABI = parseAbi([
  'struct MintParams { address token0; address token1; uint24 fee; int24 tickLower; int24 tickUpper; uint256 amount0Desired; uint256 amount1Desired; uint256 amount0Min; uint256 amount1Min; address recipient; uint256 deadline; }',
  'struct IncreaseParams { uint256 tokenId; uint256 amount0Desired; uint256 amount1Desired; uint256 amount0Min; uint256 amount1Min; uint256 deadline; }',
  'struct DecreaseParams { uint256 tokenId; uint128 liquidity; uint256 amount0Min; uint256 amount1Min; uint256 deadline; }',
  'struct CollectParams { uint256 tokenId; address recipient; uint128 amount0Max; uint128 amount1Max; }',
  'function createAndInitializePoolIfNecessary(address token0, address token1, uint24 fee, uint160 sqrtPriceX96) payable returns (address pool)',
  'function mint(MintParams params) payable returns (uint256 tokenId, uint128 liquidity, uint256 amount0, uint256 amount1)',
  'function increaseLiquidity(IncreaseParams params) payable returns (uint128 liquidity, uint256 amount0, uint256 amount1)',
  'function decreaseLiquidity(DecreaseParams params) payable returns (uint256 amount0, uint256 amount1)',
  'function collect(CollectParams params) payable returns (uint256 amount0, uint256 amount1)',
  'function burn(uint256 tokenId) payable',
  'function multicall(bytes[] data) payable returns (bytes[] results)',
  'function safeTransferFrom(address from, address to, uint256 tokenId)',
  'function ownerOf(uint256 tokenId) view returns (address)',
  'function balanceOf(address owner) view returns (uint256)',
  'function tokenOfOwnerByIndex(address owner, uint256 index) view returns (uint256)',
  'function tokenURI(uint256 tokenId) view returns (string)',
  'function positions(uint256 tokenId) view returns (uint96 nonce, address operator, address token0, address token1, uint24 fee, int24 tickLower, int24 tickUpper, uint128 liquidity, uint256 feeGrowthInside0LastX128, uint256 feeGrowthInside1LastX128, uint128 tokensOwed0, uint128 tokensOwed1)',
  'event IncreaseLiquidity(uint256 indexed tokenId, uint128 liquidity, uint256 amount0, uint256 amount1)',
])

const ROUTER_ABI = parseAbi([
  'struct SwapParams { address tokenIn; address tokenOut; uint24 fee; address recipient; uint256 deadline; uint256 amountIn; uint256 amountOutMinimum; uint160 sqrtPriceLimitX96; }',
  'function exactInputSingle(SwapParams params) payable returns (uint256 amountOut)',
  'struct PathParams { bytes path; address recipient; uint256 deadline; uint256 amountIn; uint256 amountOutMinimum; }',
  'function exactInput(PathParams params) payable returns (uint256 amountOut)',
])

export const FACTORY_ABI = parseAbi([
  'function getPool(address tokenA, address tokenB, uint24 fee) view returns (address)',
  'function owner() view returns (address)',
])

export const POOL_ABI = parseAbi([
  'function slot0() view returns (uint160 sqrtPriceX96, int24 tick, uint16 observationIndex, uint16 observationCardinality, uint16 observationCardinalityNext, uint8 feeProtocol, bool unlocked)',
  'function tickSpacing() view returns (int24)',
])

export interface Pool {
  readonly address: Address
  readonly token0: Address
  readonly token1: Address
  /** Hundredths of a bip. */
  readonly fee: number
  readonly tickSpacing: number
  /** Tick it was created at. */
  readonly startTick: number
}

/** `amountA` raw units of `tokenA` are worth `amountB` raw units of `tokenB`. */
export interface PoolRequest {
  readonly tokenA: Address
  readonly tokenB: Address
  readonly fee: number
  readonly amountA: bigint
  readonly amountB: bigint
}

/** Amounts are the most that the bank puts in, in raw units; the range decides how much of each is used. */
export interface MintRequest {
  readonly pool: Pool
  readonly tickLower: number
  readonly tickUpper: number
  readonly amount0: bigint
  readonly amount1: bigint
  readonly recipient: Address
}

export interface SwapRequest {
  readonly pool: Pool
  readonly tokenIn: Address
  readonly amountIn: bigint
}

export interface LiquidityChange {
  readonly tokenId: bigint
  readonly owner: Address
  readonly liquidity: bigint
}

export function createPoolCall({ tokenA, tokenB, fee, amountA, amountB }: PoolRequest): Transaction {
  const inOrder = BigInt(tokenA) < BigInt(tokenB)
  const [token0, token1] = inOrder ? [tokenA, tokenB] : [tokenB, tokenA]
  const [amount0, amount1] = inOrder ? [amountA, amountB] : [amountB, amountA]
  const sqrtPriceX96 = squareRoot((amount1 << 192n) / amount0)
  return managerCall(
    BANK,
    encodeFunctionData({
      abi: MANAGER_ABI,
      functionName: 'createAndInitializePoolIfNecessary',
      args: [token0, token1, fee, sqrtPriceX96],
    }),
  )
}

export function mintCall({ pool, tickLower, tickUpper, amount0, amount1, recipient }: MintRequest): Transaction {
  const { token0, token1, fee } = pool
  const range = { token0, token1, fee, tickLower, tickUpper }
  const amounts = { amount0Desired: amount0, amount1Desired: amount1, amount0Min: 0n, amount1Min: 0n }
  const params = { ...range, ...amounts, recipient, deadline: maxUint256 }
  return managerCall(BANK, encodeFunctionData({ abi: MANAGER_ABI, functionName: 'mint', args: [params] }))
}

export function increaseLiquidityCall({
  tokenId,
  amount0,
  amount1,
}: {
  readonly tokenId: bigint
  readonly amount0: bigint
  readonly amount1: bigint
}): Transaction {
  const amounts = { amount0Desired: amount0, amount1Desired: amount1, amount0Min: 0n, amount1Min: 0n }
  const params = { tokenId, ...amounts, deadline: maxUint256 }
  return managerCall(BANK, encodeFunctionData({ abi: MANAGER_ABI, functionName: 'increaseLiquidity', args: [params] }))
}

export function decreaseLiquidityCall({ tokenId, owner, liquidity }: LiquidityChange): Transaction {
  const params = { tokenId, liquidity, amount0Min: 0n, amount1Min: 0n, deadline: maxUint256 }
  return managerCall(owner, encodeFunctionData({ abi: MANAGER_ABI, functionName: 'decreaseLiquidity', args: [params] }))
}

/** Collects all that is owed, or at most `amount0Max` and `amount1Max`; for recipient 0 the manager keeps it. */
export function collectCall({
  tokenId,
  owner,
  recipient = owner,
  amount0Max = MAX_UINT128,
  amount1Max = MAX_UINT128,
}: {
  readonly tokenId: bigint
  readonly owner: Address
  readonly recipient?: Address
  readonly amount0Max?: bigint
  readonly amount1Max?: bigint
}): Transaction {
  const params = { tokenId, recipient, amount0Max, amount1Max }
  return managerCall(owner, encodeFunctionData({ abi: MANAGER_ABI, functionName: 'collect', args: [params] }))
}

/** Several calls of one sender to the manager in one transaction. */
export function multicall(calls: readonly [Transaction, ...Transaction[]]): Transaction {
  const datas = calls.map(({ data }) => data)
  const data = encodeFunctionData({ abi: MANAGER_ABI, functionName: 'multicall', args: [datas] })
  return managerCall(calls[0].from, data)
}

export function burnCall({ tokenId, owner }: { readonly tokenId: bigint; readonly owner: Address }): Transaction {
  return managerCall(owner, encodeFunctionData({ abi: MANAGER_ABI, functionName: 'burn', args: [tokenId] }))
}

export function transferCall(transfer: {
  readonly tokenId: bigint
  readonly owner: Address
  readonly to: Address
}): Transaction {
  const args = [transfer.owner, transfer.to, transfer.tokenId] as const
  return managerCall(transfer.owner, encodeFunctionData({ abi: MANAGER_ABI, functionName: 'safeTransferFrom', args }))
}

export function swapCall({ pool, tokenIn, amountIn }: SwapRequest): Transaction {
  const tokenOut = tokenIn === pool.token0 ? pool.token1 : pool.token0
  const amounts = { amountIn, amountOutMinimum: 0n, sqrtPriceLimitX96: 0n }
  const params = { tokenIn, tokenOut, fee: pool.fee, recipient: BANK, deadline: maxUint256, ...amounts }
  const data = encodeFunctionData({ abi: ROUTER_ABI, functionName: 'exactInputSingle', args: [params] })
  return { from: BANK, to: UNISWAP_V3.router, data }
}

/** What an owner sends to sell tokens for others in pools, one after the other. */
export function sellCalls(sale: {
  readonly owner: Address
  readonly token: Address
  readonly amount: bigint
  readonly pools: readonly Pool[]
}): Transaction[] {
  const { owner: from, token, amount, pools } = sale
  let last = token
  const path = pools.reduce<Hex>((start, { token0, token1, fee }) => {
    last = last === token0 ? token1 : token0
    return concatHex([start, toHex(fee, { size: 3 }), last])
  }, token)
  const params = { path, recipient: from, deadline: maxUint256, amountIn: amount, amountOutMinimum: 0n }
  const approve = encodeFunctionData({ abi: erc20Abi, functionName: 'approve', args: [UNISWAP_V3.router, amount] })
  const data = encodeFunctionData({ abi: ROUTER_ABI, functionName: 'exactInput', args: [params] })
  return [
    { from, to: token, data: approve },
    { from, to: UNISWAP_V3.router, data },
  ]
}

function managerCall(from: Address, data: Hex): Transaction {
  return { from, to: UNISWAP_V3.manager, data }
}

/** Largest integer whose square is not above `value`, by Newton's method. */
export function squareRoot(value: bigint): bigint {
  let root = 1n << BigInt(Math.ceil(value.toString(2).length / 2))
  for (;;) {
    const next = (root + value / root) >> 1n
    if (next >= root) return root
    root = next
  }
}
