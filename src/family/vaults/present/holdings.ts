import type { Address } from 'viem'
import { noPriceBecause } from '../../../finance/price/price.ts'
import { type Holding, nameMarketPot, type Payable, type Pot, type Source } from '../../holding.ts'
import type { PositionOutlook } from '../../outlook.ts'
import type { LentMarket } from '../math.ts'
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
            sources: listSources(position),
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
 * Where such a vault takes what it pays, in its order. Other vaults may have lent to the same markets, whose tokens pay
 * only one of them.
 */
function listSources(position: PlacedVault): readonly Source[] | undefined {
  const { vault, listed } = position
  const name = toPotName(listed.address)
  if (vault.class === 'erc4626') return undefined
  if (vault.class === 'metamorpho') {
    // Without a queue it tells what it can pay to a wallet whose shares are worth more.
    const most = getWithdrawable(position)?.amount
    if (vault.queue !== undefined) return listMarkets(listed.address, vault.queue)
    return most === undefined ? undefined : [[toPot(name, most)]]
  }
  const { idle = 0n, adapter = { kind: 'unknown' } } = vault
  const own = [toPot(name, idle)]
  if (adapter.kind === 'market') return [own, ...listMarkets(listed.address, [adapter])]
  if (adapter.kind !== 'vault') return [own]
  const through = toPot(`${name}:adapter`, adapter.liquidity)
  return [own, ...(adapter.queue === undefined ? [[]] : listMarkets(adapter.inner, adapter.queue)).map(addPot)]

  function addPot(source: Source): Source {
    return [through, ...source]
  }
}

/** What a vault has in markets, and what they can pay, to whichever of their lenders. */
function listMarkets(vault: Address, markets: readonly LentMarket[]): readonly Source[] {
  return markets.map(({ id, supplied, liquidity }) => [
    toPot(`${toPotName(vault)}:${id}`, supplied),
    toPot(nameMarketPot(id), liquidity),
  ])
}

function toPotName(vault: Address): string {
  return `vaults:${vault}`
}

function toPot(key: string, amount: bigint): Pot {
  return { key, amount, reason: 'exceeds_liquidity' }
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
