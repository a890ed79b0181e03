import { parseAbi } from 'viem'

const KEY = 'struct PoolKey { address currency0; address currency1; uint24 fee; int24 tickSpacing; address hooks; }'

export const POOL_MANAGER_ABI = parseAbi([
  KEY,
  'function initialize(PoolKey key, uint160 sqrtPriceX96) returns (int24 tick)',
  'function setProtocolFeeController(address controller)',
  'function setProtocolFee(PoolKey key, uint24 newProtocolFee)',
  'event ModifyLiquidity(bytes32 indexed id, address indexed sender, int24 tickLower, int24 tickUpper, int256 liquidityDelta, bytes32 salt)',
  'event Swap(bytes32 indexed id, address indexed sender, int128 amount0, int128 amount1, uint160 sqrtPriceX96, uint128 liquidity, int24 tick, uint24 fee)',
])

export const POSITION_MANAGER_ABI = parseAbi([
  KEY,
  'function modifyLiquidities(bytes unlockData, uint256 deadline) payable',
  'function multicall(bytes[] data) payable returns (bytes[] results)',
  'function transferFrom(address from, address to, uint256 id)',
  'function approve(address spender, uint256 id)',
  'function setApprovalForAll(address operator, bool approved)',
  'function ownerOf(uint256 id) view returns (address)',
  'function balanceOf(address owner) view returns (uint256)',
  'function nextTokenId() view returns (uint256)',
  'function positionInfo(uint256 tokenId) view returns (uint256)',
  'function getPositionLiquidity(uint256 tokenId) view returns (uint128)',
  'function getPoolAndPositionInfo(uint256 tokenId) view returns (PoolKey key, uint256 info)',
])

export const STATE_VIEW_ABI = parseAbi([
  'function getSlot0(bytes32 poolId) view returns (uint160 sqrtPriceX96, int24 tick, uint24 protocolFee, uint24 lpFee)',
  'function getLiquidity(bytes32 poolId) view returns (uint128)',
  'function getFeeGrowthInside(bytes32 poolId, int24 tickLower, int24 tickUpper) view returns (uint256 feeGrowthInside0X128, uint256 feeGrowthInside1X128)',
  'function getPositionInfo(bytes32 poolId, address owner, int24 tickLower, int24 tickUpper, bytes32 salt) view returns (uint128 liquidity, uint256 feeGrowthInside0LastX128, uint256 feeGrowthInside1LastX128)',
])

export const SWAP_ROUTER_ABI = parseAbi([
  KEY,
  'struct SwapParams { bool zeroForOne; int256 amountSpecified; uint160 sqrtPriceLimitX96; }',
  'struct TestSettings { bool takeClaims; bool settleUsingBurn; }',
  'function swap(PoolKey key, SwapParams params, TestSettings testSettings, bytes hookData) payable returns (int256 delta)',
])

export const DONATE_ROUTER_ABI = parseAbi([
  KEY,
  'function donate(PoolKey key, uint256 amount0, uint256 amount1, bytes hookData) payable returns (int256 delta)',
])

export const DYNAMIC_FEE_HOOK_ABI = parseAbi(['function setManager(address manager)', 'function setFee(uint24 fee)'])
