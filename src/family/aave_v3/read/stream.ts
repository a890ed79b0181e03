import type { Hex } from 'viem'
import type { Database } from '../../../db/database.ts'
import {
  LENDING_EVENT_KINDS,
  LENDING_EVENTS,
  type LendingEvent,
  readLendingEvents,
} from '../../../finance/lending/lending_event.ts'
import type { Stream } from '../../../history/stream.ts'
import type { Clock } from '../../../lib/clock.ts'
import { checkBalances } from '../event/balance.ts'
import { checkContinuity } from '../event/continuity.ts'
import { decodeLogs, filtersOf } from '../event/decode.ts'
import type { LendingPlace } from '../event/place.ts'
import { createBalanceReader } from './read_balances.ts'
import { createUntouched } from './untouched.ts'

/** Name in the database, never changed. */
export const LENDING_STREAM = 'aave_v3_lending'

/** Rows that are read from the database at once, and at most in all: more than any wallet has. */
const PAGE_ROWS = 5_000
const ROWS_MAX = 200_000

/** What history follows of markets: the movements of wallets. */
export function createLendingStream({ clock }: { readonly clock: Clock }): Stream<LendingEvent, LendingPlace> {
  const isUntouched = createUntouched(clock)
  const balancesOf = createBalanceReader(clock)
  return {
    name: LENDING_STREAM,
    table: LENDING_EVENTS,
    filters: filtersOf,
    decode: decodeLogs,
    continuity: checkContinuity,
    isUntouched: (place, { subject: wallet, ...at }, signal) => isUntouched({ place, wallet, ...at }, signal),
    foresee: (place, { subject: wallet, client, finalized }, signal) =>
      balancesOf.foresee(client, { place, wallet, block: finalized }, signal),
    async verify(place, { subject: wallet, client, db, toBlock }, signal) {
      const balances = await balancesOf.read(client, { place, wallet, block: toBlock }, signal)
      if (balances === undefined) return
      const rows = await allRows(db, { place, wallet, toBlock })
      if (rows !== undefined) checkBalances(place, rows, { balances, toBlock })
    },
  }
}

/** All rows of a wallet; undefined if they are not all stored, or too many. */
async function allRows(
  db: Database,
  of: { readonly place: LendingPlace; readonly wallet: Hex; readonly toBlock: number },
): Promise<LendingEvent[] | undefined> {
  const rows: LendingEvent[] = []
  for (let skip = 0; skip < ROWS_MAX; skip += PAGE_ROWS) {
    const asked = { ...of, stream: LENDING_STREAM, kinds: LENDING_EVENT_KINDS, skip, max: PAGE_ROWS }
    const page = await readLendingEvents(db, asked)
    if (page === undefined) return undefined
    rows.push(...page.events)
    if (rows.length >= page.total) return rows
  }
  return undefined
}
