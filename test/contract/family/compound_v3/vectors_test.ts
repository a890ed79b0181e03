import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { VectorAccount, World } from '../../../devnet/compound_v3/vectors.ts'
import { WORLDS } from '../../../devnet/compound_v3/vectors.ts'
import {
  createCaller,
  type ReplayedChain,
  startReplayedChain,
  UNIT_USD,
  type WireAsset,
  type WirePosition,
} from './support.ts'

const LIMIT_MS = 300_000
const WAD = 10n ** 18n

let chain: ReplayedChain
/** Block of each world, and of each time at which something was executed in it. */
const blocks = new Map<string, number>()

beforeAll(async () => {
  chain = await startReplayedChain()
  for (const world of WORLDS) {
    await chain.place(world)
    const times = world.accounts.flatMap(({ executed }) => Object.values(executed).map(({ timestamp }) => timestamp))
    for (const time of [...new Set([world.block.timestamp, ...times])].sort((a, b) => Number(a) - Number(b))) {
      blocks.set(time, await chain.mineAt(BigInt(time)))
    }
  }
  // Anvil keeps a block's state when the next one comes.
  await chain.rpc.call('evm_mine')
}, LIMIT_MS)
afterAll(() => chain?.anvil.stop(), LIMIT_MS)

/** `numerator / 10^digits` with six digits, half away from zero. */
function toUsd(numerator: bigint, digits: number): string {
  const scale = 10n ** BigInt(digits - 6)
  const millionths = (2n * numerator + (numerator < 0n ? -scale : scale)) / (2n * scale)
  const text = String(millionths < 0n ? -millionths : millionths).padStart(7, '0')
  return `${millionths < 0n ? '-' : ''}${text.slice(0, -6)}.${text.slice(-6)}`
}

function toRaw(text: unknown, decimals: number): bigint {
  const [whole = '', fraction = ''] = String(text).split('.')
  return BigInt(whole + fraction.padEnd(decimals, '0'))
}

/** Worth of collaterals × factor, from the values that the contract told, rounded down as it does. */
function sumLimit(world: World, account: VectorAccount, factor: 'borrowCF' | 'liquidateCF'): bigint {
  return account.collateral.reduce((sum, { value8 }, index) => {
    return sum + (BigInt(value8) * BigInt(world.collaterals[index]?.[factor] ?? 0)) / WAD
  }, 0n)
}

/** The account's one position at a time of its world. */
async function readPosition(world: World, wallet: string, time: string): Promise<WirePosition> {
  const { list } = createCaller(chain, world)
  const { data, credits } = await list(`wallet=${wallet}&chain_id=1&at_block=${blocks.get(time)}`)
  const [position] = data[0]?.positions ?? []
  if (position === undefined) throw new Error(`Expected a position of ${wallet}`)
  expect([data.length, credits]).toEqual([1, 15])
  return position
}

for (const world of WORLDS) {
  const { base, collaterals, parameters, block, basePrice8 } = world
  const baseDecimals = parameters.baseScale.length - 1
  // Nothing is rounded between 10^-digits of a dollar.
  const [digits] = [...collaterals.map(({ decimals }) => decimals), baseDecimals].sort((a, b) => b - a)
  const toValue = (amount: bigint, price8: string, decimals: number) =>
    amount * BigInt(price8) * UNIT_USD * 10n ** BigInt((digits ?? 0) - decimals)

  test(
    `the list equals what the contracts stored and answered, to the unit: ${world.contract}`,
    async () => {
      for (const account of world.accounts) {
        const position = await readPosition(world, account.wallet, block.timestamp)
        const find = (assets: readonly WireAsset[], address: string) =>
          assets.filter((each) => each.address === address)
        const [supplied, owed] = [BigInt(account.supplied), BigInt(account.owed)]
        const [lent, ...others] = find(position.suppliedAssets, base)
        const [debt] = find(position.borrowedAssets, base)
        expect(others).toEqual([])
        expect([toRaw(lent?.amount ?? '0', baseDecimals), toRaw(debt?.amount ?? '0', baseDecimals)]).toEqual([
          supplied,
          owed,
        ])
        expect(lent?.withdrawable?.raw ?? '0').toBe(account.supplied)
        let collateral = 0n
        for (const [index, { asset, balance }] of account.collateral.entries()) {
          const { decimals = 0, price8 = '0' } = collaterals[index] ?? {}
          const [row] = find(position.suppliedAssets, asset)
          expect(row?.amount === undefined ? 0n : toRaw(row.amount, decimals)).toBe(BigInt(balance))
          const value = toValue(BigInt(balance), price8, decimals)
          collateral += value
          if (row === undefined) continue
          expect(row['amountSuppliedUSD']).toBe(toUsd(value, 8 + (digits ?? 0)))
          expect([row['isCollateral'], row['supplyAPY']]).toEqual([true, '0.00000000'])
          // Without enough collateral for what it owes, none goes out.
          if (!account.isBorrowCollateralized)
            expect([row.withdrawable?.raw, row['limited_by']]).toEqual(['0', 'health'])
          if (owed === 0n) expect([row.withdrawable?.raw, row['limited_by']]).toEqual([balance, null])
        }
        const [lentUsd, debtUsd] = [
          toValue(supplied, basePrice8, baseDecimals),
          toValue(owed, basePrice8, baseDecimals),
        ]
        expect(position['totalCollateralUSD']).toBe(toUsd(collateral, 8 + (digits ?? 0)))
        expect(position['totalDebtUSD']).toBe(toUsd(debtUsd, 8 + (digits ?? 0)))
        expect(position['netWorthUSD']).toBe(toUsd(collateral + lentUsd - debtUsd, 8 + (digits ?? 0)))
        const debtValue = (owed * BigInt(basePrice8)) / BigInt(parameters.baseScale)
        const limit = sumLimit(world, account, 'liquidateCF')
        const tenThousandths = owed === 0n ? undefined : String((limit * 10_000n) / debtValue).padStart(5, '0')
        expect(position['healthFactor']).toBe(
          tenThousandths === undefined ? 'MAX' : `${tenThousandths.slice(0, -4)}.${tenThousandths.slice(-4)}`,
        )
        expect(position['liquidatable_because']).toEqual(account.isLiquidatableAfterAccrual ? ['health_factor'] : [])
        expect(position.rewards?.map(({ raw }) => raw) ?? []).toEqual(
          account.rewardOwed === '0' ? [] : [account.rewardOwed],
        )
        expect(position['reason']).toBeNull()
      }
    },
    LIMIT_MS,
  )

  test(
    `withdrawals, repayments and claims paid what the list says at their times: ${world.contract}`,
    async () => {
      let executions = 0
      for (const { wallet, executed } of world.accounts) {
        for (const [what, { timestamp, paid }] of Object.entries(executed)) {
          const { suppliedAssets, borrowedAssets, rewards } = await readPosition(world, wallet, timestamp)
          const find = (assets: readonly WireAsset[]) => assets.find(({ address }) => address === base)
          if (what === 'withdrawAll') expect(find(suppliedAssets)?.withdrawable?.raw).toBe(paid)
          if (what === 'repayAll') expect(toRaw(find(borrowedAssets)?.amount, baseDecimals)).toBe(-BigInt(paid))
          if (what === 'claim') expect(rewards?.[0]?.raw).toBe(paid)
          executions++
        }
      }
      expect(executions).toBeGreaterThan(18)
    },
    LIMIT_MS,
  )

  test(
    `the batch has the figures of the list: ${world.contract}`,
    async () => {
      const { list, batch } = createCaller(chain, world)
      const at = { chain_id: 1, at_block: blocks.get(block.timestamp) }
      const wallets = world.accounts.map(({ wallet }) => wallet)
      const { data, credits } = await batch({ wallets, ...at })
      expect([data.map(({ wallet }) => wallet), credits]).toEqual([wallets, 15 * wallets.length])
      for (const entry of data) {
        const own = await list(`wallet=${entry.wallet}&chain_id=1&at_block=${at.at_block}`)
        const [{ positions: [position] = [], calculations: [calculation] = [] } = {}] = own.data
        expect(entry.positions as readonly unknown[]).toEqual([
          { marketId: 'usdc', healthFactor: position?.['healthFactor'], netWorthUSD: position?.['netWorthUSD'] },
        ])
        expect(entry.calculations[0]?.['netAPY']).toBe(calculation?.['netAPY'])
      }
    },
    LIMIT_MS,
  )
}
