import * as v from 'valibot'
import { type Address, isAddressEqual } from 'viem'
import { evmAddress, tokenId } from '../../../../http/request/input.ts'
import type { Watchable } from '../../../watch.ts'
import type { EnumerableDeployment, EnumerableExchange } from '../exchange.ts'
import { POSITION_FIGURES } from '../math/watched.ts'
import { POSITION_EVENTS } from './logs.ts'

/** Creates the description of subjects that triggers can watch: positions of a manager. */
export function createWatchable(
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
