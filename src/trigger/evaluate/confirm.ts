import type { PinnedBlock } from '../../chain/block.ts'
import { createCitingClient } from '../../chain/receipt/citing.ts'
import type { Watcher, WatchTarget } from '../../family/watch.ts'
import { halve } from '../../lib/async/halves.ts'
import { chunk, forEachLimit } from '../../lib/async/parallel.ts'
import type { Work } from '../../lib/async/work.ts'
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
/** Failed reads in a row after which the endpoints fail, and not the subjects: no further ones are read. */
const FAILURES_MAX = 16
/** Subjects read apart in one turn: each failed alone before, and may do so again. */
const APART_MAX = 4

/**
 * Reads subjects in pieces, each with its own citations. A failed piece is halved until the subjects that cannot be
 * read stand alone; from then on they are read apart from the others. Throws if aborted.
 */
export async function confirmSubjects(
  watcher: Watcher,
  input: {
    readonly subjects: readonly WatchedSubject[]
    readonly client: WatchTarget['client']
    readonly block: PinnedBlock
  },
  work: Work,
): Promise<ConfirmedReading> {
  const { subjects, client, block } = input
  const errors: unknown[] = []
  const reads = new Map<WatchedSubject, ConfirmedRead>()
  let failuresInRow = 0
  await forEachLimit(splitSubjects(subjects, PIECES.size, Number(block.number)), PIECES.runningMax, readPiece, work)
  return { subjects, reads: subjects.map((each) => reads.get(each)), errors }

  async function readPiece(piece: readonly WatchedSubject[], within: Work): Promise<void> {
    if (failuresInRow >= FAILURES_MAX) return
    const citing = createCitingClient(client)
    const pieceSubjects = piece.map(({ subject }) => subject)
    try {
      const confirmedFigures = await watcher.confirm(pieceSubjects, { client: citing.client, block }, within)
      const cited = once(citing.listCitations)
      for (const [index, subject] of piece.entries()) {
        const confirmed = confirmedFigures[index]
        subject.isApart = false
        if (confirmed !== undefined) reads.set(subject, { confirmed, cited })
      }
      failuresInRow = 0
    } catch (error) {
      within.signal.throwIfAborted()
      errors.push(error)
      failuresInRow++
      const [only] = piece
      if (piece.length === 1 && only !== undefined) only.isApart = true
      else await Promise.all(halve(piece).map((half) => readPiece(half, within)))
    }
  }
}

/** Splits subjects into pieces that share a read; those to be read apart have one each, a few of them in each turn. */
export function splitSubjects(
  subjects: readonly WatchedSubject[],
  size: number,
  turn: number,
): readonly (readonly WatchedSubject[])[] {
  const shared = subjects.filter(({ isApart }) => !isApart)
  return [...chunk(shared, size), ...chooseApart(subjects, turn).map((each) => [each])]
}

function chooseApart(subjects: readonly WatchedSubject[], turn: number): readonly WatchedSubject[] {
  const apart = subjects.filter(({ isApart }) => isApart)
  if (apart.length <= APART_MAX) return apart
  const first = (turn * APART_MAX) % apart.length
  return [...apart.slice(first), ...apart.slice(0, first)].slice(0, APART_MAX)
}
