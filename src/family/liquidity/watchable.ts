import * as v from 'valibot'
import { type Address, isAddressEqual } from 'viem'
import { evmAddress, solanaAddress, tokenId } from '../../http/request/input.ts'
import type { Watchable } from '../watch.ts'
import { POSITION_FIGURES } from './watched.ts'

/** Creates the description of subjects that triggers can watch: positions of a manager, of those on each chain. */
export function createWatchable(
  { name, events }: { readonly name: string } & Pick<Watchable, 'events'>,
  managersByChain: ReadonlyMap<number, readonly Address[]>,
): Watchable {
  return {
    subject(chainId) {
      const managers = managersByChain.get(chainId) ?? []
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
    events,
    answerPath: ({ token_id, manager_address }, chainId, blockNumber) =>
      `/v1/positions/${name}/${token_id}?chain_id=${chainId}&manager_address=${manager_address}&full=true` +
      `&at_block=${blockNumber}`,
  }
}

function formatExpected(managers: readonly Address[]): string {
  return `expected one of the chain's position managers: ${managers.join(', ')}`
}

const accountSubject = v.strictObject({ position_address: solanaAddress, wallet: solanaAddress })

/** The same of a protocol of Solana: accounts of a wallet. Its route answers about no past slot. */
export function createAccountWatchable({ name }: { readonly name: string }): Watchable {
  return {
    subject: () => accountSubject,
    figures: POSITION_FIGURES,
    events: [],
    answerPath: ({ position_address, wallet }) =>
      `/v1/positions/${name}/${position_address}?wallet=${wallet}&full=true`,
  }
}
