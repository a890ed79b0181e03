import { expect, test } from 'bun:test'
import type { Address, Hex } from 'viem'
import { type Holding, nameMarketPot } from '../../../../src/family/holding.ts'
import type { RawVault } from '../../../../src/family/vaults/math.ts'
import { toHoldings } from '../../../../src/family/vaults/present/holdings.ts'
import type { PlacedVault } from '../../../../src/family/vaults/present/present.ts'
import { sharePots } from '../../../../src/portfolio/sum/pot.ts'
import { asset as createAsset } from '../../portfolio/sum/assets.ts'

const [VAULT, TOKEN, WALLET] = ['1', '2', '3'].map((digit) => `0x${digit.repeat(40)}`) as [Address, Address, Address]
/** Markets of Morpho Blue. */
const [FIRST, SECOND] = ['1', '2'].map((digit) => `0x${digit.repeat(64)}`) as [Hex, Hex]
const token = (address: Address) => ({
  address,
  symbol: 'T',
  name: 'T',
  decimals: 6,
  asWritten: { symbol: 'T', name: 'T' },
})

/** Rows of these worths in one vault, each that of another wallet. */
function listRows(
  vault: Partial<RawVault>,
  worths: readonly bigint[],
  {
    address = VAULT,
    withdrawableMax,
  }: { readonly address?: Address; readonly withdrawableMax?: bigint | undefined } = {},
) {
  return worths.flatMap((assets) =>
    toHoldings({
      chainId: 1,
      wallet: WALLET,
      listed: { address, kind: 'erc4626' },
      vault: { class: 'erc4626', isPaused: false, cooldownSec: undefined, ...vault } as RawVault,
      share: token(VAULT),
      asset: { ...token(TOKEN), price: { kind: 'price', price: { units: 1n, scale: 0, source: 'stablecoin' } } },
      shares: assets,
      assets,
      withdrawableMax: withdrawableMax === undefined || withdrawableMax > assets ? assets : withdrawableMax,
      isGated: false,
      cooldown: { amount: 0n, endSec: 0n, windowSec: 0n },
      timestampSec: 0n,
    } satisfies PlacedVault),
  )
}

/** What counts of rows together. */
function count(rows: readonly Holding[]) {
  const held = rows.map(({ kind, amount, payable, sources }) => createAsset({ kind, amount, payable, sources }))
  return sharePots(held).map(({ amount, payable }) => payable?.amount ?? amount)
}

/** What counts of these worths in one vault, each that of another wallet. */
function countTogether(vault: Partial<RawVault>, worths: readonly bigint[], withdrawableMax?: bigint) {
  return count(listRows(vault, worths, { withdrawableMax }))
}

test('wallets in one vault of Morpho count together at most what it can pay, and in a listed vault all of it', () => {
  const market = { kind: 'market', id: FIRST, supplied: 1_000n, liquidity: 90n } as const
  const v2 = { class: 'morpho_vault_v2', idle: 10n, adapter: market } as const
  expect(countTogether(v2, [100n, 100n])).toEqual([100n, 0n])
  expect(countTogether(v2, [30n, 40n, 500n])).toEqual([30n, 40n, 30n])
  // Behind an adapter that is not known, what the vault holds itself.
  expect(countTogether({ ...v2, adapter: { kind: 'unknown' } }, [7n, 7n])).toEqual([7n, 3n])
  expect(countTogether({ class: 'metamorpho' }, [300n, 300n], 100n)).toEqual([100n, 0n])
  expect(countTogether({ class: 'metamorpho' }, [300n, 300n])).toEqual([300n, 300n])
  expect(countTogether({}, [300n, 300n], 100n)).toEqual([300n, 300n])
})

test('vaults and lenders of one market count together at most what it can pay, each at most what it has there', () => {
  const lend = (id: Hex, supplied: bigint, liquidity: bigint) => ({ id, supplied, liquidity })
  const queue = [lend(FIRST, 300n, 150n), lend(SECOND, 300n, 900n)]
  const inner = TOKEN
  const metaMorpho = { class: 'metamorpho', queue } as const
  const market = { kind: 'market', ...lend(FIRST, 80n, 150n) } as const
  const [ownMarket, throughVault] = [
    { class: 'morpho_vault_v2', idle: 10n, adapter: market } as const,
    {
      class: 'morpho_vault_v2',
      idle: 20n,
      adapter: { kind: 'vault', supplied: 400n, liquidity: 400n, inner, queue },
    } as const,
  ]
  // 150 of the first market, 300 of the second.
  expect(count(listRows(metaMorpho, [200n, 400n], { address: inner }))).toEqual([200n, 250n])
  // What the first market cannot pay a second time is in the second one.
  expect(count([...listRows(ownMarket, [90n]), ...listRows(metaMorpho, [400n], { address: inner })])).toEqual([
    90n,
    370n,
  ])
  // A vault through a MetaMorpho draws on what that has left, and holds 20 itself.
  const through = listRows(throughVault, [420n])
  expect(count([...listRows(metaMorpho, [200n], { address: inner }), ...through])).toEqual([200n, 270n])
  expect(count([...through, ...listRows(metaMorpho, [200n], { address: inner })])).toEqual([420n, 50n])
  // A wallet that lends to the market itself.
  const own: Holding = {
    ...(through[0] as Holding),
    amount: 100n,
    sources: [[{ key: nameMarketPot(FIRST), amount: 150n, reason: 'exceeds_liquidity' }]],
  }
  expect(count([own, ...listRows(ownMarket, [90n])])).toEqual([100n, 60n])
  // Markets that a vault does not tell leave it with what it says that it can pay.
  const silent = { ...throughVault, adapter: { ...throughVault.adapter, queue: undefined } }
  expect(count(listRows(silent, [300n, 300n]))).toEqual([300n, 120n])
})
