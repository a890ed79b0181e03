import type { Address, Hex } from 'viem'
import type { UsdAnswers } from '../../finance/price/price.ts'
import type { VaultKind } from '../../finance/price/table/vaults.ts'
import type { RawToken } from '../../finance/token/token.ts'
import type { Withdrawable } from '../../finance/withdrawable.ts'
import { minBigint } from '../../lib/number/fixed_point.ts'

/** What made a vault, by the factories; `erc4626`: none of them did. */
export type VaultClass = 'erc4626' | 'metamorpho' | 'morpho_vault_v2'

/** What a lender has in a place, and what can leave there, smallest units. */
interface Lent {
  readonly supplied: bigint
  readonly liquidity: bigint
}

/** A market of Morpho Blue that a MetaMorpho lends to; its id in lower case. */
export interface LentMarket extends Lent {
  readonly id: Hex
}

/** Markets that a MetaMorpho withdraws from, in its order; undefined if it does not tell. */
type Queue = readonly LentMarket[] | undefined

/** What a Morpho Vault V2 withdraws through, and what that can pay; `unknown`: its code is not known. */
export type Adapter =
  | { readonly kind: 'none' | 'unknown' }
  | (LentMarket & { readonly kind: 'market' })
  /** Of a MetaMorpho. */
  | (Lent & { readonly kind: 'vault'; readonly inner: Address; readonly queue: Queue })

/** A vault as the lens tells it. */
export interface RawVault {
  /** Index among the vaults of the query. */
  readonly vault: number
  readonly class: VaultClass
  readonly share: RawToken
  readonly asset: RawToken
  readonly usd: UsdAnswers
  readonly isPaused: boolean
  /** How long shares take to leave, seconds, if the vault tells; undefined if it does not. */
  readonly cooldownSec: bigint | undefined
  /** Assets that a Morpho Vault V2 holds itself; undefined if the asset does not tell. */
  readonly idle?: bigint | undefined
  readonly adapter?: Adapter
  /** Of a MetaMorpho. */
  readonly queue?: Queue
}

/** What a wallet has in a vault, as the lens tells it. */
export interface RawHolding {
  /** Index among the wallets of the query. */
  readonly wallet: number
  readonly vault: number
  readonly shares: bigint
  /** `convertToAssets(shares)`, smallest units of the asset; undefined if the vault does not tell. */
  readonly assets: bigint | undefined
  /** `maxWithdraw(wallet)`; undefined of a Morpho Vault V2, and if the vault does not tell. */
  readonly withdrawableMax: bigint | undefined
  /** True if a gate of a Morpho Vault V2 refuses the wallet. */
  readonly isGated: boolean
  /** Assets of a silo, or shares that may leave within a window. */
  readonly cooldown: { readonly amount: bigint; readonly endSec: bigint; readonly windowSec: bigint }
}

/** What decides over a withdrawal. */
interface WithdrawalInput {
  readonly kind: VaultKind
  readonly vault: Pick<RawVault, 'class' | 'isPaused' | 'cooldownSec' | 'idle' | 'adapter'>
  readonly holding: Omit<RawHolding, 'wallet' | 'vault'>
}

/**
 * Computes what a withdrawal of all shares pays now; undefined if it pays all of their worth.
 *
 * @figure vaults/amount
 * @source `maxWithdraw`, except: 0 while a silo has a cooldown, whose `maxWithdraw` does not say so; of a Morpho Vault V2,
 *   whose `maxWithdraw` is always 0, what it holds and what its liquidity adapter can take out, 0 if a gate refuses
 * @proof test/contract/family/vaults/vectors_test.ts
 */
export function computeWithdrawable({ kind, vault, holding }: WithdrawalInput): Withdrawable | undefined {
  const { assets, withdrawableMax, isGated } = holding
  if (isGated) return { amount: 0n, limitedBy: 'gate' }
  if (kind === 'silo' && vault.cooldownSec !== 0n) {
    return { amount: vault.cooldownSec === undefined ? undefined : 0n, limitedBy: 'cooldown' }
  }
  // It may leave through a silo that its table row does not know of.
  if (kind === 'erc4626' && (vault.cooldownSec ?? 0n) > 0n) return { amount: undefined, limitedBy: 'cooldown' }
  const limitedBy = vault.isPaused ? 'paused' : kind === 'window' ? 'cooldown' : 'liquidity'
  const most = vault.class === 'morpho_vault_v2' ? computeLiquidity(vault) : withdrawableMax
  if (most === undefined || assets === undefined) return { amount: undefined, limitedBy }
  return most < assets ? { amount: most, limitedBy } : undefined
}

/** What a Morpho Vault V2 can pay in one transaction; undefined if its adapter is not known. */
function computeLiquidity({ idle, adapter }: Pick<RawVault, 'idle' | 'adapter'>): bigint | undefined {
  if (idle === undefined || adapter === undefined || adapter.kind === 'unknown') return undefined
  return 'liquidity' in adapter ? idle + minBigint(adapter.supplied, adapter.liquidity) : idle
}

/** When the shares or assets of a cooldown can leave, Unix seconds; `untilSec` is undefined if they always can then. */
export interface CooldownWindow {
  readonly fromSec: bigint
  readonly untilSec: bigint | undefined
}

/** Returns when what is in a cooldown can leave; undefined if nothing is in one. */
export function findCooldownWindow(
  kind: VaultKind,
  { cooldown: { amount, endSec, windowSec } }: Pick<RawHolding, 'cooldown'>,
): CooldownWindow | undefined {
  if (amount === 0n || kind === 'erc4626') return undefined
  return { fromSec: endSec, untilSec: kind === 'window' ? endSec + windowSec : undefined }
}

/** True if what is in a cooldown can leave at a time. */
export function isCooledDown({ fromSec, untilSec }: CooldownWindow, nowSec: bigint): boolean {
  return nowSec >= fromSec && (untilSec === undefined || nowSec <= untilSec)
}
