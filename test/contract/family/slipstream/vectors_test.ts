import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Address, zeroAddress } from 'viem'
import type { Position } from '../../../../src/family/liquidity/enumerable/read/position.ts'
import { createPositionReader, type PositionReader } from '../../../../src/family/liquidity/enumerable/read/read.ts'
import { EXCHANGE, PROTOCOL } from '../../../../src/family/slipstream/protocol.ts'
import { toDeployments } from '../../../../src/family/slipstream/table.ts'
import { createWork } from '../../../../src/lib/async/work.ts'
import { type Anvil, startAnvil } from '../../../devnet/anvil.ts'
import { replayCalls } from '../../../devnet/replay.ts'
import { createRpc, type Rpc } from '../../../devnet/rpc.ts'
import { recordWorld, toManager, type VectorReward, WORLDS } from '../../../support/family/slipstream/world.ts'
import { createTestClient } from '../../../support/history/scene.ts'
import { slowClock } from '../../../support/test_clock.ts'

describe.each(WORLDS.map((world) => [world.generation, world] as const))('generation %s', (_, world) => {
  let anvil: Anvil
  let rpc: Rpc
  let reader: PositionReader
  const work = createWork(new AbortController().signal)
  const staked = world.positions.filter((each) => each.staked)

  const readList = async (wallet: Address): Promise<readonly Position[]> => {
    const targets = [...reader.targets.values()]
    const reads = await reader.readWallet(wallet, { targets, work })
    expect(reads.flatMap(({ unreadable, spams }) => [...unreadable, ...spams])).toEqual([])
    const positions = reads.flatMap((read) => read.positions)
    return (await reader.complete(wallet, { reads, positions, work })).positions
  }
  const readOne = async (id: string): Promise<Position | undefined> => {
    const reads = await reader.readOne(BigInt(id), { targets: [...reader.targets.values()], work })
    expect(reads.flatMap(({ unreadable }) => unreadable)).toEqual([])
    return reads.flatMap((read) => read.positions)[0]
  }
  const mineAt = async (timestampSec: string) => {
    await rpc.call('evm_setNextBlockTimestamp', Number(timestampSec))
    await rpc.call('evm_mine')
  }

  beforeAll(async () => {
    anvil = await startAnvil({ timestampSec: Number(world.block.timestamp) - 10 })
    rpc = createRpc(anvil.rpcUrl)
    await replayCalls(rpc, recordWorld(world))
    await mineAt(world.block.timestamp)
    const client = createTestClient([anvil.rpcUrl], { chainId: 1 })
    reader = createPositionReader(EXCHANGE, {
      clients: new Map([[1, client]]),
      deployments: new Map([[1, toDeployments([toManager(world)])]]),
      clock: slowClock,
    })
  }, 60_000)
  afterAll(() => anvil.stop())

  test('each wallet has what it holds and what it staked, and nothing else', async () => {
    const gauges = new Set<string>(Object.values(world.pools).map(({ gauge }) => gauge))
    for (const wallet of new Set(world.positions.map((each) => each.wallet))) {
      const own = world.positions.filter((each) => each.wallet === wallet && (each.staked || each.ownerOf === wallet))
      const positions = await readList(wallet)
      expect(positions.map(({ tokenId }) => String(tokenId)).toSorted()).toEqual(own.map(({ id }) => id).toSorted())
      for (const position of positions) {
        const { ownerOf, staked: isStaked } = own.find(({ id }) => id === String(position.tokenId)) ?? {}
        expect(position.owner).toBe(wallet)
        expect(PROTOCOL.getCustodian?.(position)?.address).toBe(isStaked ? ownerOf : undefined)
      }
    }
    for (const gauge of gauges) {
      if (gauge !== zeroAddress) expect(await readList(gauge as Address)).toEqual([])
    }
  })

  test('fees are what collecting paid, and none of staked ones', async () => {
    let executed = 0
    for (const vector of world.positions) {
      const position = await readOne(vector.id)
      if (position === undefined) throw new Error(`Cannot find position ${vector.id}`)
      const { owed } = PROTOCOL.computeHeldAmounts(position)
      const fees = [String(owed.amount0), String(owed.amount1)]
      expect([vector.id, ...fees]).toEqual([vector.id, ...vector.payable])
      if (vector.collect === undefined) continue
      expect([vector.id, ...fees]).toEqual([vector.id, ...vector.collect.paid])
      executed++
    }
    expect(executed).toBeGreaterThan(8)
    expect(staked.length).toBeGreaterThan(15)
  })

  test('rewards are what claiming and withdrawing paid, each at its own time', async () => {
    const moments = staked
      .flatMap(({ id, earned, getReward, withdraw }) =>
        [earned, getReward, withdraw].map((reward) => ({ id, reward: reward as VectorReward })),
      )
      .toSorted((a, b) => Number(a.reward.timestamp) - Number(b.reward.timestamp))
    let now = world.block.timestamp
    let penalties = 0
    for (const { id, reward } of moments) {
      if (reward.timestamp !== now) await mineAt(reward.timestamp)
      now = reward.timestamp
      const position = await readOne(id)
      const [told, ...more] = position === undefined ? [] : (PROTOCOL.computeRewards?.(position) ?? [])
      expect(more).toEqual([])
      expect(told?.token.address).toBe(world.contracts.reward)
      const { gross, net, penalty, paid = net } = reward
      expect([id, told?.amount, told?.penalty?.amount ?? 0n]).toEqual([id, BigInt(paid), BigInt(penalty)])
      expect(BigInt(gross)).toBe(BigInt(paid) + BigInt(penalty))
      if (penalty !== '0') penalties++
    }
    expect(moments.length).toBe(3 * staked.length)
    // A change of staked liquidity counts its reward, which `earned` leaves out and claiming pays.
    const counted = staked.filter(({ gaugePosition }) => gaugePosition?.rewards !== '0')
    expect(counted.length > 0).toBe(world.generation === 'first')
    expect(penalties > 0).toBe(world.generation === 'v3')
  })
})
