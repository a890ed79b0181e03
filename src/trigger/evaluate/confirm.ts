import type { PinnedBlock } from '../../chain/block.ts'
import { createCitingClient } from '../../chain/receipt/citing.ts'
import type { Watcher, WatchTarget } from '../../family/watch.ts'
import { mapChunks } from '../../lib/async/chunk.ts'
import { once } from '../../lib/memoize.ts'
import type { ConfirmedRead } from './apply.ts'
import type { WatchedSubject } from './watchlist.ts'

/** Confirmed subjects, in the requested order. */
export interface ConfirmedReading {
  readonly subjects: readonly WatchedSubject[]
  /** Undefined for subjects that could not be read. */
  readonly reads: readonly (ConfirmedRead | undefined)[]
  /** Errors of the failed reads. */
  readonly errors: readonly unknown[]
}

/** Subjects per read, and concurrent reads. */
const PIECES = { size: 500, runningMax: 4 } as const
const PIECES_FAILED_MAX = 4

/**
 * Reads subjects in pieces, each with its own citations. Subjects of a failed piece are undefined; after several failed
 * pieces the remaining ones are skipped, because the endpoints fail. Throws if aborted.
 */
export async function confirmSubjects(
  watcher: Watcher,
  input: {
    readonly subjects: readonly WatchedSubject[]
    readonly client: WatchTarget['client']
    readonly block: PinnedBlock
  },
  signal: AbortSignal,
): Promise<ConfirmedReading> {
  const { subjects, client, block } = input
  const errors: unknown[] = []
  const reads = await mapChunks(subjects, PIECES, readPiece, signal)
  return { subjects, reads, errors }

  async function readPiece(piece: readonly WatchedSubject[], within: AbortSignal) {
    const noReads = piece.map(() => undefined)
    if (errors.length >= PIECES_FAILED_MAX) return noReads
    const citing = createCitingClient(client)
    const pieceSubjects = piece.map(({ subject }) => subject)
    try {
      const confirmedFigures = await watcher.confirm(pieceSubjects, { client: citing.client, block }, within)
      const cited = once(citing.listCitations)
      return confirmedFigures.map((confirmed): ConfirmedRead => ({ confirmed, cited }))
    } catch (error) {
      within.throwIfAborted()
      errors.push(error)
      return noReads
    }
  }
}
