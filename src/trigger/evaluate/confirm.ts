import type { PinnedBlock } from '../../chain/block.ts'
import { createCitingClient } from '../../chain/receipt/citing.ts'
import type { Watcher, WatchTarget } from '../../family/watch.ts'
import { mapChunks } from '../../lib/async/chunk.ts'
import { once } from '../../lib/memoize.ts'
import type { ConfirmedRead } from './apply.ts'
import type { WatchedSubject } from './watchlist.ts'

/** Subjects as they were read, in the order in which they were asked for. */
export interface ConfirmedReading {
  readonly subjects: readonly WatchedSubject[]
  /** Undefined for those that could not be read. */
  readonly read: readonly (ConfirmedRead | undefined)[]
  /** Why they could not. */
  readonly errors: readonly unknown[]
}

/** Subjects of one reading, and readings at the same time. */
const PIECES = { size: 500, running: 4 } as const
const PIECES_FAILED_MAX = 4

/**
 * Reads subjects in pieces; each piece knows what it was read from. Those of a piece that fails are undefined, and
 * those of all pieces that are left once several did: it is then the endpoints that fail. Throws if it is aborted.
 */
export async function confirmSubjects(
  watcher: Watcher,
  of: {
    readonly subjects: readonly WatchedSubject[]
    readonly client: WatchTarget['client']
    readonly block: PinnedBlock
  },
  signal: AbortSignal,
): Promise<ConfirmedReading> {
  const { subjects, client, block } = of
  const errors: unknown[] = []
  const read = await mapChunks(subjects, PIECES, readPiece, signal)
  return { subjects, read, errors }

  async function readPiece(piece: readonly WatchedSubject[], within: AbortSignal) {
    const unread = piece.map(() => undefined)
    if (errors.length >= PIECES_FAILED_MAX) return unread
    const citing = createCitingClient(client)
    const asked = piece.map(({ subject }) => subject)
    try {
      const found = await watcher.confirm(asked, { client: citing.client, block }, within)
      const cited = once(citing.cited)
      return found.map((confirmed): ConfirmedRead => ({ confirmed, cited }))
    } catch (error) {
      within.throwIfAborted()
      errors.push(error)
      return unread
    }
  }
}
