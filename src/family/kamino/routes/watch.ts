import * as v from 'valibot'
import { LENDING_FIGURES } from '../../../finance/lending/watched.ts'
import { solanaAddress } from '../../../http/request/input.ts'
import type { Watchable } from '../../watch.ts'

const subject = v.strictObject({
  obligation_address: solanaAddress,
  market_address: solanaAddress,
  // Optional: completes the path of the answer, because the route requires it.
  wallet: v.exactOptional(solanaAddress),
})

/** Subjects that triggers can watch: an obligation of a market. Its route answers about no past block. */
export const WATCHABLE: Watchable = {
  subject: () => subject,
  figures: LENDING_FIGURES,
  events: [],
  answerPath({ obligation_address, market_address, wallet }) {
    const path = `/v1/lending/kamino/position/${obligation_address}/risk?market_address=${market_address}`
    return wallet === undefined ? path : `${path}&wallet=${wallet}`
  },
}
