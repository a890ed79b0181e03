import { placeReplay } from '../aave_v4/replay.ts'
import { TOKENS, toWalletAddress } from '../addresses.ts'
import type { Rpc } from '../rpc.ts'
import { recordCall, recordToken } from './record.ts'

/** A wallet that has something in vaults on the devnet. */
export const VAULT_WALLET = toWalletAddress('vault depositor')

/** Where Ethereum has sDAI. */
const SDAI = '0x83F20F44975D03b1b09e64809B757c47f942BEeA'
const SHARES = 1_250n * 10n ** 18n
const WORTH = 1_411_254_750_000_000_000_000n

/** Puts a vault in its place in which one wallet has something. Nothing can be done there: it is a state. */
export async function addVaults(rpc: Rpc): Promise<typeof VAULT_WALLET> {
  const calls = [
    ...recordToken(SDAI, 'sDAI', 18),
    recordCall(SDAI, 'asset', [], TOKENS.dai.address),
    recordCall(SDAI, 'balanceOf', [VAULT_WALLET], SHARES),
    recordCall(SDAI, 'convertToAssets', [SHARES], WORTH),
    recordCall(SDAI, 'maxWithdraw', [VAULT_WALLET], WORTH),
  ]
  await placeReplay(rpc, calls, { others: 'zero' })
  return VAULT_WALLET
}
