import { type Address, checksumAddress } from 'viem'
import { formatUsd } from '../../../finance/figure.ts'
import type { Token } from '../../../finance/token/token.ts'
import { memoize } from '../../../lib/memoize.ts'
import { formatExact } from '../../../lib/number/decimal.ts'
import { compareRational, type Rational, rational, ZERO } from '../../../lib/number/rational.ts'
import { presentWithdrawal } from '../../lending/withdrawal.ts'
import type { ConfirmedFigures, FigureValue } from '../../watch.ts'
import { findCooldownWindow, isCooledDown } from '../math.ts'
import type { ListedVault } from '../table.ts'
import {
  getCode,
  getWithdrawable,
  type PresentedVault,
  valueAssets,
  valuePosition,
  valueWithdrawable,
} from './figures.ts'
import type { PresentedRow } from './schema.ts'

/** A position with its place and its tokens. */
export interface PlacedVault extends PresentedVault {
  readonly chainId: number
  readonly wallet: Address
  readonly share: Token
  readonly asset: PresentedVault['asset'] & Token
}

/**
 * An amount of a token: its smallest units, and those ÷ 10^decimals.
 *
 * @figure vaults/amount
 * @source `balanceOf`, `convertToAssets(balanceOf)` and the vault's cooldowns
 * @proof test/contract/family/vaults/vectors_test.ts
 */
export function presentAmount<Decimals extends number | undefined>(units: bigint, decimals: Decimals) {
  const amount = decimals === undefined ? null : formatExact(units, decimals)
  return { raw: String(units), amount: amount as Decimals extends number ? string : null }
}

/** A position as lists have it. Positions of one block serve many answers. */
export const presentPosition = memoize((position: PlacedVault): PresentedRow => {
  const { chainId, wallet, listed, share, asset, shares, assets } = position
  const value = valuePosition(position)
  const own = assets === undefined ? undefined : valueAssets(position, assets)
  const withdrawal = presentWithdrawal({
    amount: assets ?? 0n,
    decimals: asset.decimals,
    withdrawable: getWithdrawable(position),
    value: own,
  })
  return {
    chain_id: chainId,
    wallet: checksumAddress(wallet),
    vault: { address: listed.address, kind: getCode(position), name: share.name },
    asset: { address: asset.address, symbol: asset.symbol, decimals: asset.decimals ?? null },
    shares: presentAmount(shares, share.decimals),
    assets: assets === undefined ? null : presentAmount(assets, asset.decimals),
    value_usd: value === undefined ? null : formatUsd(value),
    ...withdrawal,
    cooldown: presentCooldown(position),
    reason: findReason(position),
  }
})

function findReason({ assets, asset }: PlacedVault): string | null {
  if (assets === undefined) return 'The vault does not tell what its shares are worth'
  return asset.price.kind === 'missing' ? `The asset has no price because ${asset.price.because}` : null
}

function presentCooldown(position: PlacedVault): PresentedRow['cooldown'] {
  const { listed, share, asset, cooldown, timestampSec } = position
  const window = findCooldownWindow(listed.kind, position)
  if (window === undefined) return null
  const isAssets = listed.kind === 'silo'
  const value = isAssets ? valueAssets(position, cooldown.amount) : undefined
  return {
    of: isAssets ? 'assets' : 'shares',
    ...presentAmount(cooldown.amount, isAssets ? asset.decimals : share.decimals),
    usd: value === undefined ? null : formatUsd(value),
    until: Number(window.fromSec),
    window_until: window.untilSec === undefined ? null : Number(window.untilSec),
    is_over: isCooledDown(window, timestampSec),
  }
}

/** A vault that does not answer about a wallet, as lists have it. */
export function presentSilent({
  chainId,
  wallet,
  listed,
}: {
  readonly chainId: number
  readonly wallet: Address
  readonly listed: ListedVault
}): PresentedRow {
  return {
    chain_id: chainId,
    wallet: checksumAddress(wallet),
    vault: { address: listed.address, kind: null, name: null },
    asset: null,
    shares: null,
    assets: null,
    value_usd: null,
    withdrawable: null,
    limited_by: null,
    cooldown: null,
    reason: 'The vault does not answer: it is not known whether the wallet has anything there',
  }
}

/** Figures that triggers can watch, with their type. */
export const VAULT_FIGURES = {
  value_usd: 'number',
  withdrawable_usd: 'number',
  /** Seconds until what is in a cooldown can be taken out by the chain's clock; above every number without one. */
  due_in_sec: 'number',
} as const

/** The figures of a position, for triggers; `empty`: the wallet has nothing there, `silent`: the vault does not answer. */
export function toConfirmedFigures(position: PlacedVault | 'empty' | 'silent'): ConfirmedFigures {
  const values = new Map<string, FigureValue>(Object.entries(computeFigures(position)))
  return {
    value: (figure) => values.get(figure),
    text(figure) {
      const value = values.get(figure)
      if (value === undefined || typeof value === 'boolean') return null
      if (value === 'MAX') return value
      return figure === 'due_in_sec' ? String(value.numerator) : formatUsd(value)
    },
    memo: undefined,
  }
}

function computeFigures(
  position: PlacedVault | 'empty' | 'silent',
): Readonly<Record<keyof typeof VAULT_FIGURES, Rational | 'MAX' | undefined>> {
  if (position === 'silent') return { value_usd: undefined, withdrawable_usd: undefined, due_in_sec: undefined }
  if (position === 'empty') return { value_usd: ZERO, withdrawable_usd: ZERO, due_in_sec: 'MAX' }
  const window = findCooldownWindow(position.listed.kind, position)
  const left = window && rational(window.fromSec - position.timestampSec, 1n)
  return {
    value_usd: valuePosition(position),
    withdrawable_usd: valueWithdrawable(position),
    due_in_sec: left === undefined ? 'MAX' : compareRational(left, ZERO) < 0 ? ZERO : left,
  }
}
