import { type Address, encodeFunctionData, encodeFunctionResult, parseAbi } from 'viem'
import type { RecordedCall } from '../aave_v4/replay.ts'
import { toWalletAddress } from '../addresses.ts'
import type { World } from './vectors.ts'

/** What a reader may ask of Comet, CometRewards, tokens and feeds. */
export const COMET_ABI = parseAbi([
  'struct AssetInfo { uint8 offset; address asset; address priceFeed; uint64 scale; uint64 borrowCollateralFactor; uint64 liquidateCollateralFactor; uint64 liquidationFactor; uint128 supplyCap; }',
  'struct TotalsBasic { uint64 baseSupplyIndex; uint64 baseBorrowIndex; uint64 trackingSupplyIndex; uint64 trackingBorrowIndex; uint104 totalSupplyBase; uint104 totalBorrowBase; uint40 lastAccrualTime; uint8 pauseFlags; }',
  'function numAssets() view returns (uint8)',
  'function totalsBasic() view returns (TotalsBasic)',
  'function userBasic(address) view returns (int104 principal, uint64 baseTrackingIndex, uint64 baseTrackingAccrued, uint16 assetsIn, uint8 reserved)',
  'function userCollateral(address, address) view returns (uint128 balance, uint128 reserved)',
  'function getAssetInfo(uint8) view returns (AssetInfo)',
  'function getPrice(address) view returns (uint256)',
  'function getUtilization() view returns (uint256)',
  'function getSupplyRate(uint256) view returns (uint64)',
  'function getBorrowRate(uint256) view returns (uint64)',
  'function baseToken() view returns (address)',
  'function baseTokenPriceFeed() view returns (address)',
  'function baseScale() view returns (uint256)',
  'function baseTrackingSupplySpeed() view returns (uint256)',
  'function baseTrackingBorrowSpeed() view returns (uint256)',
  'function trackingIndexScale() view returns (uint256)',
  'function baseMinForRewards() view returns (uint256)',
  'function rewardConfig(address) view returns (address token, uint64 rescaleFactor, bool shouldUpscale, uint256 multiplier)',
  'function rewardsClaimed(address, address) view returns (uint256)',
  'function balanceOf(address) view returns (uint256)',
  'function decimals() view returns (uint8)',
  'function symbol() view returns (string)',
  'function name() view returns (string)',
  'function latestRoundData() view returns (uint80, int256 answer, uint256, uint256 updatedAt, uint80)',
])

/** More of a token than is ever paid out. */
export const PLENTY = 10n ** 30n
/** Digits of the reward, which is accrued with six. */
const REWARD_DECIMALS = 18

/** Where the market's own feed of a token stands, and where the one stands that the chain's prices are from. */
export const toOwnFeed = (token: Address): Address => toWalletAddress(`own feed of ${token}`)
export const toUsdFeed = (token: Address): Address => toWalletAddress(`feed of ${token}`)

type CometFunction = Exclude<(typeof COMET_ABI)[number], { type: 'struct' }>['name']

/** A call and its answer, by their names. */
export function recordCall(
  to: Address,
  functionName: CometFunction,
  args: readonly unknown[],
  result: unknown,
): RecordedCall {
  const parameters = { abi: COMET_ABI, functionName, args, result } as never
  return { to, data: encodeFunctionData(parameters), answer: encodeFunctionResult(parameters) }
}

/** Every getter of a world's market and rewards that a reader may call, and what the contracts answered. */
export function recordMarket(
  world: World,
  { pauseFlags = 0, multiplier = 10n ** 18n }: { readonly pauseFlags?: number; readonly multiplier?: bigint } = {},
): RecordedCall[] {
  const { comet, rewards, base, collaterals, parameters, totals, accruedNow } = world
  const utilization = BigInt(accruedNow.utilization)
  const toInts = (texts: object) =>
    Object.fromEntries(Object.entries(texts).map(([name, each]) => [name, BigInt(each)]))
  const record = (name: CometFunction, args: readonly unknown[], result: unknown) =>
    recordCall(comet, name, args, result)
  const constants = [
    ...(['baseScale', 'baseTrackingSupplySpeed', 'baseTrackingBorrowSpeed'] as const),
    ...(['trackingIndexScale', 'baseMinForRewards'] as const),
  ]
  return [
    record('totalsBasic', [], { ...toInts(totals), lastAccrualTime: Number(totals.lastAccrualTime), pauseFlags }),
    ...constants.map((name) => record(name, [], BigInt(parameters[name]))),
    record('numAssets', [], collaterals.length),
    record('getUtilization', [], utilization),
    record('getSupplyRate', [utilization], BigInt(accruedNow.supplyRate)),
    record('getBorrowRate', [utilization], BigInt(accruedNow.borrowRate)),
    record('baseToken', [], base),
    record('baseTokenPriceFeed', [], toOwnFeed(base)),
    record('getPrice', [toOwnFeed(base)], BigInt(world.basePrice8)),
    ...collaterals.flatMap(({ asset, decimals, price8, borrowCF, liquidateCF, liquidationFactor }, offset) => [
      record('getPrice', [toOwnFeed(asset)], BigInt(price8)),
      record('getAssetInfo', [offset], {
        offset,
        asset,
        priceFeed: toOwnFeed(asset),
        scale: 10n ** BigInt(decimals),
        borrowCollateralFactor: BigInt(borrowCF),
        liquidateCollateralFactor: BigInt(liquidateCF),
        liquidationFactor: BigInt(liquidationFactor),
        supplyCap: PLENTY,
      }),
    ]),
    ...world.accounts.flatMap((account) => [
      record(
        'userBasic',
        [account.wallet],
        [
          ...[account.principal, account.baseTrackingIndex, account.baseTrackingAccrued].map(BigInt),
          Number(account.assetsIn),
          Number(account.reserved),
        ],
      ),
      ...account.collateral.map(({ asset, balance }) =>
        record('userCollateral', [account.wallet, asset], [BigInt(balance), 0n]),
      ),
      recordCall(rewards, 'rewardsClaimed', [comet, account.wallet], BigInt(account.rewardsClaimed)),
    ]),
    recordCall(rewards, 'rewardConfig', [comet], [world.rewardToken, 10n ** 12n, true, multiplier]),
  ]
}

/** The tokens of a world, of which its contracts have plenty, and feeds that tell so many dollars, 8 decimals, of each. */
export function recordTokens(world: World, usd: ReadonlyMap<Address, bigint>): RecordedCall[] {
  const { comet, rewards, base, rewardToken, collaterals, parameters, block } = world
  const decimals = new Map<Address, number>([
    [base, parameters.baseScale.length - 1],
    [rewardToken, REWARD_DECIMALS],
    ...collaterals.map(({ asset, decimals: digits }): [Address, number] => [asset, digits]),
  ])
  return [...decimals].flatMap(([token, digits], index) => [
    recordCall(token, 'decimals', [], digits),
    recordCall(token, 'symbol', [], `TOK${index}`),
    recordCall(token, 'name', [], `Token ${index}`),
    ...[comet, rewards].map((holder) => recordCall(token, 'balanceOf', [holder], PLENTY)),
    recordCall(toUsdFeed(token), 'decimals', [], 8),
    recordCall(toUsdFeed(token), 'latestRoundData', [], [1n, usd.get(token) ?? 0n, 0n, BigInt(block.timestamp), 1n]),
  ])
}
