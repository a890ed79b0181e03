import { sortDebtsFirst } from '../family/contract.ts'

/** A protocol that exists on chains and that no family reads. A family that comes to read it takes its row away. */
interface UnreadProtocol {
  readonly name: string
  /** `debts`: wallets can owe in it; `assets`: they can only own in it. */
  readonly holds: 'debts' | 'assets'
  readonly chainIds: readonly number[]
}

/**
 * Protocols that are known to exist and are not read. Debts matter most: what was borrowed counts in the wallet and the
 * debt does not, so that the sum is too high. The guide of chains lists the same.
 */
export const UNREAD_PROTOCOLS: readonly UnreadProtocol[] = [
  { name: 'Aave V4', holds: 'debts', chainIds: [1, 5042, 8453, 43114] },
  {
    name: 'Compound V3',
    holds: 'debts',
    chainIds: [1, 10, 130, 137, 2020, 5000, 8453, 42161, 59144, 534352],
  },
  { name: 'Morpho Midnight', holds: 'debts', chainIds: [1, 4663, 5042, 8453] },
  { name: 'Neverland', holds: 'debts', chainIds: [143] },
  { name: 'K613', holds: 'debts', chainIds: [143] },
  {
    name: 'Slipstream of Aerodrome and Velodrome',
    holds: 'assets',
    chainIds: [10, 130, 252, 1135, 1750, 1868, 1923, 5042, 5330, 8453, 34443, 42220, 57073],
  },
  { name: 'farms of PancakeSwap', holds: 'assets', chainIds: [1, 56, 143, 204, 8453, 42161, 59144] },
]

/** Holdings that are never read, on any chain of a kind. The guide of chains names each of them. */
export const NEVER_READ = {
  evm: [
    'debts in protocols and markets of no table',
    'debts in Aave V2 and its forks',
    'positions in exchanges on Algebra, Ramses and its forks',
    'tokens in no list',
    'position NFTs held by other contracts',
    'ERC-6909 claims on the pool manager of Uniswap V4',
  ],
  solana: [
    'debts in programs other than these families',
    'stakes',
    'what programs other than these families hold for the wallet',
    'confidential amounts of tokens',
  ],
}

/**
 * Lists what was not read on these chains, debts first: each of them begins `debts in`. `found` is what the reads
 * themselves left out.
 */
export function listNotRead(
  chainIds: readonly number[],
  { isSolana, found }: { readonly isSolana: boolean; readonly found: readonly string[] },
): readonly string[] {
  const protocols = UNREAD_PROTOCOLS.flatMap(({ name, holds, chainIds: itsChains }) => {
    const shared = new Set(chainIds.filter((chainId) => itsChains.includes(chainId)))
    const what = holds === 'debts' ? 'debts in' : 'positions in'
    return shared.size === 0 ? [] : [`${what} ${name} (chain ${[...shared].join(', ')})`]
  })
  return sortDebtsFirst([...protocols, ...found, ...NEVER_READ[isSolana ? 'solana' : 'evm']])
}
