import {
  type Address,
  encodeAbiParameters,
  encodeFunctionData,
  encodeFunctionResult,
  type Hex,
  parseAbi,
  zeroAddress,
} from 'viem'
import { maxBigint } from '../../../src/lib/number/fixed_point.ts'
import type { RecordedCall } from '../aave_v4/replay.ts'
import { toWalletAddress } from '../addresses.ts'
import type { Holder, World } from './vectors.ts'

/** What a reader may ask of vaults, of Morpho's contracts, of tokens and feeds. */
const VAULT_ABI = parseAbi([
  'function asset() view returns (address)',
  'function balanceOf(address) view returns (uint256)',
  'function convertToAssets(uint256) view returns (uint256)',
  'function maxWithdraw(address) view returns (uint256)',
  'function paused() view returns (bool)',
  'function cooldownDuration() view returns (uint24)',
  'function cooldowns(address) view returns (uint104, uint152)',
  'function getStakerCooldown(address) view returns (uint192, uint32, uint32)',
  'function liquidityAdapter() view returns (address)',
  'function liquidityData() view returns (bytes)',
  'function isAdapter(address) view returns (bool)',
  'function parentVault() view returns (address)',
  'function canSendShares(address) view returns (bool)',
  'function canReceiveAssets(address) view returns (bool)',
  'function isMetaMorpho(address) view returns (bool)',
  'function isVaultV2(address) view returns (bool)',
  'function isInRegistry(address) view returns (bool)',
  'function morphoVaultV1() view returns (address)',
  'function morpho() view returns (address)',
  'function expectedSupplyAssets(bytes32) view returns (uint256)',
  'function market(bytes32) view returns (uint128, uint128, uint128, uint128, uint128, uint128)',
  'function decimals() view returns (uint8)',
  'function symbol() view returns (string)',
  'function name() view returns (string)',
  'function latestRoundData() view returns (uint80, int256 answer, uint256, uint256 updatedAt, uint80)',
])

/** More of a token than is ever paid out. */
const PLENTY = 10n ** 30n
/** Decimals of the vectors' asset and shares. */
export const DECIMALS = { asset: 6, share: 18 } as const

/** Morpho's registries, and the feed of an asset. */
export const REGISTRIES = {
  metamorpho_factory: toWalletAddress('factory of MetaMorpho'),
  morpho_vault_v2_factory: toWalletAddress('factory of Vault V2'),
  morpho_adapter_registry: toWalletAddress('registry of adapters'),
} as const
export const toUsdFeed = (asset: Address): Address => toWalletAddress(`feed of ${asset}`)

type VaultFunction = (typeof VAULT_ABI)[number]['name']

/** A call and its answer, by their names. */
export function recordCall(
  to: Address,
  functionName: VaultFunction,
  args: readonly unknown[],
  result: unknown,
): RecordedCall {
  const parameters = { abi: VAULT_ABI, functionName, args, result } as never
  return { to, data: encodeFunctionData(parameters), answer: encodeFunctionResult(parameters) }
}

/** A call that reverts. */
export function recordRefusal(to: Address, functionName: VaultFunction, args: readonly unknown[] = []): RecordedCall {
  return { to, data: encodeFunctionData({ abi: VAULT_ABI, functionName, args } as never), answer: '0x', reverts: true }
}

/** What a token says of itself. */
export function recordToken(token: Address, symbol: string, decimals: number): RecordedCall[] {
  return [
    recordCall(token, 'decimals', [], decimals),
    recordCall(token, 'symbol', [], symbol),
    recordCall(token, 'name', [], `Token ${symbol}`),
  ]
}

/** What a feed says that tells so many dollars, 8 decimals. */
export function recordFeed(feed: Address, usd8: bigint, timestampSec: bigint): RecordedCall[] {
  return [
    recordCall(feed, 'decimals', [], 8),
    recordCall(feed, 'latestRoundData', [], [1n, usd8, 0n, timestampSec, 1n]),
  ]
}

/** Time at which a world's withdrawals were executed, Unix seconds. */
export function getTimeSec({ block }: World): bigint {
  return BigInt(block.timestamp) + 1n
}

/** All that a world's contracts answered about its holders, who have nothing in the vaults where they are none. */
export function recordWorld(world: World, usd8: bigint): RecordedCall[] {
  const { asset, morpho, vaults, holders } = world
  const wallets = [...new Set(holders.map(({ wallet }) => wallet))]
  return [
    ...recordToken(asset, 'ASSET', DECIMALS.asset),
    recordCall(asset, 'balanceOf', [morpho], PLENTY),
    ...[asset, morpho].flatMap((other) => [
      recordCall(REGISTRIES.metamorpho_factory, 'isMetaMorpho', [other], false),
      recordCall(REGISTRIES.morpho_vault_v2_factory, 'isVaultV2', [other], false),
    ]),
    ...recordFeed(toUsdFeed(asset), usd8, getTimeSec(world)),
    ...vaults.flatMap((each) => {
      const own = holders.filter(({ vault }) => vault === each.vault)
      const isMetaMorpho = each.kind.startsWith('metamorpho')
      return [
        recordCall(each.vault, 'asset', [], asset),
        ...(['paused', 'cooldownDuration'] as const).map((name) => recordRefusal(each.vault, name)),
        ...recordToken(each.vault, each.kind.slice(0, 12), DECIMALS.share),
        recordCall(asset, 'balanceOf', [each.vault], BigInt(own[0]?.idle ?? 0)),
        recordCall(REGISTRIES.metamorpho_factory, 'isMetaMorpho', [each.vault], isMetaMorpho),
        recordCall(REGISTRIES.morpho_vault_v2_factory, 'isVaultV2', [each.vault], !isMetaMorpho),
        ...wallets.map((wallet) => {
          const shares = own.find((holder) => holder.wallet === wallet)?.shares ?? 0
          return recordCall(each.vault, 'balanceOf', [wallet], BigInt(shares))
        }),
        ...own.flatMap((holder) => [
          recordCall(each.vault, 'convertToAssets', [BigInt(holder.shares)], BigInt(holder.convertToAssets)),
          recordCall(each.vault, 'maxWithdraw', [holder.wallet], BigInt(holder.maxWithdraw)),
          recordCall(each.vault, 'canSendShares', [holder.wallet], true),
          recordCall(each.vault, 'canReceiveAssets', [holder.wallet], holder.limitedBy !== 'gate'),
        ]),
        ...(isMetaMorpho ? [] : recordAdapter(world, each, own)),
      ]
    }),
  ]
}

/** The liquidity adapter of a Vault V2, and what stands behind it. */
function recordAdapter(
  { morpho, markets: [market], vaults }: World,
  { vault, kind, adapter }: World['vaults'][number],
  holders: readonly Holder[],
): RecordedCall[] {
  const [inner] = vaults
  if (kind.includes('idle') || adapter === undefined || market === undefined || inner === undefined) {
    return [recordCall(vault, 'liquidityAdapter', [], zeroAddress)]
  }
  const named = [
    recordCall(vault, 'liquidityAdapter', [], adapter),
    recordCall(vault, 'isAdapter', [adapter], true),
    recordCall(adapter, 'parentVault', [], vault),
    recordCall(REGISTRIES.morpho_adapter_registry, 'isInRegistry', [adapter], true),
  ]
  if (kind.includes('metamorpho')) {
    // What the MetaMorpho could pay the adapter is seen where it was all that a holder got.
    const most = holders
      .map(({ withdrawableNow, idle }) => BigInt(withdrawableNow) - BigInt(idle))
      .reduce(maxBigint, 0n)
    return [
      ...named,
      recordCall(adapter, 'morphoVaultV1', [], inner.vault),
      recordCall(inner.vault, 'maxWithdraw', [adapter], most),
    ]
  }
  const { params, id, accruedAtTPlus1 } = market
  const data = encodeAbiParameters(
    [{ type: 'address' }, { type: 'address' }, { type: 'address' }, { type: 'address' }, { type: 'uint256' }],
    [params.loanToken, params.collateralToken, params.oracle, params.irm, BigInt(params.lltv)],
  ) as Hex
  const [first] = holders
  return [
    ...named,
    recordCall(vault, 'liquidityData', [], data),
    recordRefusal(adapter, 'morphoVaultV1'),
    recordCall(adapter, 'morpho', [], morpho),
    // All of its assets that it does not hold are in this market.
    recordCall(adapter, 'expectedSupplyAssets', [id], BigInt(first?.totalAssets ?? 0) - BigInt(first?.idle ?? 0)),
    recordCall(morpho, 'market', [id], accruedAtTPlus1.map(BigInt)),
  ]
}
