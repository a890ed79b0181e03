import * as v from 'valibot'
import { type Address, isAddressEqual } from 'viem'
import { evmAddress, tokenId } from '../../../../http/request/input.ts'
import type { FamilySetup } from '../../../contract.ts'
import type { Watchable } from '../../../watch.ts'
import type { EnumerableDeployment, EnumerableExchange } from '../exchange.ts'
import { POSITION_FIGURES } from '../math.ts'
import type { EnumerableProtocol } from '../mod.ts'
import { POSITION_EVENTS } from './logs.ts'
import { createWatcher } from './watcher.ts'

/** Creates what triggers can watch of an exchange, for its family. */
export function watchExchange(exchange: EnumerableExchange, protocol: EnumerableProtocol) {
  return ({ settings, connect }: FamilySetup<readonly EnumerableDeployment[]>) => ({
    ...createWatchable(exchange, settings),
    watcher: () => createWatcher({ exchange, protocol }, { ...connect(), deployments: settings }),
  })
}

/** Creates the description of subjects that triggers can watch: positions of a manager. */
function createWatchable(
  { name }: Pick<EnumerableExchange, 'name'>,
  settings: ReadonlyMap<number, readonly EnumerableDeployment[]>,
): Watchable {
  return {
    subject(chainId) {
      const managers = (settings.get(chainId) ?? []).map(({ manager }) => manager)
      const [only] = managers
      const managerSchema = v.pipe(
        evmAddress,
        v.check((manager) => managers.some((each) => isAddressEqual(each, manager)), formatExpected(managers)),
      )
      return v.strictObject({
        token_id: v.pipe(
          tokenId,
          v.transform((id) => id.toString()),
        ),
        manager_address: only === undefined || managers.length > 1 ? managerSchema : v.optional(managerSchema, only),
      })
    },
    figures: POSITION_FIGURES,
    events: POSITION_EVENTS,
    answerPath: ({ token_id, manager_address }, chainId, blockNumber) =>
      `/v1/positions/${name}/${token_id}?chain_id=${chainId}&manager_address=${manager_address}&full=true` +
      `&at_block=${blockNumber}`,
  }
}

function formatExpected(managers: readonly Address[]): string {
  return `expected one of the chain's position managers: ${managers.join(', ')}`
}
