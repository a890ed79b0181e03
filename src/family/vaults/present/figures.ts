import { type UsdPriceOutcome, usdValue } from '../../../finance/price/price.ts'
import type { Withdrawable } from '../../../finance/withdrawable.ts'
import { type Rational, toRational } from '../../../lib/number/rational.ts'
import { computeWithdrawable, findCooldownWindow, isCooledDown, type RawHolding, type RawVault } from '../math.ts'
import type { ListedVault } from '../table.ts'

/** What presentation takes of a position. */
export interface PresentedVault extends Omit<RawHolding, 'wallet' | 'vault'> {
  readonly listed: ListedVault
  readonly vault: RawVault
  readonly asset: { readonly decimals: number | undefined; readonly price: UsdPriceOutcome }
  readonly timestampSec: bigint
}

/** What a vault is for callers: by the factory that made it, else by how its shares go back. */
export function getCode({ listed, vault }: Pick<PresentedVault, 'listed' | 'vault'>): (typeof VAULT_CODES)[number] {
  return vault.class === 'erc4626' ? CODES[listed.kind] : vault.class
}

const CODES = { erc4626: 'erc4626', silo: 'erc4626_silo', window: 'erc4626_window' } as const

/** Codes of all vaults. */
export const VAULT_CODES = [...Object.values(CODES), 'metamorpho', 'morpho_vault_v2'] as const

/** Returns what a withdrawal of all shares pays now, if that is less than their worth. */
export function getWithdrawable({ listed, vault, ...holding }: PresentedVault): Withdrawable | undefined {
  return computeWithdrawable({ kind: listed.kind, vault, holding })
}

/** Assets in a silo: the wallet's, and in no balance. */
export interface SiloAssets {
  readonly amount: bigint
  readonly withdrawable: Withdrawable | undefined
}

/** Returns the assets that a wallet has in a silo, and what of them can be taken out now; undefined if there are none. */
export function getSiloAssets(position: PresentedVault): SiloAssets | undefined {
  const { listed, vault, cooldown, timestampSec } = position
  const window = listed.kind === 'silo' ? findCooldownWindow('silo', position) : undefined
  if (window === undefined) return undefined
  // Without a cooldown the silo pays at once.
  const isFree = vault.cooldownSec === 0n || isCooledDown(window, timestampSec)
  return { amount: cooldown.amount, withdrawable: isFree ? undefined : { amount: 0n, limitedBy: 'cooldown' } }
}

/**
 * Values an amount of a vault's asset, US dollars; undefined without a price.
 *
 * @figure vaults/usd
 * @source amount × price of the asset
 * @proof test/contract/family/vaults/vectors_test.ts
 */
export function valueAssets({ asset }: Pick<PresentedVault, 'asset'>, amount: bigint): Rational | undefined {
  const { decimals, price } = asset
  if (decimals === undefined || price.kind === 'missing') return undefined
  return toRational(usdValue(amount, { decimals, price: price.price }))
}

/**
 * Values all that a wallet has in a vault, its assets in a silo included, US dollars; undefined without a price or if the
 * vault does not tell what its shares are worth.
 *
 * @figure vaults/value_usd
 * @source (`convertToAssets(shares)` + assets in the silo) × price of the asset
 * @proof test/contract/family/vaults/vectors_test.ts
 */
export function valuePosition(position: PresentedVault): Rational | undefined {
  const { assets } = position
  return assets === undefined ? undefined : valueAssets(position, assets + (getSiloAssets(position)?.amount ?? 0n))
}

/** Values what can be withdrawn now, the silo included, US dollars; undefined if that is not known. */
export function valueWithdrawable(position: PresentedVault): Rational | undefined {
  const { assets } = position
  const silo = getSiloAssets(position)
  const parts = [
    { amount: assets, withdrawable: getWithdrawable(position) },
    ...(silo === undefined ? [] : [silo]),
  ].map(({ amount, withdrawable }) => (withdrawable === undefined ? amount : withdrawable.amount))
  if (parts.includes(undefined)) return undefined
  return valueAssets(
    position,
    parts.reduce<bigint>((sum, part = 0n) => sum + part, 0n),
  )
}
