import type { FamilySetup } from '../../../contract.ts'
import type { EnumerableDeployment, EnumerableExchange } from '../exchange.ts'
import type { EnumerableProtocol } from '../mod.ts'
import { createWatchable } from './watchable.ts'
import { createWatcher } from './watcher.ts'

/** Creates what triggers can watch of an exchange, for its family. */
export function watchExchange(exchange: EnumerableExchange, protocol: EnumerableProtocol) {
  return ({ settings, connect }: FamilySetup<readonly EnumerableDeployment[]>) => ({
    ...createWatchable(exchange, settings),
    watcher: () => createWatcher({ exchange, protocol }, { ...connect(), deployments: settings }),
  })
}
