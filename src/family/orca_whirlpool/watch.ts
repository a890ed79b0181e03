import type { SolanaClient } from '../../chain/solana/client.ts'
import { toConfirmedFigures, WATCHED_UNKNOWN } from '../liquidity/watched.ts'
import type { AccountWatcher } from '../watch.ts'
import { createFigureFormulas } from './math/watched.ts'
import type { OrcaReader } from './read/read.ts'

/** Positions of one read, some of them per request; one that was never read takes two or three requests of its own. */
const SUBJECTS_MAX = 24

/** Creates a reader of positions for triggers. */
export function createWatcher(
  reader: Pick<OrcaReader, 'readNamed'>,
  { slotMs }: Pick<SolanaClient, 'slotMs'>,
): AccountWatcher {
  return {
    slotMs,
    subjectsMax: SUBJECTS_MAX,
    async confirm(subjects, minSlot, work) {
      const targets = subjects.map(({ position_address: address = '', wallet = '' }) => ({ address, wallet }))
      const { slot, timestampSec, positions } = await reader.readNamed(targets, minSlot, work)
      return {
        slot,
        timestampSec,
        subjects: positions.map((each) => {
          if (each === 'absent') return 'gone'
          if (each === 'unreadable' || each.figureState === undefined) return WATCHED_UNKNOWN
          return toConfirmedFigures(createFigureFormulas({ ...each, ...each.figureState }))
        }),
      }
    },
  }
}
