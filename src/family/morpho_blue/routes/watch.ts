import * as v from 'valibot'
import { evmAddress } from '../../../http/request/input.ts'
import { LENDING_FIGURES } from '../../lending/watched.ts'
import type { Watchable } from '../../watch.ts'
import { marketId } from './market.ts'

const subject = v.strictObject({ wallet: evmAddress, market_id: marketId })

/** Description of the family's subject: a wallet in a market. */
export const WATCHABLE: Watchable = {
  subject: () => subject,
  figures: LENDING_FIGURES,
  events: [],
  answerPath: ({ wallet, market_id }, chainId, blockNumber) =>
    `/v1/lending/morpho-blue?wallet=${wallet}&chain_id=${chainId}&market_id=${market_id}&at_block=${blockNumber}`,
}
