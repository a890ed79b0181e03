import * as v from 'valibot'
import { ContractUnresponsiveError } from '../../chain/rpc/client.ts'
import { evmAddress } from '../../http/request/input.ts'
import { UnavailableError } from '../../lib/error.ts'
import { once } from '../../lib/memoize.ts'
import { address, defineFamily, findDuplicates, height } from '../contract.ts'
import type { Watchable } from '../watch.ts'
import { createHoldingsReader } from './holdings.ts'
import { VAULT_FIGURES } from './present/present.ts'
import { listVaults } from './read/abi.ts'
import { createVaultHistoryReader } from './read/history.ts'
import { createVaultReader, nameVaults } from './read/read.ts'
import { createHistoryRoutes, createRoutes } from './routes.ts'
import { ENTRY_KINDS, VAULT_ENTRIES } from './table.ts'
import { createWatcher } from './watch.ts'

/** Description of the family's subject: a wallet in a vault. */
const WATCHABLE: Watchable = {
  subject: () => v.strictObject({ wallet: evmAddress, vault: evmAddress }),
  figures: VAULT_FIGURES,
  events: [],
  answerPath: ({ wallet }, chainId, blockNumber) =>
    `/v1/positions/vaults?wallet=${wallet}&chain_id=${chainId}&at_block=${blockNumber}`,
}

/** Shares of vaults that are worth an amount of one token (ERC-4626). */
export const VAULTS = defineFamily({
  name: 'vaults',
  aliases: [],
  network: 'evm',
  entries: {
    vaults: v.optional(
      v.array(
        v.strictObject({
          address,
          kind: v.optional(v.picklist(ENTRY_KINDS), 'erc4626'),
          startBlock: v.exactOptional(height),
        }),
      ),
    ),
  },
  builtIn: VAULT_ENTRIES,
  getSetting: ({ vaults }) => vaults,
  listKeys: { vaults: 'address' },
  listContracts: (entries) => listVaults(entries).map((vault) => ({ address: vault.address, name: vault.address })),
  findMistakes: (entries, chainId) =>
    findDuplicates(entries.map((entry) => entry.address)).map(
      (duplicate) => `vault ${duplicate} of chain ${chainId} is described twice`,
    ),
  routes({ chainIds, settings, connect }) {
    const reader = once(() => createVaultReader({ ...connect(), deployments: settings }))
    const history = once(() => createVaultHistoryReader(connect()))
    const clock = () => connect().clock
    return [
      ...createRoutes({ chainIds, reader }),
      ...createHistoryRoutes({ chainIds: [...settings.keys()], clock, reader, history }),
    ]
  },
  holdings: ({ settings, connect }) => createHoldingsReader(createVaultReader({ ...connect(), deployments: settings })),
  watch: ({ settings, connect }) => ({
    ...WATCHABLE,
    watcher: () => createWatcher({ ...connect(), deployments: settings }),
  }),
  contracts({ settings, ...setup }) {
    const reader = createVaultReader({ ...setup, deployments: settings })
    return [...reader.targets.values()]
      .flatMap((target) => nameVaults(target) ?? [])
      .map((target) => ({
        async read(wallet, work) {
          const [read] = await reader.read([wallet], { targets: [target], work })
          const [silent] = read?.silent ?? []
          if (silent === undefined) return
          const cause = new ContractUnresponsiveError(`vault ${silent.listed.address} does not answer`)
          throw new UnavailableError(`Cannot read chain ${silent.chainId}: ${cause.message}`, { cause })
        },
      }))
  },
})
