import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type Address, erc20Abi, type Hex, toHex } from 'viem'
import { ASSETS, type AssetName, type MarketName } from '../../devnet/aave_v3/addresses.ts'
import { ALL, withdrawCall } from '../../devnet/aave_v3/calls.ts'
import type { AaveDevnet } from '../../devnet/aave_v3/mod.ts'
import { exclusiveAave } from '../../devnet/aave_v3/shared.ts'
import type { Devnet } from '../../devnet/mod.ts'
import { CALLS, type MorphoMarket } from '../../devnet/morpho_blue/calls.ts'
import type { MorphoDevnet } from '../../devnet/morpho_blue/mod.ts'
import type { Transaction } from '../../devnet/transaction.ts'
import { caseCount, IS_FULL } from '../../support/cases.ts'
import { type TestDatabase, testDatabase } from '../../support/database.ts'
import { createPatientClock } from '../../support/test_clock.ts'
import { type Lister, startLister } from '../family/morpho_blue/list/world.ts'
import { listWithdrawals, readInNextBlock } from './next_block.ts'
import { allRows, createPortfolio, type WireRow } from './support.ts'

const SEED = 20_261_129
const WALLETS = caseCount(150, 12)
/** Token units by which a row of Aave may stay below the pool's own limit where a debt holds it, with its unit of value. */
const BURN_ROUNDING = 3n

let devnet: Devnet
let aave: AaveDevnet
let morpho: MorphoDevnet
let database: TestDatabase
let lister: Lister
let wallets: readonly Address[]
let markets: ReadonlyMap<string, MorphoMarket>

beforeAll(async () => {
  const shared = await exclusiveAave()
  devnet = shared.devnet
  aave = shared.aave
  morpho = await devnet.morpho()
  const third = Math.ceil(WALLETS / 3)
  const lenders = await aave.randomWallets(SEED, third)
  const { wallets: liquid } = await devnet.randomScenario(SEED, third)
  const random = await morpho.startRandom({ seed: SEED, count: WALLETS - 2 * third })
  for (let round = 0; round < 6; round++) await random.round()
  // Every second of them, and all with `SEEDS=full`.
  const named = [...Object.values(aave.wallets), ...Object.values(morpho.wallets)].filter(
    (_, no) => IS_FULL || no % 2 === 0,
  )
  wallets = [...new Set([...lenders.wallets, ...liquid, ...random.wallets, ...named])]
  markets = new Map([...Object.values(morpho.markets), ...random.markets].map((market) => [market.id, market]))
  database = await testDatabase()
  lister = startLister(devnet, { database })
}, 300_000)

afterAll(async () => {
  await lister?.close()
  await database?.close()
  await devnet?.stop()
}, 60_000)

/** What a transaction alone pays its sender of a token in a block of that time; undefined if it reverts. */
async function pay(transaction: Transaction, tokens: readonly Address[], timeSec: bigint) {
  const snapshot = await devnet.rpc.call<Hex>('evm_snapshot')
  const balances = () =>
    Promise.all(
      tokens.map((address) =>
        devnet.client.readContract({ address, abi: erc20Abi, functionName: 'balanceOf', args: [transaction.from] }),
      ),
    )
  try {
    const before = await balances()
    await devnet.rpc.call('evm_setNextBlockTimestamp', toHex(timeSec))
    const [receipt] = await devnet.send([transaction], { mayRevert: true })
    if (receipt?.status !== '0x1') return undefined
    return (await balances()).map((after, index) => after - (before[index] ?? 0n))
  } finally {
    await devnet.rpc.call('evm_revert', snapshot)
  }
}

const raw = ({ withdrawable }: WireRow) => BigInt(withdrawable?.raw ?? 0)

/** The withdrawal of a row, of that amount. */
function withdraw(wallet: Address, { token, position }: WireRow, amount: bigint): Transaction {
  const { family, market_id = '', part } = position ?? {}
  if (family === 'aave-v3') {
    const [asset] = Object.entries(ASSETS).find(([, { address }]) => address === token.id) ?? []
    return withdrawCall({ market: market_id as MarketName, wallet, asset: asset as AssetName, amount })
  }
  const market = markets.get(market_id)
  if (market === undefined) throw new Error(`Cannot find the market ${market_id}`)
  const action = { market, wallet, assets: amount }
  return part === 'lent' ? CALLS.withdraw(action) : CALLS.withdrawCollateral(action)
}

/** So many units more than a row says must not be paid. */
function unitsBeyond(row: WireRow): bigint {
  const { limited_by, position, price_usd, token } = row
  if (position?.['family'] !== 'aave-v3' || limited_by !== 'health') return 1n
  // A unit of the pool's value, and in 3.0 also what the truncation of the average threshold takes.
  const grain = 10n ** BigInt(token.decimals ?? 0) / BigInt(Math.max(1, Math.floor(Number(price_usd) * 1e8)))
  return BURN_ROUNDING + 2n * grain + 2n + (position['market_id'] === 'v3_0' ? BigInt(row.amount.raw) / 1_000n : 0n)
}

test('withdrawable is what a transaction of the row alone pays, and nothing more is paid', async () => {
  const portfolio = createPortfolio([lister.client], {
    db: database.db,
    history: lister.history,
    clock: createPatientClock(),
  })
  const { found: rowsByWallet, timeSec } = await readInNextBlock(devnet, async () => {
    const read = new Map<Address, readonly WireRow[]>()
    for (const wallet of wallets) read.set(wallet, await allRows(portfolio, `wallet=${wallet}&chain_id=1`))
    return read
  })
  const counts: Record<string, number> = {}
  const count = (what: string) => {
    counts[what] = (counts[what] ?? 0) + 1
  }
  for (const [wallet, rows] of rowsByWallet) {
    for (const row of rows) {
      const { kind, position, limited_by, withdrawable, amount, token } = row
      const told = { wallet, position, kind, amount: amount.raw, limited_by, withdrawable: withdrawable?.raw }
      if (kind === 'wallet' || kind === 'borrowed') {
        expect({ ...told, withdrawable }).toMatchObject({ withdrawable: null, limited_by: null })
        continue
      }
      expect({ ...told, isLess: raw(row) < BigInt(amount.raw) }).toEqual({ ...told, isLess: limited_by !== null })
      if (kind === 'liquidity') continue
      const isAll = limited_by === null
      const isAave = position?.['family'] === 'aave-v3'
      if (raw(row) > 0n) {
        const paid = await pay(withdraw(wallet, row, isAll && isAave ? ALL : raw(row)), [token.id], timeSec)
        expect({ ...told, paid }).toEqual({ ...told, paid: [raw(row)] })
      }
      if (!isAll) {
        const more = await pay(withdraw(wallet, row, raw(row) + unitsBeyond(row)), [token.id], timeSec)
        expect({ ...told, more }).toEqual({ ...told, more: undefined })
      }
      count(`${position?.['family']} ${limited_by ?? 'all'}`)
    }
    const ids = new Set(rows.flatMap(({ kind, position }) => (kind === 'liquidity' ? [position?.['token_id']] : [])))
    for (const id of ids) {
      const own = rows.filter(({ position }) => position?.['token_id'] === id && position?.['family'] === 'uniswap-v3')
      const tokens = [...new Set(own.map(({ token }) => token.id))]
      const sum = (parts: readonly WireRow[]) =>
        tokens.map((each) => parts.reduce((total, row) => total + (row.token.id === each ? raw(row) : 0n), 0n))
      const { collect, all } = await listWithdrawals(devnet, { owner: wallet, tokenId: BigInt(id ?? 0) })
      const owed = own.filter(({ position }) => position?.['part'] !== 'principal')
      if (owed.length > 0) expect(await pay(collect, tokens, timeSec)).toEqual(sum(owed))
      if (all !== undefined) expect(await pay(all, tokens, timeSec)).toEqual(sum(own))
      count('uniswap-v3 position')
    }
  }
  console.log(`${rowsByWallet.size} wallets`, counts)
  expect(Math.min(counts['aave-v3 health'] ?? 0, counts['morpho-blue health'] ?? 0)).toBeGreaterThan(2)
  expect(Math.min(counts['aave-v3 liquidity'] ?? 0, counts['morpho-blue liquidity'] ?? 0)).toBeGreaterThan(0)
}, 600_000)
