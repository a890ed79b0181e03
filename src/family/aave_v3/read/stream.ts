import type { Stream } from '../../../history/stream.ts'
import type { Clock } from '../../../lib/clock.ts'
import { LENDING_EVENTS, type LendingEvent, readAllLendingEvents } from '../../lending/lending_event.ts'
import { checkBalances } from '../event/balance.ts'
import { checkContinuity } from '../event/continuity.ts'
import { createFilters, decodeLogs } from '../event/decode.ts'
import type { LendingTarget } from '../event/target.ts'
import { createBalanceReader } from './read_balances.ts'
import { createUntouchedCheck } from './untouched.ts'

/** Name of the stream in the database; never changes. */
const NAME = 'aave_v3_lending'

/** Creates the stream of wallets' movements in markets. */
export function createLendingStream({ clock }: { readonly clock: Clock }): Stream<LendingEvent, LendingTarget> {
  const isUntouched = createUntouchedCheck(clock)
  const balanceReader = createBalanceReader(clock)
  return {
    name: NAME,
    table: LENDING_EVENTS,
    filters: createFilters,
    decode: decodeLogs,
    checkContinuity,
    isUntouched: (target, { subject: wallet, ...at }, signal) => isUntouched({ target, wallet, ...at }, signal),
    prefetch: (target, { subject: wallet, client, finalized }, signal) =>
      balanceReader.prefetch(client, { target, wallet, block: finalized }, signal),
    async verify(target, { subject: wallet, client, db, toBlock }, signal) {
      const balances = await balanceReader.read(client, { target, wallet, block: toBlock }, signal)
      if (balances === undefined) return
      const rows = await readAllLendingEvents(db, { target, stream: NAME, wallet, toBlock })
      if (rows !== undefined) checkBalances(target, rows, { balances, toBlock })
    },
  }
}
