import { beforeAll, expect, test } from 'bun:test'
import { Ether, Token } from '@uniswap/sdk-core'
import { Pool, Position as SdkPosition } from '@uniswap/v4-sdk'
import { type Abi, decodeFunctionResult, encodeFunctionData, type Hex, numberToHex, zeroAddress } from 'viem'
import { computeHeldAmounts } from '../../../../src/family/uniswap_v4/math/figures.ts'
import { mayChangeWithdrawal } from '../../../../src/family/uniswap_v4/math/hooks.ts'
import type { Position } from '../../../../src/family/uniswap_v4/read/position.ts'
import { createDevnetChain } from '../../../devnet/chain.ts'
import { type Devnet, sharedDevnet } from '../../../devnet/mod.ts'
import { STATE_VIEW_ABI } from '../../../devnet/uniswap_v4/abi.ts'
import { UNISWAP_V4 } from '../../../devnet/uniswap_v4/addresses.ts'
import type { UniswapV4 } from '../../../devnet/uniswap_v4/mod.ts'
import { caseCount } from '../../../support/cases.ts'
import { countedClient, patient } from '../../../support/family/uniswap_v3/support.ts'
import { buildCrowd, type Crowd, type Member } from './crowd.ts'
import { createFindEveryId, createTestReader } from './support.ts'

const LIMIT_MS = 240_000
const COUNT = caseCount(1_000, 200)

let devnet: Devnet
let v4: UniswapV4
let crowds: readonly Crowd[]
/** What we read of each, by id. */
const read = new Map<bigint, Position>()
const members = new Map<bigint, Member>()

beforeAll(async () => {
  devnet = await sharedDevnet()
  v4 = await devnet.uniswapV4()
  crowds = await buildCrowd(devnet, { seed: 21, count: COUNT })
  for (const each of crowds.flatMap((crowd) => crowd.members)) members.set(each.tokenId, each)
  const { client } = countedClient(createDevnetChain(devnet))
  const { reader, places } = createTestReader(client, { find: createFindEveryId(devnet) })
  for (const { owner } of crowds) {
    const [found] = await reader.readWallet(owner, { targets: places, work: patient })
    for (const position of found?.positions ?? []) read.set(position.tokenId, position.whole())
  }
}, LIMIT_MS)

/** What StateView answers about positions, in their order. */
async function view(
  positions: readonly Position[],
  functionName: 'getSlot0' | 'getFeeGrowthInside' | 'getPositionInfo',
  getArgs: (position: Position) => readonly unknown[],
): Promise<(readonly (bigint | number)[])[]> {
  const abi: Abi = STATE_VIEW_ABI
  const answers = await devnet.rpc.batch<Hex>(
    positions.map((position) => {
      const data = encodeFunctionData({ abi, functionName, args: getArgs(position) })
      return { method: 'eth_call', params: [{ to: UNISWAP_V4.stateView, data }, 'latest'] }
    }),
  )
  return answers.map((data) => decodeFunctionResult({ abi, functionName, data }) as readonly (bigint | number)[])
}

const Q128 = 1n << 128n

test(`state and fees of ${COUNT} random positions in pools of every kind equal those of StateView`, async () => {
  const positions = [...read.values()]
  expect(positions.map(({ tokenId }) => tokenId).sort()).toEqual([...members.keys()].sort())
  const slots = await view(positions, 'getSlot0', ({ pool }) => [pool.id])
  const inside = await view(positions, 'getFeeGrowthInside', ({ pool, tickLower, tickUpper }) => [
    pool.id,
    tickLower,
    tickUpper,
  ])
  const infos = await view(positions, 'getPositionInfo', ({ pool, tokenId, tickLower, tickUpper }) => [
    pool.id,
    UNISWAP_V4.positionManager,
    tickLower,
    tickUpper,
    numberToHex(tokenId, { size: 32 }),
  ])
  let [earning, closed, atBound] = [0, 0, 0]
  for (const [index, position] of positions.entries()) {
    const { pool, tokenId, liquidity, token0, token1, tickLower, tickUpper } = position
    const known = members.get(tokenId)?.pool
    const { key } = known ?? {}
    expect({ id: pool.id, fee: pool.keyFee, spacing: pool.tickSpacing, hooks: pool.hooks.toLowerCase() }).toEqual({
      id: known?.id as Hex,
      fee: key?.fee as number,
      spacing: key?.tickSpacing as number,
      hooks: key?.hooks.toLowerCase() as string,
    })
    expect([token0.address, token1.address]).toEqual([key?.currency0 as Hex, key?.currency1 as Hex])
    expect([pool.sqrtPriceX96, pool.tick, pool.protocolFee, pool.fee]).toEqual([...(slots[index] ?? [])])
    const [live, last0, last1] = infos[index] as readonly [bigint, bigint, bigint]
    const [now0, now1] = inside[index] as readonly [bigint, bigint]
    expect(liquidity).toBe(live)
    const { fees } = computeHeldAmounts(position)
    const due = (now: bigint, last: bigint) => (BigInt.asUintN(256, now - last) * live) / Q128
    expect([tokenId, fees.amount0, fees.amount1]).toEqual([tokenId, due(now0, last0), due(now1, last1)])
    if (fees.amount0 > 0n && fees.amount1 > 0n) earning++
    if (live === 0n) closed++
    if ([tickLower, tickUpper].includes(pool.tick) || [tickLower, tickUpper].includes(pool.tick + 1)) atBound++
  }
  expect({ earning: earning > 0.25 * COUNT, closed: closed > 5, atBound: atBound > 3 }).toEqual({
    earning: true,
    closed: true,
    atBound: true,
  })
})

test('the amounts that the pool owes for their liquidity equal those of Uniswap’s SDK', () => {
  const currency = ({ address, decimals }: Position['token0']) =>
    address === zeroAddress ? Ether.onChain(1) : new Token(1, address, decimals)
  for (const position of read.values()) {
    const { pool, liquidity, tickLower, tickUpper, token0, token1 } = position
    const sdkPool = new Pool(
      currency(token0),
      currency(token1),
      pool.keyFee,
      pool.tickSpacing,
      pool.hooks,
      String(pool.sqrtPriceX96),
      '0',
      pool.tick,
    )
    const known = new SdkPosition({ pool: sdkPool, liquidity: String(liquidity), tickLower, tickUpper })
    const { principal } = computeHeldAmounts(position)
    expect([position.tokenId, String(principal.amount0), String(principal.amount1)]).toEqual([
      position.tokenId,
      known.amount0.quotient.toString(),
      known.amount1.quotient.toString(),
    ])
  }
})

test(
  'principal and fees are to the wei what a real burn pays, in pools whose hook does not see withdrawals',
  async () => {
    const plain = [...read.values()].filter(({ pool, liquidity }) => !mayChangeWithdrawal(pool.hooks) && liquidity > 0n)
    const paid = await v4.realBurns(
      plain.map(({ tokenId, owner }) => ({ tokenId, owner, pool: (members.get(tokenId) as Member).pool })),
    )
    expect(plain.length).toBeGreaterThan(COUNT / 2)
    for (const [index, position] of plain.entries()) {
      const { principal, fees } = computeHeldAmounts(position)
      expect([position.tokenId, paid[index]]).toEqual([
        position.tokenId,
        { amount0: principal.amount0 + fees.amount0, amount1: principal.amount1 + fees.amount1 },
      ])
    }
  },
  LIMIT_MS,
)
