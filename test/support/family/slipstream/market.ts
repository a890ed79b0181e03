import {
  type Address,
  checksumAddress,
  encodeAbiParameters,
  encodeFunctionData,
  type Hex,
  numberToHex,
  pad,
  parseAbi,
  zeroAddress,
} from 'viem'
import type { RecordedCall } from '../../../devnet/replay.ts'
import { listPools, type World } from './world.ts'

const ABI = parseAbi([
  'function length() view returns (uint256)',
  'function pools(uint256) view returns (address)',
  'function gauges(address) view returns (address)',
  'function factory() view returns (address)',
  'function stakedLength(address) view returns (uint256)',
])
type Name = (typeof ABI)[number]['name']

function record(
  to: Address,
  functionName: Name,
  args: readonly unknown[],
  value: Address | bigint | undefined,
): RecordedCall {
  const type = typeof value === 'bigint' ? 'uint256' : 'address'
  return {
    to,
    data: encodeFunctionData({ abi: ABI, functionName, args } as Parameters<typeof encodeFunctionData>[0]),
    answer: value === undefined ? undefined : encodeAbiParameters([{ type }], [value] as never),
  }
}

/** An address by its number, for contracts that the vectors do not have. */
const toAddress = (prefix: Hex, index: number): Address => `${prefix}${pad(numberToHex(index), { size: 18 }).slice(2)}`

/** The gauge of one of the other pools of `recordVoter`. */
export const toOtherGauge = (index: number): Address => checksumAddress(toAddress('0xbbbb', index))

/**
 * A voter with more pools than a world has: its own first, then `others`, of which `foreign` are another factory's. No
 * gauge of theirs has anything of the wallets. `hasLength`: the voter says how many pools it has. `vacant`: of its own
 * pools, the first so many have no gauge yet.
 */
export function recordVoter(
  { contracts, pools, positions, ...world }: World,
  {
    others,
    foreign = 0,
    hasLength = true,
    vacant = 0,
  }: {
    readonly others: number
    readonly foreign?: number
    readonly hasLength?: boolean
    readonly vacant?: number
  },
): RecordedCall[] {
  const own = listPools({ contracts, pools, positions, ...world }).filter(([, { gauge }]) => gauge !== zeroAddress)
  const wallets = [...new Set(positions.map(({ wallet }) => wallet))]
  const more = Array.from({ length: others }, (_, index) => ({
    pool: toAddress('0xaaaa', index),
    gauge: toAddress('0xbbbb', index),
    factory: index < foreign ? toAddress('0xcccc', 0) : contracts.factory,
  }))
  const listed = [
    ...own.map(([pool, { gauge }], index) => ({ pool, gauge: index < vacant ? zeroAddress : gauge })),
    ...more,
  ]
  return [
    ...listed.flatMap(({ pool, gauge }, index) => [
      record(contracts.voter, 'pools', [BigInt(index)], pool),
      record(contracts.voter, 'gauges', [pool], gauge),
    ]),
    record(contracts.voter, 'length', [], hasLength ? BigInt(listed.length) : undefined),
    record(contracts.voter, 'pools', [BigInt(listed.length)], undefined),
    ...more.flatMap(({ pool, gauge, factory }) => [
      record(pool, 'factory', [], factory),
      ...wallets.map((wallet) => record(gauge, 'stakedLength', [wallet], 0n)),
    ]),
  ]
}
