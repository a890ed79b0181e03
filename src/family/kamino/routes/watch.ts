import * as v from 'valibot'
import { solanaAddress } from '../../../http/request/input.ts'
import { LENDING_FIGURES } from '../../lending/watched.ts'
import type { Watchable } from '../../watch.ts'

const subject = v.strictObject({
  obligation_address: solanaAddress,
  market_address: solanaAddress,
  wallet: v.exactOptional(solanaAddress),
})
/** Figures that only the list shows. */
const LISTED: readonly string[] = ['net_worth_usd', 'total_collateral_usd', 'total_debt_usd']

/** Subjects that triggers can watch: an obligation of a market. Its route answers about no past block. */
export const WATCHABLE: Watchable = {
  subject: () => subject,
  figures: LENDING_FIGURES,
  events: [],
  answerPath({ obligation_address, market_address, wallet }, _chainId, _blockNumber, { figure = '', owner } = {}) {
    const route = LISTED.includes(figure) ? '' : `/position/${obligation_address}/risk`
    // The routes require the wallet, which a subject need not name.
    return `/v1/lending/kamino${route}?market_address=${market_address}&wallet=${owner ?? wallet ?? ''}`
  },
}
