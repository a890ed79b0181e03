import { type Address, encodeFunctionData, parseAbi, toHex, zeroAddress } from 'viem'
import { BANK } from '../addresses.ts'
import type { Transaction } from '../transaction.ts'
import { permitCalls } from './calls.ts'
import type { Node } from './place.ts'
import { usdToRaw, type V4PoolOf } from './pools.ts'

const ABI = parseAbi(['function transfer(address to, uint256 value)'])
const ETHER_WEI = 10n ** 26n
const TOKENS_USD = 1_000_000_000

/** Gives wallets ether and plenty of the pools' tokens, and lets the manager take them. */
export async function fund(
  { rpc, send }: Node,
  { wallets, pools }: { readonly wallets: readonly Address[]; readonly pools: readonly V4PoolOf[] },
): Promise<void> {
  const currencies = new Map(pools.flatMap((pool) => pool.currencies).map((each) => [each.address, each]))
  const tokens = [...currencies.values()].filter(({ address }) => address !== zeroAddress)
  await rpc.batch(wallets.map((wallet) => ({ method: 'anvil_setBalance', params: [wallet, toHex(ETHER_WEI)] })))
  await send(
    wallets.flatMap((wallet) =>
      tokens.flatMap((token): Transaction[] => [
        {
          from: BANK,
          to: token.address,
          data: encodeFunctionData({
            abi: ABI,
            functionName: 'transfer',
            args: [wallet, usdToRaw(token, TOKENS_USD)],
          }),
        },
        ...permitCalls(wallet, token.address),
      ]),
    ),
  )
}
