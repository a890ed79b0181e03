import { type Address, toHex } from 'viem'
import { toWalletAddress } from '../addresses.ts'

/** Where Ethereum has these contracts, and so has the devnet; the two test routers stand at addresses of ours. */
export const UNISWAP_V4 = {
  poolManager: '0x000000000004444c5dc75cB358380D2e3dE08A90',
  positionManager: '0xbD216513d74C8cf14cf4747E6AaA6420FF64ee9e',
  stateView: '0x7fFE42C4a5DEeA5b0feC41C94C136Cf115597227',
  permit2: '0x000000000022D473030F116dDEE9F6B43aC78BA3',
  swapRouter: toWalletAddress('v4 swap router'),
  donateRouter: toWalletAddress('v4 donate router'),
} as const satisfies Record<string, Address>

/** The bits of a hook's address, as Hooks.sol has them. */
export const HOOK_BITS = {
  beforeInitialize: 1 << 13,
  afterInitialize: 1 << 12,
  beforeAddLiquidity: 1 << 11,
  afterAddLiquidity: 1 << 10,
  beforeRemoveLiquidity: 1 << 9,
  afterRemoveLiquidity: 1 << 8,
  beforeSwap: 1 << 7,
  afterSwap: 1 << 6,
  beforeDonate: 1 << 5,
  afterDonate: 1 << 4,
  beforeSwapReturnsDelta: 1 << 3,
  afterSwapReturnsDelta: 1 << 2,
  afterAddLiquidityReturnsDelta: 1 << 1,
  afterRemoveLiquidityReturnsDelta: 1 << 0,
} as const

/** An address whose low 14 bits are a hook's permissions. */
export function hookAddress(name: string, permissions: readonly (keyof typeof HOOK_BITS)[]): Address {
  const bits = permissions.reduce((sum, permission) => sum | HOOK_BITS[permission], 0)
  const free = BigInt(toWalletAddress(`v4 hook ${name}`))
  return toHex(((free >> 14n) << 14n) | BigInt(bits), { size: 20 })
}
