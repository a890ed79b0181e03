import { type Database, type Param, SqlError } from '../../../../../src/db/database.ts'
import { UnavailableError } from '../../../../../src/lib/error.ts'
import type { createLedger } from '../../../../support/account/gate/simulation/ledger.ts'
import type { TestClock } from '../../../../support/test_clock.ts'

/**
 * What becomes of a statement. `answered`: committed and answered. `lostAfter`: committed in time, but the connection is
 * lost before the answer. `lostBefore`: the connection is lost before the statement arrives. `late`: committed only
 * after the deadline. `swallowed`: neither run nor answered. `refused`: rolled back by the server, which says so.
 */
type Fate = 'answered' | 'lostAfter' | 'lostBefore' | 'late' | 'swallowed' | 'refused'
const NO_OUTCOMES = { answered: 0, lostAfter: 0, lostBefore: 0, late: 0, swallowed: 0, refused: 0 }

const DEADLINE_DEFAULT_MS = 1_500
const CONNECT_MS = 1
/** A statement takes up to so long, and one that waits for a lock longer. */
const FAST_MS = 4
const SLOW_MS = 1_400
/** After its deadline, a frozen statement may still be run for so long. */
export const LATE_MS = 4_000
/** Deadlock, full disk, no connection slot, cancelled: refusals that have nothing to do with the content of rows. */
const REFUSALS = ['40P01', '53100', '53300', '57014']

/**
 * A PostgreSQL as seen through connections that fail: each statement runs on the ledger, all or nothing, at a moment
 * of its own, and its process learns its outcome or does not.
 */
export function createServer(options: {
  readonly clock: TestClock
  readonly random: () => number
  readonly ledger: ReturnType<typeof createLedger>
}) {
  const { clock, random, ledger } = options
  /** Share of statements with another fate than `answered`. */
  let trouble = 0
  let isAway = false
  /** A crash rolls statements of older lives back. */
  let life = 0
  const outcomes: Record<Fate, number> = { ...NO_OUTCOMES }

  function pickFate(): Fate {
    if (random() >= trouble) return 'answered'
    const others = ['lostAfter', 'lostBefore', 'late', 'swallowed', 'refused'] as const
    return others[Math.floor(random() * others.length)] ?? 'late'
  }

  return {
    outcomes,
    setTrouble(share: number): void {
      trouble = share
    },
    setAway(away: boolean): void {
      isAway = away
    },
    /** Rolls back what is not committed and loses what is not answered. Claims need not be durable. */
    crash(): void {
      life++
      for (const [name, record] of ledger.keys) {
        if (record.answer === undefined && random() < 0.5) ledger.keys.delete(name)
      }
    },
    /** The database of a process; `deliver` hands it what arrives. */
    connect(deliver: (arrive: () => void) => void): Database {
      return {
        run<Row extends object>(
          text: string,
          params: readonly Param[],
          { deadlineMs = DEADLINE_DEFAULT_MS }: { readonly deadlineMs?: number } = {},
        ): Promise<readonly Row[]> {
          return new Promise((resolve, reject) => {
            const ownLife = life
            const fail = (reason: string) => deliver(() => reject(new UnavailableError(reason)))
            const cancelDeadline = clock.after(deadlineMs, () => fail('The database took too long'))
            const end = (arrive: () => void) => {
              cancelDeadline()
              deliver(arrive)
            }
            if (isAway) {
              outcomes.lostBefore++
              // Some networks refuse, others are silent.
              if (random() < 0.7) clock.after(CONNECT_MS, () => end(() => reject(new UnavailableError('No server'))))
              return
            }
            const fate = pickFate()
            outcomes[fate]++
            const takesMs = trouble > 0 && random() < 0.3 ? random() * SLOW_MS : random() * FAST_MS
            const reachesMs = fate === 'late' ? deadlineMs + random() * LATE_MS : takesMs / 2
            if (fate === 'swallowed') return
            clock.after(reachesMs, () => {
              // A late statement was sent to a process of the server that a crash ends.
              if (ownLife !== life) return end(() => reject(new UnavailableError('The connection was lost')))
              if (fate === 'lostBefore') return end(() => reject(new UnavailableError('The connection was lost')))
              let settle: () => void
              try {
                if (fate === 'refused') {
                  const code = REFUSALS[Math.floor(random() * REFUSALS.length)] ?? ''
                  throw new SqlError('The server refused a statement', { code })
                }
                const rows = ledger.run(text, params) as readonly Row[]
                settle = () => resolve(rows)
              } catch (error) {
                settle = () => reject(error)
              }
              if (fate === 'late') return
              if (fate === 'lostAfter') settle = () => reject(new UnavailableError('The connection was lost'))
              // A crash between the two loses the answer too.
              if (trouble === 0) return end(settle)
              clock.after(takesMs / 2, () =>
                end(ownLife === life ? settle : () => reject(new UnavailableError('The connection was lost'))),
              )
            })
          })
        },
        close: async () => {},
      }
    },
  }
}
