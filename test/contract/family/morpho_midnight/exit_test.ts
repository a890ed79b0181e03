import { afterAll, beforeAll, expect, test } from 'bun:test'
import {
  type Address,
  encodeFunctionData,
  type Hex,
  hexToBigInt,
  parseAbi,
  slice,
  toFunctionSelector,
  zeroAddress,
} from 'viem'
import type { HoldingExit, HoldingStep } from '../../../../src/family/exit.ts'
import {
  findMarket,
  type MidnightChain,
  type MidnightReader,
  startMidnightChain,
  startReader,
  vectors,
} from './support.ts'

const LIMIT_MS = 120_000

let chain: MidnightChain
let reader: MidnightReader

beforeAll(async () => {
  chain = await startMidnightChain()
  reader = await startReader([chain.anvil.rpcUrl])
}, LIMIT_MS)
afterAll(async () => {
  await reader?.close()
  await chain?.anvil.stop()
}, LIMIT_MS)

/** As `@morpho-org/midnight-sdk` 1.6.0 has them. */
const ABI = parseAbi([
  'struct Collateral { address token; uint256 lltv; uint256 liquidationCursor; address oracle; }',
  'struct Market { uint256 chainId; address midnight; address loanToken; Collateral[] collateralParams; uint256 maturity; uint256 rcfThreshold; address enterGate; address liquidatorGate; }',
  'function updatePosition(Market market, address user) returns (uint128, uint128, uint128)',
  'function repay(Market market, uint256 units, address onBehalf, address callback, bytes data)',
  'function withdraw(Market market, uint256 units, address onBehalf, address receiver)',
  'function withdrawCollateral(Market market, uint256 collateralIndex, uint256 assets, address onBehalf, address receiver)',
  'function credit(bytes32 id, address user) view returns (uint128)',
])

function toStruct(id: string | undefined) {
  const { market } = findMarket(id)
  return {
    ...market,
    chainId: BigInt(market.chainId),
    maturity: BigInt(market.maturity),
    rcfThreshold: BigInt(market.rcfThreshold),
    collateralParams: market.collateralParams.map((each) => ({
      ...each,
      lltv: BigInt(each.lltv),
      liquidationCursor: BigInt(each.liquidationCursor),
    })),
  }
}

const getLast = ({ calls }: HoldingStep): Hex => calls.at(-1)?.data ?? '0x'

test(
  'steps are the calls that the contract executed: the debt at par, all credit or what is there, each collateral',
  async () => {
    const seen = { repaid: 0, lent: 0, limited: 0, collateral: 0, partly: 0 }
    for (const [index, checkpoint] of vectors.checkpoints.entries()) {
      if (index % 2 === 0) continue
      for (const [number, wallet] of vectors.wallets.entries()) {
        const held = await reader.read(wallet, chain.blocks[index])
        const exits = held.listExits?.() ?? []
        expect(new Set(exits.map(getMarketId)).size).toBe(exits.length)
        for (const exit of exits) {
          const id = getMarketId(exit) as Hex
          const args = [toStruct(id)] as const
          const position = checkpoint.positions.find(
            (each) => each.wallet === number && each.market === findMarket(id).index,
          )
          if (position === undefined) throw new Error('Expected a position')
          const steps = exit.steps.map((step) => ({ step, data: getLast(step) }))
          const find = (data: Hex) => steps.find((each) => each.data === data)?.step
          const expected: Hex[] = []

          const debt = BigInt(position.debt)
          if (debt > 0n) {
            const data = encodeFunctionData({
              abi: ABI,
              functionName: 'repay',
              args: [...args, debt, wallet, zeroAddress, '0x'],
            })
            expected.push(data)
            expect(position.executed.repayAll?.paid).toBe(String(debt))
            const step = find(data)
            expect([exit.steps[0] === step, step?.kind, step?.loan?.token]).toEqual([
              true,
              'borrowed',
              args[0].loanToken,
            ])
            expect(step?.loan?.amount).toBeGreaterThanOrEqual(debt)
            seen.repaid++
          }
          const credit = BigInt(position.view.credit)
          if (credit > 0n) {
            const take = (units: bigint) =>
              encodeFunctionData({ abi: ABI, functionName: 'withdraw', args: [...args, units, wallet, wallet] })
            const pot = BigInt(checkpoint.markets.find(({ market }) => market === position.market)?.withdrawable ?? 0)
            expected.push(take(credit), ...(pot > 0n && pot < credit ? [take(pot)] : []))
            const all = find(take(credit))
            const [update, withdraw] = all?.calls ?? []
            expect(update?.data).toBe(
              encodeFunctionData({ abi: ABI, functionName: 'updatePosition', args: [...args, wallet] }),
            )
            const { at = 0, question, from } = withdraw?.patch ?? {}
            expect(question).toBe(encodeFunctionData({ abi: ABI, functionName: 'credit', args: [id, wallet] }))
            expect([from, hexToBigInt(slice(withdraw?.data ?? '0x', at, at + 32))]).toEqual([vectors.midnight, credit])
            const part = pot > 0n && pot < credit ? find(take(pot)) : undefined
            if (part !== undefined) expect([part.isFallback, part.because]).toEqual([true, 'no_liquidity'])
            if (position.executed.withdrawAll?.limitedBy === 'withdrawable' && pot > 0n) {
              expect(part === undefined ? undefined : String(pot)).toBe(position.executed.withdrawAll.paid)
              seen.limited++
            }
            seen.lent++
          }
          for (const { index: place, raw } of position.collateral) {
            const row = held.rows.find(({ position: where }) => {
              return where['market_id'] === id && where['part'] === `collateral-${place}`
            })
            const take = (amount: bigint) =>
              encodeFunctionData({
                abi: ABI,
                functionName: 'withdrawCollateral',
                args: [...args, BigInt(place), amount, wallet, wallet],
              })
            expected.push(take(BigInt(raw)))
            expect(find(take(BigInt(raw)))?.parts).toEqual([`collateral-${place}`])
            const free = row?.withdrawable?.amount ?? 0n
            if (free > 0n) {
              expected.push(take(free))
              expect(find(take(free))?.because).toBe('health')
              seen.partly++
            }
            seen.collateral++
          }
          expect(steps.map(({ data }) => data)).toEqual(expected)
        }
      }
    }
    expect(seen.repaid).toBeGreaterThan(25)
    expect(seen.lent).toBeGreaterThan(25)
    expect(Math.min(...Object.values(seen))).toBeGreaterThan(0)
  },
  LIMIT_MS,
)

function getMarketId({ position }: HoldingExit): string | undefined {
  return position['market_id']
}

test(
  'refusals are told by the contract’s own errors',
  async () => {
    const { listExits } = await reader.read(vectors.wallets[0] as Address)
    const [exit] = listExits?.() ?? []
    const panic: Hex = `0x4e487b71${'11'.padStart(64, '0')}`
    expect([exit?.explain('0x0c9e8d0d'), exit?.explain(panic)]).toEqual([undefined, 'no_liquidity'])
    expect(exit?.explain(toFunctionSelector('UnhealthyBorrower()'))).toBe('health')
  },
  LIMIT_MS,
)
