import { LENDING_EVENTS, type LendingEvent, readAllLendingEvents } from '../../../finance/lending/lending_event.ts'
import type { Stream } from '../../../history/stream.ts'
import type { Clock } from '../../../lib/clock.ts'
import { checkBalances } from '../event/balance.ts'
import { checkContinuity } from '../event/continuity.ts'
import { createFilters, decodeLogs } from '../event/decode.ts'
import type { LendingTarget } from '../event/target.ts'
import { createBalanceReader } from './read_balances.ts'
import { createUntouchedCheck } from './untouched.ts'

/** In the database, never changed. */
const NAME = 'aave_v3_lending'

/** What history follows of markets: the movements of wallets. */
export function createLendingStream({ clock }: { readonly clock: Clock }): Stream<LendingEvent, LendingTarget> {
  const isUntouched = createUntouchedCheck(clock)
  const balancesOf = createBalanceReader(clock)
  return {
    name: NAME,
    table: LENDING_EVENTS,
    filters: createFilters,
    decode: decodeLogs,
    continuity: checkContinuity,
    isUntouched: (place, { subject: wallet, ...at }, signal) => isUntouched({ place, wallet, ...at }, signal),
    foresee: (place, { subject: wallet, client, finalized }, signal) =>
      balancesOf.foresee(client, { place, wallet, block: finalized }, signal),
    async verify(place, { subject: wallet, client, db, toBlock }, signal) {
      const balances = await balancesOf.read(client, { place, wallet, block: toBlock }, signal)
      if (balances === undefined) return
      const rows = await readAllLendingEvents(db, { place, stream: NAME, wallet, toBlock })
      if (rows !== undefined) checkBalances(place, rows, { balances, toBlock })
    },
  }
}
