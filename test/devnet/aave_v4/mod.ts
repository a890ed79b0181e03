import { ISpokeV4_ABI } from '@aave-dao/aave-address-book/abis'
import { type Address, encodeAbiParameters, encodeEventTopics, type Hex, parseAbiParameters } from 'viem'
import { AAVE_V4_DEPLOYMENTS, HUB_NAMES } from '../../../src/family/aave_v4/table.ts'
import { BANK } from '../addresses.ts'
import type { Rpc } from '../rpc.ts'
import type { Send } from '../transaction.ts'
import { ACCESS_MANAGER, recordSnapshot, recordTargets } from './record.ts'
import { encodeLog, placeReplay } from './replay.ts'
import { readVectors, type Snapshot, type VectorSpoke } from './vectors.ts'

/** Aave V4 as it stands on the devnet, at Ethereum's addresses. */
export interface AaveV4Devnet {
  /** What its contracts answer. */
  readonly snapshot: Snapshot
  /** A wallet that supplies and owes in several spokes. */
  readonly wallet: Address
}

const ETHEREUM = AAVE_V4_DEPLOYMENTS.get(1)
/** Spokes of the vectors that have a namesake on Ethereum. */
const NAMESAKES: Readonly<Record<string, string>> = {
  MAIN_SPOKE: 'main',
  BLUECHIP_SPOKE: 'bluechip',
  FOREX_SPOKE: 'forex',
  ETHENA_SPOKE: 'ethena-ecosystem',
}

/** Puts spokes in which no wallet has anything where Ethereum has them: every service over it asks them. */
export async function placeAaveV4(rpc: Rpc): Promise<void> {
  if (ETHEREUM === undefined) return
  const { accessManager, spokes } = ETHEREUM
  const addresses = spokes.map(({ address }) => address)
  const noReserves: Hex = `0x${'00'.repeat(32)}`
  const empty = addresses.map((to) => ({ to, data: '0x' as const, answer: noReserves }))
  await placeReplay(rpc, [...recordTargets(accessManager, addresses), ...empty], { others: 'zero' })
}

/**
 * Puts the contracts of the vectors in their place, which answer as they did. Nothing can be done there: it is a state,
 * and no other wallet has anything in it.
 */
export async function addAaveV4({ rpc, send }: { readonly rpc: Rpc; readonly send: Send }): Promise<AaveV4Devnet> {
  const snapshot = readVectors()
    .snapshots.map(moveToEthereum)
    .find(({ label }) => label.startsWith('after'))
  if (snapshot === undefined) throw new Error('Cannot find a snapshot without a dead feed')
  const spokes = Object.values(snapshot.world.spokes)
  const wallets = Object.keys(spokes[0]?.users ?? {}) as Address[]
  const countDebts = (wallet: Address) =>
    spokes.filter(({ users }) =>
      Object.values(users[wallet]?.positions ?? {}).some(({ drawnShares }) => drawnShares !== '0'),
    ).length
  const [wallet] = wallets.toSorted((a, b) => countDebts(b) - countDebts(a))
  if (wallet === undefined) throw new Error('Cannot find a wallet in the vectors')
  await send(
    listLogs(snapshot, wallet).map(({ to, topics, data }) => ({ from: BANK, to, data: encodeLog(topics, data) })),
  )
  // What is placed is in the newest block already: its state and the logs that led there.
  const calls = recordSnapshot(snapshot).filter(({ to }) => to !== ACCESS_MANAGER)
  await placeReplay(rpc, calls, { others: 'zero' })
  return { snapshot, wallet }
}

/** Logs by which a wallet comes to what it has: all of it supplied, borrowed and refreshed at once. */
function listLogs({ world, answers }: Snapshot, wallet: Address) {
  return (Object.entries(world.spokes) as [Address, VectorSpoke][]).flatMap(([to, { users }]) =>
    Object.entries(users[wallet]?.positions ?? {}).flatMap(([id, position]) => {
      const reserveId = BigInt(id)
      const { supplied = '0', drawnDebt = '0' } = answers.spokes[to]?.[wallet]?.reserves[Number(id)] ?? {}
      const encode = (
        eventName: 'Supply' | 'Borrow' | 'RefreshPremiumDebt',
        types: string,
        values: readonly string[],
      ) => {
        const args = { reserveId, caller: wallet, user: wallet }
        const topics = encodeEventTopics({ abi: ISpokeV4_ABI, eventName, args } as never) as Hex[]
        return { to, topics, data: encodeAbiParameters(parseAbiParameters(types), values.map(BigInt)) }
      }
      const { suppliedShares, drawnShares, premiumShares, premiumOffsetRay } = position
      return [
        ...(suppliedShares === '0' ? [] : [encode('Supply', 'uint256, uint256', [suppliedShares, supplied])]),
        ...(drawnShares === '0' ? [] : [encode('Borrow', 'uint256, uint256', [drawnShares, drawnDebt])]),
        ...(premiumShares === '0' && premiumOffsetRay === '0'
          ? []
          : [encode('RefreshPremiumDebt', 'int256, int256, uint256', [premiumShares, premiumOffsetRay, '0'])]),
      ]
    }),
  )
}

/** The same snapshot with its spokes and hubs at the addresses of their namesakes. */
function moveToEthereum(snapshot: Snapshot): Snapshot {
  const { spokes, hubs } = snapshot.world
  const moves = [
    ...Object.entries(spokes).map(([address, { name }]) => {
      return [address, ETHEREUM?.spokes.find((spoke) => spoke.name === NAMESAKES[name])?.address] as const
    }),
    ...Object.entries(hubs).map(([address, { name }]) => {
      return [address, [...HUB_NAMES].find(([, hub]) => hub === name.toLowerCase())?.[0]] as const
    }),
  ]
  const moved = moves.reduce((text, [address, namesake]) => {
    if (namesake === undefined) throw new Error(`Cannot find what stands on Ethereum for ${address}`)
    return text.replaceAll(address, namesake)
  }, JSON.stringify(snapshot))
  return JSON.parse(moved) as Snapshot
}
