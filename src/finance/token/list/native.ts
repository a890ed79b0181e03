import { type Address, zeroAddress } from 'viem'

/**
 * How lists and programs write the native token, as if it were a contract; and the ether contract that the OP Stack had
 * once, whose `balanceOf` still answers the native balance.
 */
const EVERYWHERE: readonly Address[] = [
  zeroAddress,
  '0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE',
  '0xDeadDeAddeAddEAddeadDEaDDEAdDeaDDeAD0000',
]

/**
 * Contracts by chain id whose `balanceOf` is the native balance under another name: an asset that is counted already.
 * Sources: each chain's own documentation of its system contracts.
 */
const DOUBLES: Readonly<Record<number, Address>> = {
  // Polygon: POL
  137: '0x0000000000000000000000000000000000001010',
  // Stable Mainnet: USDT0
  988: '0x779Ded0c9e1022225f8E0630b35a9b54bE713736',
  // Moonbeam: GLMR
  1284: '0x0000000000000000000000000000000000000802',
  // Arc: USDC
  5042: '0x3600000000000000000000000000000000000000',
  // Celo: CELO
  42220: '0x471EcE3750Da237f93B8E339c536989b8978a438',
}

const NAMES = new Set(EVERYWHERE.map((each) => each.toLowerCase()))

/** True if a wallet's balance of this token is its native balance, so that both together would count it twice. */
export function isNativeToken(chainId: number, token: Address): boolean {
  const name = token.toLowerCase()
  return NAMES.has(name) || DOUBLES[chainId]?.toLowerCase() === name
}
