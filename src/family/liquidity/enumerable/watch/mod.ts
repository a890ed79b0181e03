import type { FamilySetup } from '../../../contract.ts'
import { createWatchable } from '../../watchable.ts'
import type { EnumerableDeployment, EnumerableExchange } from '../exchange.ts'
import type { EnumerableProtocol } from '../mod.ts'
import { POSITION_EVENTS } from './logs.ts'
import { createWatcher } from './watcher.ts'

/** Creates what triggers can watch of an exchange, for its family. */
export function watchExchange(exchange: EnumerableExchange, protocol: EnumerableProtocol) {
  return ({ settings, connect }: FamilySetup<readonly EnumerableDeployment[]>) => ({
    ...createWatchable(
      { name: exchange.name, events: POSITION_EVENTS },
      new Map([...settings].map(([chainId, deployments]) => [chainId, deployments.map(({ manager }) => manager)])),
    ),
    watcher: () => createWatcher({ exchange, protocol }, { ...connect(), deployments: settings }),
  })
}
