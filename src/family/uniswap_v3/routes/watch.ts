import * as v from 'valibot'
import { type Address, isAddressEqual } from 'viem'
import { evmAddress, tokenId } from '../../../http/request/input.ts'
import type { Watchable } from '../../watch.ts'
import { POSITION_EVENTS } from '../event/watch.ts'
import { POSITION_FIGURES } from '../math/watched.ts'
import type { UniswapV3Deployment } from '../table/deployments.ts'

/** Creates the description of subjects that triggers can watch: positions of a manager. */
export function createWatchable(settings: ReadonlyMap<number, readonly UniswapV3Deployment[]>): Watchable {
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
      `/v1/positions/uniswap-v3/${token_id}?chain_id=${chainId}&manager_address=${manager_address}&full=true` +
      `&at_block=${blockNumber}`,
  }
}

function formatExpected(managers: readonly Address[]): string {
  return `expected one of the chain's position managers: ${managers.join(', ')}`
}
