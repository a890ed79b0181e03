import { IAaveOracleV4_ABI, IHubV4_ABI, ISpokeV4_ABI } from '@aave-dao/aave-address-book/abis'
import { type Abi, type Address, encodeFunctionData, encodeFunctionResult, parseAbi } from 'viem'
import type { RecordedCall } from './replay.ts'
import type { Snapshot, VectorSpoke } from './vectors.ts'

const REVISIONS = parseAbi([
  'function SPOKE_REVISION() view returns (uint64)',
  'function HUB_REVISION() view returns (uint64)',
])
const MANAGER = parseAbi([
  'function getRoleTargetCount(uint64) view returns (uint256)',
  'function getRoleTargets(uint64, uint256, uint256) view returns (address[])',
])
const TOKEN = parseAbi([
  'function symbol() view returns (string)',
  'function name() view returns (string)',
  'function decimals() view returns (uint8)',
])
/** Role of the access manager whose targets are the spokes. */
const SPOKE_ROLE = 301n
/** Selector of `InvalidPrice(uint256)`. */
const NO_PRICE = '0x28cd1ecb'
/** Where the access manager of the vectors stands: they do not have it. */
export const ACCESS_MANAGER: Address = '0x00000000000000000000000000000000000A4301'

/** What an access manager says of the spokes that it has. */
export function recordTargets(manager: Address, spokes: readonly Address[]): RecordedCall[] {
  const count = BigInt(spokes.length)
  return [
    {
      to: manager,
      data: encodeFunctionData({ abi: MANAGER, functionName: 'getRoleTargetCount', args: [SPOKE_ROLE] }),
      answer: encodeFunctionResult({ abi: MANAGER, functionName: 'getRoleTargetCount', result: count }),
    },
    {
      to: manager,
      data: encodeFunctionData({ abi: MANAGER, functionName: 'getRoleTargets', args: [SPOKE_ROLE, 0n, count] }),
      answer: encodeFunctionResult({ abi: MANAGER, functionName: 'getRoleTargets', result: spokes }),
    },
  ]
}

/** Values of the fields that the vectors have as texts. */
function toInts<T extends object>(fields: T): Record<string, unknown> {
  const toInt = (value: unknown) => (typeof value === 'string' && /^-?\d+$/.test(value) ? BigInt(value) : value)
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, toInt(value)]))
}

/** Every getter of a snapshot's contracts that a reader may call, and what the contracts answered. */
export function recordSnapshot({ world, answers }: Snapshot): RecordedCall[] {
  const calls: RecordedCall[] = []
  const record = (to: Address, abi: Abi, functionName: string, args: readonly unknown[], result: unknown): void => {
    const data = encodeFunctionData({ abi, functionName, args })
    calls.push({ to, data, answer: encodeFunctionResult({ abi, functionName, result }) })
  }
  const spokes = Object.entries(world.spokes) as [Address, VectorSpoke][]
  const targets = spokes.map(([address]) => address)
  calls.push(...recordTargets(ACCESS_MANAGER, targets))

  for (const [hub, { assets }] of Object.entries(world.hubs) as [Address, (typeof world.hubs)[Address]][]) {
    record(hub, REVISIONS, 'HUB_REVISION', [], 1n)
    for (const [index, { spokes: shares, symbol, underlying, decimals, ...asset }] of assets.entries()) {
      const id = BigInt(index)
      const { drawnIndex = '', addedAssets = '' } = answers.assets[hub]?.[index] ?? {}
      record(hub, IHubV4_ABI, 'getAsset', [id], toInts({ ...asset, underlying, decimals }))
      record(hub, IHubV4_ABI, 'getAssetDrawnIndex', [id], BigInt(drawnIndex))
      record(hub, IHubV4_ABI, 'getAddedAssets', [id], BigInt(addedAssets))
      for (const [spoke, held] of Object.entries(shares)) {
        record(hub, IHubV4_ABI, 'getSpoke', [id, spoke], toInts(held))
      }
      record(underlying, TOKEN, 'symbol', [], symbol)
      record(underlying, TOKEN, 'name', [], `The token ${symbol}`)
      record(underlying, TOKEN, 'decimals', [], Number(decimals))
    }
  }
  const wallets = [...new Set(spokes.flatMap(([, { users }]) => Object.keys(users)))] as Address[]
  for (const [spoke, { oracle, liq, reserves, users }] of spokes) {
    record(spoke, REVISIONS, 'SPOKE_REVISION', [], 1n)
    record(spoke, ISpokeV4_ABI, 'ORACLE', [], oracle)
    record(spoke, ISpokeV4_ABI, 'getReserveCount', [], BigInt(reserves.length))
    record(spoke, ISpokeV4_ABI, 'getLiquidationConfig', [], toInts(liq))
    for (const [index, { configs, price, ...reserve }] of reserves.entries()) {
      const id = BigInt(index)
      record(spoke, ISpokeV4_ABI, 'getReserve', [id], toInts(reserve))
      for (const [key, config] of configs.entries()) {
        record(spoke, ISpokeV4_ABI, 'getDynamicReserveConfig', [id, key], toInts(config))
      }
      const data = encodeFunctionData({ abi: IAaveOracleV4_ABI, functionName: 'getReservePrice', args: [id] })
      if (price === null) calls.push({ to: oracle, data, answer: NO_PRICE, reverts: true })
      else record(oracle, IAaveOracleV4_ABI, 'getReservePrice', [id], BigInt(price))
    }
    for (const wallet of wallets) {
      const user = users[wallet]
      const { account, reserves: held = {} } = answers.spokes[spoke]?.[wallet] ?? {}
      const word = BigInt(user?.word ?? 0)
      for (const index of reserves.keys()) {
        const args = [BigInt(index), wallet]
        const bit = (at: number) => ((word >> BigInt(2 * index + at)) & 1n) === 1n
        const { supplied = '0', drawnDebt = '0', premiumDebt = '0' } = held[index] ?? {}
        record(spoke, ISpokeV4_ABI, 'getUserPosition', args, toInts(user?.positions[index] ?? NOTHING))
        record(spoke, ISpokeV4_ABI, 'getUserReserveStatus', args, [bit(1), bit(0)])
        record(spoke, ISpokeV4_ABI, 'getUserSuppliedAssets', args, BigInt(supplied))
        record(spoke, ISpokeV4_ABI, 'getUserDebt', args, [BigInt(drawnDebt), BigInt(premiumDebt)])
      }
      record(spoke, ISpokeV4_ABI, 'getUserLastRiskPremium', [wallet], BigInt(user?.riskPremium ?? 0))
      if (account !== undefined) record(spoke, ISpokeV4_ABI, 'getUserAccountData', [wallet], toInts(account))
      else {
        const data = encodeFunctionData({ abi: ISpokeV4_ABI, functionName: 'getUserAccountData', args: [wallet] })
        calls.push({ to: spoke, data, answer: NO_PRICE, reverts: true })
      }
    }
  }
  return calls
}

const NOTHING = {
  drawnShares: '0',
  premiumShares: '0',
  premiumOffsetRay: '0',
  suppliedShares: '0',
  dynamicConfigKey: 0,
}
