import { type Address, toFunctionSelector } from 'viem'
import { readMulticall } from '../../../chain/call/many/multicall.ts'
import { encodeCall, tryDecodeUint } from '../../../chain/call/words.ts'
import type { ChainClient } from '../../../chain/rpc/client.ts'
import type { Work } from '../../../lib/async/work.ts'
import type { Clock } from '../../../lib/clock.ts'
import { REGISTRY_KINDS, type VaultEntry } from '../table.ts'
import { listVaults } from './abi.ts'

const BUDGET_MS = 4_000

/** What the registries of factories answer about a vault that they made. */
const CHECKS: Partial<Record<VaultEntry['kind'], `0x${string}`>> = {
  [REGISTRY_KINDS[0]]: toFunctionSelector('isMetaMorpho(address)'),
  [REGISTRY_KINDS[1]]: toFunctionSelector('isVaultV2(address)'),
}

/**
 * Finds a vault of the table, or one that a factory among the entries made; undefined if it is neither. Throws as
 * `ChainClient.read`.
 */
export async function findKnownVault(
  client: ChainClient,
  {
    entries,
    vault,
    clock,
  }: { readonly entries: readonly VaultEntry[]; readonly vault: Address; readonly clock: Clock },
  work: Work,
): Promise<Required<Pick<VaultEntry, 'startBlock'>> | undefined> {
  const listed = listVaults(entries).find(({ address }) => address.toLowerCase() === vault.toLowerCase())
  if (listed !== undefined) return { startBlock: listed.startBlock ?? 0 }
  const calls = entries.flatMap(({ address: to, kind }) => {
    const check = CHECKS[kind]
    return check === undefined ? [] : { to, data: encodeCall(check, vault) }
  })
  if (calls.length === 0) return undefined
  const block = { chainId: client.chain.id }
  const { results } = await client.read(
    (endpoint, within) => readMulticall(endpoint, { calls, block, isLight: true, clock }, within),
    { work, budgetMs: BUDGET_MS },
  )
  return results.some((answer) => tryDecodeUint(answer) === 1n) ? { startBlock: 0 } : undefined
}
