import { afterAll, beforeAll, expect, test } from 'bun:test'
import { compareRational, ONE } from '../../../../src/lib/number/rational.ts'
import type { VectorPosition } from '../../../devnet/morpho_midnight/vectors.ts'
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

type Rows = Awaited<ReturnType<MidnightReader['read']>>['rows']

/** What the contract told of a position, or did with it, as the rows must show it. */
function expectRows(rows: Rows, position: VectorPosition, nowSec: bigint): number {
  const market = vectors.markets[position.market]
  const state = vectors.checkpoints.flatMap((each) => (BigInt(each.time) === nowSec ? each.markets : []))
  const withdrawable = BigInt(state.find((each) => each.market === position.market)?.withdrawable ?? 0)
  const find = (kind: string, part?: string) =>
    rows.find((row) => row.kind === kind && row.position['part'] === part && row.position['market_id'] === market?.id)
  let compared = 0
  const same = (actual: unknown, expected: unknown): void => {
    compared++
    expect(actual).toEqual(expected as never)
  }
  const { executed, debt, view, isHealthy, maxDebt } = position
  const maturity = BigInt(market?.maturity ?? 0)

  const owed = find('borrowed')
  same(owed?.amount ?? 0n, BigInt(debt))
  if (owed !== undefined) {
    same(owed.amount, BigInt(executed.repayAll?.paid ?? -1))
    same([executed.repayAll?.oneMore, executed.repayAll?.debtAfter], ['Panic', '0'])
    same(owed.token.address, market?.loanToken)
    const { dueAtSec, isOverdue, healthFactor, liquidatableBecause } = owed.term ?? {}
    same([dueAtSec, isOverdue], [maturity, nowSec > maturity])
    same(healthFactor?.numerator, maxDebt === null ? undefined : BigInt(maxDebt))
    same(healthFactor?.denominator, maxDebt === null ? undefined : BigInt(debt))
    same(healthFactor === undefined ? null : compareRational(healthFactor, ONE) >= 0, isHealthy)
    const [byHealth, byTime] = [position.liquidateUnhealthy === 'ok', position.liquidateAfterMaturity === 'ok']
    same(liquidatableBecause, [...(byHealth ? ['health_factor'] : []), ...(byTime ? ['debt_matured'] : [])])
  }

  const credit = find('supplied', 'lent')
  same(credit?.amount ?? 0n, BigInt(view.credit))
  if (credit !== undefined) {
    same(
      credit.payable?.amount ?? credit.amount,
      BigInt(view.credit) < withdrawable ? BigInt(view.credit) : withdrawable,
    )
    same(credit.isCollateral, false)
    // A second later, when it was executed, the fee had taken a little more.
    const { creditThen = '0', paid, limitedBy } = executed.withdrawAll ?? {}
    const pays = credit.withdrawable?.amount ?? credit.amount
    same(limitedBy === 'credit' ? BigInt(creditThen) <= pays : pays === BigInt(paid ?? -1), true)
    same(credit.withdrawable?.limitedBy, limitedBy === 'credit' ? undefined : 'liquidity')
  }

  const received = new Map(
    [...(executed.collateral ?? []), ...(executed.thenCollateral ?? [])].map((each) => [each.index, each]),
  )
  for (const { index, raw } of position.collateral) {
    const row = find('supplied', `collateral-${index}`)
    same(row?.amount, BigInt(raw))
    same(row?.token.address, market?.collateralParams[index]?.token)
    same(row?.isCollateral, true)
    same([received.get(index)?.ok, received.get(index)?.received], [true, raw])
    if (debt === '0') same(row?.withdrawable, undefined)
    else same((row?.withdrawable?.amount ?? 0n) < BigInt(raw), true)
  }
  return compared
}

test(
  'the rows of every position are what the contract answered and did, to the unit, at each checkpoint',
  async () => {
    let [held, compared] = [0, 0]
    for (const [index, checkpoint] of vectors.checkpoints.entries()) {
      const nowSec = BigInt(checkpoint.time)
      for (const [number, wallet] of vectors.wallets.entries()) {
        const positions = checkpoint.positions.filter((each) => each.wallet === number)
        const { rows, notRead, block } = await reader.read(wallet, chain.blocks[index])
        expect([notRead, block.timestampSec]).toEqual([[], nowSec])
        const markets = new Set(rows.map(({ position }) => findMarket(position['market_id']).index))
        const isAnything = ({ view, debt, collateral }: VectorPosition) =>
          view.credit !== '0' || debt !== '0' || collateral.length > 0
        expect([...markets].sort()).toEqual(
          positions
            .filter(isAnything)
            .map(({ market }) => market)
            .sort(),
        )
        for (const position of positions) compared += expectRows(rows, position, nowSec)
        held += positions.length
      }
    }
    expect(held).toBe(191)
    expect(compared).toBeGreaterThan(2_000)
  },
  LIMIT_MS,
)
