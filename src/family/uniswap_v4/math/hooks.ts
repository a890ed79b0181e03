import { type Address, zeroAddress } from 'viem'

/** What the low 14 bits of a hook's address let it do, v4-core `Hooks.sol`, from bit 13 down. */
export const HOOK_PERMISSIONS = [
  'beforeInitialize',
  'afterInitialize',
  'beforeAddLiquidity',
  'afterAddLiquidity',
  'beforeRemoveLiquidity',
  'afterRemoveLiquidity',
  'beforeSwap',
  'afterSwap',
  'beforeDonate',
  'afterDonate',
  'beforeSwapReturnsDelta',
  'afterSwapReturnsDelta',
  'afterAddLiquidityReturnsDelta',
  'afterRemoveLiquidityReturnsDelta',
] as const

/** One thing that a hook may do. */
export type HookPermission = (typeof HOOK_PERMISSIONS)[number]

/** The key's fee of a pool whose hook sets it, v4-core `LPFeeLibrary.DYNAMIC_FEE_FLAG`. */
const DYNAMIC_FEE = 0x800000

/** What a hook may do, from bit 13 down; nothing without a hook, which is the zero address. */
export function getHookPermissions(hooks: Address): readonly HookPermission[] {
  if (hooks === zeroAddress) return []
  const bits = bitsOf(hooks)
  return HOOK_PERMISSIONS.filter((_, index) => bits & (1 << (HOOK_PERMISSIONS.length - 1 - index)))
}

/**
 * Whether a hook is called when liquidity is removed, so that the formula alone does not say what a withdrawal pays: bits
 * 9, 8 and 0.
 */
export function mayChangeWithdrawal(hooks: Address): boolean {
  return (bitsOf(hooks) & 0b11_0000_0001) !== 0
}

/** Whether a hook may change what is paid when liquidity is added or removed: bits 1 and 0. */
export function mayChangePayment(hooks: Address): boolean {
  return (bitsOf(hooks) & 0b11) !== 0
}

/** Whether a pool's hook sets its fee. */
export function isDynamicFee({ keyFee }: { readonly keyFee: number }): boolean {
  return keyFee === DYNAMIC_FEE
}

function bitsOf(hooks: Address): number {
  return Number.parseInt(hooks.slice(-4), 16)
}

/** Whether a position's withdrawal must be executed to be known. */
export function needsWithdrawal(position: {
  readonly liquidity: bigint
  readonly pool: { readonly hooks: Address }
}): boolean {
  return position.liquidity > 0n && mayChangeWithdrawal(position.pool.hooks)
}
