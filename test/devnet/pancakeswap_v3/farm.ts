import { type Address, encodeAbiParameters, encodeFunctionData, type Hex, parseAbi } from 'viem'
import { BANK, TOKENS, toWalletAddress } from '../addresses.ts'
import { ownCreationCode, packageCreationCode } from '../artifacts.ts'
import type { Devnet } from '../mod.ts'
import { placeContractsAt } from '../place.ts'
import type { Transaction } from '../transaction.ts'
import type { PancakeswapDevnet } from './mod.ts'

export const FARM_ABI = parseAbi([
  'function add(uint256 allocPoint, address pool, bool withUpdate)',
  'function collect((uint256 tokenId, address recipient, uint128 amount0Max, uint128 amount1Max) params) returns (uint256 amount0, uint256 amount1)',
  'function decreaseLiquidity((uint256 tokenId, uint128 liquidity, uint256 amount0Min, uint256 amount1Min, uint256 deadline) params) returns (uint256 amount0, uint256 amount1)',
  'function harvest(uint256 tokenId, address to) returns (uint256 reward)',
  'function pendingCake(uint256 tokenId) view returns (uint256)',
  'function setEmergency(bool isEmergency)',
  'function setLMPoolDeployer(address deployer)',
  'function setReceiver(address receiver)',
  'function withdraw(uint256 tokenId, address to) returns (uint256 reward)',
])
const ABI = parseAbi([
  'function mint(address to, uint256 value)',
  'function safeTransferFrom(address from, address to, uint256 tokenId)',
  'function setLmPoolDeployer(address deployer)',
  'function upkeep(address masterChef, uint256 amount, uint256 duration)',
])

const MASTER_CHEF = toWalletAddress('pancakeswap masterchef')
const CAKE = toWalletAddress('pancakeswap cake')
const CAKE_FEED = toWalletAddress('pancakeswap cake feed')
/** US dollars of a CAKE when the devnet starts, 8 decimals. */
const CAKE_USD = 250_000_000n
const DEPLOYER = toWalletAddress('pancakeswap pool of rewards deployer')
const FUNDS = toWalletAddress('pancakeswap receiver')
/** A period, and the CAKE that it gives away. */
export const PERIOD_SEC = 7 * 86_400
const PERIOD_CAKE = 700n * 10n ** 18n

/** PancakeSwap's MasterChef V3 of npm, which pays for positions in the devnet's pool for one period. */
export interface PancakeswapFarm {
  readonly masterChef: Address
  readonly cake: Address
  /** Chainlink aggregator of CAKE against USD, 8 decimals. */
  readonly cakeFeed: Address
  /** Stakes a position of its owner's. */
  stake(owner: Address, tokenId: bigint): Transaction
}

/** Places the MasterChef, and begins a period. */
export async function addPancakeswapFarm(
  { rpc, send }: Devnet,
  { factory, manager, pool }: Pick<PancakeswapDevnet, 'factory' | 'manager' | 'pool'>,
): Promise<PancakeswapFarm> {
  const addresses = (...values: readonly Address[]) =>
    encodeAbiParameters(
      values.map(() => ({ type: 'address' })),
      values,
    )
  const token = encodeAbiParameters(
    [{ type: 'string' }, { type: 'string' }, { type: 'uint8' }],
    ['PancakeSwap Token', 'Cake', 18],
  )
  const feed = encodeAbiParameters(
    [{ type: 'uint8' }, { type: 'string' }, { type: 'int256' }],
    [8, 'CAKE / USD', CAKE_USD],
  )
  const path = '@pancakeswap/masterchef-v3/artifacts/contracts/MasterChefV3.sol/MasterChefV3.json'
  const args = addresses(CAKE, manager, TOKENS.weth.address)
  const place = (placements: Parameters<typeof placeContractsAt>[1]['placements']) =>
    placeContractsAt({ rpc, send }, { placements, owner: BANK })
  await place([
    { address: CAKE, creationCode: ownCreationCode('Token', token) },
    { address: CAKE_FEED, creationCode: ownCreationCode('Feed', feed) },
    { address: MASTER_CHEF, creationCode: await packageCreationCode(path, { args }) },
  ])
  await place([
    { address: DEPLOYER, creationCode: ownCreationCode('LmPoolDeployer', addresses(factory, MASTER_CHEF)) },
    { address: FUNDS, creationCode: ownCreationCode('FarmFunds', addresses(CAKE, MASTER_CHEF)) },
  ])
  const call = (to: Address, data: Hex): Transaction => ({ from: BANK, to, data })
  await send([
    call(factory, encodeFunctionData({ abi: ABI, functionName: 'setLmPoolDeployer', args: [DEPLOYER] })),
    call(MASTER_CHEF, encodeFunctionData({ abi: FARM_ABI, functionName: 'setLMPoolDeployer', args: [DEPLOYER] })),
    call(MASTER_CHEF, encodeFunctionData({ abi: FARM_ABI, functionName: 'setReceiver', args: [FUNDS] })),
    call(MASTER_CHEF, encodeFunctionData({ abi: FARM_ABI, functionName: 'add', args: [100n, pool.address, false] })),
    call(CAKE, encodeFunctionData({ abi: ABI, functionName: 'mint', args: [FUNDS, PERIOD_CAKE] })),
    call(
      FUNDS,
      encodeFunctionData({
        abi: ABI,
        functionName: 'upkeep',
        args: [MASTER_CHEF, PERIOD_CAKE, BigInt(PERIOD_SEC)],
      }),
    ),
  ])
  return {
    masterChef: MASTER_CHEF,
    cake: CAKE,
    cakeFeed: CAKE_FEED,
    stake: (from, tokenId) => ({
      from,
      to: manager,
      data: encodeFunctionData({ abi: ABI, functionName: 'safeTransferFrom', args: [from, MASTER_CHEF, tokenId] }),
    }),
  }
}
