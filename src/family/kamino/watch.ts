import type { SolanaClient } from '../../chain/solana/client.ts'
import type { AccountWatcher } from '../watch.ts'
import { toConfirmedFigures } from './present/watched.ts'
import type { KaminoReader } from './read/read.ts'

/** Obligations of one read, at one or two dozen per request. */
const SUBJECTS_MAX = 500

/** Creates a reader of obligations for triggers. */
export function createWatcher(
  reader: Pick<KaminoReader, 'readObligations'>,
  { slotMs }: Pick<SolanaClient, 'slotMs'>,
): AccountWatcher {
  return {
    slotMs,
    subjectsMax: SUBJECTS_MAX,
    async confirm(subjects, minSlot, work) {
      const targets = subjects.map(({ obligation_address: address = '', market_address: market = '' }) => {
        return { address, market }
      })
      const { slot, timestampSec, positions } = await reader.readObligations(targets, minSlot, work)
      return {
        slot,
        timestampSec,
        subjects: positions.map((each) => {
          if (each === 'absent') return 'gone'
          return toConfirmedFigures(each === 'broken' ? undefined : each)
        }),
      }
    },
  }
}
