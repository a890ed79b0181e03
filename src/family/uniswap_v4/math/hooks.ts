import { type Address, zeroAddress } from 'viem'

/** Permissions that the low 14 bits of a hook's address encode, v4-core `Hooks.sol`, from bit 13 down. */
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

/** One permission of a hook. */
export type HookPermission = (typeof HOOK_PERMISSIONS)[number]

/** Fee in the key of a pool whose hook sets the fee, v4-core `LPFeeLibrary.DYNAMIC_FEE_FLAG`. */
const DYNAMIC_FEE = 0x800000

/** Returns a hook's permissions, from bit 13 down; none for the zero address, which means no hook. */
export function getHookPermissions(hooks: Address): readonly HookPermission[] {
  if (hooks === zeroAddress) return []
  const bits = toPermissionBits(hooks)
  return HOOK_PERMISSIONS.filter((_, index) => bits & (1 << (HOOK_PERMISSIONS.length - 1 - index)))
}

/**
 * Whether the pool manager calls the hook when liquidity is removed: bits 9, 8 and 0. The formula alone then does not
 * give what a withdrawal pays.
 */
export function mayChangeWithdrawal(hooks: Address): boolean {
  return (toPermissionBits(hooks) & 0b11_0000_0001) !== 0
}

/** Whether a hook may change the amounts paid when liquidity is added or removed: bits 1 and 0. */
export function mayChangePayment(hooks: Address): boolean {
  return (toPermissionBits(hooks) & 0b11) !== 0
}

/** Whether a pool's hook sets its fee. */
export function isDynamicFee({ keyFee }: { readonly keyFee: number }): boolean {
  return keyFee === DYNAMIC_FEE
}

function toPermissionBits(hooks: Address): number {
  return Number.parseInt(hooks.slice(-4), 16)
}

/** Whether only an executed withdrawal shows what the position pays. */
export function needsWithdrawal(position: {
  readonly liquidity: bigint
  readonly pool: { readonly hooks: Address }
}): boolean {
  return position.liquidity > 0n && mayChangeWithdrawal(position.pool.hooks)
}
