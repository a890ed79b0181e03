import type { Address } from 'viem'
import type { Work } from '../../lib/async/work.ts'
import type { ConfirmedFigures, Watcher, WatchTarget } from '../watch.ts'
import { toConfirmedFigures } from './present/present.ts'
import { listVaults } from './read/abi.ts'
import { createVaultReader, nameVaults } from './read/read.ts'

/** Wallets of one reading, as many as a batch of the routes may have. */
const WALLETS_MAX = 500

/**
 * Creates the reader of wallets in vaults, for triggers. It reads each of them at every block: what shares are worth and
 * what a vault can pay change without an event that names the wallet.
 */
export function createWatcher(options: Parameters<typeof createVaultReader>[0]): Watcher {
  const reader = createVaultReader(options)

  async function readPiece(wallets: readonly Address[], { client, block }: WatchTarget, work: Work) {
    const configured = reader.targets.get(client.chain.id)
    const target = configured && nameVaults(configured)
    if (target === undefined) return []
    const targets = [{ ...target, client, block, priority: 'background' as const }]
    const reads = await reader.read(wallets, { targets, work })
    return reads.flatMap(({ positions, silent }) => [
      ...positions.map((each) => [getKey(each.listed.address, each.wallet), toConfirmedFigures(each)] as const),
      ...silent.map((each) => [getKey(each.listed.address, each.wallet), toConfirmedFigures('silent')] as const),
    ])
  }

  return {
    chainIds: new Set(reader.targets.keys()),
    async confirm(subjects, target, work) {
      const wallets = [...new Set(subjects.map(({ wallet }) => wallet as Address))]
      const figures = new Map<string, ConfirmedFigures>()
      for (let start = 0; start < wallets.length; start += WALLETS_MAX) {
        const read = await readPiece(wallets.slice(start, start + WALLETS_MAX), target, work)
        for (const [key, each] of read) figures.set(key, each)
      }
      const entries = reader.targets.get(target.client.chain.id)?.deployments ?? []
      const known = new Set<string>(listVaults(entries).map(({ address }) => address))
      return subjects.map(({ vault = '', wallet = '' }) => {
        if (!known.has(vault)) return 'gone'
        return figures.get(getKey(vault, wallet)) ?? toConfirmedFigures('empty')
      })
    },
  }
}

function getKey(vault: string, wallet: string): string {
  return `${vault}:${wallet}`.toLowerCase()
}
