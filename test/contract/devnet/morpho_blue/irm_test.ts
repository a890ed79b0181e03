import { beforeAll, expect, test } from 'bun:test'
import { AdaptiveCurveIrmLib } from '@morpho-org/blue-sdk'
import { decodeFunctionResult, encodeFunctionData, type Hex, keccak256, numberToHex, pad, parseAbi } from 'viem'
import { type Devnet, sharedDevnet } from '../../../devnet/mod.ts'
import { ADAPTIVE_CURVE } from '../../../devnet/morpho_blue/calls.ts'
import { createRandom } from '../../../devnet/random.ts'

const WAD = 10n ** 18n
const CASES = 500

const ABI = parseAbi([
  'struct MarketParams { address loanToken; address collateralToken; address oracle; address irm; uint256 lltv; }',
  'struct Market { uint128 totalSupplyAssets; uint128 totalSupplyShares; uint128 totalBorrowAssets; uint128 totalBorrowShares; uint128 lastUpdate; uint128 fee; }',
  'function borrowRateView(MarketParams params, Market market) view returns (uint256)',
])

let devnet: Devnet

beforeAll(async () => {
  devnet = await sharedDevnet()
  await devnet.morpho()
}, 60_000)

test('AdaptiveCurve asks the rates that the SDK of Morpho computes, from any utilization, rate and time', async () => {
  const random = createRandom(4)
  const { timestamp } = await devnet.client.getBlock()
  const [params] = Object.values((await devnet.morpho()).markets).map((market) => market)
  if (params === undefined) throw new Error('Expected a market')
  // The slot of `rateAtTarget[id]`, the contract's first mapping.
  const slot = keccak256(`0x${params.id.slice(2)}${pad('0x0', { size: 32 }).slice(2)}`)
  let moved = 0
  for (let index = 0; index < CASES; index++) {
    const supply = BigInt(1 + random.below(2 ** 31)) * 10n ** BigInt(random.below(18))
    const borrow = (supply * BigInt(random.pick([0, random.below(10_001), 9_000, 10_000]))) / 10_000n
    const elapsed = BigInt(random.pick([0, 12, random.below(86_400), random.below(2 ** 31 - 1) % Number(timestamp)]))
    const span = Number(AdaptiveCurveIrmLib.MAX_RATE_AT_TARGET - AdaptiveCurveIrmLib.MIN_RATE_AT_TARGET)
    const start = index % 9 === 0 ? 0n : AdaptiveCurveIrmLib.MIN_RATE_AT_TARGET + BigInt(random.below(2 ** 31) % span)
    const market = {
      totalSupplyAssets: supply,
      totalSupplyShares: 0n,
      totalBorrowAssets: borrow,
      totalBorrowShares: 0n,
      lastUpdate: timestamp - elapsed,
      fee: 0n,
    }
    const data = encodeFunctionData({ abi: ABI, functionName: 'borrowRateView', args: [params.params, market] })
    const state = { [ADAPTIVE_CURVE]: { stateDiff: { [slot]: numberToHex(start, { size: 32 }) } } }
    const answer = await devnet.rpc.call<Hex>('eth_call', { to: ADAPTIVE_CURVE, data }, 'latest', state)
    const rate = decodeFunctionResult({ abi: ABI, functionName: 'borrowRateView', data: answer })
    const theirs = AdaptiveCurveIrmLib.getBorrowRate((borrow * WAD) / supply, start, elapsed)
    expect({ index, rate }).toEqual({ index, rate: theirs.avgBorrowRate })
    if (theirs.avgBorrowRate !== theirs.endBorrowRate) moved++
  }
  expect(moved).toBeGreaterThan(100)
}, 30_000)
