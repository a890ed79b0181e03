import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type Address, parseAbi, zeroAddress } from 'viem'
import { TOKENS, toWalletAddress } from '../../../devnet/addresses.ts'
import { type Devnet, startDevnet } from '../../../devnet/mod.ts'
import { rangeAround } from '../../../devnet/ticks.ts'
import { POSITION_MANAGER_ABI, STATE_VIEW_ABI } from '../../../devnet/uniswap_v4/abi.ts'
import { UNISWAP_V4 } from '../../../devnet/uniswap_v4/addresses.ts'
import { approveCall, burnCall, donateCall, swapCall, transferCall } from '../../../devnet/uniswap_v4/calls.ts'
import type { UniswapV4 } from '../../../devnet/uniswap_v4/mod.ts'
import {
  DYNAMIC_FEE,
  liquidityWorth,
  PROTOCOL_FEE,
  usdToRaw,
  type V4PoolName,
} from '../../../devnet/uniswap_v4/pools.ts'
import { buildV4RandomPositions } from '../../../devnet/uniswap_v4/random_positions.ts'

const LIMIT_MS = 120_000
const WIRING_ABI = parseAbi([
  'function poolManager() view returns (address)',
  'function permit2() view returns (address)',
  'function WETH9() view returns (address)',
])

let devnet: Devnet
let v4: UniswapV4

// Other tests trade in the pools of the shared one.
beforeAll(async () => {
  devnet = await startDevnet()
  v4 = await devnet.uniswapV4()
}, LIMIT_MS)
afterAll(() => devnet?.stop(), LIMIT_MS)

const slot0 = (name: V4PoolName) =>
  devnet.client.readContract({
    address: UNISWAP_V4.stateView,
    abi: STATE_VIEW_ABI,
    functionName: 'getSlot0',
    args: [v4.pools[name].id],
  })
const readBalance = (holder: Address) =>
  devnet.client.readContract({
    address: UNISWAP_V4.positionManager,
    abi: POSITION_MANAGER_ABI,
    functionName: 'balanceOf',
    args: [holder],
  })

test('the manager, StateView and Permit2 stand at their mainnet addresses and know each other', async () => {
  const read = (address: Address, functionName: 'poolManager' | 'permit2' | 'WETH9') =>
    devnet.client.readContract({ address, abi: WIRING_ABI, functionName })
  expect(await read(UNISWAP_V4.positionManager, 'poolManager')).toBe(UNISWAP_V4.poolManager)
  expect(await read(UNISWAP_V4.stateView, 'poolManager')).toBe(UNISWAP_V4.poolManager)
  expect(await read(UNISWAP_V4.positionManager, 'permit2')).toBe(UNISWAP_V4.permit2)
  expect(await read(UNISWAP_V4.positionManager, 'WETH9')).toBe(TOKENS.weth.address)
})

test('each pool was created at its start tick, with its fees', async () => {
  for (const name of Object.keys(v4.pools) as V4PoolName[]) {
    const [, tick, protocolFee, lpFee] = await slot0(name)
    const { key, startTick } = v4.pools[name]
    expect([name, Math.abs(tick - startTick) <= 1]).toEqual([name, true])
    expect([name, protocolFee]).toEqual([name, name === 'protocolFee' ? PROTOCOL_FEE : 0])
    expect([name, lpFee]).toEqual([name, key.fee === DYNAMIC_FEE ? 3_000 : key.fee])
  }
  expect(v4.pools.native.key.currency0).toBe(zeroAddress)
})

test('positions are minted to another, approved, sent on and burned', async () => {
  const [owner, next] = [toWalletAddress('v4 test owner'), toWalletAddress('v4 test next')]
  const pool = v4.pools.native
  const tokenId = await v4.mint({ pool, ...rangeAround(pool, -500, 500), liquidity: 10n ** 12n, recipient: owner })
  await devnet.send([
    approveCall({ tokenId, owner, spender: next }),
    transferCall({ tokenId, owner, to: next, from: next }),
  ])
  expect([await readBalance(owner), await readBalance(next)]).toEqual([0n, 1n])
  const [paid] = await v4.realBurns([{ pool, tokenId, owner: next }])
  expect(paid?.amount0).toBeGreaterThan(0n)
  expect(await readBalance(next)).toBe(1n)
  await devnet.send([burnCall({ pool, tokenId, owner: next })])
  expect(await readBalance(next)).toBe(0n)
})

test('what swaps and donations pay reaches a position, and a hook that forbids removal keeps it', async () => {
  const names = ['plain', 'native', 'dynamicFee', 'feeTaking', 'customCurve', 'forbidding', 'protocolFee'] as const
  const owner = toWalletAddress('v4 test earner')
  const changes = await Promise.all(
    names.map(async (name) => {
      const pool = v4.pools[name]
      const range = rangeAround(pool, -900, 900)
      const liquidity = liquidityWorth(pool, { ...range, usd: 10_000 })
      return { pool, owner, tokenId: await v4.mint({ pool, ...range, liquidity, recipient: owner }) }
    }),
  )
  const before = await v4.realBurns(changes)
  await devnet.send(
    changes.flatMap(({ pool }) => {
      const [amount0, amount1] = [usdToRaw(pool.currencies[0], 1_000), usdToRaw(pool.currencies[1], 1_000)]
      return [swapCall({ pool, zeroForOne: true, amountIn: amount0 }), donateCall({ pool, amount0, amount1 })]
    }),
  )
  const after = await v4.realBurns(changes)
  for (const [index, name] of names.entries()) {
    if (name === 'forbidding') expect([before[index], after[index]]).toEqual([null, null])
    else expect([name, (after[index]?.amount0 ?? 0n) > (before[index]?.amount0 ?? 0n)]).toEqual([name, true])
  }
})

test(
  'lives are the same for the same seed, and hold acts of every kind',
  async () => {
    const snapshot = await devnet.rpc.call('evm_snapshot')
    const live = async () => {
      const { acts } = await buildV4RandomPositions(v4, { seed: 7, rounds: 14 })
      return acts.map(({ kind, tokenId, owner }) => `${kind} ${tokenId} ${owner}`)
    }
    const first = await live()
    await devnet.rpc.call('evm_revert', snapshot)
    expect(await live()).toEqual(first)
    const kinds = new Set(first.map((act) => act.split(' ')[0] ?? ''))
    expect([...kinds].sort()).toEqual(['burn', 'collect', 'decrease', 'increase', 'mint', 'transfer'])
  },
  LIMIT_MS,
)
