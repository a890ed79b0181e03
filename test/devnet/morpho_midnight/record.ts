import { type Address, encodeFunctionData, encodeFunctionResult, type Hex, parseAbi } from 'viem'
import type { RecordedCall } from '../aave_v4/replay.ts'
import type { Checkpoint, Vectors } from './vectors.ts'

/** Getters of Midnight that a reader may call. */
export const MIDNIGHT_ABI = parseAbi([
  'function position(bytes32, address) view returns (uint128, uint128, uint128, uint128, uint128, uint128)',
  'function collateral(bytes32, address, uint256) view returns (uint128)',
  'function marketState(bytes32) view returns (uint128, uint128, uint128, uint128, uint16, uint16, uint16, uint16, uint16, uint16, uint16, uint32, uint8)',
])
const ORACLE = parseAbi(['function price() view returns (uint256)'])
const TOKEN = parseAbi([
  'function symbol() view returns (string)',
  'function name() view returns (string)',
  'function decimals() view returns (uint8)',
])
const ZERO_ID: Hex = `0x${'00'.repeat(32)}`

/** Every getter that a reader may call at a checkpoint, and what the contracts answered. */
export function recordCheckpoint(vectors: Vectors, { markets: states, positions }: Checkpoint): RecordedCall[] {
  const { midnight, wallets, markets, tokens } = vectors
  const calls: RecordedCall[] = []
  const positionCall = (id: Hex, wallet: Address, words: readonly bigint[]): void => {
    const data = encodeFunctionData({ abi: MIDNIGHT_ABI, functionName: 'position', args: [id, wallet] })
    const [a = 0n, b = 0n, c = 0n, d = 0n, e = 0n, f = 0n] = words
    const answer = encodeFunctionResult({ abi: MIDNIGHT_ABI, functionName: 'position', result: [a, b, c, d, e, f] })
    calls.push({ to: midnight, data, answer })
  }
  for (const wallet of [...wallets, vectors.stranger]) {
    for (const id of [ZERO_ID, ...markets.map((market) => market.id)]) positionCall(id, wallet, [])
  }
  for (const position of positions) {
    const [market, wallet] = [markets[position.market], wallets[position.wallet]]
    if (market === undefined || wallet === undefined) throw new Error('Cannot find the market of a position')
    const { credit, pendingFee, lastLossFactor, lastAccrual, debt, collateralBitmap, collateral } = position
    const words = [credit, pendingFee, lastLossFactor, lastAccrual, debt, collateralBitmap].map(BigInt)
    positionCall(market.id, wallet, words)
    for (const { index, raw } of collateral) {
      const args = [market.id, wallet, BigInt(index)] as const
      calls.push({
        to: midnight,
        data: encodeFunctionData({ abi: MIDNIGHT_ABI, functionName: 'collateral', args }),
        answer: encodeFunctionResult({ abi: MIDNIGHT_ABI, functionName: 'collateral', result: BigInt(raw) }),
      })
    }
  }
  for (const state of states) {
    const market = markets[state.market]
    if (market === undefined) throw new Error('Cannot find the market of a state')
    const { totalUnits, lossFactor, withdrawable, continuousFeeCredit, settlementFeeCbp } = state
    const [f0 = 0, f1 = 0, f2 = 0, f3 = 0, f4 = 0, f5 = 0, f6 = 0] = settlementFeeCbp
    const numbers = [BigInt(totalUnits), BigInt(lossFactor), BigInt(withdrawable), BigInt(continuousFeeCredit)] as const
    calls.push({
      to: midnight,
      data: encodeFunctionData({ abi: MIDNIGHT_ABI, functionName: 'marketState', args: [market.id] }),
      answer: encodeFunctionResult({
        abi: MIDNIGHT_ABI,
        functionName: 'marketState',
        result: [...numbers, f0, f1, f2, f3, f4, f5, f6, state.continuousFee, state.tickSpacing],
      }),
    })
    for (const [index, { oracle }] of market.collateralParams.entries()) {
      const price = state.prices[index] ?? null
      const data = encodeFunctionData({ abi: ORACLE, functionName: 'price' })
      if (price === null) calls.push({ to: oracle, data, answer: '0x', reverts: true })
      else {
        const answer = encodeFunctionResult({ abi: ORACLE, functionName: 'price', result: BigInt(price) })
        calls.push({ to: oracle, data, answer })
      }
    }
  }
  for (const [kind, list] of Object.entries(tokens)) {
    for (const [index, { address: to, decimals }] of list.entries()) {
      const symbol = `${kind.toUpperCase()}${index}`
      const answers = [
        ['symbol', encodeFunctionResult({ abi: TOKEN, functionName: 'symbol', result: symbol })],
        ['name', encodeFunctionResult({ abi: TOKEN, functionName: 'name', result: `The token ${symbol}` })],
        ['decimals', encodeFunctionResult({ abi: TOKEN, functionName: 'decimals', result: decimals })],
      ] as const
      for (const [functionName, answer] of answers) {
        calls.push({ to, data: encodeFunctionData({ abi: TOKEN, functionName }), answer })
      }
    }
  }
  return calls
}
