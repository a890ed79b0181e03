import { encodeCall } from '../../../../chain/call/words.ts'
import type { Stream } from '../../../../history/stream.ts'
import type { Clock } from '../../../../lib/clock.ts'
import { CUSTODY_EVENTS, type CustodyEvent, readCustodyEvents } from '../../position_history/custody_event.ts'
import type { CustodyLog } from '../exchange.ts'
import { createStateCheck, type StateWords } from './state_check.ts'

/**
 * Creates the stream of what a custodian logs of positions; a subject is a token id. It is read a position at a time:
 * rewards need the receipts of their transactions, and a custodian has millions of them.
 */
export function createCustodyStream(custodyLog: CustodyLog, clock: Clock): Stream<CustodyEvent> {
  const { streamName: name, listFilters, state } = custodyLog
  const decode = (words: StateWords = []) => words.map((word) => BigInt(`0x${word}`))
  const pick = (words: StateWords) => state.words.map((index) => decode(words)[index] ?? 0n)
  return {
    name,
    table: CUSTODY_EVENTS,
    subjectsOnly: true,
    filters: ({ contract }, subjects) => listFilters(contract, subjects ?? []),
    decode: ({ contract }, logs, { receipts }) => custodyLog.decode(contract, logs, receipts),
    ...createStateCheck({
      stream: name,
      clock,
      readRows: readCustodyEvents,
      state: {
        encode: (tokenId) => encodeCall(state.selector, tokenId),
        isKnown: (words) => !state.isAbsent(decode(words)),
        isUnchanged: (before, after) => pick(before).join() === pick(after).join(),
        checksAbsence: true,
      },
    }),
  }
}
