import { type Address, zeroAddress } from 'viem'

/**
 * Addresses by which lists and programs denote the native token, and the former ether contract of the OP Stack, whose
 * `balanceOf` still returns the native balance.
 */
const COMMON_ADDRESSES: readonly Address[] = [
  zeroAddress,
  '0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE',
  '0xDeadDeAddeAddEAddeadDEaDDEAdDeaDDeAD0000',
]

/**
 * Contracts by chain id whose `balanceOf` returns the native balance, an asset that is counted already.
 * Sources: each chain's own documentation of its system contracts.
 */
const DUPLICATES: Readonly<Record<number, Address>> = {
  // Polygon: POL
  137: '0x0000000000000000000000000000000000001010',
  // Stable Mainnet: USDT0
  988: '0x779Ded0c9e1022225f8E0630b35a9b54bE713736',
  // Moonbeam: GLMR
  1284: '0x0000000000000000000000000000000000000802',
  // Moonriver: MOVR
  1285: '0x0000000000000000000000000000000000000802',
  // peaq: PEAQ
  3338: '0x0000000000000000000000000000000000000809',
  // Arc: USDC
  5042: '0x3600000000000000000000000000000000000000',
  // IOTA EVM: IOTA
  8822: '0x1074010000000000000000000000000000000000',
  // Celo: CELO
  42220: '0x471EcE3750Da237f93B8E339c536989b8978a438',
}

const COMMON_KEYS = new Set(COMMON_ADDRESSES.map((each) => each.toLowerCase()))

/** A chain, and the operator's additions to the contracts that repeat its native balance. */
interface NativeDoubles {
  readonly id: number
  readonly nativeDoubles?: readonly Address[]
}

/** True if a wallet's balance of this token is its native balance, so that counting both would count it twice. */
export function isNativeToken({ id, nativeDoubles = [] }: NativeDoubles, token: Address): boolean {
  const key = token.toLowerCase()
  return [DUPLICATES[id], ...nativeDoubles].some((each) => each?.toLowerCase() === key) || COMMON_KEYS.has(key)
}
