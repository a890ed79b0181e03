import { noPriceBecause } from '../../../finance/price/price.ts'
import type { Holding, Payable, Pot } from '../../holding.ts'
import type { PositionOutlook } from '../../outlook.ts'
import { computeLiquidity } from '../math.ts'
import { getCode, getSiloAssets, getWithdrawable } from './figures.ts'
import type { PlacedVault } from './present.ts'

/** Parts of a position: what its shares are worth, and what left them and waits in a silo. */
export const PARTS = { shares: 'shares', cooldown: 'cooldown' } as const

/** Where a position is, as rows show it. */
export function toPlace(position: PlacedVault) {
  return { family: 'vaults', vault: position.listed.address, kind: getCode(position) }
}

/** A position in a vault as rows of a portfolio. */
export function toHoldings(position: PlacedVault): Holding[] {
  const { share, asset, shares, assets } = position
  const place = toPlace(position)
  const withdrawable = getWithdrawable(position)
  const common = { kind: 'supplied', position: { ...place, part: PARTS.shares } } as const
  const silo = getSiloAssets(position)
  return [
    ...(assets === undefined && shares > 0n
      ? [{ ...common, token: share, amount: shares, price: UNTOLD, withdrawable }]
      : []),
    ...(assets === undefined || assets === 0n
      ? []
      : [
          {
            ...common,
            token: asset,
            amount: assets,
            price: asset.price,
            withdrawable,
            payable: toPayable(position),
            pot: toPot(position),
          },
        ]),
    ...(silo === undefined
      ? []
      : [
          {
            kind: 'supplied' as const,
            token: asset,
            amount: silo.amount,
            price: asset.price,
            position: { ...place, part: PARTS.cooldown },
            withdrawable: silo.withdrawable,
          },
        ]),
  ]
}

const UNTOLD = noPriceBecause('the vault does not tell what its shares are worth')

/** A curator can lend to himself against anything: of such a vault counts what it can pay. */
function toPayable(position: PlacedVault): Payable | undefined {
  const { vault, assets = 0n } = position
  const withdrawable = vault.class === 'erc4626' ? undefined : getWithdrawable(position)
  if (withdrawable === undefined) return undefined
  const { amount = vault.idle ?? 0n } = withdrawable
  if (amount >= assets) return undefined
  return { amount, detail: `The shares are worth ${assets} units of the asset, and the vault can pay ${amount} now` }
}

/**
 * What such a vault can pay to all wallets together. A MetaMorpho tells it only to a wallet whose shares are worth more.
 */
function toPot(position: PlacedVault): Pot | undefined {
  const { vault, listed } = position
  if (vault.class === 'erc4626') return undefined
  const amount =
    vault.class === 'morpho_vault_v2'
      ? (computeLiquidity(vault) ?? vault.idle ?? 0n)
      : getWithdrawable(position)?.amount
  return amount === undefined ? undefined : { key: `vaults:${listed.address}`, amount, reason: 'exceeds_liquidity' }
}

/** Says what a position earns: no vault tells a rate. */
export function outlookVault(position: PlacedVault): PositionOutlook {
  return {
    position: toPlace(position),
    code: getCode(position),
    toDo: [],
    untold: [
      {
        what: `interest of vault ${position.listed.address}`,
        why: 'A vault tells what its shares are worth, and no rate',
      },
    ],
  }
}
