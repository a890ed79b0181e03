import { toFunctionSelector } from 'viem'
import { readMulticall } from '../../../chain/call/many/multicall.ts'
import { encodeCall, tryDecodeUint } from '../../../chain/call/words.ts'
import { IncompleteError, type Stream } from '../../../history/stream.ts'
import type { Clock } from '../../../lib/clock.ts'
import { readAtFinal } from '../../lending/read_at_final.ts'
import { decodeLogs } from '../event/decode.ts'
import { foldShares, type VaultFlow } from '../event/flow.ts'
import { createFilters } from '../event/log.ts'
import { readFlows, VAULT_FLOWS } from './flows.ts'

/** Name of the stream in the database; never changes. */
export const NAME = 'vault_flows'
/** More flows than any wallet has in a vault. */
const ROWS_MAX = 200_000
export const BALANCE_OF = toFunctionSelector('balanceOf(address)')

/**
 * Creates the stream of what changed wallets' shares in vaults. Rows are proven by the fold: added up, they must be the
 * wallet's balance, to the unit; of a token whose balances change without logs no history is told. All
 * transfers of a popular vault's shares are far too many logs, so each wallet is followed alone.
 */
export function createVaultStream({ clock }: { readonly clock: Clock }): Stream<VaultFlow> {
  return {
    name: NAME,
    table: VAULT_FLOWS,
    subjectsOnly: true,
    filters: createFilters,
    decode: decodeLogs,
    async verify(target, { subject: wallet, client, db, toBlock }, work) {
      const balance = await readAtFinal(
        client,
        { chainId: target.chainId, number: toBlock },
        async (endpoint, block, within) => {
          const calls = [{ to: target.contract, data: encodeCall(BALANCE_OF, wallet) }]
          const { results } = await readMulticall(endpoint, { calls, block, isLight: true, clock }, within)
          // A vault that does not stand yet answers nothing.
          return results[0] === '0x' ? 0n : tryDecodeUint(results[0])
        },
        work,
      )
      if (balance === undefined) return
      const read = await readFlows(db, { target, stream: NAME, wallet, toBlock, max: ROWS_MAX })
      if (read === undefined || read.total > ROWS_MAX || foldShares(read.flows) === balance) return
      throw new IncompleteError('fold', { fromBlock: target.startBlock, toBlock })
    },
  }
}
