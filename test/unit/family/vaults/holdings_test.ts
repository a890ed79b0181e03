import { expect, test } from 'bun:test'
import type { Address } from 'viem'
import type { RawVault } from '../../../../src/family/vaults/math.ts'
import { toHoldings } from '../../../../src/family/vaults/present/holdings.ts'
import type { PlacedVault } from '../../../../src/family/vaults/present/present.ts'
import { sharePots } from '../../../../src/portfolio/sum/pot.ts'
import { asset as createAsset } from '../../portfolio/sum/assets.ts'

const [VAULT, TOKEN, WALLET] = ['1', '2', '3'].map((digit) => `0x${digit.repeat(40)}`) as [Address, Address, Address]
const token = (address: Address) => ({
  address,
  symbol: 'T',
  name: 'T',
  decimals: 6,
  asWritten: { symbol: 'T', name: 'T' },
})

/** What counts of these worths in one vault, each that of another wallet. */
function countTogether(vault: Partial<RawVault>, worths: readonly bigint[], withdrawableMax?: bigint) {
  const rows = worths.flatMap((assets) =>
    toHoldings({
      chainId: 1,
      wallet: WALLET,
      listed: { address: VAULT, kind: 'erc4626' },
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
  const held = rows.map(({ kind, amount, payable, pot }) => createAsset({ kind, amount, payable, pot }))
  return sharePots(held).map(({ amount, payable }) => payable?.amount ?? amount)
}

test('wallets in one vault of Morpho count together at most what it can pay, and in a listed vault all of it', () => {
  const market = { kind: 'market', supplied: 1_000n, liquidity: 90n } as const
  const v2 = { class: 'morpho_vault_v2', idle: 10n, adapter: market } as const
  expect(countTogether(v2, [100n, 100n])).toEqual([100n, 0n])
  expect(countTogether(v2, [30n, 40n, 500n])).toEqual([30n, 40n, 30n])
  // Behind an adapter that is not known, what the vault holds itself.
  expect(countTogether({ ...v2, adapter: { kind: 'unknown' } }, [7n, 7n])).toEqual([7n, 3n])
  expect(countTogether({ class: 'metamorpho' }, [300n, 300n], 100n)).toEqual([100n, 0n])
  expect(countTogether({ class: 'metamorpho' }, [300n, 300n])).toEqual([300n, 300n])
  expect(countTogether({}, [300n, 300n], 100n)).toEqual([300n, 300n])
})
